"""Persons who make, edit and delete maintenances."""

from __future__ import annotations

from typing import Any

from controller.ports.kubernetes import COMPUTE_MAINTENANCE
from tests.world.events.draw import Draw, draw_machine, free_name, happens, make_maintenance
from tests.world.world import World


@happens
def person_makes_maintenance(world: World, draw: Draw) -> str | None:
    name = free_name(world)
    if name is None:
        return None
    world.plans.discard(name)
    machine = draw_machine(world, draw)
    assert machine is not None
    spec: dict[str, Any] = {"mode": draw.one(("Migrate", "Migrate", "Cordon", "Evacuate"))}
    if draw.number(5) == 0:
        spec["dryRun"] = True
    if draw.number(6) == 0:
        spec["localDisks"] = "Rebuild"
        world.rebuild_is_asked(machine.node)
    if draw.number(3) == 0:
        spec["onUnmovable"] = draw.one(("Leave", "Cold"))
    make_maintenance(world, name, machine.node, **spec)
    if spec.get("dryRun"):
        world.plans.add(name)
    told = ", ".join(f"{key}: {value}" for key, value in spec.items())
    return f"somebody makes the maintenance {name} for {machine.node} {{{told}}}"


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
        world.rebuild_is_asked(node)
    if patch.get("dryRun") is False:
        world.plans.discard(name)
    world.cluster.kube.merge_patch(COMPUTE_MAINTENANCE, name, None, {"spec": patch})
    return f"somebody edits the maintenance {name}: {patch}"


@happens
def person_deletes_maintenance(world: World, draw: Draw) -> str | None:
    ours = [one for one in world.maintenances() if not one["metadata"].get("deletionTimestamp")]
    if not ours:
        return None
    name = draw.one(ours)["metadata"]["name"]
    world.cluster.kube.delete(COMPUTE_MAINTENANCE, name)
    return f"somebody deletes the maintenance {name}"
