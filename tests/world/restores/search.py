"""Sequences of events in the world of a restore."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from controller.domain.restores.restore_state import Phase
from tests.world.driver import Draw, Event, Motif, Outcome, Play, Plot, played
from tests.world.restores.world import WRITERS, World, printed
from tests.world.truth import Violated

_OUTPUTS = (
    {},
    {},
    {},
    {"region": "another"},
    {"version": "2024.1"},
    {"damaged": True},
)
_NAMES = sorted(name for name in WRITERS if name[0] != "CronJob")


def _core(world: World, draw: Draw) -> None:
    for _ in range(1 + draw.number(3)):
        world.core()


def _core_dies(world: World, draw: Draw) -> None:
    world.dies_at = draw.number(10)
    world.core()


def _region_dies(world: World, draw: Draw) -> None:
    world.dies_at = draw.number(10)
    world.region()


def _work(world: World, draw: Draw) -> None:
    for _ in range(1 + draw.number(4)):
        world.work()


def _output(world: World, draw: Draw) -> None:
    world.output = printed(**draw.one(_OUTPUTS))


def _jobs_fail(world: World, draw: Draw) -> None:
    world.job_fails = not world.job_fails


def _pods(world: World, draw: Draw) -> None:
    world.scale(*draw.one(_NAMES))


EVENTS: Mapping[str, Callable[[World, Draw], None]] = {
    "person_asks": lambda world, draw: world.ask(),
    "person_takes_back": lambda world, draw: world.take_back(),
    "core_looks_at_restore": _core,
    "core_looks_at_region": lambda world, draw: world.region(),
    "core_dies_at_restore": _core_dies,
    "core_dies_at_region": _region_dies,
    "all_work": _work,
    "jobs_end": lambda world, draw: world.jobs(),
    "jobs_fail_or_not": _jobs_fail,
    "backup_is_another": _output,
    "workload_changes_pods": _pods,
    "others_work": lambda world, draw: world.others(),
    "time_passes": lambda world, draw: world.clock.advance(float(draw.one((1, 31, 400)))),
}
_DIES = (("core_dies_at_restore", ()), ("core_dies_at_region", ()), ("others_work", ()), ("jobs_end", ()))
THEMES: Mapping[str, Motif] = {
    "a restore is killed": (("person_asks", ()), *(_DIES * 12)),
    "a restore is taken back": (("person_asks", ()), *(("all_work", (3,)),) * 3, ("person_takes_back", ())),
    "loading fails": (
        ("person_asks", ()),
        *(("all_work", (3,)),) * 2,
        ("jobs_fail_or_not", ()),
        *(("all_work", (3,)),) * 3,
        ("jobs_fail_or_not", ()),
    ),
}


def come_to_rest(world: World) -> None:
    """Nothing fails any more: then the restore ends, and the region is as it was."""
    world.job_fails, world.dies_at, world.output = False, -1, printed()
    world.tell("peace")
    for _ in range(60):
        world.work()
    world.judge_end()
    world.kube.forget_requests()
    world.region()
    world.core()
    if world.kube.writes:
        raise Violated("rest", f"core writes at rest: {world.kube.writes}")
    restore = world.restore()
    world.met[f"ends {restore.phase if restore else 'without one'}"] += 1


def perform(plot: Plot) -> Outcome:
    """In a world of its own."""
    return played(World(), plot, step, come_to_rest)


def step(world: World, event: Event) -> None:
    """One event."""
    world.tell(f"{event.name} {event.numbers[:2]}")
    world.met[event.name] += 1
    EVENTS[event.name](world, Draw(event))


PLAY = Play(
    events=sorted(EVENTS),
    themes=THEMES,
    setting=lambda rng: None,
    perform=perform,
    inner=("time_passes",),
    during=(),
)
ENDS = tuple(f"ends {phase}" for phase in (Phase.DONE, Phase.REFUSED))
