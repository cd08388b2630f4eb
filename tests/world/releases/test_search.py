"""Whatever happens to releases, claims and credentials, nothing forbidden happens, and in peace all rests."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.world.driver import fresh_seeds
from tests.world.releases.events import EVENTS
from tests.world.releases.search import PLAY

# Sequences of sixty steps. Each day a few that are always the same. The long sweep has a few that are always
# others, and parts of many more, in two hours of CPU in all: 0.4 s for each.
FIRST, SOME, FRESH, PART, PARTS = 18, 18, 4, 1000, 20
INTERRUPTIONS = (
    "container dies before",
    "container dies after",
    "container stands still",
    "container stands still, and another takes over",
    "container meets another",
    "another takes over",
    "answer lost",
    "conflict",
    "API server away",
    "API server slow",
)
# They set a trap, which is counted when it is met.
TRAPS = ("answer_is_lost", "container_dies", "containers_meet", "container_stands_still")


@pytest.mark.slow
def test_nothing_forbidden_happens_to_releases() -> None:
    PLAY.search(range(FIRST, FIRST + SOME)).holds()


# Chance decides no daily run.
@pytest.mark.exhaustive
def test_nothing_forbidden_happens_to_releases_in_sequences_that_were_never_drawn() -> None:
    PLAY.search(fresh_seeds(FRESH)).holds()


@pytest.mark.exhaustive
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("part", range(PARTS))
def test_nothing_forbidden_happens_to_releases_in_twenty_thousand_sequences(
    part: int, record_property: Callable[[str, object], None]
) -> None:
    report = PLAY.sweep(part, PARTS, PART, record_property)
    never = report.never((*EVENTS.keys() - TRAPS, *INTERRUPTIONS))
    assert not never, "some of what may happen never did"
