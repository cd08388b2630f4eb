"""What OpenStack reports of hosts and servers, as facts. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

# Begins every reason, description or mark that we leave in OpenStack: only what carries it is undone.
MARK = "osctl.dev: "
# Of services whose node was removed, or lost its role.
REMOVED = MARK + "node removed"
# Nova's own reason for a compute service that registered while enable_new_services is off
# (nova/objects/service.py, nova/compute/manager.py): this is not a decision of a person, so it may be
# enabled.
NEW_SERVICE_REASONS = frozenset(
    (
        "New service disabled due to config option.",
        "New compute service disabled due to config option.",
    )
)


# In disabled_reason of a service that we hold down: only that is let up again by us.
_FORCED = MARK + "forced down"
_BEFORE = "; before: "
# The suffix for a service that another party had disabled without a reason.
_NO_REASON = "(no reason)"
_REASON_LIMIT = 255


def is_ours(reason: str) -> bool:
    """Whether something was disabled by us, or by Nova itself, and not by another party before."""
    return (reason.startswith(MARK) and reason_before(reason) is None) or reason in NEW_SERVICE_REASONS


def forced_reason(reason: str | None) -> str:
    """The disabled_reason for a forced-down service that is disabled for `reason`.

    None for an enabled one. The reason of another party is kept in it to be restored, also an empty one.
    """
    if reason is None or is_ours(reason):
        return _FORCED
    before = _BEFORE + (reason or _NO_REASON)
    return reason if reason.startswith(_FORCED) else (_FORCED + before)[:_REASON_LIMIT]


def forced_by_us(reason: str) -> bool:
    """Whether a service that is forced down is so by us."""
    return reason.startswith(_FORCED)


def reason_before(reason: str) -> str | None:
    """The reason of another party that had disabled a service before we forced it down, which may be empty.

    None if no other party had.
    """
    before = reason.partition(_BEFORE)[2] if reason.startswith(_FORCED) else ""
    return (before if before != _NO_REASON else "") if before else None


def let_up_reason(reason: str) -> str:
    """What to leave in disabled_reason of a service that we force down no more, and that stays disabled."""
    before = reason_before(reason)
    return MARK + "let up" if before is None else before


@dataclass(frozen=True, slots=True)
class ComputeService:
    """One nova-compute. `up` is what Nova believes; forced down counts as down.

    `updated`: when Nova last wrote anything of it, by its own clock: an opaque word.
    """

    id: str
    host: str
    enabled: bool
    up: bool
    forced_down: bool = False
    reason: str = ""
    zone: str = ""
    updated: str = ""


@dataclass(frozen=True, slots=True)
class ControlService:
    """One of Nova's services that serve no host: `binary` is nova-conductor or nova-scheduler."""

    binary: str
    host: str
    enabled: bool
    up: bool


@dataclass(frozen=True, slots=True)
class Agent:
    """One network agent; `kind` as Neutron calls it, such as `L3 agent`; `mode` of an L3 agent.

    `load`: how many routers or networks it said last that it serves; agents say so every half minute.
    `address`: where it ends tunnels, if it does.
    """

    id: str
    host: str
    kind: str
    alive: bool
    enabled: bool = True
    description: str = ""
    mode: str = ""
    load: int = 0
    address: str = ""


@dataclass(frozen=True, slots=True)
class VolumeService:
    """One service of Cinder. `name` is its host as Cinder knows it, such as `cmp1@lvm`."""

    binary: str
    name: str
    enabled: bool
    up: bool
    reason: str = ""

    @property
    def host(self) -> str:
        return self.name.partition("@")[0]


@dataclass(frozen=True, slots=True)
class Hypervisor:
    """One compute node of Nova, which is there once its host is mapped to a cell. `address`: host_ip."""

    host: str
    servers: int
    address: str = ""


@dataclass(frozen=True)
class Server:
    """One server. `task` is empty while nothing is done to it. Memory in MiB, disks in GiB.

    `state` is Nova's vm_state, such as `active`; `status` is made of that and of the task.
    `extra_specs` are of its flavor, `image` the properties of the image that it was made from.
    """

    id: str
    name: str
    host: str
    status: str
    task: str = ""
    state: str = ""
    memory: int = 0
    disk: int = 0
    local_disk: bool = False
    extra_specs: Mapping[str, str] = field(default_factory=dict)
    image: Mapping[str, str] = field(default_factory=dict)
    metadata: Mapping[str, str] = field(default_factory=dict)
    volumes: int = 0


@dataclass(frozen=True, slots=True)
class Migration:
    """One record of a move. Ids of a server's migrations grow."""

    id: int
    server: str
    kind: str
    status: str
    source: str = ""
    target: str = ""

    @property
    def failed(self) -> bool:
        return self.status in ("error", "failed", "cancelled")

    @property
    def ended(self) -> bool:
        return self.failed or self.status in ("completed", "confirmed", "reverted", "done", "finished")


@dataclass(frozen=True, slots=True)
class Aggregate:
    """One host aggregate; `ours` where its metadata say that we made it.

    `bare`: it has no host yet and no metadata but its zone, as one that was just made, by whomever.
    `created`: in seconds since the epoch, 0.0 where that is not known.
    """

    id: int
    name: str
    hosts: frozenset[str]
    zone: str = ""
    ours: bool = False
    bare: bool = False
    created: float = 0.0


@dataclass(frozen=True)
class CloudView:
    """A snapshot of the cloud's hosts: it exists only when every list was complete."""

    services: tuple[ComputeService, ...]
    hypervisors: tuple[Hypervisor, ...]
    agents: tuple[Agent, ...]
    volumes: tuple[VolumeService, ...]
    aggregates: tuple[Aggregate, ...]
    taken: float = 0.0

    @cached_property
    def compute_hosts(self) -> frozenset[str]:
        """All hosts that Nova knows."""
        return frozenset((*self._service_of, *self._hypervisor_of))

    @cached_property
    def agent_hosts(self) -> frozenset[str]:
        """All hosts with a network agent."""
        return frozenset(one.host for one in self.agents)

    def service(self, host: str) -> ComputeService | None:
        return self._service_of.get(host)

    def hypervisor(self, host: str) -> Hypervisor | None:
        return self._hypervisor_of.get(host)

    # Each pass asks for every host several times. Of two entries of one host the first counts.
    @cached_property
    def _service_of(self) -> Mapping[str, ComputeService]:
        return {one.host: one for one in reversed(self.services)}

    @cached_property
    def _hypervisor_of(self) -> Mapping[str, Hypervisor]:
        return {one.host: one for one in reversed(self.hypervisors)}

    def agents_on(self, host: str) -> tuple[Agent, ...]:
        return tuple(one for one in self.agents if one.host == host)

    def volumes_on(self, host: str) -> tuple[VolumeService, ...]:
        return tuple(one for one in self.volumes if one.host == host)
