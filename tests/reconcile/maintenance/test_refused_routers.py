"""Routers that agents refuse: others are asked, then the one that they came from; and ever more seldom."""

from __future__ import annotations

from collections.abc import Callable, Collection

import pytest

from controller.domain.shared.cloud_facts import Agent
from controller.errors import CloudRefused
from controller.ports.kubernetes import COMPUTE_MAINTENANCE
from tests.reconcile.node_world import NodeWorld

HOSTS = ("cmp1", "cmp2", "cmp3", "cmp4")
OTHERS = ("cmp2", "cmp3", "cmp4")


@pytest.fixture
def world() -> NodeWorld:
    world = NodeWorld(*HOSTS)
    for host in HOSTS:
        world.cloud.agents[host] = Agent(host, host, "L3 agent", alive=True)
    world.cloud.on_agents = {"cmp1": ["r1"]}
    world.reconcile(4)
    return world


def refusing(world: NodeWorld, agents: Collection[str]) -> list[str]:
    """From now on these agents take no router; the requests that they refused."""
    refused: list[str] = []

    def before(name: str, subject: str) -> None:
        if name == "add_to_agent" and subject in agents:
            refused.append(subject)
            raise CloudRefused("network POST: 409 The L3 agent is not valid for this router", 409)

    world.cloud.before = before
    return refused


def where(world: NodeWorld, router: str = "r1") -> list[str]:
    return [agent for agent, items in world.cloud.on_agents.items() if router in items]


def reported(world: NodeWorld) -> tuple[str, str]:
    status = world.maintenance("work")
    return status["phase"], status["conditions"][0]["message"]


def until(world: NodeWorld, reached: Callable[[], bool]) -> None:
    for _ in range(80):
        if reached():
            return
        world.reconcile()
    raise AssertionError(world.maintenance("work"))


def on_no_agent(world: NodeWorld) -> list[str]:
    """All agents refuse a router that was taken off its own."""
    refused = refusing(world, HOSTS)
    world.maintain("work", "cmp1")
    until(world, lambda: set(refused) == set(HOSTS))
    return refused


def is_gone(world: NodeWorld) -> bool:
    return world.kube.get(COMPUTE_MAINTENANCE, "work") is None


def test_one_that_all_others_refuse_is_back_on_its_agent_and_reported(world: NodeWorld) -> None:
    refused = refusing(world, OTHERS)
    world.maintain("work", "cmp1")
    until(world, lambda: len(refused) == len(OTHERS) and where(world) == ["cmp1"])
    world.reconcile()
    assert sorted(refused) == sorted(OTHERS), "each was asked once"
    assert reported(world)[0] == "Blocked"
    assert "Router r1: the other agents refuse it" in reported(world)[1]
    assert "not valid for this router" in reported(world)[1]


@pytest.mark.slow
def test_one_that_all_others_refuse_is_offered_to_them_ever_more_seldom(world: NodeWorld) -> None:
    refused = refusing(world, OTHERS)
    world.maintain("work", "cmp1", deadlines={"server": "15m"})
    world.reconcile(120, after=10)
    assert len(refused) < 12 and where(world) == ["cmp1"]
    assert reported(world)[0] == "Blocked"


def test_one_that_is_back_on_its_agent_leaves_it_when_another_comes(world: NodeWorld) -> None:
    refused = refusing(world, OTHERS)
    world.maintain("work", "cmp1")
    until(world, lambda: len(refused) == len(OTHERS) and where(world) == ["cmp1"])
    world.cloud.agents["net1"] = Agent("net1", "net1", "L3 agent", alive=True)
    until(world, lambda: reported(world)[0] == "Completed")
    assert where(world) == ["net1"]


@pytest.mark.slow
def test_one_that_is_back_on_its_agent_is_offered_again_after_an_edit(world: NodeWorld) -> None:
    refusing(world, OTHERS)
    world.maintain("work", "cmp1", deadlines={"server": "5m"})
    world.reconcile(50, after=10)
    refusing(world, ())
    world.reconcile(50, after=10)
    assert where(world) == ["cmp1"], "its time is over"
    world.kube.merge_patch(COMPUTE_MAINTENANCE, "work", None, {"spec": {"retries": 1}})
    until(world, lambda: reported(world)[0] == "Completed")
    assert where(world) == ["cmp2"]


@pytest.mark.slow
def test_one_on_no_agent_is_not_forgotten_by_an_edit_while_it_is_blocked(world: NodeWorld) -> None:
    on_no_agent(world)
    assert reported(world)[0] == "Blocked" and where(world) == []
    world.kube.merge_patch(COMPUTE_MAINTENANCE, "work", None, {"spec": {"retries": 1}})
    world.reconcile(3)
    refusing(world, ())
    until(world, lambda: reported(world)[0] == "Completed")
    assert len(where(world)) == 1


@pytest.mark.slow
def test_one_that_no_agent_takes_is_offered_ever_more_seldom(world: NodeWorld) -> None:
    refused = on_no_agent(world)
    world.restart()
    world.reconcile(120, after=10)
    assert set(refused) == set(HOSTS) and len(refused) < 16
    refusing(world, ("cmp1", "cmp2", "cmp4"))
    world.reconcile(120, after=20)
    assert where(world) == ["cmp3"]


@pytest.mark.slow
def test_a_rollback_asks_others_where_the_noted_agent_refuses(world: NodeWorld) -> None:
    on_no_agent(world)
    refusing(world, ("cmp1", "cmp2"))
    world.kube.delete(COMPUTE_MAINTENANCE, "work")
    world.reconcile(120, after=10)
    assert is_gone(world)
    assert where(world)[0] in ("cmp3", "cmp4")


@pytest.mark.slow
def test_a_rollback_asks_those_that_refuse_ever_more_seldom_and_says_so(world: NodeWorld) -> None:
    refused = on_no_agent(world)
    world.kube.delete(COMPUTE_MAINTENANCE, "work")
    world.reconcile(120, after=10)
    assert len(refused) < 20
    assert "r1 (" in reported(world)[1] and "not valid for this router" in reported(world)[1]
    refusing(world, OTHERS)
    world.reconcile(120, after=20)
    assert is_gone(world) and where(world) == ["cmp1"]
