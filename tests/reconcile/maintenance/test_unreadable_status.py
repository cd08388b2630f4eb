"""A maintenance whose status another version of the controller wrote, in words not known here."""

from __future__ import annotations

from typing import Any

import pytest

from controller.domain.api.conditions import find
from controller.ports.kubernetes import COMPUTE_MAINTENANCE, KubeObject
from tests.reconcile.node_world import NodeWorld


@pytest.fixture
def world() -> NodeWorld:
    world = NodeWorld("cmp1", "cmp2", "cmp3")
    world.cloud.boot(2, "cmp1")
    world.reconcile(2)
    world.maintain("firmware", "cmp1", mode="Migrate")
    world.maintain("other", "cmp2", mode="Cordon", budgets={"nodesPerAggregate": 2})
    world.reconcile(3)
    status = world.maintenance("firmware")
    # What was there is kept in a field of its own, for whoever can read it again.
    servers = [{**one, "state": "Teleporting", "message": one["state"]} for one in status["servers"]]
    world.kube.replace({**live(world), "status": {**status, "servers": servers}}, subresource="status")
    return world


def live(world: NodeWorld) -> KubeObject:
    found = world.kube.get(COMPUTE_MAINTENANCE, "firmware")
    assert found is not None
    return found


def reported(world: NodeWorld) -> dict[str, Any]:
    return dict(find(world.maintenance("firmware")["conditions"], "Ready"))


def test_that_nothing_is_done_is_reported_with_the_way_out(world: NodeWorld) -> None:
    before = world.maintenance("firmware")
    world.reconcile(3)
    assert (reported(world)["status"], reported(world)["reason"]) == ("False", "StatusUnreadable")
    assert find(world.maintenance("firmware")["conditions"], "Stalled")["status"] == "True"
    assert "another version" in reported(world)["message"]
    # For whoever can read it, all is there as it was.
    assert world.maintenance("firmware")["servers"] == before["servers"]


def test_a_deletion_that_waits_for_it_says_by_what_it_is_held(world: NodeWorld) -> None:
    world.kube.delete(COMPUTE_MAINTENANCE, "firmware")
    world.reconcile(3)
    (finalizer,) = live(world)["metadata"]["finalizers"]
    assert f"remove {finalizer} from metadata.finalizers" in reported(world)["message"]
    assert "cmp1" in reported(world)["message"]


def test_it_is_written_once_and_holds_up_no_other(world: NodeWorld) -> None:
    world.reconcile(2)
    before = live(world)
    world.reconcile(5)
    assert live(world) == before
    assert find(world.maintenance("other")["conditions"], "Ready")["status"] == "True"


@pytest.mark.slow
def test_a_version_that_can_read_it_goes_on(world: NodeWorld) -> None:
    world.reconcile(2)
    servers = [{**one, "state": one["message"]} for one in world.maintenance("firmware")["servers"]]
    status = {**world.maintenance("firmware"), "servers": servers}
    world.kube.replace({**live(world), "status": status}, subresource="status")
    world.reconcile(20)
    assert reported(world)["reason"] == "NodeEmpty"
