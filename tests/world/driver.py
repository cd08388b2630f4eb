"""Draws sequences of events from a seed, runs them in a world, and makes a failing one as short as it can be.

Each sequence has favourites of its own among the events: one in which everything happens equally often gets
nowhere. Some follow a theme: events that lead to where a hazard is near, with others in between.
"""

from __future__ import annotations

import gc
import os
import random
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, TypeVar

from tests.sweep_summary import SEARCHED
from tests.world.truth import Violated

T = TypeVar("T")
STEPS = 60
NUMBERS = 6
# How often an event of a theme is left out, and another one happens before it.
LEFT_OUT, BETWEEN = 0.1, 0.25


@dataclass(frozen=True)
class Event:
    """One event by its name; `numbers` are all that it draws from, `meanwhile` what happens during it."""

    name: str
    numbers: tuple[int, ...] = ()
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


@dataclass(frozen=True)
class Plot:
    """A setting, and what happens in it."""

    seed: int
    setting: Any
    events: tuple[Event, ...]


# What a sequence may be about: names of events, with some of their numbers.
Motif = Sequence[tuple[str, tuple[int, ...]]]


@dataclass
class Found:
    """A violation: the shortest sequence that shows it, and its story."""

    plot: Plot
    hazard: str
    text: str
    story: list[str]

    def __str__(self) -> str:
        seed = self.plot.seed
        lines = [f"{self.text}", f"seed {seed}, again with SEED={seed}; {self.plot.setting}", *self.story]
        lines += ["", "As a test:", f"    PLAY.replay({self.plot.setting!r},"]
        return "\n".join([*lines, *(f"        {event!r}," for event in self.plot.events), "    )"])


@dataclass
class Report:
    """What a search did."""

    first: int | None = None
    sequences: int = 0
    steps: int = 0
    seconds: float = 0.0
    met: Counter[str] = field(default_factory=Counter)
    found: list[Found] = field(default_factory=list)

    def holds(self) -> None:
        """Shows what was found as a scenario that can be replayed."""
        assert not self.found, f"\n{self.found[0]}"

    def tell(self, record: Callable[[str, object], None]) -> None:
        """How often each fault occurred, among the last words of the run."""
        seeds = f"from SEED={self.first} on"
        record(SEARCHED, f"{self.sequences} sequences {seeds}, {self.steps} steps, {self.seconds:.0f} s")
        for name, count in sorted(self.met.items()):
            record(SEARCHED, f"{count:8} {name}")

    def never(self, names: Iterable[str]) -> list[str]:
        """Those of the names that were not met."""
        return [name for name in names if not self.met[name]]


def _collect_seldom() -> None:
    """What a sequence leaves behind is little beside what it makes, and nothing of it is in circles."""
    gc.freeze()
    gc.set_threshold(200_000, 20, 20)


def fresh_seeds(count: int) -> range:
    """Seeds that no one has drawn before; from SEED of the environment on, where that is set, which a run has
    printed."""
    given = os.environ.get("SEED", "")
    first = int(given) if given else random.SystemRandom().randrange(10**9, 10**12)
    return range(first, first + count)


class PlayedWorld(Protocol):
    """A world as a plot needs it."""

    story: list[str]
    met: Counter[str]

    def begin(self) -> None: ...


W = TypeVar("W", bound=PlayedWorld)
Outcome = tuple[Violated | None, list[str], Counter[str]]


def played(
    world: W, plot: Plot, step: Callable[[W, Event], None], come_to_rest: Callable[[W], None]
) -> Outcome:
    """Runs the plot: what was violated, the story, and what was met."""
    try:
        world.begin()
        for event in plot.events:
            step(world, event)
        come_to_rest(world)
    except Violated as found:
        return found, world.story, world.met
    return None, world.story, world.met


