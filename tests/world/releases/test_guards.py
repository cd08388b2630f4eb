"""Every guard of releases in docs/safety.md is needed: without it, the search finds what it is there for."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest

from tests.world.releases.guards import GUARDS
from tests.world.releases.search import PLAY, perform

MOST = 2000
# Of this the first violation comes early: a sample for each day.
SAMPLE = ("and in Helm's records",)


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    logging.disable(logging.CRITICAL)
    yield
    logging.disable(logging.NOTSET)


def sequences_until_found(name: str) -> int:
    guard = GUARDS[name]
    with guard.switched_off():
        for seed in range(MOST):
            violation, _, _ = perform(PLAY.draw(seed, theme=guard.theme))
            if violation is not None and violation.hazard == guard.hazard:
                return seed + 1
    pytest.fail(f"{MOST} sequences without {name!r} show no violation")


@pytest.mark.slow
@pytest.mark.parametrize("name", SAMPLE)
def test_without_it_the_search_finds_a_violation_of_releases_soon(name: str) -> None:
    assert sequences_until_found(name) <= MOST


@pytest.mark.exhaustive
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("name", GUARDS)
def test_without_it_the_search_finds_a_violation_of_releases(name: str) -> None:
    print(f"{name}: {sequences_until_found(name)} sequences")
