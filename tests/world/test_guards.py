"""Every guard of docs/safety.md is needed: without it, the search finds what it is there for."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator

import pytest

from tests.told import SEARCHED
from tests.world.guards import GUARDS
from tests.world.search import draw_sequence, run_sequence

MOST = 2000
# Of these the first violation comes early: a sample for each day.
SAMPLE = (
    "only what we forced down is taken out of forced down",
    "a host's own disks count",
    "a maintenance is of one region",
    "an evacuation waits for a fencing confirmation",
    "a report of the compute makes a confirmation void",
    "an agent that alone has a router stays",
    "the circuit breaker",
)


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    logging.disable(logging.CRITICAL)
    yield
    logging.disable(logging.NOTSET)


def sequences_until_found(name: str) -> int:
    guard = GUARDS[name]
    with guard.switched_off():
        for seed in range(MOST):
            _, violation = run_sequence(draw_sequence(seed, theme=guard.theme))
            if violation is not None and violation.hazard == guard.hazard:
                return seed + 1
    pytest.fail(f"{MOST} sequences without {name!r} show no violation")


@pytest.mark.parametrize("name", GUARDS)
def test_each_can_be_switched_off(name: str) -> None:
    """What is replaced is found where the guard looks for it."""
    with GUARDS[name].switched_off():
        pass


@pytest.mark.slow
@pytest.mark.parametrize("name", SAMPLE)
def test_without_it_the_search_finds_a_violation_soon(name: str) -> None:
    assert sequences_until_found(name) <= MOST


@pytest.mark.exhaustive
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("name", GUARDS)
def test_without_it_the_search_finds_a_violation(
    name: str, record_property: Callable[[str, object], None]
) -> None:
    record_property(SEARCHED, f"{sequences_until_found(name):8} sequences until found without: {name}")
