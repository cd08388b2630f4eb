"""The move of each server of a node. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from controller.domain.shared.cloud_facts import Migration, Server

# Of a server's metadata or of its flavor's extra specs: live, cold, leave.
POLICY_KEY = "maintenance"
# Nova's type of the migration of an evacuation.
EVACUATION = "evacuation"


class Mode(StrEnum):
    """`spec.mode` of a ComputeMaintenance."""

    CORDON = "Cordon"
    MIGRATE = "Migrate"
    EVACUATE = "Evacuate"


class MoveKind(StrEnum):
    """The kind of a server's move, or why it does not move."""

    LIVE = "Live"
    COLD = "Cold"
    EVACUATE = "Evacuate"
    LEAVE = "Leave"
    BLOCKED = "Blocked"
    BUSY = "Busy"


class Unmovable(StrEnum):
    """`spec.onUnmovable`: the policy for servers that cannot be migrated live."""

    BLOCK = "Block"
    LEAVE = "Leave"
    COLD = "Cold"


@dataclass(frozen=True, slots=True)
class Rules:
    """The rules for moves of servers.

    Limits of a live migration in MiB and GiB; 0 for none. `rebuild_local`: an evacuation may rebuild local
    disks from their image, which loses their content; `shared_disks`: the disks of the host's servers are on
    storage that the others can reach; `doubt`: why that is not certain, with a remedy.
    """

    on_unmovable: Unmovable = Unmovable.BLOCK
    most_memory: int = 0
    most_local_disk: int = 0
    rebuild_local: bool = False
    shared_disks: bool = False
    doubt: str = ""


@dataclass(frozen=True, slots=True)
class ServerPlan:
    """The move of one server, and the reason if it is not the usual one."""

    id: str
    name: str
    way: MoveKind
    why: str = ""


# States that Nova's API allows (nova/compute/api.py: live_migrate, resize, evacuate check the vm_state).
_LIVE = frozenset(("ACTIVE", "PAUSED"))
# Whatever task is on them: evacuate() has task_state=None.
_EVACUATED = frozenset(("active", "stopped", "error"))
_OBSTACLES = {
    "SUSPENDED": "the server is suspended: resume or stop it",
    "ERROR": "the server is in ERROR: repair or delete it",
    "RESCUE": "the server is in rescue mode: end that first",
    "VERIFY_RESIZE": "a resize waits to be confirmed or reverted",
    "SHELVED": "the server is shelved and still on the node: offload or unshelve it",
}
_PASSING = frozenset(("BUILD", "REBUILD", "RESIZE", "REVERT_RESIZE", "MIGRATING", "REBOOT", "HARD_REBOOT"))
_GOING = frozenset(("DELETED", "SOFT_DELETED"))
_DELETING = frozenset(("deleting", "soft-deleting"))
_TRUE = frozenset(("1", "t", "true", "on", "y", "yes"))


def plan_server(server: Server, mode: Mode, rules: Rules, moves: Iterable[Migration] = ()) -> ServerPlan:
    """The move of this server.

    `moves`: its migrations, which matter only for the evacuation of a server with a task.
    """
    if mode == Mode.CORDON:
        return ServerPlan(server.id, server.name, MoveKind.LEAVE, "mode Cordon moves no server")
    way, why = _evacuated(server, rules, moves) if mode == Mode.EVACUATE else _migrated(server, rules)
    return ServerPlan(server.id, server.name, way, why)


def _policy(server: Server) -> str:
    """The request of the server's owner, otherwise of its flavor. Unknown words count as no request."""
    for source in (server.metadata, server.extra_specs):
        word = source.get(POLICY_KEY, "").strip().lower()
        if word in ("live", "cold", "leave", "skip"):
            return "leave" if word == "skip" else word
    return ""


def _evacuated(server: Server, rules: Rules, moves: Iterable[Migration]) -> tuple[MoveKind, str]:
    """A task from the failure of its host never ends, so only an evacuation is awaited."""
    if _policy(server) == "leave":
        return MoveKind.LEAVE, f"the owner requests this ({POLICY_KEY}=leave)"
    if server.status in _GOING or server.task in _DELETING:
        # Nova continues that when the host is back (nova/compute/manager.py: _init_instance).
        return MoveKind.LEAVE, "the server is being deleted"
    if server.task and _leaves_dead_host(server, moves):
        return MoveKind.BUSY, f"Nova already evacuates it ({server.task})"
    if server.state not in _EVACUATED:
        return MoveKind.BLOCKED, f"Nova evacuates no server that is {server.state or server.status}"
    if _has_vtpm(server):
        return MoveKind.BLOCKED, "Nova evacuates no server with a TPM"
    if server.local_disk and not (rules.shared_disks or rules.rebuild_local):
        why = f"; {rules.doubt}" if rules.doubt else ""
        return (
            MoveKind.BLOCKED,
            f"Nova would rebuild the local disk from the image; allow this with localDisks: Rebuild{why}",
        )
    return MoveKind.EVACUATE, ""


