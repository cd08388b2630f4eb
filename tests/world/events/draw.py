"""One event, what it draws from, and all that there are by name."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from controller.domain.api.region_name import RegionName
from controller.ports.kubernetes import COMPUTE_MAINTENANCE
from tests.reconcile.watched import NAME
from tests.world.cluster import NAMESPACE
from tests.world.driver import Draw, Event
from tests.world.truth import Machine
from tests.world.world import World

REGION = RegionName(NAMESPACE, NAME)


Happening = Callable[[World, Draw], str | None]
EVENTS: dict[str, Happening] = {}


def happens(function: Happening) -> Happening:
    EVENTS[function.__name__] = function
    return function


def happens_to_machine(
    *, powered: bool | None = None
) -> Callable[[Callable[[World, Draw, Machine], str | None]], Happening]:
    """An event of one machine, which is drawn first; it cannot happen where that is in the wrong state."""

    def registered(function: Callable[[World, Draw, Machine], str | None]) -> Happening:
        @wraps(function)
        def happening(world: World, draw: Draw) -> str | None:
            machine = draw_machine(world, draw, powered=powered)
            return None if machine is None else function(world, draw, machine)

        return happens(happening)

    return registered


def happen(world: World, event: Event) -> bool:
    """Whether it could happen; it is reported then, and counted."""
    told = EVENTS[event.name](world, Draw(event))
    if told is None:
        return False
    world.met[event.name] += 1
    if told:
        world.tell(told)
    return True


def draw_machine(world: World, draw: Draw, *, powered: bool | None = None) -> Machine | None:
    """One of all machines, which may be in the wrong state for it: the same number means the same machine."""
    found = draw.one(list(world.truth.present()))
    return found if powered is None or found.powered == powered else None


def free_name(world: World) -> str | None:
    taken = {one["metadata"]["name"] for one in world.cluster.kube.objects("ComputeMaintenance")}
    return next((name for name in ("work-1", "work-2", "work-3") if name not in taken), None)


def make_maintenance(world: World, name: str, node: str, **spec: Any) -> None:
    whole = {"region": REGION.written(), "nodeName": node, "deadlines": {"server": "2m", "whole": "1h"}}
    body = {"apiVersion": COMPUTE_MAINTENANCE.api_version, "kind": COMPUTE_MAINTENANCE.kind}
    world.cluster.kube.create({**body, "metadata": {"name": name}, "spec": {**whole, **spec}})
