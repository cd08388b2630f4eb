"""Every guard of releases in docs/safety.md is needed: without it, the search finds what it is there for."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.sweep_summary import SEARCHED
from tests.world.guards import MOST, sequences_until_found
from tests.world.releases.guards import GUARDS
from tests.world.releases.search import PLAY

# Of this the first violation comes early: a sample for each day.
SAMPLE = ("and in Helm's records",)


@pytest.mark.slow
@pytest.mark.parametrize("name", SAMPLE)
def test_without_it_the_search_finds_a_violation_of_releases_soon(name: str) -> None:
    assert sequences_until_found(PLAY, GUARDS[name]) <= MOST


@pytest.mark.exhaustive
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("name", GUARDS)
def test_without_it_the_search_finds_a_violation_of_releases(
    name: str, record_property: Callable[[str, object], None]
) -> None:
    took = sequences_until_found(PLAY, GUARDS[name])
    record_property(SEARCHED, f"{took:8} sequences until found without: {name}")
