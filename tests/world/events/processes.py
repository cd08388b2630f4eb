"""Our own processes, and time."""

from __future__ import annotations

from tests.world.events.draw import Draw, happens
from tests.world.traps import Trap
from tests.world.world import World


@happens
def process_dies(world: World, draw: Draw) -> str | None:
    world.traps.set(Trap(draw.one(("dies before", "dies after")), draw.number(5)))
    return ""


@happens
def process_dies_anywhere(world: World, draw: Draw) -> str | None:
    world.traps.set(Trap("dies before", draw.number(25), writes=False))
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
    world.traps.set(Trap(over, left, seconds=seconds, meanwhile=list(draw.meanwhile), writes=writes))
    return ""


@happens
def workers_meet(world: World, draw: Draw) -> str | None:
    """The other workers of a process, and other processes, do their passes in the middle of one."""
    writes, left = _moment(draw)
    world.traps.set(Trap("meets another", left, writes=writes))
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
