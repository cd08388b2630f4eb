"""ComputeMaintenances: killed at every write, refused, cut off, taken back."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest

from controller.domain.shared.cloud_facts import MARK, Agent
from controller.errors import CloudUnavailable
from controller.ports.kubernetes import COMPUTE_MAINTENANCE
from tests.reconcile.node_world import NodeWorld, fail
from tests.sweeps import swept

ASKED = ("live_migrate", "cold_migrate", "evacuate")


class Killed(BaseException):
    """The process ends here."""


@pytest.fixture
def world() -> NodeWorld:
    return NodeWorld("cmp1", "cmp2", "cmp3")


def done(world: NodeWorld, name: str = "work") -> bool:
    return world.maintenance(name).get("phase") == "Completed"


def until_done(world: NodeWorld, looks: int = 150) -> None:
    for _ in range(looks):
        if done(world):
            return
        world.reconcile()
    raise AssertionError(world.maintenance("work"))


def test_servers_leave_within_the_budget_and_the_node_returns(world: NodeWorld) -> None:
    ids = world.cloud.boot(7, "cmp1")
    world.maintain("work", "cmp1", budgets={"serversPerNode": 3})
    most = 0
    while not done(world):
        world.reconcile()
        most = max(most, sum(bool(one.task) for one in world.cloud.hosted.values()))
    assert most == 3
    assert world.maintenance("work")["progress"] == "7/7"
    assert Counter(s for n, s in world.cloud.writes if n == "live_migrate") == dict.fromkeys(ids, 1)
    assert world.node("cmp1")["spec"]["unschedulable"] is True
    assert world.cloud.services["cmp1"].reason == f"{MARK}maintenance work"
    world.kube.delete(COMPUTE_MAINTENANCE, "work")
    world.reconcile(4)
    assert world.kube.get(COMPUTE_MAINTENANCE, "work") is None
    assert world.cloud.services["cmp1"].enabled
    assert not world.node("cmp1")["spec"].get("unschedulable")


def test_a_finished_maintenance_is_quiet(world: NodeWorld) -> None:
    world.cloud.boot(2, "cmp1")
    world.maintain("work", "cmp1")
    until_done(world)
    world.reconcile(3)
    world.cloud.calls.clear()
    world.kube.forget_requests()
    world.reconcile(5, after=20)
    assert world.cloud.writes == [] and world.kube.writes == []


def test_a_stopped_server_moves_cold_and_is_confirmed(world: NodeWorld) -> None:
    [id_] = world.cloud.boot(1, "cmp1", status="SHUTOFF")
    world.maintain("work", "cmp1")
    until_done(world)
    assert world.cloud.hosted[id_].host != "cmp1"
    assert [name for name, subject in world.cloud.writes if subject == id_] == [
        "cold_migrate",
        "confirm_resize",
    ]


def test_a_human_cordon_and_a_human_disable_survive_a_maintenance(world: NodeWorld) -> None:
    world.cordon("cmp1")
    world.cloud.set_compute_service("service-cmp1", enabled=False, reason="broken fan")
    world.maintain("work", "cmp1")
    until_done(world)
    world.kube.delete(COMPUTE_MAINTENANCE, "work")
    world.reconcile(4)
    assert world.node("cmp1")["spec"]["unschedulable"] is True
    assert world.cloud.services["cmp1"].reason == "broken fan"


@pytest.mark.slow
def test_a_failing_server_is_tried_again_and_then_given_up_until_an_edit(world: NodeWorld) -> None:
    good, bad = world.cloud.boot(2, "cmp1")
    world.cloud.failing.add(bad)
    world.maintain("work", "cmp1", retries=1)
    world.reconcile(60)
    status = world.maintenance("work")
    assert (status["phase"], status["progress"]) == ("Blocked", "1/2")
    asked = Counter(s for n, s in world.cloud.writes if n == "live_migrate")
    assert asked == {good: 1, bad: 2}
    world.cloud.failing.clear()
    live = world.kube.get(COMPUTE_MAINTENANCE, "work")
    assert live is not None
    world.kube.replace({**live, "spec": {**live["spec"], "retries": 2}})
    until_done(world)


def test_a_refused_request_is_an_attempt_with_its_cause(world: NodeWorld) -> None:
    world.cloud.boot(1, "cmp1")
    for host in ("cmp2", "cmp3"):
        world.cloud.set_compute_service(f"service-{host}", enabled=False, reason="full")
    world.maintain("work", "cmp1", retries=0)
    world.reconcile(20)
    [server] = world.maintenance("work")["servers"]
    assert server["state"] == "Blocked" and "No valid host" in server["message"]


def test_routers_and_networks_go_to_other_agents_and_their_agents_return(world: NodeWorld) -> None:
    for host in ("cmp1", "cmp2"):
        for kind in ("L3 agent", "DHCP agent"):
            world.cloud.agents[f"{kind} {host}"] = Agent(f"{kind} {host}", host, kind, alive=True)
    world.cloud.on_agents = {"L3 agent cmp1": ["r1", "r2"], "DHCP agent cmp1": ["n1"]}
    world.maintain("work", "cmp1")
    until_done(world)
    assert world.cloud.on_agents["L3 agent cmp1"] == [] == world.cloud.on_agents["DHCP agent cmp1"]
    assert sorted(world.cloud.on_agents["L3 agent cmp2"]) == ["r1", "r2"]
    assert not world.cloud.agents["L3 agent cmp1"].enabled
    world.kube.delete(COMPUTE_MAINTENANCE, "work")
    world.reconcile(3)
    agent = world.cloud.agents["L3 agent cmp1"]
    assert agent.enabled and agent.description == ""


@pytest.mark.slow
def test_two_nodes_of_one_aggregate_wait_for_each_other(world: NodeWorld) -> None:
    world.cloud.boot(1, "cmp1")
    world.cloud.boot(1, "cmp2")
    world.maintain("work", "cmp1")
    world.clock.advance(2)
    world.maintain("second", "cmp2")
    world.reconcile(25)
    assert done(world) and world.maintenance("second")["phase"] == "Waiting"
    assert world.cloud.services["cmp2"].enabled
    world.kube.delete(COMPUTE_MAINTENANCE, "work")
    world.reconcile(40, after=6)
    assert done(world, "second")


def test_deleting_it_midway_ends_what_is_under_way_and_moves_nothing_more(world: NodeWorld) -> None:
    world.cloud.boot(6, "cmp1")
    world.maintain("work", "cmp1")
    while not any(name == "live_migrate" for name, _ in world.cloud.writes):
        world.reconcile()
    world.kube.delete(COMPUTE_MAINTENANCE, "work")
    world.reconcile(12)
    assert world.kube.get(COMPUTE_MAINTENANCE, "work") is None
    assert sum(name == "live_migrate" for name, _ in world.cloud.writes) == 2
    assert all(not one.task for one in world.cloud.hosted.values())
    assert world.cloud.services["cmp1"].enabled


def test_an_evacuation_needs_certainty(world: NodeWorld) -> None:
    world.cloud.boot(1, "cmp1", local_disk=False)
    world.maintain("work", "cmp1", mode="Evacuate")
    world.reconcile(5)
    assert "ready" in world.maintenance("work")["conditions"][0]["message"]
    world.set_ready("cmp1", False)
    world.reconcile(5)
    assert "reports" in world.maintenance("work")["conditions"][0]["message"]
    world.cloud.die("cmp1")
    world.reconcile(5)
    assert "not sure" in world.maintenance("work")["conditions"][0]["message"]
    assert not [name for name, _ in world.cloud.writes if name in ("force_down", "evacuate")]
    world.kube.merge_patch(COMPUTE_MAINTENANCE, "work", None, {"spec": {"fenced": world.confirmed("cmp1")}})
    until_done(world)
    names = [name for name, _ in world.cloud.writes]
    assert names.index("force_down") < names.index("evacuate")


# -- killed, at every write and at every request


def maintenance_of(count: int, mode: str) -> tuple[NodeWorld, list[str]]:
    world = NodeWorld("cmp1", "cmp2", "cmp3")
    if mode == "Evacuate":
        ids = world.cloud.boot(count, "cmp1", local_disk=False)
        world.set_ready("cmp1", False)
        world.cloud.die("cmp1")
        world.maintain("work", "cmp1", mode="Evacuate", fenced=True)
    else:
        ids = world.cloud.boot(count - 1, "cmp1") + world.cloud.boot(1, "cmp1", status="SHUTOFF")
        world.maintain("work", "cmp1")
    return world, ids


def killed_at(number: int, when: str, mode: str, count: int) -> bool:
    """One maintenance whose process is killed at one write; whether it had so many."""
    world, ids = maintenance_of(count, mode)
    seen = 0

    def here(*_: object) -> None:
        nonlocal seen
        seen += 1
        if seen == number:
            raise Killed

    def on_cloud(name: str, subject: str) -> None:
        if name in {"set_compute_service", "force_down", "confirm_resize", *ASKED}:
            here()

    if when == "before":
        world.cloud.before, world.kube.before_write = on_cloud, here
    else:
        world.cloud.after, world.kube.after_write = on_cloud, here
    for _ in range(250):
        if done(world):
            break
        try:
            world.reconcile()
        except Killed:
            world.restart()
        if (world.maintenance("work").get("fenced") or {}).get("void"):
            # Killed around our own change of the compute service, it is void: a person gives it again.
            patch = {"spec": {"fenced": world.confirmed("cmp1")}}
            world.kube.merge_patch(COMPUTE_MAINTENANCE, "work", None, patch)
    assert done(world), (number, when, world.maintenance("work"))
    arrived = Counter(one.server for one in world.cloud.moves.values())
    assert arrived == dict.fromkeys(ids, 1), (number, when)
    assert {one.host for one in world.cloud.hosted.values()} <= {"cmp2", "cmp3"}
    assert set(world.cloud.hosted) == set(ids)
    return seen >= number


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["Migrate", "Evacuate"])
@pytest.mark.parametrize("when", swept(["before", "after"], daily=["after"]))
def test_killed_at_every_write_each_server_moves_exactly_once(mode: str, when: str) -> None:
    number = 1
    while killed_at(number, when, mode, count=3):
        number += 1
    assert number > 12


@pytest.mark.exhaustive
@pytest.mark.parametrize("mode", ["Migrate", "Evacuate"])
@pytest.mark.parametrize("when", ["before", "after"])
def test_killed_at_every_write_of_ten_servers_each_moves_exactly_once(mode: str, when: str) -> None:
    number = 1
    while killed_at(number, when, mode, count=10):
        number += 1
    assert number > 40


# -- a broken OpenStack


@pytest.mark.parametrize("name", ["servers_on", "server", "migrations", "allocations"])
def test_what_cannot_be_seen_is_waited_for(world: NodeWorld, name: str) -> None:
    ids = world.cloud.boot(3, "cmp1")

    def before(called: str, subject: str) -> None:
        if called == name:
            raise CloudUnavailable("timeout")

    world.maintain("work", "cmp1")
    world.reconcile(4)
    world.cloud.before = before
    world.reconcile(15)
    assert not done(world)
    world.cloud.before = lambda *_: None
    until_done(world)
    assert Counter(one.server for one in world.cloud.moves.values()) == dict.fromkeys(ids, 1)


def test_an_outcome_that_is_not_known_is_not_asked_for_twice(world: NodeWorld) -> None:
    ids = world.cloud.boot(3, "cmp1")

    def after(name: str, subject: str) -> None:
        if name == "live_migrate":
            raise CloudUnavailable("the connection broke after the request had arrived")

    world.cloud.after = after
    world.maintain("work", "cmp1")
    until_done(world)
    assert Counter(s for n, s in world.cloud.writes if n == "live_migrate") == dict.fromkeys(ids, 1)


def test_a_request_that_was_lost_is_asked_for_again(world: NodeWorld) -> None:
    [id_] = world.cloud.boot(1, "cmp1")
    lost = []

    def before(name: str, subject: str) -> None:
        if name == "live_migrate" and not lost:
            lost.append(subject)
            raise CloudUnavailable("the connection could not be made")

    world.cloud.before = before
    world.maintain("work", "cmp1")
    until_done(world)
    assert lost == [id_] and len(world.cloud.moves) == 1


@pytest.mark.slow
def test_servers_missing_from_a_list_are_looked_for_one_by_one(world: NodeWorld) -> None:
    """A list cut short does not end a maintenance: Placement knows better, and so does each server."""
    ids = world.cloud.boot(4, "cmp1")
    whole = world.cloud.servers_on
    world.cloud.servers_on = lambda host: whole(host)[:1]  # type: ignore[method-assign]
    world.maintain("work", "cmp1")
    world.reconcile(40)
    world.cloud.servers_on = lambda host: ()  # type: ignore[method-assign]
    world.reconcile(10)
    left = [id_ for id_ in ids if world.cloud.hosted[id_].host == "cmp1"]
    assert done(world) == (not left)


def test_a_cloud_that_is_away_is_reported_and_everything_else_goes_on(world: NodeWorld) -> None:
    world.maintain("work", "cmp1")
    world.cloud.before = fail("503")
    world.reconcile(3)
    status = world.maintenance("work")
    assert "503" in status["conditions"][0]["message"]
    assert world.status("cmp2")["state"] == "Ready"
    world.cloud.before = lambda *_: None
    until_done(world)


def test_while_the_cloud_is_away_one_that_did_nothing_can_be_deleted(world: NodeWorld) -> None:
    world.cloud.boot(1, "cmp1")
    world.maintain("other", "cmp2")
    world.reconcile(8)
    world.maintain("work", "cmp1")
    world.reconcile(3)
    assert world.maintenance("work")["phase"] == "Waiting"
    world.cloud.before = fail()
    world.kube.delete(COMPUTE_MAINTENANCE, "work")
    world.reconcile(2)
    assert world.kube.get(COMPUTE_MAINTENANCE, "work") is None


def test_a_conflict_of_tasks_is_waited_out(world: NodeWorld) -> None:
    [id_] = world.cloud.boot(1, "cmp1")
    world.cloud.hosted[id_] = replace(world.cloud.hosted[id_], task="image_snapshot")
    world.maintain("work", "cmp1")
    world.reconcile(5)
    [server] = world.maintenance("work")["servers"]
    assert server["action"] == "Busy"
    world.cloud.hosted[id_] = replace(world.cloud.hosted[id_], task="")
    until_done(world)


def test_a_maintenance_of_a_node_that_is_not_there_says_so(world: NodeWorld) -> None:
    world.maintain("work", "cmp9")
    world.reconcile(4)
    assert world.maintenance("work")["phase"] == "Blocked"
    assert 'no node "cmp9"' in world.maintenance("work")["conditions"][0]["message"]
