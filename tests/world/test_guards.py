"""Every guard of docs/safety.md is needed: without it, the search finds what it is there for."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack
from typing import TypeVar

import pytest

from tests.sweep_summary import SEARCHED
from tests.world.guards import GUARDS, MOST, sequences_until_found
from tests.world.search import PLAY

# Of these the first violation comes early: a sample for each day.
SAMPLE = (
    "only what we disabled is enabled",
    "only what we forced down is taken out of forced down",
    "a host's own disks count",
    "a maintenance is of one region",
    "an evacuation waits for a fencing confirmation",
    "a report of the compute makes a confirmation void",
    "an agent that alone has a router stays",
    "the circuit breaker",
)


T = TypeVar("T")


class Replacements(ExitStack):
    """Counts what a guard replaces."""

    count = 0

    def enter_context(self, cm: AbstractContextManager[T, bool | None]) -> T:
        self.count += 1
        return super().enter_context(cm)


@pytest.mark.parametrize("name", GUARDS)
def test_each_can_be_switched_off(name: str) -> None:
    """What is replaced is found where the guard looks for it."""
    with Replacements() as replaced:
        GUARDS[name].off(replaced)
        assert replaced.count > 0


@pytest.mark.slow
@pytest.mark.parametrize("name", SAMPLE)
def test_without_it_the_search_finds_a_violation_soon(name: str) -> None:
    assert sequences_until_found(PLAY, GUARDS[name]) <= MOST


@pytest.mark.exhaustive
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("name", GUARDS)
def test_without_it_the_search_finds_a_violation(
    name: str, record_property: Callable[[str, object], None]
) -> None:
    took = sequences_until_found(PLAY, GUARDS[name])
    record_property(SEARCHED, f"{took:8} sequences until found without: {name}")
