"""Draws sequences of events from a seed, runs them, and makes a failing one as short as it can be.

Each sequence has favourites of its own among the events: one in which everything happens equally often gets
nowhere. A sequence ends in peace: everything is mended, and the region has to come to rest.
"""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from tests.world.events import EVENTS, Event
from tests.world.rest import come_to_rest
from tests.world.truth import Violated
from tests.world.world import Setting, World

STEPS = 60
NUMBERS = 6
# After these the world stands still until our processes have had a look.
PASSES_AFTER = 0.75
# The workers of a process take from their queue in no order: any of them may be the first to look.
ORDERS = (("hosts", "maintenances", "region"), ("maintenances", "hosts", "region"))


@dataclass(frozen=True)
class Sequence_:
    """A setting, what happens in it, and after which of it there is a pass."""

    seed: int
    setting: Setting
    events: tuple[Event, ...]


@dataclass
class Found:
    """A violation: the shortest sequence that shows it, and its story."""

    sequence: Sequence_
    hazard: str
    text: str
    story: list[str]

    def __str__(self) -> str:
        lines = [f"{self.text}", f"seed {self.sequence.seed}; {self.sequence.setting}", *self.story]
        lines += ["", "As a test:", f"    replay({self.sequence.setting!r},"]
        lines += [f"        {event!r}," for event in self.sequence.events] + ["    )"]
        return "\n".join(lines)


@dataclass
class Report:
    """What a search did."""

    sequences: int = 0
    steps: int = 0
    seconds: float = 0.0
    met: Counter[str] = field(default_factory=Counter)
    found: list[Found] = field(default_factory=list)


