"""Services that we ask: away, slow, or with a part of their answers missing."""

from __future__ import annotations

from tests.world.events.draw import Draw, happens
from tests.world.links import API_SERVER, CINDER, FENCING, NEUTRON, NOVA, PLACEMENT
from tests.world.traps import Trap
from tests.world.world import World

SERVICES = (API_SERVER, NOVA, NEUTRON, PLACEMENT, CINDER, FENCING)


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
    world.traps.set(Trap("cut", draw.number(4)))
    return ""