@dataclass(frozen=True)
class Play:
    """A world to search in. `perform` runs a plot: what was violated, the story, and what was met.

    `inner`: those of the events that may happen during another one, `during` those with which they may.
    """

    events: Sequence[str]
    themes: Mapping[str, Motif]
    setting: Callable[[random.Random], Any]
    perform: Callable[[Plot], Outcome]
    inner: Sequence[str]
    during: Sequence[str]

    def draw(self, seed: int, steps: int = STEPS, theme: str = "") -> Plot:
        """The sequence of a seed; `theme`: one of `themes`, where it is not to be drawn."""
        rng = random.Random(seed)
        setting = self.setting(rng)
        weights = [rng.choice((0.0, 0.2, 1.0, 1.0, 4.0)) for _ in self.events]
        drawn = rng.choice([*self.themes, "", ""])
        motif = self.themes.get(theme or drawn, ())
        if not motif:
            weights[list(self.events).index("time_passes")] = 12.0
        events: list[Event] = []
        while len(events) < steps:
            for name, numbers in motif or ((rng.choices(self.events, weights)[0], ()),):
                if motif and rng.random() < BETWEEN:
                    events.append(self._event(rng, rng.choices(self.events, weights)[0], ()))
                if not motif or rng.random() >= LEFT_OUT:
                    events.append(self._event(rng, name, numbers))
        return Plot(seed, setting, tuple(events[:steps]))

    def _event(self, rng: random.Random, name: str, given: tuple[int, ...]) -> Event:
        numbers = (*given, *(rng.randrange(720) for _ in range(NUMBERS - len(given))))
        meanwhile: tuple[Event, ...] = ()
        if name in self.during:
            meanwhile = tuple(
                Event(rng.choice(self.inner), tuple(rng.randrange(720) for _ in range(NUMBERS)))
                for _ in range(rng.randrange(3))
            )
        return Event(name, numbers, meanwhile)

    def replay(self, setting: Any, *events: Event) -> None:
        """A sequence that was found once, as an example. Raises Violated."""
        violation, _, _ = self.perform(Plot(0, setting, events))
        if violation is not None:
            raise violation

    def search(
        self, seeds: Iterable[int], *, steps: int = STEPS, most: int = 1, shrinks: bool = True
    ) -> Report:
        """Runs the sequences of these seeds until so many violations were found."""
        report, began = Report(), time.monotonic()
        _collect_seldom()
        for seed in seeds:
            report.first = seed if report.first is None else report.first
            plot = self.draw(seed, steps)
            violation, story, met = self.perform(plot)
            report.met.update(met)
            report.sequences += 1
            report.steps += len(plot.events)
            if violation is not None:
                report.found.append(
                    self.shortened(plot, violation)
                    if shrinks
                    else Found(plot, violation.hazard, str(violation), story)
                )
                if len(report.found) >= most:
                    break
        report.seconds = time.monotonic() - began
        return report

    def sweep(self, part: int, parts: int, size: int, record: Callable[[str, object], None]) -> Report:
        """One part of a long search in sequences that were never drawn: nothing forbidden happens in it."""
        report = self.search(fresh_seeds(parts * size)[part * size : (part + 1) * size])
        report.tell(record)
        report.holds()
        return report

    def shortened(self, plot: Plot, violation: Violated) -> Found:
        """The shortest plot that shows the same hazard, as far as a few hundred tries find one."""
        short = self.shrink(plot, violation.hazard)
        again, story, _ = self.perform(short)
        assert again is not None
        return Found(short, again.hazard, str(again), story)

    def shrink(self, plot: Plot, hazard: str, tries: int = 400) -> Plot:
        """By taking out events while it still shows the same hazard."""
        events, size, left = list(plot.events), max(1, len(plot.events) // 2), tries
        while size and left > 0:
            at = 0
            shorter = False
            while at < len(events) and left > 0:
                fewer = events[:at] + events[at + size :]
                left -= 1
                if self._shows(replace(plot, events=tuple(fewer)), hazard):
                    events, shorter = fewer, True
                else:
                    at += size
            if size > 1 or not shorter:
                size //= 2
        for number, event in enumerate(events):
            alone = replace(event, meanwhile=())
            fewer = [*events[:number], alone, *events[number + 1 :]]
            if event.meanwhile and self._shows(replace(plot, events=tuple(fewer)), hazard):
                events[number] = alone
        return replace(plot, events=tuple(events))

    def _shows(self, plot: Plot, hazard: str) -> bool:
        violation, _, _ = self.perform(plot)
        return violation is not None and violation.hazard == hazard
