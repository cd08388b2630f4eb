"""Requests meet faults: they are lost, cut off, refused or late. Everything ends as without."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from sandbox.cluster import Sandbox
from sandbox.faults import RandomFaults, pass_on
from tests.chaos.world import World, chaos

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(1800)]

# Of the requests; the daily one meets every kind of fault, and ends four times as soon.
SHARE, DAILY_SHARE = 1 / 6, 1 / 16
# So many faults fail six of seven actions, and a run of bad luck has no end: what is tested is how it ends,
# not how long the pauses in between grow.
PAUSE = 5
PATIENCE = 480.0


@pytest.fixture
def world(sandbox: Sandbox, namespace: str, tmp_path: Path) -> Iterator[World]:
    with chaos(sandbox, namespace, tmp_path, {"RETRY_CAP_SECONDS": str(PAUSE)}) as world:
        yield world


def live_through(world: World, seed: int, share: float = SHARE) -> None:
    """An install, an upgrade and an uninstall."""
    world.proxy.choose = RandomFaults(seed, share, spare=lambda one: one.leases)
    for colour in ("red", "blue"):
        world.apply(colour)
        world.wait_ready(timeout=PATIENCE)
        world.assert_whole(colour)
    world.delete()
    world.wait_gone(timeout=PATIENCE)
    world.assert_gone()


def test_a_release_lives_through_a_faulty_network(world: World) -> None:
    live_through(world, 1, DAILY_SHARE)
    requests = len(world.proxy.requests)
    assert requests > 60
    world.proxy.choose = pass_on


@pytest.mark.exhaustive
@pytest.mark.parametrize("seed", range(1, 22))
def test_with_many_faults_every_seed_ends_the_same(world: World, seed: int) -> None:
    live_through(world, seed)
