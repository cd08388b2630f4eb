"""Whatever happens in the region, nothing happens that must not, and in peace it comes to rest."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator

import pytest

from tests.told import SEARCHED
from tests.world.events import EVENTS
from tests.world.links import API_SERVER, CINDER, FENCING, NEUTRON, NOVA, PLACEMENT
from tests.world.search import Report, search

# Sequences of sixty steps: in a few seconds, in about a minute, and in the long sweep by parts. A thousand
# take two minutes of one core.
FEW, SOME, PART, PARTS = 12, 250, 2500, 8
Record = Callable[[str, object], None]
INTERRUPTIONS = (
    "process dies before",
    "process dies after",
    "process stands still",
    "process stands still, and another takes over",
    "process meets another",
    "answer lost",
    *(f"{service} away" for service in (API_SERVER, NOVA, NEUTRON, PLACEMENT, CINDER, FENCING)),
)


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    logging.disable(logging.CRITICAL)
    yield
    logging.disable(logging.NOTSET)


def holds(report: Report) -> None:
    """Shows what was found as a scenario that can be replayed."""
    assert not report.found, f"\n{report.found[0]}"


def tell(report: Report, record: Record) -> None:
    """How often each fault occurred, among the last words of the run."""
    record(SEARCHED, f"{report.sequences} sequences, {report.steps} steps, {report.seconds:.0f} s")
    for name, count in sorted(report.met.items()):
        record(SEARCHED, f"{count:8} {name}")


def all_occurred(report: Report) -> None:
    never = [name for name in (*EVENTS, *INTERRUPTIONS) if not report.met[name]]
    never = [one for one in never if one not in ("process_dies", "answer_is_lost", "workers_meet")]
    assert not never, "some of what may happen never did"


@pytest.mark.slow
def test_nothing_forbidden_happens() -> None:
    holds(search(range(FEW)))


@pytest.mark.slow
def test_nothing_forbidden_happens_in_some_hundred_sequences() -> None:
    report = search(range(FEW, FEW + SOME))
    holds(report)
    all_occurred(report)


@pytest.mark.exhaustive
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("part", range(PARTS))
def test_nothing_forbidden_happens_in_twenty_thousand_sequences(part: int, record_property: Record) -> None:
    report = search(range(10_000 + part * PART, 10_000 + (part + 1) * PART))
    tell(report, record_property)
    holds(report)
    all_occurred(report)
