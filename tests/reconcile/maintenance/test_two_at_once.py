"""Two processes serve one maintenance: one that stood still goes on beside the one that took over."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from controller.ports.kubernetes import COMPUTE_MAINTENANCE
from controller.reconcile.hosts.forced_down import ForcedDownHosts
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
        if request.kind == "ComputeMaintenance" and listed and not met:
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
        if request.kind == "ComputeMaintenance" and any(one["state"] == "Requested" for one in status):
            world.kube.after_write = lambda request: None
            world.set_condition("cmp1", "True", boot="second")

    world.maintain("work", "cmp1", mode="Evacuate", fenced=True)
    world.kube.after_write = back
    world.reconcile(8)
    assert "evacuate" not in [one for one, _ in world.cloud.writes]


def take_back(world: NodeWorld) -> None:
    world.kube.merge_patch(COMPUTE_MAINTENANCE, "work", None, {"spec": {"fenced": None}})


def delete(world: NodeWorld) -> None:
    world.kube.delete(COMPUTE_MAINTENANCE, "work")


def make_again(world: NodeWorld) -> None:
    """Without the confirmation, as far as the pass that read the first one knows."""
    world.kube.merge_patch(COMPUTE_MAINTENANCE, "work", None, {"metadata": {"finalizers": None}})
    world.kube.delete(COMPUTE_MAINTENANCE, "work")
    world.maintain("work", "cmp1", mode="Evacuate")


@pytest.mark.parametrize("withdraw", [take_back, delete, make_again])
def test_no_server_is_evacuated_any_more_once_its_confirmation_is_withdrawn_in_the_middle_of_a_pass(
    world: NodeWorld, withdraw: Callable[[NodeWorld], None]
) -> None:
    def after(request: Request) -> None:
        status = world.maintenance("work").get("servers") or ()
        if request.kind == "ComputeMaintenance" and any(one["state"] == "Requested" for one in status):
            world.kube.after_write = lambda request: None
            withdrawn.append(request)
            withdraw(world)

    withdrawn: list[Request] = []
    world.maintain("work", "cmp1", mode="Evacuate", fenced=True)
    world.kube.after_write = after
    world.reconcile(8)
    assert withdrawn
    assert "evacuate" not in [one for one, _ in world.cloud.writes]


NOTED = "osctl-forced-down-hosts"


@pytest.mark.parametrize("first", ["the other one notes it first", "the other one notes it second"])
def test_what_the_other_one_has_forced_down_is_not_forgotten_by_who_was_about_to(
    world: NodeWorld, first: str
) -> None:
    """Its confirmation was renewed by the other one: it may do nothing any more, and takes back its note."""
    late = world.maintenances
    met: list[Request] = []

    def other(request: Request) -> None:
        if request.name == NOTED and not met:
            met.append(request)
            world.restart()
            world.watch()
            world.maintenances.reconcile()

    world.maintain("work", "cmp1", mode="Evacuate", fenced=True)
    setattr(world.kube, "before_write" if first.endswith("first") else "after_write", other)
    for _ in range(3):
        world.clock.advance(3)
        world.watch()
        late.reconcile()
    service = world.cloud.services["cmp1"]
    assert met and service.forced_down
    assert ForcedDownHosts(world.kube, world.clock, world.namespace).is_recorded("cmp1", service)


def test_what_the_other_one_is_about_to_force_down_is_not_forgotten_by_who_lets_it_up(
    world: NodeWorld,
) -> None:
    service = world.cloud.services["cmp1"]
    one, other = (ForcedDownHosts(world.kube, world.clock, world.namespace) for _ in range(2))
    one.remember("cmp1", service)
    noted = one.noted("cmp1")
    other.remember("cmp1", service)
    one.forget("cmp1", noted)
    assert other.is_recorded("cmp1", service)


def test_who_notes_a_host_leaves_what_the_other_one_notes_of_another_meanwhile(world: NodeWorld) -> None:
    one, other = (ForcedDownHosts(world.kube, world.clock, world.namespace) for _ in range(2))
    met: list[Request] = []

    def before(request: Request) -> None:
        if not met:
            met.append(request)
            other.remember("cmp2", world.cloud.services["cmp2"])

    world.kube.before_write = before
    one.remember("cmp1", world.cloud.services["cmp1"])
    for host in ("cmp1", "cmp2"):
        assert one.is_recorded(host, world.cloud.services[host])
