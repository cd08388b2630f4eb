"""A pass ends in about a minute whatever OpenStack does, and the next one goes on where it ended."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import controller.domain.api.names as names
from controller.domain.shared.cloud_facts import Agent
from controller.errors import CloudRefused, CloudUnavailable
from controller.ports.kubernetes import COMPUTE_MAINTENANCE
from controller.reconcile.hosts.compute_hosts import STEPS_PER_PASS
from controller.reconcile.shared.cloud_access import OBSERVE_GRACE, OBSERVE_WITHIN, STEP_GRACE
from controller.reconcile.shared.fair_order import FairOrder
from tests.reconcile.node_world import NodeWorld

# What a request takes that no one answers, and the longest that a pass may take with one of them at its end.
TIMEOUT = 15.0
ABOUT_A_MINUTE = OBSERVE_WITHIN + OBSERVE_GRACE + TIMEOUT
HOSTS = [f"cmp{number:02}" for number in range(60)]
SITES = {"metadata": {"labels": {names.AGGREGATE_LABEL: "fast"}}}


def silent(world: NodeWorld, *calls: str) -> list[str]:
    """From now on these calls end after a timeout; for which hosts or servers they were tried."""
    tried: list[str] = []

    def before(name: str, subject: str) -> None:
        if name in calls:
            tried.append(subject)
            world.clock.advance(TIMEOUT)
            raise CloudUnavailable("no answer within 15 s")

    world.cloud.before = before
    return tried


def slow(world: NodeWorld, seconds: float, **others: float) -> None:
    """From now on every call takes so long, and what happens in the cloud goes on meanwhile."""

    def before(name: str, subject: str) -> None:
        world.clock.advance(others.get(name, seconds))
        world.cloud.pass_time()

    world.cloud.before = before


def lasts(world: NodeWorld, reconcile: Callable[[], object]) -> float:
    world.clock.advance(10)
    world.watch()
    began = world.clock.monotonic()
    reconcile()
    return world.clock.monotonic() - began


@pytest.fixture
def world() -> NodeWorld:
    world = NodeWorld(*HOSTS)
    world.reconcile(2)
    return world


@pytest.mark.slow
def test_aggregates_without_an_answer_are_left_to_the_next_look(world: NodeWorld) -> None:
    world.cloud.ensure_aggregate("fast", zone="")
    for host in HOSTS:
        world.edit_node(host, SITES)
    tried = silent(world, "place_host")
    assert [lasts(world, world.hosts.reconcile) for _ in range(3)] == [TIMEOUT] * 3
    assert tried == HOSTS[:3], "not the same host first in every pass"


@pytest.mark.slow
def test_a_look_changes_so_many_aggregates_and_the_next_one_goes_on(world: NodeWorld) -> None:
    for host in HOSTS:
        world.edit_node(host, SITES)
    placed = []
    for _ in range(3):
        lasts(world, world.hosts.reconcile)
        placed.append(sum(len(one.hosts) for one in world.cloud.groups.values()))
    assert placed == [STEPS_PER_PASS, 2 * STEPS_PER_PASS, 3 * STEPS_PER_PASS]


def test_steps_without_an_answer_end_in_time_and_every_host_has_its_turn(world: NodeWorld) -> None:
    for host in HOSTS[:12]:
        world.cordon(host)
    tried = silent(world, "set_compute_service")
    for _ in range(4):
        assert lasts(world, world.hosts.reconcile) <= ABOUT_A_MINUTE
    assert sorted(tried) == HOSTS[:12]


@pytest.mark.parametrize("seconds", [2, 5, 7, 9, 10.5, 11.9])
def test_a_host_has_its_step_where_the_lists_alone_take_the_time_of_a_look(seconds: float) -> None:
    world = NodeWorld("cmp1", "cmp2")
    world.reconcile(2)
    world.cordon("cmp1")
    slow(world, seconds)
    for _ in range(3):
        assert lasts(world, world.hosts.reconcile) <= ABOUT_A_MINUTE + STEP_GRACE
    assert not world.cloud.services["cmp1"].enabled


def test_lists_that_take_longer_than_a_look_are_reported_as_unknown() -> None:
    world = NodeWorld("cmp1", "cmp2")
    world.reconcile(2)
    world.cordon("cmp1")
    slow(world, 16)
    assert lasts(world, world.hosts.reconcile) <= ABOUT_A_MINUTE
    assert world.cloud.services["cmp1"].enabled
    assert "the time limit of this reconciliation is reached" in world.findings.read().unknown


@pytest.mark.slow
def test_drain_locks_are_looked_at_in_turn(world: NodeWorld) -> None:
    for host in HOSTS[:6]:
        world.cloud.boot(1, host)
    world.reconcile(2)
    world.cloud.hosted.clear()
    world.reconcile(2)
    tried = silent(world, "servers_on")
    for _ in range(2):
        assert lasts(world, world.hosts.reconcile) <= ABOUT_A_MINUTE
    assert sorted(tried) == HOSTS[:6]


@pytest.mark.slow
def test_maintenances_end_in_time_and_each_has_its_turn(world: NodeWorld) -> None:
    for host in HOSTS[:6]:
        world.cloud.boot(1, host)
        world.maintain(f"work-{host}", host, budgets={"nodesPerAggregate": 6})
    world.reconcile(1)
    tried = silent(world, "set_compute_service")
    for _ in range(4):
        assert lasts(world, world.maintenances.reconcile) <= ABOUT_A_MINUTE
    assert set(tried) == set(HOSTS[:6])


@pytest.mark.slow
@pytest.mark.parametrize(("servers", "seconds"), [(20, 2), (4, 6)])
def test_servers_leave_a_host_however_long_a_look_at_all_of_them_would_take(
    servers: int, seconds: float
) -> None:
    world = NodeWorld("cmp1", "cmp2")
    world.cloud.boot(servers, "cmp1")
    world.reconcile(2)
    world.maintain("work", "cmp1", budgets={"serversPerNode": 10, "serversPerRegion": 10})
    slow(world, seconds)
    for _ in range(60):
        assert lasts(world, world.maintenances.reconcile) <= ABOUT_A_MINUTE
    assert world.maintenance("work")["phase"] == "Completed"
    assert len(world.cloud.writes) == servers + 1, "each was asked for once, and the service disabled"


def agents(world: NodeWorld, *routers: str) -> None:
    for host in world.cloud.services:
        world.cloud.agents[f"l3-{host}"] = Agent(f"l3-{host}", host, "L3 agent", alive=True)
    world.cloud.on_agents["l3-cmp1"] = list(routers)


@pytest.mark.slow
def test_routers_and_servers_leave_a_host_together_where_neutron_and_nova_are_slow() -> None:
    world = NodeWorld("cmp1", "cmp2")
    agents(world, *[f"r{number}" for number in range(8)])
    world.cloud.boot(8, "cmp1")
    world.reconcile(2)
    world.maintain("work", "cmp1")
    slow(world, 3)
    for _ in range(60):
        assert lasts(world, world.maintenances.reconcile) <= ABOUT_A_MINUTE
    assert world.maintenance("work")["phase"] == "Completed"
    assert len(world.cloud.on_agents["l3-cmp2"]) == 8


def test_a_router_that_was_taken_off_its_agent_when_the_time_was_over_is_put_on_another_at_once() -> None:
    world = NodeWorld("cmp1", "cmp2")
    agents(world, "r1")
    world.reconcile(2)
    world.maintain("work", "cmp1")
    slow(world, 3, remove_from_agent=25)
    for _ in range(4):
        lasts(world, world.maintenances.reconcile)
    assert world.cloud.on_agents == {"l3-cmp1": [], "l3-cmp2": ["r1"]}


def test_a_router_between_two_agents_is_not_taken_off_the_first_once_more() -> None:
    world = NodeWorld("cmp1", "cmp2")
    agents(world, "r1")
    world.reconcile(2)
    world.maintain("work", "cmp1")
    slow(world, 3, remove_from_agent=60)
    for _ in range(6):
        lasts(world, world.maintenances.reconcile)
    asked = [name for name, _ in world.cloud.writes if name.endswith("_agent") and name != "set_agent"]
    assert asked == ["remove_from_agent", "add_to_agent"]


def test_a_router_on_no_agent_comes_before_those_on_theirs_also_where_it_was_refused_once() -> None:
    world = NodeWorld("cmp1", "cmp2", "cmp3")
    agents(world, *[f"r{number:02}" for number in range(15)])
    world.reconcile(2)
    refused = []

    def busy_once(name: str, subject: str) -> None:
        world.clock.advance(6)
        if name == "add_to_agent" and not refused:
            refused.append(subject)
            raise CloudRefused("409 busy, try again", 409)

    world.cloud.before = busy_once
    world.maintain("work", "cmp1", deadlines={"server": "60m"})
    for _ in range(12):
        lasts(world, world.maintenances.reconcile)
        if refused:
            break
    lasts(world, world.maintenances.reconcile)
    assert sum(len(items) for items in world.cloud.on_agents.values()) == 15, "the next pass gives it to one"


@pytest.mark.slow
@pytest.mark.parametrize("seconds", [1, 3])
def test_a_maintenance_goes_however_long_a_look_at_all_of_its_moves_would_take(seconds: float) -> None:
    world = NodeWorld("cmp1", "cmp2")
    world.cloud.failing = set(world.cloud.boot(30, "cmp1"))
    agents(world, "r1")
    world.reconcile(2)
    world.maintain("work", "cmp1", retries=0, budgets={"serversPerNode": 10, "serversPerRegion": 10})
    world.reconcile(30)
    assert world.maintenance("work")["phase"] == "Blocked"
    slow(world, seconds)
    uid = world.kube.get(COMPUTE_MAINTENANCE, "work")["metadata"]["uid"]  # type: ignore[index]
    world.kube.delete(COMPUTE_MAINTENANCE, "work", uid=uid)
    for _ in range(10):
        if world.kube.get(COMPUTE_MAINTENANCE, "work") is not None:
            assert lasts(world, world.maintenances.reconcile) <= ABOUT_A_MINUTE
    assert world.kube.get(COMPUTE_MAINTENANCE, "work") is None
    assert not world.node("cmp1")["spec"].get("unschedulable")


@pytest.mark.slow
def test_the_fencing_service_is_asked_once_when_the_look_took_its_time(world: NodeWorld) -> None:
    world = NodeWorld(*HOSTS, nodes={"evacuation": "Auto", "fencing": {"url": "https://f.example/"}})
    world.reconcile(2)
    for host in HOSTS[:8]:
        world.set_ready(host, False)
        world.cloud.die(host)
    world.reconcile(20, after=10)
    world.fencing.asked.clear()
    for host in HOSTS[30:40]:
        world.cordon(host)
    silent(world, "set_compute_service")
    assert lasts(world, world.hosts.reconcile) <= ABOUT_A_MINUTE
    assert len(world.fencing.asked) == 1


def test_an_order_goes_on_after_the_one_reached_last() -> None:
    order = FairOrder()
    assert order.of("abcd", str) == ["a", "b", "c", "d"]
    order.reached("b")
    assert order.of("abcd", str) == ["c", "d", "a", "b"]
    order.reached("d")
    assert order.of("abcd", str) == ["a", "b", "c", "d"]