def _leaves_dead_host(server: Server, moves: Iterable[Migration]) -> bool:
    """Whether Nova is evacuating it from its host; an evacuation to its host ended with that host."""
    newest = max(moves, key=lambda one: one.id, default=None)
    return (
        newest is not None and newest.kind == EVACUATION and newest.source == server.host and not newest.ended
    )


def _migrated(server: Server, rules: Rules) -> tuple[MoveKind, str]:
    policy = _policy(server)
    if policy == "leave":
        return MoveKind.LEAVE, f"the owner requests this ({POLICY_KEY}=leave)"
    if server.status in _GOING:
        return MoveKind.LEAVE, "the server is being deleted"
    if server.task or server.status in _PASSING:
        return MoveKind.BUSY, f"Nova works on it ({server.task or server.status})"
    if server.status in _OBSTACLES:
        return MoveKind.BLOCKED, _OBSTACLES[server.status]
    if server.status == "SHUTOFF":
        return MoveKind.COLD, "the server is stopped"
    if server.status not in _LIVE:
        return MoveKind.BLOCKED, f"the status of the server is {server.status}"
    if policy == "cold":
        return MoveKind.COLD, f"the owner requests this ({POLICY_KEY}=cold)"
    obstacle = "" if policy == "live" else _live_obstacle(server, rules)
    if not obstacle:
        return MoveKind.LIVE, ""
    if rules.on_unmovable == Unmovable.COLD and server.status == "ACTIVE":
        return MoveKind.COLD, obstacle
    if rules.on_unmovable == Unmovable.LEAVE:
        return MoveKind.LEAVE, obstacle
    return (
        MoveKind.BLOCKED,
        f"{obstacle}; set its metadata {POLICY_KEY} to live, cold or leave, or onUnmovable",
    )


def _has_vtpm(server: Server) -> bool:
    return "hw:tpm_version" in server.extra_specs or "hw_tpm_version" in server.image


def _live_obstacle(server: Server, rules: Rules) -> str:
    """What keeps it from a live migration: what Nova refuses, as far as its API shows it beforehand, and the
    limits of the spec.

    Nova refuses accelerators, TPMs and SEV (nova/compute/api.py: live_migrate), and devices of a PCI alias
    that its own configuration does not call live_migratable (nova/conductor/tasks/live_migrate.py:
    _check_can_migrate_pci). A vGPU depends on the versions of libvirt and QEMU on both hosts
    (nova/virt/libvirt/driver.py: _host_can_support_mdev_live_migration), which the API does not show. Pinned
    CPUs, NUMA and huge pages it moves since Train, unless a compute is older (_check_instance_has_no_numa);
    a Nova that answers in the microversion of `Server` is from 2024.2 on, and runs with no such compute.
    """
    specs = server.extra_specs
    if any(key.startswith("resources") and key.endswith(":VGPU") for key in specs):
        return "the server has a vGPU"
    if "pci_passthrough:alias" in specs:
        return "the server has a PCI device of the node"
    if "accel:device_profile" in specs:
        return "the server has an accelerator of the node"
    if _has_vtpm(server) and specs.get("hw:tpm_secret_security") != "host":
        return "the server has a TPM, and only its owner can read the secret of this TPM"
    encrypted = (specs.get("hw:mem_encryption"), server.image.get("hw_mem_encryption"))
    if any(str(one).lower() in _TRUE for one in encrypted):
        return "the memory of the server is encrypted (SEV)"
    if server.local_disk and not rules.shared_disks and 0 < rules.most_local_disk < server.disk:
        return f"the local disk of {server.disk} GiB is too big to copy (limit {rules.most_local_disk})"
    if 0 < rules.most_memory < server.memory:
        return f"the memory of {server.memory} MiB is too big (limit {rules.most_memory})"
    return ""
