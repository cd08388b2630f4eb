"""A region whose containers are killed while it is installed."""

from __future__ import annotations

import random
import time
from collections.abc import Callable

import pytest

from tests.cluster.region import RELEASES, Region, wait_until

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(1800)]


def _killed_while_installing(region: Region, seed: int, kills: int) -> None:
    chance = random.Random(seed)
    region.apply()
    for _ in range(kills):
        pause = chance.uniform(0.05, 1.2)
        name = chance.choice(region.containers)
        wait_until("the next kill is due", _after(pause))
        region.controllers.kill(name)
        region.controllers.start(name)
    region.wait_ready(600)
    revisions = region.revisions()
    assert set(revisions) == RELEASES
    assert all(status == "deployed" for _, status in revisions.values()), revisions
    records = region.get("secrets", "-l", "owner=helm")["items"]
    pending = [r["metadata"]["name"] for r in records if "pending" in r["metadata"]["labels"]["status"]]
    assert pending == []


def _after(seconds: float) -> Callable[[], bool]:
    due = time.monotonic() + seconds
    return lambda: time.monotonic() >= due


def test_kills_during_the_first_install_end_in_a_ready_region(region: Region) -> None:
    _killed_while_installing(region, seed=1, kills=8)


@pytest.mark.exhaustive
@pytest.mark.parametrize(("seed", "kills"), [(1, 20), *((seed, 10) for seed in range(2, 22))])
def test_kills_at_other_moments_end_the_same(region: Region, seed: int, kills: int) -> None:
    _killed_while_installing(region, seed, kills)
