"""SIGKILL at every write of an install, an upgrade and an uninstall: each ends as if nothing had been.

Each write in turn is the last thing that the container does: once it has been sent and never reached the
API server, once it was done and its answer never came. Writes are all that change something at the API
server, Helm's and our own, except the renewals of the Lease.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from itertools import count, cycle
from pathlib import Path

import pytest

from sandbox.cluster import Sandbox
from tests.chaos.world import World, chaos

pytestmark = [pytest.mark.cluster, pytest.mark.xdist_group("kills")]

COLOURS = ("red", "blue", "green")


@pytest.fixture
def world(sandbox: Sandbox, namespace: str, tmp_path: Path) -> Iterator[World]:
    with chaos(sandbox, namespace, tmp_path) as world:
        yield world


def killed(world: World, number: int, after: bool, act: Callable[[], None], done: Callable[[], bool]) -> bool:
    """Acts, kills at that write, and has a new container finish it; whether there was such a write."""
    stop = world.proxy.stop_at(number, after=after)
    act()
    world.wait("the write or the end", lambda: stop.reached or done())
    if not stop.reached:
        world.proxy.resume()
        return False
    print(f"killed {'after' if after else 'before'} write {number}: {stop.request}")
    world.kill()
    world.wait("it converges", done)
    return True


def live_and_die(world: World, number: int, after: bool, colour: str) -> tuple[bool, bool]:
    """An install and an uninstall, each killed at that write; whether there were such writes."""
    born = killed(world, number, after, lambda: world.apply(colour), world.ready)
    world.assert_whole(colour)
    died = killed(world, number, after, world.delete, lambda: world.bundle() is None)
    world.assert_gone()
    return born, died


def upgrade(world: World, number: int, after: bool, colour: str) -> bool:
    done = killed(world, number, after, lambda: world.apply(colour), world.ready)
    world.assert_whole(colour)
    return done


@pytest.mark.timeout(1200)
def test_a_sample_of_kills_ends_as_if_nothing_had_been(world: World) -> None:
    chance = random.Random(20)
    for number in chance.sample(range(1, 21), 2):
        assert all(live_and_die(world, number, chance.random() < 0.5, "red"))
    world.apply("red")
    world.wait_ready()
    # There are more writes, except those of the status: how many of these there are is a matter of pace.
    for number, colour in zip(chance.sample(range(1, 17), 2), cycle(COLOURS[1:])):
        assert upgrade(world, number, chance.random() < 0.5, colour)


@pytest.mark.exhaustive
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
def test_a_kill_at_every_write_of_an_install_and_of_an_uninstall(world: World, after: bool) -> None:
    for number in count(1):
        if not any(live_and_die(world, number, after, "red")):
            break
    print(f"{world.kills} kills")
    assert world.kills > 40


@pytest.mark.exhaustive
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
def test_a_kill_at_every_write_of_an_upgrade(world: World, after: bool) -> None:
    world.apply("green")
    world.wait_ready()
    for number, colour in zip(count(1), cycle(COLOURS)):
        if not upgrade(world, number, after, colour):
            break
    print(f"{world.kills} kills")
    assert world.kills > 20
