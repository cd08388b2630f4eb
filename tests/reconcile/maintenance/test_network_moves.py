"""Routers and networks where every host has an agent: few questions, and no agent gets all of them."""

from __future__ import annotations

from collections import Counter

import pytest

from controller.domain.shared.cloud_facts import Agent
from tests.reconcile.node_world import NodeWorld

HOSTS = [f"cmp{number:02}" for number in range(40)]
KIND = "DHCP agent"
ASKED = {"served_by", "routed_by", "agents_of_network", "agents_of_router"}


@pytest.fixture
def world() -> NodeWorld:
    world = NodeWorld(*HOSTS)
    for host in HOSTS:
        world.cloud.agents[f"dhcp-{host}"] = Agent(f"dhcp-{host}", host, KIND, alive=True)
    world.reconcile(2)
    return world


def serve(world: NodeWorld, host: str, *networks: str) -> None:
    world.cloud.on_agents.setdefault(f"dhcp-{host}", []).extend(networks)


def questions(world: NodeWorld) -> Counter[str]:
    return Counter(name for name, _ in world.cloud.calls if name in ASKED)


def begun(world: NodeWorld, name: str, host: str) -> None:
    world.maintain(name, host, budgets={"nodesPerAggregate": 10})
    world.reconcile(2)
    world.cloud.calls.clear()


def test_where_a_network_goes_is_asked_of_the_network_and_not_of_each_agent(world: NodeWorld) -> None:
    serve(world, "cmp00", "n1", "n2", "n3")
    begun(world, "work", "cmp00")
    world.reconcile()
    assert questions(world) == {"served_by": 1, "agents_of_network": 3}


def test_a_dry_run_asks_only_the_agents_of_the_host(world: NodeWorld) -> None:
    serve(world, "cmp00", "n1", "n2", "n3")
    world.cloud.calls.clear()
    world.maintain("plan", "cmp00", dryRun=True)
    world.reconcile()
    assert questions(world) == {"served_by": 1}


def test_a_network_that_two_hosts_leave_is_asked_for_once_in_a_look(world: NodeWorld) -> None:
    serve(world, "cmp00", "n1")
    serve(world, "cmp01", "n1")
    begun(world, "work0", "cmp00")
    begun(world, "work1", "cmp01")
    world.cloud.calls.clear()
    world.reconcile()
    assert questions(world)["agents_of_network"] <= 1


@pytest.mark.slow
def test_networks_go_to_many_agents_beginning_with_the_least_loaded(world: NodeWorld) -> None:
    serve(world, "cmp00", *(f"n{number}" for number in range(8)))
    for host in HOSTS[5:]:
        serve(world, host, f"own1-{host}", f"own2-{host}")
    world.maintain("work", "cmp00")
    world.reconcile(8)
    assert world.maintenance("work")["phase"] == "Completed"
    assert [len(world.cloud.on_agents[f"dhcp-{host}"]) for host in HOSTS[1:5]] == [2, 2, 2, 2]


@pytest.mark.slow
def test_maintenances_of_one_look_do_not_all_choose_the_same_agent(world: NodeWorld) -> None:
    for host in HOSTS[4:]:
        serve(world, host, f"own1-{host}", f"own2-{host}", f"own3-{host}")
    for number in range(2):
        serve(world, f"cmp0{number}", f"n{number}a", f"n{number}b")
        world.maintain(f"work{number}", f"cmp0{number}", budgets={"nodesPerAggregate": 10})
    world.reconcile(8)
    assert [len(world.cloud.on_agents[f"dhcp-cmp0{number}"]) for number in (2, 3)] == [2, 2]


@pytest.mark.slow
def test_nothing_goes_to_a_host_that_is_to_be_emptied_too(world: NodeWorld) -> None:
    for host in HOSTS[2:]:
        serve(world, host, f"own-{host}")
    serve(world, "cmp00", "n1", "n2")
    for number in range(2):
        world.maintain(f"work{number}", f"cmp0{number}", budgets={"nodesPerAggregate": 10})
    world.reconcile(8)
    assert Counter(name for name, _ in world.cloud.calls if name == "add_to_agent") == {"add_to_agent": 2}
    assert world.cloud.on_agents.get("dhcp-cmp01", []) == []
