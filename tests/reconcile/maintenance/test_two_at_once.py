"""Two processes serve one maintenance: one that stood still goes on beside the one that took over."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from controller.ports.kubernetes import NODE_MAINTENANCE
from tests.fakes.kube import Request
from tests.reconcile.node_world import NodeWorld


@pytest.fixture
def world() -> NodeWorld:
    """The machine of cmp1 is off, and an evacuation of its server is about to be noted."""
    world = NodeWorld("cmp1", "cmp2", "cmp3", compute={"images": {"backend": "ceph"}})
    world.cloud.boot(1, "cmp1", local_disk=False)
    world.reconcile(2)
    world.set_condition("cmp1", "Unknown", boot="first")
    world.cloud.die("cmp1")
    world.reconcile(2)
    return world


def test_a_server_is_evacuated_once_where_both_were_about_to_ask_for_it(world: NodeWorld) -> None:
    world.maintain("work", "cmp1", mode="Evacuate", fenced=True)
    late = world.maintenances
    met: list[int] = []

    def before(request: Request) -> None:
        """The other one does its passes right before the first notes that it asks."""
        listed = [one for one, _ in world.cloud.calls if one == "migrations"]
        if request.kind == "NodeMaintenance" and listed and not met:
            met.append(1)
            world.restart()
            world.watch()
            world.maintenances.reconcile()
            world.maintenances.reconcile()

    world.kube.before_write = before
    for _ in range(8):
        world.clock.advance(3)
        world.watch()
        world.maintenances.reconcile() if met else late.reconcile()
    assert met
    assert [one for one, _ in world.cloud.writes].count("evacuate") == 1


def test_no_server_is_evacuated_any_more_once_its_machine_is_back_in_the_middle_of_a_pass(
    world: NodeWorld,
) -> None:
    """A pass may take a minute: what it read at its beginning is old when it asks."""

    def back(request: Request) -> None:
        status = world.maintenance("work").get("servers") or ()
        if request.kind == "NodeMaintenance" and any(one["state"] == "Requested" for one in status):
            world.kube.after_write = lambda request: None
            world.set_condition("cmp1", "True", boot="second")

    world.maintain("work", "cmp1", mode="Evacuate", fenced=True)
    world.kube.after_write = back
    world.reconcile(8)
    assert "evacuate" not in [one for one, _ in world.cloud.writes]


def take_back(world: NodeWorld) -> None:
    world.kube.merge_patch(NODE_MAINTENANCE, "work", None, {"spec": {"fenced": None}})


def delete(world: NodeWorld) -> None:
    world.kube.delete(NODE_MAINTENANCE, "work")


def make_again(world: NodeWorld) -> None:
    """Without the confirmation, as far as the pass that read the first one knows."""
    world.kube.merge_patch(NODE_MAINTENANCE, "work", None, {"metadata": {"finalizers": None}})
    world.kube.delete(NODE_MAINTENANCE, "work")
    world.maintain("work", "cmp1", mode="Evacuate")


@pytest.mark.parametrize("withdraw", [take_back, delete, make_again])
def test_no_server_is_evacuated_any_more_once_its_confirmation_is_withdrawn_in_the_middle_of_a_pass(
    world: NodeWorld, withdraw: Callable[[NodeWorld], None]
) -> None:
    def after(request: Request) -> None:
        status = world.maintenance("work").get("servers") or ()
        if request.kind == "NodeMaintenance" and any(one["state"] == "Requested" for one in status):
            world.kube.after_write = lambda request: None
            withdrawn.append(request)
            withdraw(world)

    withdrawn: list[Request] = []
    world.maintain("work", "cmp1", mode="Evacuate", fenced=True)
    world.kube.after_write = after
    world.reconcile(8)
    assert withdrawn
    assert "evacuate" not in [one for one, _ in world.cloud.writes]
