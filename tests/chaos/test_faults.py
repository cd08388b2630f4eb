"""Requests meet faults: they are lost, cut off, refused or late. Everything ends as without."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from sandbox.cluster import Sandbox
from sandbox.faults import Fault, ProxiedRequest, RandomFaults, pass_on
from tests.chaos.world import World, chaos

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(1800)]

# Of the requests. With the daily share it ends several times as soon.
SHARE, DAILY_SHARE = 1 / 6, 1 / 10
# So many faults fail six of seven actions, and a run of bad luck has no end: what is tested is how it ends,
# not how long the pauses in between grow.
PAUSE = 5
PATIENCE = 480.0


@pytest.fixture
def world(sandbox: Sandbox, namespace: str, tmp_path: Path) -> Iterator[World]:
    with chaos(sandbox, namespace, tmp_path, {"RETRY_CAP_SECONDS": str(PAUSE)}) as world:
        yield world


def live_through(world: World, seed: int, share: float = SHARE) -> list[Fault]:
    """An install, an upgrade and an uninstall; the faults that were met."""
    met: list[Fault] = []
    draw = RandomFaults(seed, share, spare=lambda one: one.leases)

    def choose(request: ProxiedRequest) -> Fault | None:
        fault = draw(request)
        if fault is not None:
            met.append(fault)
        return fault

    world.proxy.choose = choose
    for colour in ("red", "blue"):
        world.apply(colour)
        world.wait_ready(timeout=PATIENCE)
        world.assert_whole(colour)
    world.delete()
    world.wait_gone(timeout=PATIENCE)
    world.assert_gone()
    return met


def test_a_release_lives_through_a_faulty_network(world: World) -> None:
    met = live_through(world, 1, DAILY_SHARE)
    requests = len(world.proxy.requests)
    world.proxy.choose = pass_on
    assert requests > 60
    assert len(met) > 8
    assert len({type(one) for one in met}) > 3


@pytest.mark.exhaustive
@pytest.mark.parametrize("seed", range(1, 22))
def test_with_many_faults_every_seed_ends_the_same(world: World, seed: int) -> None:
    live_through(world, seed)
