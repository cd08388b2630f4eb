"""A deleted ComputeMaintenance leaves no move of its own behind, and ends no move of others."""

from __future__ import annotations

from dataclasses import replace

import pytest

from controller.domain.shared.cloud_facts import Migration
from controller.ports.kubernetes import COMPUTE_MAINTENANCE
from tests.reconcile.node_world import COMPUTE, NodeWorld


@pytest.fixture
def world() -> NodeWorld:
    world = NodeWorld("cmp1", "cmp2", "cmp3")
    world.reconcile(2)
    return world


def given_up(world: NodeWorld, **server: object) -> str:
    """The id of a server whose move has taken longer than its deadline, and goes on in Nova."""
    [id_] = world.cloud.boot(1, "cmp1", **server)
    world.maintain("work", "cmp1", deadlines={"server": "1m"})
    world.reconcile(8, cloud_moves=False)
    world.reconcile(8, after=30, cloud_moves=False)
    assert [one["state"] for one in world.maintenance("work")["servers"]] == ["Blocked"]
    assert world.cloud.hosted[id_].task
    world.cloud.calls.clear()
    return id_


def delete(world: NodeWorld) -> None:
    world.kube.delete(COMPUTE_MAINTENANCE, "work")


def is_gone(world: NodeWorld) -> bool:
    return world.kube.get(COMPUTE_MAINTENANCE, "work") is None


def asked(world: NodeWorld, server: str) -> list[str]:
    return [name for name, subject in world.cloud.writes if subject == server]


@pytest.mark.slow
def test_a_cold_move_that_was_given_up_is_confirmed_when_it_arrives(world: NodeWorld) -> None:
    id_ = given_up(world, status="SHUTOFF")
    delete(world)
    world.reconcile(2, cloud_moves=False)
    assert not is_gone(world)
    world.reconcile(8)
    assert is_gone(world) and asked(world, id_) == ["confirm_resize"]
    assert id_ not in world.cloud.held["cmp1"] and world.cloud.services["cmp1"].enabled


@pytest.mark.slow
def test_a_live_move_that_was_given_up_is_aborted(world: NodeWorld) -> None:
    id_ = given_up(world)
    delete(world)
    world.reconcile(6)
    assert is_gone(world) and "abort_migration" in asked(world, id_)
    assert world.cloud.hosted[id_].host == "cmp1" and not world.cloud.hosted[id_].task


@pytest.mark.slow
def test_a_move_that_does_not_end_keeps_its_maintenance_and_is_named(world: NodeWorld) -> None:
    id_ = given_up(world, status="SHUTOFF")
    delete(world)
    world.reconcile(4, after=30, cloud_moves=False)
    status = world.maintenance("work")
    text = status["conditions"][0]["message"]
    assert (status["phase"], status["conditions"][0]["reason"]) == ("Blocked", "MovesUnconfirmed")
    assert f"vm-{id_} (RESIZE resize_migrating; openstack server migration confirm {id_})" in text
    assert not world.node("cmp1")["spec"].get("unschedulable"), "what is ours to put back is put back"
    world.reconcile(2, cloud_moves=False)
    assert world.cloud.services["cmp1"].enabled, "the host does not wait for it"
    world.kube.forget_requests()
    world.reconcile(3, after=30, cloud_moves=False)
    assert world.kube.writes == [] and not is_gone(world)
    world.reconcile(8)
    assert is_gone(world) and asked(world, id_) == ["confirm_resize"]


def test_a_live_move_that_cannot_be_ended_does_not_keep_its_host_out_of_service(world: NodeWorld) -> None:
    given_up(world)
    delete(world)
    world.reconcile(2, after=20, cloud_moves=False)
    assert not is_gone(world), "its deadline is a minute"
    world.reconcile(5, after=20, cloud_moves=False)
    assert is_gone(world) and world.cloud.services["cmp1"].enabled
    assert ("Warning", "MovesUnconfirmed") in world.events.emitted


