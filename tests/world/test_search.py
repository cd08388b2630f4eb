"""Whatever happens in the region, nothing happens that must not, and in peace it comes to rest."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.world.driver import Report, fresh_seeds
from tests.world.events import EVENTS
from tests.world.links import API_SERVER, CINDER, FENCING, NEUTRON, NOVA, PLACEMENT
from tests.world.search import PLAY

# Sequences of sixty steps: in a few seconds those that are always the same, and some that are always others;
# in about a minute; and in the long sweep by parts, always with others. A thousand take two and a half
# minutes of one core.
FEW, FRESH, SOME, PART, PARTS = 12, 8, 250, 2500, 8
INTERRUPTIONS = (
    "process dies before",
    "process dies after",
    "process stands still",
    "process stands still, and another takes over",
    "process meets another",
    "answer lost",
    *(f"{service} away" for service in (API_SERVER, NOVA, NEUTRON, PLACEMENT, CINDER, FENCING)),
)
# They set a trap, which is counted when it is met.
TRAPS = ("process_dies", "answer_is_lost", "workers_meet")


def all_occurred(report: Report) -> None:
    never = report.never((*EVENTS.keys() - TRAPS, *INTERRUPTIONS))
    assert not never, "some of what may happen never did"


@pytest.mark.slow
def test_nothing_forbidden_happens() -> None:
    PLAY.search(range(FEW)).holds()


@pytest.mark.slow
def test_nothing_forbidden_happens_in_sequences_that_were_never_drawn() -> None:
    PLAY.search(fresh_seeds(FRESH)).holds()


@pytest.mark.exhaustive
def test_nothing_forbidden_happens_in_some_hundred_sequences() -> None:
    report = PLAY.search(range(FEW, FEW + SOME))
    report.holds()
    all_occurred(report)


@pytest.mark.exhaustive
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("part", range(PARTS))
def test_nothing_forbidden_happens_in_twenty_thousand_sequences(
    part: int, record_property: Callable[[str, object], None]
) -> None:
    report = PLAY.sweep(part, PARTS, PART, record_property)
    all_occurred(report)
