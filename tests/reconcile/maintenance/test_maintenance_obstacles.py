"""ComputeMaintenances with something in their way: what is under way goes on, and plans tell of it."""

from __future__ import annotations

from typing import Any

import pytest

from controller.domain.shared.cloud_facts import Agent, Aggregate, VolumeService
from controller.errors import CloudRefused, CloudUnavailable
from controller.ports.kubernetes import COMPUTE_MAINTENANCE, NODE
from tests.reconcile.node_world import NodeWorld


@pytest.fixture
def world() -> NodeWorld:
    """cmp1 and cmp2 are each in an aggregate of its own, so that neither waits for the other's turn."""
    world = NodeWorld("cmp1", "cmp2", "cmp3", "cmp4")
    world.cloud.groups = {
        1: Aggregate(1, "a", frozenset({"cmp1"})),
        2: Aggregate(2, "b", frozenset({"cmp2"})),
    }
    world.reconcile(2)
    return world


def reported(world: NodeWorld, name: str = "work") -> tuple[str, str, str]:
    """Phase, reason and message."""
    status = world.maintenance(name)
    ready = next(one for one in status["conditions"] if one["type"] == "Ready")
    return status["phase"], ready["reason"], ready["message"]


def states(world: NodeWorld, name: str = "work") -> list[str]:
    return sorted(one["state"] for one in world.maintenance(name)["servers"])


def under_way(world: NodeWorld) -> int:
    return sum(bool(one.task) for one in world.cloud.hosted.values())


def reconcile_until_moving(world: NodeWorld, count: int) -> None:
    for _ in range(12):
        if under_way(world) == count:
            return
        world.reconcile(cloud_moves=False)
    raise AssertionError(world.maintenance("work"))


def edit(world: NodeWorld, name: str = "work", **spec: Any) -> None:
    world.kube.merge_patch(COMPUTE_MAINTENANCE, name, None, {"spec": spec})


# -- dryRun on one that has begun


def test_one_that_has_begun_does_not_become_a_plan_and_loses_no_router(world: NodeWorld) -> None:
    for host in ("cmp1", "cmp2"):
        world.cloud.agents[f"l3-{host}"] = Agent(f"l3-{host}", host, "L3 agent", alive=True)
    world.cloud.on_agents = {"l3-cmp1": ["r1"]}

    def no_post(name: str, subject: str) -> None:
        if name == "add_to_agent":
            raise CloudUnavailable("503")

    world.cloud.before = no_post
    world.maintain("work", "cmp1")
    world.reconcile(6)
    assert world.cloud.on_agents == {"l3-cmp1": []}, "the router is between two agents"
    started = world.maintenance("work")["startedAt"]
    edit(world, dryRun=True)
    world.reconcile(3)
    status = world.maintenance("work")
    assert status["startedAt"] == started and [one["id"] for one in status["network"]] == ["r1"]
    assert "dryRun was set after the start" in reported(world)[2]
    world.cloud.before = lambda *_: None
    world.reconcile(3)
    assert world.cloud.on_agents == {"l3-cmp1": [], "l3-cmp2": ["r1"]}
    world.kube.delete(COMPUTE_MAINTENANCE, "work")
    world.reconcile(4)
    assert world.cloud.services["cmp1"].enabled and world.kube.get(COMPUTE_MAINTENANCE, "work") is None


# -- what is under way when something comes in the way


@pytest.mark.slow
def test_servers_under_way_from_a_host_that_falls_silent_have_their_deadline(world: NodeWorld) -> None:
    world.cloud.boot(4, "cmp1")
    world.maintain("work", "cmp1", deadlines={"server": "5m"})
    reconcile_until_moving(world, 2)
    world.cloud.die("cmp1")
    world.reconcile(3, cloud_moves=False)
    assert reported(world)[:2] == ("Blocked", "ComputeDown")
    assert "0/4 servers moved, 2 moving" in reported(world)[2]
    world.reconcile(12, after=30, cloud_moves=False)
    assert states(world) == ["Blocked", "Blocked", "Pending", "Pending"]
    assert reported(world)[1] == "ComputeDown" and under_way(world) == 2, "nothing more was begun"


@pytest.mark.slow
def test_slots_of_one_that_is_stuck_come_free_for_others(world: NodeWorld) -> None:
    world.cloud.boot(4, "cmp1")
    world.cloud.boot(4, "cmp2")
    budget = {"budgets": {"serversPerRegion": 2}, "deadlines": {"server": "5m"}}
    world.maintain("work", "cmp1", **budget)
    reconcile_until_moving(world, 2)
    world.cloud.die("cmp1")
    world.maintain("second", "cmp2", **budget)
    world.reconcile(5, cloud_moves=False)
    assert (
        "2 servers of the region may move at once; the slots belong to work (2)"
        in reported(world, "second")[2]
    )
    world.reconcile(12, after=30, cloud_moves=False)
    assert under_way(world) == 4, "two that are given up, and two of the second"
    assert "Requested" in states(world, "second") or "Moving" in states(world, "second")


