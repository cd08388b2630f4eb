"""Persons who confirm that a machine is off: at once, much later, and wrongly."""

from __future__ import annotations

from dataclasses import dataclass

from controller.domain.api.conditions import timestamp
from controller.domain.api.names import FENCED_ANNOTATION, REPORT_ANNOTATION
from controller.domain.api.region_name import node_notes
from controller.domain.hosts.fencing_confirmation import Confirmation, given_as, machine_of
from controller.ports.kubernetes import COMPUTE_MAINTENANCE, NODE
from tests.world.cluster import NAMESPACE
from tests.world.events.draw import Draw, free_name, happens, make_maintenance
from tests.world.world import World


@dataclass(frozen=True)
class Looked:
    """Someone has looked at a machine, and it was off: the Node as it was at that moment."""

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
    told = f"somebody sees that the machine of {looked.node} is off"
    return f"{told}; {_confirms(world, looked, draw)}" if draw.number(4) else told


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
    if live is None:
        here = [one.get("status") or {} for one in world.maintenances() if one["spec"]["nodeName"] == name]
        report = next((one["lastReport"] for one in here if "lastReport" in one), "")
    now = timestamp(world.cluster.clock.now())
    given = given_as(seen, f"{now}#{len(world.confirmations)}", report)
    return Looked(name, given, Confirmation(seen, report=report).written())


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
        kube.merge_patch(COMPUTE_MAINTENANCE, name, None, {"spec": {"fenced": looked.given}})
        return f"says so in the maintenance {name}"
    name = free_name(world)
    if name is None:
        return "says nothing"
    world.plans.discard(name)
    make_maintenance(world, name, looked.node, mode="Evacuate", fenced=looked.given)
    return f"makes the maintenance {name} for {looked.node} that says so, {{mode: Evacuate}}"