# What a sequence may be about: events that lead to where a hazard is near, with some of their numbers (the
# machine, and what else the event draws). Some of it is left out, and anything happens in between.
Motif = Sequence[tuple[str, tuple[int, ...]]]
_WHILE = ("time_passes", (4,))
_LONG = ("time_passes", (5,))
_SERVERS: Motif = (("server_is_made", (0,)), ("server_is_made", ()), ("server_is_made", (0,)))
THEMES: Mapping[str, Motif] = {
    "a machine is lost and comes back": (
        *_SERVERS,
        ("machine_loses_power", (0,)),
        _LONG,
        ("person_looks", (0, 1)),
        ("clock_is_wrong", (0,)),
        ("machine_is_started", (0,)),
        _LONG,
        ("server_is_made", (0,)),
        ("machine_is_cut_off", (0, 0)),
        _LONG,
        ("person_confirms_later", ()),
        _LONG,
        _LONG,
        ("links_are_mended", (0,)),
        _WHILE,
    ),
    "a word is given, and Nova is away": (
        *_SERVERS,
        ("machine_loses_power", (0,)),
        _LONG,
        ("clock_is_wrong", (0, 0)),
        ("service_fails", (1, 0)),
        ("person_looks", (0, 1, 1)),
        ("machine_is_started", (0,)),
        ("time_passes", (5,)),
        ("services_are_mended", ()),
        ("machine_is_cut_off", (0, 0)),
        _LONG,
        _LONG,
        ("time_passes", (1,)),
        ("time_passes", (1,)),
        ("links_are_mended", (0,)),
        _WHILE,
    ),
    "a machine sleeps": (
        *_SERVERS,
        ("machine_sleeps", (0,)),
        ("time_passes", (4,)),
        ("service_fails", (1, 0)),
        ("person_looks", (0, 1)),
        ("machine_wakes", (0, 1)),
        ("time_passes", (1,)),
        ("machine_is_cut_off", (0, 0)),
        ("time_passes", (4,)),
        ("services_are_mended", ()),
        ("time_passes", (1,)),
        ("time_passes", (3,)),
        ("time_passes", (3,)),
        ("links_are_mended", (0,)),
        _WHILE,
    ),
    "a word is heard late": (
        *_SERVERS,
        ("machine_sleeps", (0,)),
        ("time_passes", (5,)),
        ("person_makes_maintenance", (0, 3, 1, 1, 1)),
        ("person_looks", (0, 0)),
        ("watches_are_cut", ()),
        ("machine_wakes", (0, 1)),
        ("time_passes", (3,)),
        ("machine_is_cut_off", (0, 0)),
        _LONG,
        ("person_confirms_later", (0, 0)),
        ("time_passes", (1,)),
        ("time_passes", (3,)),
        ("time_passes", (3,)),
        ("links_are_mended", (0,)),
        ("watches_are_cut", ()),
        _WHILE,
    ),
    "a network host goes": (
        ("machine_loses_power", (0,)),
        _WHILE,
        ("node_is_deleted", (0,)),
        _LONG,
        ("time_passes", (1,)),
        ("time_passes", (1,)),
        ("time_passes", (3,)),
        _LONG,
        ("machine_is_started", (0,)),
        _LONG,
        ("person_makes_maintenance", (0, 0, 1, 1, 1)),
        ("time_passes", (1,)),
        ("service_fails", (2, 0)),
        ("time_passes", (1,)),
        ("person_deletes_maintenance", (0,)),
        ("time_passes", (1,)),
        ("services_are_mended", ()),
        _LONG,
    ),
    "a machine is cut off": (
        *_SERVERS,
        ("machine_is_cut_off", (0, 0)),
        _LONG,
        ("person_makes_maintenance", (0, 3, 1, 1, 1)),
        ("time_passes", (1,)),
        ("time_passes", (6,)),
        ("time_passes", (1,)),
        ("person_deletes_maintenance", ()),
        ("links_are_mended", (0,)),
        _WHILE,
    ),
    "disks": (
        *_SERVERS,
        ("backend_changes", ()),
        ("compute_pod_is_made_again", ()),
        _WHILE,
        ("machine_loses_power", (0,)),
        _LONG,
        ("person_looks", (0, 1)),
        _LONG,
        ("machine_is_started", (0,)),
    ),
    "maintenance": (
        *_SERVERS,
        ("person_cordons", ()),
        ("moves_stand_still", ()),
        ("person_makes_maintenance", (0, 0, 1, 1, 1)),
        ("time_passes", (3,)),
        ("time_passes", (3,)),
        ("our_clock_jumps", (4,)),
        ("process_dies", ()),
        ("time_passes", (0,)),
        ("moves_stand_still", ()),
        _WHILE,
        ("answer_is_lost", ()),
        ("person_deletes_maintenance", ()),
        _WHILE,
    ),
    "two of us": (
        *_SERVERS,
        ("two_processes", ()),
        ("machine_loses_power", (0,)),
        _LONG,
        ("person_looks", (0, 1)),
        ("workers_meet", ()),
        ("workers_meet", ()),
        ("time_passes", (0,)),
        ("process_stands_still", ()),
        _WHILE,
        ("answer_is_lost", ()),
        ("machine_is_started", (0,)),
        _LONG,
    ),
    "hosts come and go": (
        *_SERVERS,
        ("a_cell_is_missing", ()),
        _WHILE,
        ("services_are_mended", ()),
        ("machine_loses_power", (0,)),
        ("node_is_deleted", ()),
        _LONG,
        ("machine_is_started", (0,)),
        ("role_is_taken", ()),
        _LONG,
        ("machine_is_renamed", ()),
    ),
    "persons in OpenStack": (
        ("person_disables_compute", (0,)),
        ("machine_reboots", (0,)),
        _LONG,
        ("person_forces_down", (0,)),
        ("person_cordons", (0,)),
        ("person_makes_maintenance", (0, 0, 0, 1, 1)),
        _WHILE,
        ("person_deletes_maintenance", (0,)),
        _WHILE,
        ("person_edits_region", (0,)),
        _LONG,
        ("person_cordons", (1,)),
        _WHILE,
        ("person_edits_region", (1,)),
        _WHILE,
    ),
    "many are lost": (
        *_SERVERS,
        ("machine_loses_power", (0,)),
        ("machine_loses_power", (1,)),
        _LONG,
        ("time_passes", (1,)),
        ("time_passes", (1,)),
        ("person_looks", (0, 1, 0)),
        ("person_looks", (1, 1, 0)),
        _LONG,
        ("machine_is_started", (0,)),
        ("machine_is_started", (1,)),
        _LONG,
    ),
}
# How often an event of a theme is left out, and another one happens before it.
LEFT_OUT, BETWEEN = 0.1, 0.25


