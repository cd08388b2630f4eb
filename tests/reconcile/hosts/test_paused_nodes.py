"""A region that is paused: its nodes are looked at and reported, and nothing is done by itself."""

from __future__ import annotations

from dataclasses import replace

import pytest

from controller.ports.kubernetes import COMPUTE_MAINTENANCE, NODE, OSDPL
from tests.reconcile.node_world import NAMESPACE, NodeWorld
from tests.reconcile.watched import NAME

pytestmark = pytest.mark.slow

HOSTS = [f"cmp{number}" for number in range(1, 11)]


@pytest.fixture
def world() -> NodeWorld:
    world = NodeWorld(*HOSTS, nodes={"evacuation": "Auto", "fencing": {"url": "https://fencing"}})
    world.cloud.boot(2, "cmp1", local_disk=False)
    world.reconcile(2)
    return world


def set_mode(world: NodeWorld, mode: str) -> None:
    world.kube.merge_patch(OSDPL, NAME, NAMESPACE, {"spec": {"mode": mode}})


def lose(world: NodeWorld) -> None:
    world.set_ready("cmp1", False)
    world.cloud.die("cmp1")


def trouble(world: NodeWorld) -> None:
    """A node is lost, one is cordoned, one is labelled for a zone, one is removed."""
    lose(world)
    world.cordon("cmp2")
    world.edit_node("cmp3", {"metadata": {"labels": {"osctl.dev/availability-zone": "az1"}}})
    world.kube.delete(NODE, "cmp4")
    world.reconcile(30, after=10)


@pytest.mark.parametrize(("mode", "quiet"), [("Paused", True), ("Plan", False), ("Apply", False)])
def test_only_a_region_that_is_not_paused_has_its_hosts_cared_for(
    world: NodeWorld, mode: str, quiet: bool
) -> None:
    set_mode(world, mode)
    trouble(world)
    assert (world.cloud.writes == []) == quiet
    assert (world.fencing.asked == []) == quiet


def test_nothing_is_done_to_hosts_while_a_restore_holds_the_region(world: NodeWorld) -> None:
    held = {"status": {"restore": "after-a-loss"}}
    world.kube.merge_patch(OSDPL, NAME, NAMESPACE, held, subresource="status")
    trouble(world)
    assert (world.cloud.writes, world.fencing.asked) == ([], [])
    assert world.status("cmp2")["reason"] == "Restoring"
    assert "restore after-a-loss runs: nothing is done" in world.status("cmp2")["message"]


def test_what_would_be_done_is_reported(world: NodeWorld) -> None:
    set_mode(world, "Paused")
    trouble(world)
    assert {world.status(name)["reason"] for name in ("cmp1", "cmp2", "cmp4")} == {"PausedBySpec"}
    assert "cordoned" in world.status("cmp2")["message"]
    set_mode(world, "Apply")
    world.reconcile(3)
    assert not world.cloud.services["cmp2"].enabled


@pytest.mark.slow
def test_an_evacuation_by_itself_is_neither_begun_nor_gone_on_with(world: NodeWorld) -> None:
    world.cloud.boot(20, "cmp1", local_disk=False)
    lose(world)
    world.reconcile(14, after=10)
    world.fence("cmp1")
    world.reconcile(4)
    begun = [call for call in world.cloud.writes if call[0] == "evacuate"]
    assert 0 < len(begun) < 22
    set_mode(world, "Paused")
    world.reconcile(15)
    assert [call for call in world.cloud.writes if call[0] == "evacuate"] == begun
    [maintenance] = world.kube.objects("ComputeMaintenance")
    assert "Paused" in maintenance["status"]["conditions"][0]["message"]
    set_mode(world, "Apply")
    world.reconcile(60)
    assert all(one.host != "cmp1" for one in world.cloud.hosted.values())


def test_a_host_that_a_person_lets_up_meanwhile_is_not_held_down_again(world: NodeWorld) -> None:
    lose(world)
    world.reconcile(14, after=10)
    world.fence("cmp1")
    world.reconcile(4, cloud_moves=False)
    [maintenance] = world.kube.objects("ComputeMaintenance")
    assert any(one["state"] == "Requested" for one in maintenance["status"]["servers"])
    set_mode(world, "Paused")
    world.reconcile(2, cloud_moves=False)
    up = replace(world.cloud.services["cmp1"], forced_down=False, enabled=True, reason="")
    world.cloud.services["cmp1"] = up
    world.cloud.calls.clear()
    world.reconcile(5, cloud_moves=False)
    assert (world.cloud.writes, world.cloud.services["cmp1"]) == ([], up)


@pytest.mark.slow
def test_a_maintenance_that_others_made_goes_on(world: NodeWorld) -> None:
    set_mode(world, "Paused")
    world.maintain("work", "cmp1")
    world.reconcile(20)
    assert world.maintenance("work")["phase"] == "Completed"
    world.kube.delete(COMPUTE_MAINTENANCE, "work")
    world.reconcile(4)
    assert not world.node("cmp1")["spec"].get("unschedulable")
    assert world.status("cmp1")["reason"] == "PausedBySpec"
    set_mode(world, "Apply")
    world.reconcile(3)
    assert world.cloud.services["cmp1"].enabled
