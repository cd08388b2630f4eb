"""osctl node replace: from a dead machine to its removal, with a region that does its part."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import controller.cli.commands.recovery.replace_node as commands
from controller.cli.cluster import Cluster
from controller.ports.kubernetes import COMPUTE_MAINTENANCE, NODE
from tests.cli.objects import osctl
from tests.reconcile.node_world import NodeWorld


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> Iterator[NodeWorld]:
    """Two hosts; while the command waits, the node container does its work."""
    world = NodeWorld("cmp1", "cmp2")
    world.edit_node("cmp1", {"metadata": {"labels": {"rack": "r7", "kubernetes.io/hostname": "cmp1"}}})
    world.reconcile(2)
    monkeypatch.setattr(commands, "open_cluster", lambda *_: Cluster(world.kube, "openstack"))
    monkeypatch.setattr("time.sleep", lambda _: world.reconcile())
    monkeypatch.setattr("time.monotonic", world.clock.monotonic)
    yield world


@pytest.fixture
def dead(world: NodeWorld) -> NodeWorld:
    """cmp1 is off, with one server that has all its disks on volumes."""
    world.cloud.boot(1, "cmp1")
    world.set_ready("cmp1", False)
    world.cloud.die("cmp1")
    world.reconcile(8, after=30.0)
    return world


def test_a_ready_node_is_not_replaced(world: NodeWorld):
    found = osctl("node", "replace", "cmp1", "--off", "--delete-node")
    assert found.exit_code == 6
    assert "is Ready" in found.stderr
    assert world.kube.get(NODE, "cmp1") is not None


def test_without_a_confirmation_it_shows_the_steps_and_changes_nothing(dead: NodeWorld):
    writes = len(dead.cloud.writes)
    found = osctl("node", "replace", "cmp1")
    assert found.exit_code == 5
    assert "2. confirm it: osctl node replace cmp1 --off" in found.stdout
    assert dead.kube.list(COMPUTE_MAINTENANCE) == []
    assert len(dead.cloud.writes) == writes


def test_all_steps_in_their_order(dead: NodeWorld):
    found = osctl("node", "replace", "cmp1", "--off", "--delete-node", "--timeout", "2h")
    assert found.exit_code == 0, found.output
    assert {one.host for one in dead.cloud.hosted.values()} == {"cmp2"}
    assert dead.kube.get(NODE, "cmp1") is None
    assert dead.kube.list(COMPUTE_MAINTENANCE) == []
    labels = next(line for line in found.stdout.splitlines() if "kubectl label node" in line)
    assert "openstack-compute-node=enabled" in labels and "rack=r7" in labels
    assert "kubernetes.io" not in labels


def test_the_node_is_deleted_only_after_a_question(dead: NodeWorld):
    found = osctl("node", "replace", "cmp1", "--off", "--timeout", "2h")
    assert found.exit_code == 5
    assert "--delete-node" in found.stderr
    assert dead.kube.get(NODE, "cmp1") is not None
    again = osctl("node", "replace", "cmp1", "--off", "--delete-node", "--timeout", "2h")
    assert again.exit_code == 0, again.output


def test_a_repeated_command_keeps_the_confirmation_and_begins_nothing_twice(dead: NodeWorld):
    osctl("node", "replace", "cmp1", "--off", "--timeout", "2h")
    (before,) = dead.kube.list(COMPUTE_MAINTENANCE)
    osctl("node", "replace", "cmp1", "--off", "--timeout", "2h")
    (after,) = dead.kube.list(COMPUTE_MAINTENANCE)
    assert after["spec"]["fenced"] == before["spec"]["fenced"]
    assert after["metadata"]["uid"] == before["metadata"]["uid"]


def test_after_the_node_is_gone_only_its_maintenance_is_left_to_end(dead: NodeWorld):
    osctl("node", "replace", "cmp1", "--off", "--timeout", "2h")
    dead.kube.delete(NODE, "cmp1")
    dead.reconcile(2)
    found = osctl("node", "replace", "cmp1", "--off")
    assert found.exit_code == 0, found.output
    assert dead.kube.list(COMPUTE_MAINTENANCE) == []


def test_a_node_that_comes_back_during_the_evacuation_is_not_deleted(
    dead: NodeWorld, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(commands, "wait_for_work", lambda *_: dead.set_ready("cmp1", True))
    found = osctl("node", "replace", "cmp1", "--off", "--delete-node")
    assert found.exit_code == 6
    assert "Ready again" in found.stderr
    assert dead.kube.get(NODE, "cmp1") is not None


def test_servers_that_cannot_be_evacuated_need_a_person(dead: NodeWorld):
    dead.cloud.boot(1, "cmp1", status="SUSPENDED")
    found = osctl("node", "replace", "cmp1", "--off", "--delete-node", "--timeout", "2h")
    assert found.exit_code in (4, 5), found.output
    assert dead.kube.get(NODE, "cmp1") is not None


def test_what_is_nowhere_is_said_to_be_done(world: NodeWorld):
    found = osctl("node", "replace", "cmp9", "--off")
    assert found.exit_code == 6
    assert "nothing is left to do" in found.stderr
