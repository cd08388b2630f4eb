"""What may happen: to machines and their links, to servers of others, by persons, to our own processes.

Each event draws what it needs from its own numbers, so that a sequence stays the same sequence when others
are taken out of it; and gives a sentence of what happened, or nothing where it cannot happen now.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from controller.domain.api.conditions import timestamp
from controller.domain.api.names import DISKS_ANNOTATION, FENCED_ANNOTATION, REPORT_ANNOTATION
from controller.domain.api.region_name import RegionName, node_notes
from controller.domain.hosts.fencing_confirmation import Confirmation, given_as, machine_of
from controller.errors import KubeError
from controller.ports.kubernetes import NODE, NODE_MAINTENANCE, POD
from tests.reconcile.watched import NAME
from tests.world.cluster import COMPUTE, NAMESPACE
from tests.world.links import API_SERVER, CINDER, FENCING, NEUTRON, NOVA, PLACEMENT
from tests.world.truth import Machine
from tests.world.world import ANNOTATIONS, Trap, World

T = TypeVar("T")
SERVICES = (API_SERVER, NOVA, NEUTRON, PLACEMENT, CINDER, FENCING)
REGION = RegionName(NAMESPACE, NAME)
BY_HAND = "somebody works on it"


@dataclass(frozen=True)
class Event:
    """One event by its name; `numbers` are all that it draws from, `meanwhile` what happens during it."""

    name: str
    numbers: tuple[int, ...]
    meanwhile: tuple[Event, ...] = ()


class Draw:
    """Takes one number after the other."""

    def __init__(self, event: Event) -> None:
        self._numbers = iter(event.numbers)
        self.meanwhile = event.meanwhile

    def number(self, below: int) -> int:
        return next(self._numbers, 0) % below

    def one(self, options: Sequence[T]) -> T:
        return options[self.number(len(options))]


Happening = Callable[[World, Draw], str | None]
EVENTS: dict[str, Happening] = {}


def happens(function: Happening) -> Happening:
    EVENTS[function.__name__] = function
    return function


def happen(world: World, event: Event) -> bool:
    """Whether it could happen; it is told then, and counted."""
    reported = EVENTS[event.name](world, Draw(event))
    if reported is None:
        return False
    world.met[event.name] += 1
    if reported:
        world.tell(reported)
    return True


def _machine(world: World, draw: Draw, *, powered: bool | None = None) -> Machine | None:
    """One of all machines, which may be in the wrong state for it: the same number means the same machine."""
    found = draw.one(list(world.truth.present()))
    return found if powered is None or found.powered == powered else None


# -- machines


@happens
def machine_loses_power(world: World, draw: Draw) -> str | None:
    machine = _machine(world, draw, powered=True)
    if machine is None:
        return None
    world.truth.power_off(machine)
    return f"{machine.host} loses its power"


@happens
def machine_is_started(world: World, draw: Draw) -> str | None:
    machine = _machine(world, draw, powered=False)
    if machine is None:
        return None
    world.truth.power_on(machine, world.time.seconds)
    return f"{machine.host} is started"


@happens
def machine_reboots(world: World, draw: Draw) -> str | None:
    machine = _machine(world, draw, powered=True)
    if machine is None:
        return None
    world.truth.power_off(machine)
    world.truth.power_on(machine, world.time.seconds)
    return f"{machine.host} reboots"


@happens
def machine_is_cut_off(world: World, draw: Draw) -> str | None:
    """A partition: it runs on."""
    machine = _machine(world, draw, powered=True)
    if machine is None:
        return None
    which = draw.number(4)
    machine.cluster_link = which == 2
    machine.cloud_link = which == 1
    what = {1: "from the API server", 2: "from Nova"}.get(which, "from everything")
    return f"{machine.host} is cut off {what}, and runs on"


@happens
def links_are_mended(world: World, draw: Draw) -> str | None:
    machine = _machine(world, draw)
    if machine is None or (machine.cluster_link and machine.cloud_link):
        return None
    machine.cluster_link = machine.cloud_link = True
    return f"the links of {machine.host} are mended"


@happens
def kubelet_says_not_ready(world: World, draw: Draw) -> str | None:
    machine = _machine(world, draw, powered=True)
    if machine is None:
        return None
    machine.unwell = not machine.unwell
    return f"the kubelet of {machine.host} says {'NotReady' if machine.unwell else 'Ready'} from now on"


@happens
def compute_ends(world: World, draw: Draw) -> str | None:
    """nova-compute crashes, and its servers run on; or it is mended."""
    machine = _machine(world, draw, powered=True)
    if machine is None:
        return None
    machine.broken = not machine.broken
    machine.compute = False
    return f"nova-compute on {machine.host} {'crashes' if machine.broken else 'may start again'}"


@happens
def clock_is_wrong(world: World, draw: Draw) -> str | None:
    machine = _machine(world, draw)
    assert machine is not None
    machine.clock = draw.one((-36000.0, -3600.0, -100.0, 0.0, 100.0, 3600.0, -1_700_000_000.0))
    return f"the clock of {machine.host} is {machine.clock:+.0f} s wrong"


@happens
def our_clock_jumps(world: World, draw: Draw) -> str | None:
    clock = world.leader.clock
    by = draw.one((7200.0, -7200.0, 100000.0, -60.0, 150.0))
    clock.offset += by
    return f"the clock of our container is set by {by:+.0f} s"


@happens
def machine_is_renamed(world: World, draw: Draw) -> str | None:
    """Its kubelet joins under another name; the old Node stays, silent."""
    machine = _machine(world, draw, powered=True)
    if machine is None:
        return None
    old = machine.node
    machine.node = f"{machine.host}-as-{draw.one(('a', 'b'))}" if old == machine.host else machine.host
    if any(one.node == machine.node and one is not machine for one in world.truth.machines.values()):
        machine.node = old
        return None
    machine.named = world.time.seconds
    if draw.number(2):
        world.truth.power_off(machine)
        world.truth.power_on(machine, world.time.seconds)
        return f"{machine.host} reboots, and joins as the Node {machine.node} instead of {old}"
    return f"the kubelet of {machine.host} joins as the Node {machine.node} instead of {old}"


@happens
def machine_is_replaced(world: World, draw: Draw) -> str | None:
    """Broken for good: another gets its name. Disks that were in it are gone with it."""
    machine = _machine(world, draw, powered=False)
    node = world.cluster.nodes.get(machine.node) if machine is not None else None
    if machine is None or node is None or node.machine != machine.key or len(world.truth.machines) > 8:
        return None
    machine.retired = True
    new = world.add_machine(machine.host, machine.node)
    new.powered, new.contacted = False, None
    world.truth.power_on(new, world.time.seconds)
    world.cluster.remove_node(machine.node)
    world.cordoned_by_person.discard(machine.node)
    return f"another machine takes the place of {machine.host}"


# -- Kubernetes, by persons


@happens
def node_is_deleted(world: World, draw: Draw) -> str | None:
    names = sorted(world.cluster.nodes)
    if not names:
        return None
    name = draw.one(names)
    world.cluster.remove_node(name)
    world.cordoned_by_person.discard(name)
    return f"somebody deletes the Node {name}"


@happens
def role_is_taken(world: World, draw: Draw) -> str | None:
    names = sorted(world.cluster.nodes)
    if not names:
        return None
    name = draw.one(names)
    live = world.cluster.node(name)
    assert live is not None
    has = live["metadata"]["labels"].get(COMPUTE)
    patch = {"metadata": {"labels": {COMPUTE: None if has else "enabled"}}}
    world.cluster.kube.merge_patch(NODE, name, None, patch)
    return f"somebody {'takes' if has else 'gives'} {name} the label of computes"


@happens
def person_cordons(world: World, draw: Draw) -> str | None:
    names = sorted(world.cluster.nodes)
    if not names:
        return None
    name = draw.one(names)
    live = world.cluster.node(name)
    assert live is not None
    if live["spec"].get("unschedulable"):
        world.cordoned_by_person.discard(name)
        world.cluster.kube.merge_patch(NODE, name, None, {"spec": {"unschedulable": None}})
        return f"somebody uncordons {name}"
    world.cordoned_by_person.add(name)
    world.cluster.kube.merge_patch(NODE, name, None, {"spec": {"unschedulable": True}})
    return f"somebody cordons {name}"


@dataclass(frozen=True)
class Looked:
    """Somebody has looked at a machine, and it was off: the Node as it was at that moment."""

    node: str
    given: dict[str, str]
    written: str


@happens
def person_looks(world: World, draw: Draw) -> str | None:
    """At a machine that is off indeed; the word may be given at once, or much later."""
    names = sorted({one.node for one in world.truth.present()} | world.cluster.nodes.keys())
    off = [name for name in names if _is_off(world, name)]
    if not off:
        return None
    looked = _looked(world, draw.one(off))
    world.confirmations.append(looked)
    reported = f"somebody sees that the machine of {looked.node} is off"
    return f"{reported}; {_confirms(world, looked, draw)}" if draw.number(4) else reported


def _is_off(world: World, name: str) -> bool:
    """Whether every machine that has, or had, this Node or its host is off, and the Node is not Ready."""
    node = world.cluster.nodes.get(name)
    if node is not None and node.ready == "True":
        return False
    hosts = {one.host for one in world.truth.machines.values() if one.node == name}
    hosts |= {world.truth.machines[node.machine].host} if node is not None else set()
    mine = [one for one in world.truth.machines.values() if one.host in hosts]
    return bool(mine) and not any(one.powered and not one.retired for one in mine)


def _looked(world: World, name: str) -> Looked:
    live = world.cluster.node(name)
    seen = machine_of(live)
    report = node_notes(NAMESPACE, live).get(REPORT_ANNOTATION, "") if live is not None else ""
    now = timestamp(world.cluster.clock.now())
    given = given_as(seen, f"{now}#{len(world.confirmations)}", report)
    return Looked(name, given, Confirmation(seen).written())


@happens
def person_confirms_later(world: World, draw: Draw) -> str | None:
    """With what was seen before, whatever has happened since."""
    if not world.confirmations:
        return None
    return _confirms(world, draw.one(world.confirmations), draw)


@happens
def person_errs(world: World, draw: Draw) -> str | None:
    """Takes a machine that is cut off for one that is off, and says so."""
    lost = [name for name, one in sorted(world.cluster.nodes.items()) if one.ready != "True"]
    machines = [one for name in lost if (one := world.truth.with_node(name)) is not None and one.powered]
    if not machines:
        return None
    machine = draw.one(machines)
    machine.erred = True
    return f"somebody is wrong about {machine.host}; {_confirms(world, _looked(world, machine.node), draw)}"


def _confirms(world: World, looked: Looked, draw: Draw) -> str:
    kube = world.cluster.kube
    how = draw.number(3)
    ours = [one for one in world.maintenances() if one["spec"].get("mode") == "Evacuate"]
    if how == 0 and kube.has(NODE, looked.node):
        notes = {f"{NAMESPACE}.{FENCED_ANNOTATION}": looked.written}
        kube.merge_patch(NODE, looked.node, None, {"metadata": {"annotations": notes}})
        return f"notes on the Node {looked.node} that it is off"
    here = [one for one in ours if one["spec"]["nodeName"] == looked.node]
    if here:
        name = draw.one(here)["metadata"]["name"]
        kube.merge_patch(NODE_MAINTENANCE, name, None, {"spec": {"fenced": looked.given}})
        return f"says so in the maintenance {name}"
    name = _free_name(world)
    if name is None:
        return "says nothing"
    world.plans.discard(name)
    _make(world, name, looked.node, mode="Evacuate", fenced=looked.given)
    return f"makes the maintenance {name} for {looked.node} that says so, {{mode: Evacuate}}"


@happens
def person_says_disks_are_shared(world: World, draw: Draw) -> str | None:
    """Who knows better says so: of the present configuration of that host alone."""
    from controller.domain.hosts.host_disks import judge_disks
    from controller.reconcile.hosts.disk_records import DiskRecords

    machine = _machine(world, draw)
    if machine is None or machine.node not in world.cluster.nodes:
        return None
    records = DiskRecords(world.cluster.kube, world.cluster.clock, NAMESPACE).read()
    others = frozenset(
        one.host
        for one in world.cloud.services.values()
        if one.enabled and one.up and one.host != machine.host
    )
    token = judge_disks(machine.host, records, others).token
    world.truth.may_rebuild.add(machine.host)
    note = {f"{NAMESPACE}.{DISKS_ANNOTATION}": token}
    world.cluster.kube.merge_patch(NODE, machine.node, None, {"metadata": {"annotations": note}})
    return f"somebody says that the disks of {machine.host} are shared"


def _free_name(world: World) -> str | None:
    taken = {one["metadata"]["name"] for one in world.cluster.kube.objects("NodeMaintenance")}
    return next((name for name in ("work-1", "work-2", "work-3") if name not in taken), None)


def _make(world: World, name: str, node: str, **spec: Any) -> None:
    whole = {"region": REGION.written(), "nodeName": node, "deadlines": {"server": "2m", "whole": "1h"}}
    body = {"apiVersion": NODE_MAINTENANCE.api_version, "kind": NODE_MAINTENANCE.kind}
    world.cluster.kube.create({**body, "metadata": {"name": name}, "spec": {**whole, **spec}})


@happens
def person_makes_maintenance(world: World, draw: Draw) -> str | None:
    name = _free_name(world)
    if name is None:
        return None
    world.plans.discard(name)
    machine = _machine(world, draw)
    assert machine is not None
    spec: dict[str, Any] = {"mode": draw.one(("Migrate", "Migrate", "Cordon", "Evacuate"))}
    if draw.number(5) == 0:
        spec["dryRun"] = True
    if draw.number(6) == 0:
        spec["localDisks"] = "Rebuild"
        world.truth.may_rebuild.add(machine.host)
    if draw.number(3) == 0:
        spec["onUnmovable"] = draw.one(("Leave", "Cold"))
    _make(world, name, machine.node, **spec)
    if spec.get("dryRun"):
        world.plans.add(name)
    reported = ", ".join(f"{key}: {value}" for key, value in spec.items())
    return f"somebody makes the maintenance {name} for {machine.node} {{{reported}}}"


@happens
def person_edits_maintenance(world: World, draw: Draw) -> str | None:
    ours = world.maintenances()
    if not ours:
        return None
    one = draw.one(ours)
    name, node = one["metadata"]["name"], one["spec"]["nodeName"]
    patch = draw.one(
        (
            {"mode": "Migrate"},
            {"mode": "Evacuate"},
            {"mode": "Cordon"},
            {"dryRun": True},
            {"dryRun": False},
            {"fenced": None},
            {"budgets": {"serversPerNode": 1}},
            {"localDisks": "Rebuild"},
            {"localDisks": None},
        )
    )
    if patch.get("localDisks"):
        machine = world.truth.with_node(node)
        world.truth.may_rebuild |= {machine.host} if machine is not None else set()
    if patch.get("dryRun") is False:
        world.plans.discard(name)
    world.cluster.kube.merge_patch(NODE_MAINTENANCE, name, None, {"spec": patch})
    return f"somebody edits the maintenance {name}: {patch}"


@happens
def person_deletes_maintenance(world: World, draw: Draw) -> str | None:
    ours = [one for one in world.maintenances() if not one["metadata"].get("deletionTimestamp")]
    if not ours:
        return None
    name = draw.one(ours)["metadata"]["name"]
    world.cluster.kube.delete(NODE_MAINTENANCE, name)
    return f"somebody deletes the maintenance {name}"


@happens
def person_edits_region(world: World, draw: Draw) -> str | None:
    patch: dict[str, Any] = draw.one(
        (
            {"mode": "Paused"},
            {"mode": "Apply"},
            {"features": {"nodes": {"evacuation": "Never"}}},
            {"features": {"nodes": {"evacuation": "Auto"}}},
            {"features": {"nodes": {"maxUnhealthy": 1}}},
            {"features": {"nodes": {"maxUnhealthy": 3}}},
            {"features": {"nodes": {"holdDown": "2m"}}},
        )
    )
    world.cluster.edit_region(patch)
    if "mode" in patch:
        world.paused_since = world.time.seconds if patch["mode"] == "Paused" else None
    limit = (patch.get("features") or {}).get("nodes", {}).get("maxUnhealthy")
    if limit is not None:
        world.unhealthy_before, world.unhealthy = world.unhealthy, int(limit)
    return f"somebody edits the region: {patch}"


@happens
def backend_changes(world: World, draw: Draw) -> str | None:
    """The nova.conf of computes changes; they run with it once their pods are made again."""
    place = "qcow2" if world.cluster.configured != "qcow2" else "rbd:vms"
    world.cluster.configure(place)
    return f"computes are configured for {place}"


@happens
def compute_pod_is_made_again(world: World, draw: Draw) -> str | None:
    machine = _machine(world, draw, powered=True)
    name = f"nova-compute-{machine.node}" if machine is not None else ""
    if machine is None or not machine.cluster_link or not world.cluster.kube.has(POD, name, NAMESPACE):
        return None
    world.cluster.kube.delete(POD, name, NAMESPACE)
    machine.compute = False
    return f"the pod of nova-compute on {machine.host} is made again"


# -- OpenStack, by persons


@happens
def person_disables_compute(world: World, draw: Draw) -> str | None:
    services = sorted(world.cloud.services)
    if not services:
        return None
    host = draw.one(services)
    service = world.cloud.services[host]
    if host in world.disabled_by:
        del world.disabled_by[host]
        world.cloud.set_compute_service(service.id, enabled=True)
        return f"somebody enables the compute service of {host}"
    if not service.enabled:
        return None
    world.disabled_by[host] = BY_HAND
    world.cloud.set_compute_service(service.id, enabled=False, reason=BY_HAND)
    return f'somebody disables the compute service of {host} ("{BY_HAND}")'


@happens
def person_forces_down(world: World, draw: Draw) -> str | None:
    services = sorted(world.cloud.services)
    if not services:
        return None
    host = draw.one(services)
    service = world.cloud.services[host]
    forced = f"forced {host}"
    if forced in world.disabled_by and host not in world.cloud.uncleaned:
        del world.disabled_by[forced]
        world.cloud.force_down(service.id, down=False)
        return f"somebody lets the compute service of {host} up"
    if service.forced_down or service.reason.startswith("osctl.dev"):
        return None
    world.disabled_by[forced] = BY_HAND
    world.cloud.force_down(service.id, down=True)
    return f"somebody forces the compute service of {host} down"


@happens
def server_is_made(world: World, draw: Draw) -> str | None:
    hosts = [
        one.host
        for one in world.cloud.services.values()
        if one.enabled and (machine := world.truth.with_host(one.host)) is not None and machine.reports
    ]
    if not hosts or len(world.cloud.hosted) > 8:
        return None
    host = draw.one(sorted(hosts))
    disk = draw.one(("image", "volume"))
    state = draw.one(("active", "active", "stopped"))
    id_ = world.boot_server(host, disk, state=state)
    return f"{id_} is made on {host} ({world.truth.disks[id_]}, {state})"


@happens
def server_is_deleted(world: World, draw: Draw) -> str | None:
    idle = sorted(one.id for one in world.cloud.hosted.values() if not one.task)
    if not idle:
        return None
    id_ = draw.one(idle)
    server = world.cloud.hosted[id_]
    machine = world.truth.with_host(server.host)
    if machine is None or not machine.reports or server.status == "VERIFY_RESIZE":
        return None
    world.truth.stop(id_, machine)
    del world.cloud.hosted[id_]
    for held in world.cloud.held.values():
        held.discard(id_)
    return f"the owner of {id_} deletes it"


@happens
def server_is_switched(world: World, draw: Draw) -> str | None:
    idle = sorted(one.id for one in world.cloud.hosted.values() if not one.task)
    if not idle:
        return None
    id_ = draw.one(idle)
    server = world.cloud.hosted[id_]
    machine = world.truth.with_host(server.host)
    if machine is None or not machine.reports or server.status not in ("ACTIVE", "SHUTOFF"):
        return None
    if server.status == "ACTIVE":
        world.truth.stop(id_, machine)
        world.cloud.hosted[id_] = replace(server, status="SHUTOFF", state="stopped")
        return f"the owner of {id_} stops it"
    world.cloud.hosted[id_] = replace(server, status="ACTIVE", state="active")
    world.truth.start(id_, machine)
    return f"the owner of {id_} starts it"


@happens
def moves_stand_still(world: World, draw: Draw) -> str | None:
    world.cloud.stuck = not world.cloud.stuck
    return f"moves of servers {'stand still' if world.cloud.stuck else 'go on'}"


# -- services that we ask


@happens
def service_fails(world: World, draw: Draw) -> str | None:
    service, how = draw.one(SERVICES), draw.one(("away", "slow"))
    world.faults[service] = how
    world.met[f"{service} {how}"] += 1
    return f"the {service} is {how}"


@happens
def services_are_mended(world: World, draw: Draw) -> str | None:
    if not (world.faults or world.lies):
        return None
    world.faults.clear()
    world.lies.clear()
    return "all services answer, and whole"


@happens
def a_cell_is_missing(world: World, draw: Draw) -> str | None:
    services = sorted(world.cloud.services)
    if not services or world.lies:
        return None
    host = draw.one(services)
    world.lies["cell"] = (host, 0)
    return f"lists of Nova come without {host}"


@happens
def answer_is_lost(world: World, draw: Draw) -> str | None:
    world.traps.append(Trap("cut", draw.number(4)))
    return ""


# -- our own processes


@happens
def process_dies(world: World, draw: Draw) -> str | None:
    world.traps.append(Trap(draw.one(("dies before", "dies after")), draw.number(5)))
    return ""


@happens
def process_dies_anywhere(world: World, draw: Draw) -> str | None:
    world.traps.append(Trap("dies before", draw.number(25), writes=False))
    return ""


def _moment(draw: Draw) -> tuple[bool, int]:
    """Whether only writes count, and how many calls still pass before it happens."""
    writes = bool(draw.number(3))
    return writes, draw.number(4) if writes else draw.number(30)


@happens
def process_stands_still(world: World, draw: Draw) -> str | None:
    """Before one of its next calls, while the world goes on; from 15 s on another one takes over."""
    seconds = draw.one((5.0, 30.0, 90.0, 400.0))
    over = "stands still, and another takes over" if seconds > 15.0 and draw.number(3) else "stands still"
    writes, left = _moment(draw)
    world.traps.append(Trap(over, left, seconds=seconds, meanwhile=list(draw.meanwhile), writes=writes))
    return ""


@happens
def workers_meet(world: World, draw: Draw) -> str | None:
    """The other workers of a process, and other processes, do their passes in the middle of one."""
    writes, left = _moment(draw)
    world.traps.append(Trap("meets another", left, writes=writes))
    return ""


@happens
def two_processes(world: World, draw: Draw) -> str | None:
    """Another pod runs beside ours, and neither knows."""
    alive = [one for one in world.processes if one.alive]
    if len(alive) > 1:
        alive[-1].alive = False
        if alive[-1] is world.leader:
            world.leader = alive[0]
        world.processes = [one for one in world.processes if one.alive]
        return f"{alive[-1].name} ends"
    world.processes.append(world.born())
    return f"{world.processes[-1].name} runs beside {world.leader.name}"


@happens
def watches_are_cut(world: World, draw: Draw) -> str | None:
    world.leader.blind = not world.leader.blind
    return f"the watches of {world.leader.name} {'tell nothing' if world.leader.blind else 'tell all again'}"


@happens
def time_passes(world: World, draw: Draw) -> str | None:
    seconds = draw.one((3.0, 10.0, 10.0, 35.0, 70.0, 130.0, 400.0))
    world.pass_time(seconds)
    return ""


__all__ = ["ANNOTATIONS", "EVENTS", "REGION", "Draw", "Event", "KubeError", "happen"]