@pytest.mark.slow
def test_an_evacuation_that_never_ends_lets_a_host_come_back_that_is_ready() -> None:
    world = NodeWorld("cmp1", "cmp2", nodes={"evacuation": "Auto"}, compute={"images": {"backend": "ceph"}})
    world.cloud.boot(1, "cmp1")
    world.reconcile(2)
    world.set_ready("cmp1", False)
    world.cloud.die("cmp1")
    world.reconcile(10, after=20)
    world.fence("cmp1")
    world.reconcile(4, cloud_moves=False)
    assert world.cloud.services["cmp1"].forced_down
    world.set_ready("cmp1", True)
    world.reconcile(34, after=30, cloud_moves=False)
    world.cloud.restart("cmp1")
    world.reconcile(3, cloud_moves=False)
    service = world.cloud.services["cmp1"]
    assert (service.enabled, service.forced_down) == (True, False)
    assert world.kube.list(COMPUTE_MAINTENANCE) == []


@pytest.mark.slow
def test_what_cannot_be_ended_is_asked_to_end_ever_more_seldom(world: NodeWorld) -> None:
    given_up(world)
    tried: list[str] = []
    world.cloud.before = lambda name, _: tried.append(name) if name == "abort_migration" else None
    delete(world)
    world.reconcile(30, after=10, cloud_moves=False)
    assert 4 <= len(tried) <= 9


def test_one_that_a_person_confirmed_lets_the_maintenance_go(world: NodeWorld) -> None:
    id_ = given_up(world, status="SHUTOFF")
    for _ in range(4):
        world.cloud.pass_time()
    world.cloud.confirm_resize(id_)
    world.cloud.calls.clear()
    delete(world)
    world.reconcile(3)
    assert is_gone(world) and asked(world, id_) == []


def test_what_a_person_moves_after_it_was_given_up_is_left_to_them(world: NodeWorld) -> None:
    id_ = given_up(world)
    server, number = world.cloud.hosted[id_], max(world.cloud.moves)
    world.cloud.moves[number] = replace(world.cloud.moves[number], status="error")
    theirs = Migration(number + 1, id_, "live-migration", "running", "cmp1", "cmp3")
    world.cloud.moves[theirs.id] = theirs
    world.cloud.hosted[id_] = replace(server, status="MIGRATING", task="migrating")
    delete(world)
    world.reconcile(3, cloud_moves=False)
    assert is_gone(world) and asked(world, id_) == []


def test_a_server_that_is_deleted_meanwhile_is_not_waited_for(world: NodeWorld) -> None:
    id_ = given_up(world, status="SHUTOFF")
    del world.cloud.hosted[id_]
    delete(world)
    world.reconcile(3)
    assert is_gone(world)


@pytest.mark.slow
def test_a_process_killed_meanwhile_knows_its_moves_again(world: NodeWorld) -> None:
    id_ = given_up(world, status="SHUTOFF")
    delete(world)
    world.reconcile(2, cloud_moves=False)
    world.restart()
    world.reconcile(8)
    assert is_gone(world) and asked(world, id_) == ["confirm_resize"]


@pytest.mark.slow
def test_a_node_that_a_person_uncordoned_meanwhile_and_cordons_again_stays_cordoned() -> None:
    """Also where it had lost its role, so that no one else looks after what is noted on it."""
    world = NodeWorld("cmp1", "cmp2", "cmp3")
    world.cloud.boot(1, "cmp1")
    world.reconcile(2)
    world.maintain("work", "cmp1")
    world.reconcile(4)
    world.kube.delete(COMPUTE_MAINTENANCE, "work")
    world.edit_node("cmp1", {"metadata": {"labels": {COMPUTE: None}}})
    world.cordon("cmp1", False)
    world.reconcile(1, cloud_moves=False)
    world.cordon("cmp1")
    world.reconcile(30)
    assert world.maintenance("work") == {}
    assert world.node("cmp1")["spec"].get("unschedulable")