@pytest.mark.slow
def test_one_that_may_not_go_on_takes_no_slot(world: NodeWorld) -> None:
    world.cloud.boot(4, "cmp1")
    world.cloud.boot(1, "cmp2")
    budget = {"budgets": {"serversPerRegion": 1}, "deadlines": {"server": "5m"}}
    world.maintain("work", "cmp1", **budget)
    reconcile_until_moving(world, 1)
    world.cloud.die("cmp1")
    world.reconcile(12, after=30)
    world.maintain("second", "cmp2", **budget)
    world.reconcile(20)
    assert reported(world, "second")[0] == "Completed"


def test_servers_that_arrived_count_though_the_node_came_back(world: NodeWorld) -> None:
    world.cloud.boot(4, "cmp1", local_disk=False)
    world.cloud.die("cmp1")
    world.set_ready("cmp1", False)
    world.maintain("work", "cmp1", mode="Evacuate", fenced=True)
    reconcile_until_moving(world, 2)
    world.set_ready("cmp1", True)
    world.reconcile(8)
    assert reported(world)[:2] == ("Blocked", "ComputeStillReports")
    assert world.maintenance("work")["progress"] == "2/4" and states(world)[:2] == ["Done", "Done"]
    assert sum(name == "evacuate" for name, _ in world.cloud.writes) == 2


def test_servers_under_way_from_a_node_that_is_removed_are_followed(world: NodeWorld) -> None:
    world.cloud.boot(3, "cmp1")
    world.maintain("work", "cmp1")
    reconcile_until_moving(world, 2)
    world.kube.delete(NODE, "cmp1")
    world.reconcile(8)
    assert reported(world)[:2] == ("Blocked", "NodeRemoved")
    assert world.maintenance("work")["progress"] == "2/3"


@pytest.mark.slow
def test_servers_under_way_are_followed_while_openstack_refuses_something_else(world: NodeWorld) -> None:
    world.cloud.boot(3, "cmp1")
    world.maintain("work", "cmp1")
    reconcile_until_moving(world, 2)
    world.cloud.volumes["cmp1@lvm"] = VolumeService("cinder-volume", "cmp1@lvm", True, True)

    def refuse(name: str, subject: str) -> None:
        if name == "set_volume_service":
            raise CloudRefused("block_storage PUT: 404", 404)

    world.cloud.before = refuse
    world.reconcile(8)
    assert reported(world)[:2] == ("Blocked", "CloudRefused") and "block_storage PUT" in reported(world)[2]
    assert world.maintenance("work")["progress"] == "2/3"
    world.cloud.before = lambda *_: None
    world.reconcile(12)
    assert reported(world)[0] == "Completed"


# -- what a plan tells of


def test_a_plan_says_that_a_silent_compute_cannot_be_migrated_from(world: NodeWorld) -> None:
    world.cloud.boot(2, "cmp1")
    world.cloud.die("cmp1")
    world.maintain("work", "cmp1", dryRun=True)
    world.reconcile(2)
    phase, reason, text = reported(world)
    assert (phase, reason) == ("Planned", "Planned")
    assert text.startswith(
        "2 servers: 2 Live; nothing was done; without dryRun it would now stop at ComputeDown"
    )


def test_a_plan_says_that_a_living_host_is_not_evacuated(world: NodeWorld) -> None:
    world.cloud.boot(2, "cmp2", local_disk=False)
    world.maintain("work", "cmp2", mode="Evacuate", dryRun=True)
    world.reconcile(2)
    assert "would now stop at ComputeStillReports (the node is ready" in reported(world)[2]


def test_a_plan_says_that_it_is_not_its_turn(world: NodeWorld) -> None:
    world.maintain("first", "cmp3")
    world.reconcile(6)
    world.maintain("work", "cmp4", dryRun=True)
    world.reconcile(2)
    assert "would now stop at Queued (waits: cmp3 without an aggregate out of service" in reported(world)[2]


def test_a_plan_takes_no_turn(world: NodeWorld) -> None:
    world.maintain("work", "cmp3", dryRun=True)
    world.clock.advance(2)
    world.maintain("second", "cmp4")
    world.reconcile(8)
    assert reported(world, "second")[0] == "Completed"


def test_a_plan_shows_which_routers_have_nowhere_to_go(world: NodeWorld) -> None:
    world.cloud.agents["l3"] = Agent("l3", "cmp1", "L3 agent", alive=True)
    world.cloud.on_agents = {"l3": ["r1", "r2"]}
    world.maintain("work", "cmp1", dryRun=True)
    world.reconcile(2)
    assert "AgentsDown (2 routers and networks have no other living agent" in reported(world)[2]
    assert {one["state"] for one in world.maintenance("work")["network"]} == {"Blocked"}


def test_a_plan_with_nothing_in_its_way_names_no_obstacle(world: NodeWorld) -> None:
    world.cloud.boot(1, "cmp1")
    world.maintain("work", "cmp1", dryRun=True)
    world.reconcile(2)
    assert reported(world)[2] == "1 server: 1 Live; nothing was done"
    assert world.cloud.writes == []
