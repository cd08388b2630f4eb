"""Requests meet faults: they are lost, cut off, refused or late. Everything ends as without."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from sandbox.cluster import Sandbox
from sandbox.faults import Choose, FaultsInTurn, RandomFaults
from tests.chaos.world import World, chaos

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(1800)]

# Of the requests; in turn, each kind of fault comes once at every tenth request.
SHARE, EVERY = 1 / 6, 10
# So many faults fail six of seven actions, and a run of bad luck has no end: what is tested is how it ends,
# not how long the pauses in between grow.
PAUSE = 5
PATIENCE = 480.0


@pytest.fixture
def world(sandbox: Sandbox, namespace: str, tmp_path: Path) -> Iterator[World]:
    with chaos(sandbox, namespace, tmp_path, {"RETRY_CAP_SECONDS": str(PAUSE)}) as world:
        yield world


def live_through(world: World, faults: Choose) -> None:
    """An install, an upgrade and an uninstall."""
    world.proxy.choose = faults
    # Watches that are open have met none yet.
    world.proxy.break_connections()
    for colour in ("red", "blue"):
        world.apply(colour)
        world.wait_ready(timeout=PATIENCE)
        world.assert_whole(colour)
    world.delete()
    world.wait_gone(timeout=PATIENCE)
    world.assert_gone()


def test_a_release_lives_through_each_fault_of_a_network(world: World) -> None:
    faults = FaultsInTurn(EVERY, spare=lambda one: one.leases)
    live_through(world, faults)
    assert faults.left == (), len(world.proxy.requests)


@pytest.mark.exhaustive
@pytest.mark.parametrize("seed", range(1, 22))
def test_with_many_faults_every_seed_ends_the_same(world: World, seed: int) -> None:
    live_through(world, RandomFaults(seed, SHARE, spare=lambda one: one.leases))
