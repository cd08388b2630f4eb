"""Deadlines of a maintenance count the time that it was looked after, whatever the clocks say."""

from __future__ import annotations

import pytest

from controller.ports.kubernetes import COMPUTE_MAINTENANCE
from tests.reconcile.node_world import NodeWorld

HOUR = 3600.0


@pytest.fixture
def world() -> NodeWorld:
    """A live migration of cmp1's one server is under way."""
    world = NodeWorld("cmp1", "cmp2", "cmp3")
    world.cloud.boot(1, "cmp1")
    world.maintain("work", "cmp1", deadlines={"server": "5m", "whole": "1h"})
    while not asked(world, "live_migrate"):
        world.reconcile(1)
    world.reconcile(1)
    return world


def asked(world: NodeWorld, name: str) -> int:
    return sum(one == name for one, _ in world.cloud.writes)


def state(world: NodeWorld) -> str:
    return str(world.maintenance("work")["servers"][0]["state"])


@pytest.mark.parametrize("hours", [1, -1, 24 * 365])
def test_a_clock_that_is_set_makes_no_migration_late(world: NodeWorld, hours: float) -> None:
    world.clock.jump(hours * HOUR)
    world.reconcile(10, cloud_moves=False)
    assert asked(world, "abort_migration") == 0 and state(world) == "Moving"


def test_an_hour_without_a_look_makes_no_migration_late(world: NodeWorld) -> None:
    world.clock.advance(HOUR)
    world.reconcile(10, cloud_moves=False)
    assert asked(world, "abort_migration") == 0 and state(world) == "Moving"


@pytest.mark.slow
@pytest.mark.parametrize("hours", [0, -1])
@pytest.mark.parametrize("restarted", [False, True])
def test_a_migration_that_takes_too_long_is_aborted(world: NodeWorld, hours: float, restarted: bool) -> None:
    world.clock.jump(hours * HOUR)
    for number in range(60):
        world.reconcile(1, after=10, cloud_moves=False)
        if restarted and number % 5 == 4:
            world.restart()
    assert asked(world, "abort_migration") == 1


@pytest.mark.slow
def test_the_whole_of_it_is_measured_in_the_same_way(world: NodeWorld) -> None:
    world.cloud.boot(1, "cmp1")
    world.clock.jump(2 * HOUR)
    world.reconcile(20)
    assert world.maintenance("work")["phase"] == "Completed"


@pytest.mark.slow
def test_nothing_is_written_of_the_time_of_one_that_is_done(world: NodeWorld) -> None:
    world.reconcile(20)
    assert world.maintenance("work")["phase"] == "Completed"
    before = world.kube.get(COMPUTE_MAINTENANCE, "work")
    world.reconcile(20, after=20)
    assert world.kube.get(COMPUTE_MAINTENANCE, "work") == before


@pytest.mark.parametrize("hours", [1, -1])
def test_a_clock_that_is_set_cuts_no_roll_back_short(world: NodeWorld, hours: float) -> None:
    world.cloud.boot(1, "cmp1", status="SHUTOFF")
    while not asked(world, "cold_migrate"):
        world.reconcile(1, cloud_moves=False)
    world.kube.delete(COMPUTE_MAINTENANCE, "work")
    world.reconcile(1, cloud_moves=False)
    world.clock.jump(hours * HOUR)
    world.reconcile(5, cloud_moves=False)
    assert world.maintenance("work")["phase"] == "RollingBack"


def test_a_clock_that_is_set_begins_no_second_evacuation() -> None:
    """Nova takes the request, and shows nothing of it yet."""
    world = NodeWorld("cmp1", "cmp2", "cmp3")
    world.cloud.boot(1, "cmp1", local_disk=False)
    world.set_ready("cmp1", False)
    world.cloud.die("cmp1")
    world.maintain("work", "cmp1", mode="Evacuate", fenced=True)
    while not asked(world, "evacuate"):
        world.reconcile(1, cloud_moves=False)
    unseen = world.cloud.moves
    world.cloud.moves = {}
    world.clock.jump(HOUR)
    world.reconcile(3, cloud_moves=False)
    assert asked(world, "evacuate") == 1
    world.cloud.moves = unseen
    world.reconcile(10)
    assert asked(world, "evacuate") == 1 and state(world) == "Done"