def draw_sequence(seed: int, steps: int = STEPS, theme: str = "") -> Sequence_:
    """The sequence of a seed; `theme`: one of THEMES, where it is not to be drawn."""
    rng = random.Random(seed)
    setting = Setting(
        hosts=rng.choice((2, 3, 3, 4)),
        places=rng.choice(("rbd:vms", "rbd:vms", "qcow2")),
        evacuation=rng.choice(("Auto", "Auto", "Auto", "Never")),
        fencing=rng.random() < 0.3,
        unhealthy=rng.choice(("1", "2", "4")),
        clock=rng.choice((0.0, 0.0, 7200.0, -7200.0)),
    )
    names = sorted(EVENTS)
    weights = [rng.choice((0.0, 0.2, 1.0, 1.0, 4.0)) for _ in names]
    drawn = rng.choice([*THEMES, ""])
    motif = THEMES[theme] if theme else THEMES.get(drawn, ())
    if not motif:
        weights[names.index("time_passes")] = 12.0
    events: list[Event] = []
    while len(events) < steps:
        for name, numbers in motif or ((rng.choices(names, weights)[0], ()),):
            if motif and rng.random() < BETWEEN:
                events.append(_draw(rng, rng.choices(names, weights)[0], (), names))
            if not motif or rng.random() >= LEFT_OUT:
                events.append(_draw(rng, name, numbers, names))
    return Sequence_(seed, setting, tuple(events[:steps]))


def _draw(rng: random.Random, name: str, given: tuple[int, ...], names: Sequence[str]) -> Event:
    numbers = (*given, *(rng.randrange(720) for _ in range(NUMBERS - len(given))))
    meanwhile: tuple[Event, ...] = ()
    if name == "process_stands_still":
        inner = [one for one in names if not one.startswith(("process", "workers"))]
        meanwhile = tuple(
            Event(rng.choice(inner), tuple(rng.randrange(720) for _ in range(NUMBERS)))
            for _ in range(rng.randrange(3))
        )
    return Event(name, numbers, meanwhile)


def run_sequence(sequence: Sequence_, met: Counter[str] | None = None) -> tuple[World, Violated | None]:
    """The world after it, and what was violated."""
    world = World(sequence.setting)
    try:
        world.begin()
        for event in sequence.events:
            world.happen(event)
            if event.numbers[-1] % 100 < PASSES_AFTER * 100:
                world.pass_time(3.0)
                world.run(*ORDERS[event.numbers[-2] % len(ORDERS)])
        come_to_rest(world)
    except Violated as violation:
        return world, violation
    finally:
        if met is not None:
            met.update(world.met)
    return world, None


def shrink(sequence: Sequence_, hazard: str, tries: int = 400) -> Sequence_:
    """By taking out events while it still shows the same hazard."""
    events, size, left = list(sequence.events), max(1, len(sequence.events) // 2), tries
    while size and left > 0:
        at = 0
        shorter = False
        while at < len(events) and left > 0:
            fewer = events[:at] + events[at + size :]
            left -= 1
            if _shows(replace(sequence, events=tuple(fewer)), hazard):
                events, shorter = fewer, True
            else:
                at += size
        if size > 1 or not shorter:
            size //= 2
    for number, event in enumerate(events):
        alone = replace(event, meanwhile=())
        fewer = [*events[:number], alone, *events[number + 1 :]]
        if event.meanwhile and _shows(replace(sequence, events=tuple(fewer)), hazard):
            events[number] = alone
    return replace(sequence, events=tuple(events))


def _shows(sequence: Sequence_, hazard: str) -> bool:
    _, violation = run_sequence(sequence)
    return violation is not None and violation.hazard == hazard


def search(seeds: Iterable[int], *, steps: int = STEPS, most: int = 1, shrinks: bool = True) -> Report:
    """Runs the sequences of these seeds until so many violations were found."""
    report, began = Report(), time.monotonic()
    for seed in seeds:
        sequence = draw_sequence(seed, steps)
        world, violation = run_sequence(sequence, report.met)
        report.sequences += 1
        report.steps += len(sequence.events)
        if violation is not None:
            report.found.append(
                _found(sequence, violation)
                if shrinks
                else Found(sequence, violation.hazard, str(violation), world.story)
            )
            if len(report.found) >= most:
                break
    report.seconds = time.monotonic() - began
    return report


def _found(sequence: Sequence_, violation: Violated) -> Found:
    short = shrink(sequence, violation.hazard)
    world, again = run_sequence(short)
    assert again is not None
    return Found(short, again.hazard, str(again), world.story)
