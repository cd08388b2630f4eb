"""What persons do to Nodes and to the region, and how its computes are configured."""

from __future__ import annotations

from typing import Any

from controller.domain.api.names import CORDONED_BY_ANNOTATION, DISKS_ANNOTATION
from controller.domain.api.region_name import node_notes
from controller.domain.hosts.host_disks import judge_disks
from controller.ports.kubernetes import NODE, POD
from controller.reconcile.hosts.disk_records import DiskRecords
from tests.world.cluster import COMPUTE, NAMESPACE
from tests.world.events.draw import Draw, draw_machine, happens, happens_to_machine
from tests.world.truth import Machine
from tests.world.world import World


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
    # Where our own note still stands, no one of us has been there since it was uncordoned: it looks as we
    # left it, as docs/safety.md says.
    if CORDONED_BY_ANNOTATION not in node_notes(NAMESPACE, live):
        world.cordoned_by_person.add(name)
    world.cluster.kube.merge_patch(NODE, name, None, {"spec": {"unschedulable": True}})
    return f"somebody cordons {name}"


@happens_to_machine()
def person_says_disks_are_shared(world: World, draw: Draw, machine: Machine) -> str | None:
    """Who knows better says so: of the present configuration of that host alone."""
    if machine.node not in world.cluster.nodes:
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
    machine = draw_machine(world, draw, powered=True)
    name = f"nova-compute-{machine.node}" if machine is not None else ""
    if machine is None or not machine.cluster_link or not world.cluster.kube.has(POD, name, NAMESPACE):
        return None
    world.cluster.kube.delete(POD, name, NAMESPACE)
    machine.compute = False
    return f"the pod of nova-compute on {machine.host} is made again"
