"""A confirmation that a machine is off, where OpenStack is seen in part, late, or while we change it."""

from __future__ import annotations

import pytest

from controller.domain.shared.cloud_facts import ComputeService
from controller.ports.kubernetes import COMPUTE_MAINTENANCE
from controller.reconcile.maintenance.compute_silence import QUIET
from tests.fakes.cloud import FakeCloud
from tests.reconcile.node_world import COMPUTE, NodeWorld

pytestmark = pytest.mark.slow


def evacuations(world: NodeWorld) -> int:
    return sum(name == "evacuate" for name, _ in world.cloud.writes)


def lost(world: NodeWorld, **labels: str | None) -> NodeWorld:
    """The machine of cmp1 is lost with four servers; `labels`: what becomes of those of its Node then."""
    world.cloud.boot(4, "cmp1", local_disk=False)
    world.set_condition("cmp1", "True", boot="first")
    world.reconcile(2)
    world.set_condition("cmp1", "Unknown", boot="first")
    world.cloud.die("cmp1")
    world.reconcile(3)
    if labels:
        world.edit_node("cmp1", {"metadata": {"labels": labels}})
        world.reconcile(3)
    return world


@pytest.fixture
def world() -> NodeWorld:
    return lost(NodeWorld("cmp1", "cmp2", "cmp3", "cmp4", quiet=QUIET))


def told(world: NodeWorld) -> tuple[str, str]:
    ready = world.maintenance("work")["conditions"][0]
    return str(ready["reason"]), str(ready["message"])


def hide(world: NodeWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    """OpenStack answers without the compute service of cmp1."""
    listed, one = FakeCloud.compute_services, FakeCloud.compute_service

    def others(cloud: FakeCloud) -> tuple[ComputeService, ...]:
        return tuple(service for service in listed(cloud) if service.host != "cmp1")

    def other(cloud: FakeCloud, host: str) -> ComputeService | None:
        return None if host == "cmp1" else one(cloud, host)

    monkeypatch.setattr(FakeCloud, "compute_services", others)
    monkeypatch.setattr(FakeCloud, "compute_service", other)


def test_nothing_is_evacuated_while_openstack_does_not_show_the_compute_service(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world = NodeWorld("cmp1", "cmp2", "cmp3", "cmp4", quiet=QUIET)
    lost(world, openvswitch="enabled", **{COMPUTE: None})
    world.fence("cmp1", noted=False)
    world.reconcile(2)
    hide(world, monkeypatch)
    world.maintain("work", "cmp1", mode="Evacuate")
    world.reconcile(20)
    assert told(world)[0] == "ComputeMissing" and evacuations(world) == 0


def test_nothing_is_evacuated_once_the_compute_service_is_gone_in_the_middle_of_a_pass(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world = lost(NodeWorld("cmp1", "cmp2", "cmp3", "cmp4"))
    world.maintain("work", "cmp1", mode="Evacuate", fenced=True)
    hidden = []

    def before(name: str, subject: str) -> None:
        if name == "server" and not hidden:
            hidden.append(name)
            hide(world, monkeypatch)

    world.cloud.before = before
    world.reconcile(40)
    assert hidden and evacuations(world) == 0


@pytest.mark.parametrize("seconds", [0.1, 1.0], ids=["lists that are quick", "lists that take long"])
@pytest.mark.parametrize("by", ["spec.fenced", "osctl node fenced"])
def test_what_was_listed_before_our_own_change_makes_no_confirmation_void(
    world: NodeWorld, by: str, seconds: float
) -> None:
    """A pass at the hosts has listed the services when that at the maintenances forces one down."""
    if by == "osctl node fenced":
        world.fence("cmp1")
        world.reconcile(2)
    world.maintain("work", "cmp1", mode="Evacuate", **({"fenced": True} if by == "spec.fenced" else {}))
    within: list[str] = []

    def before(name: str, subject: str) -> None:
        if name == "network_agents" and not within and not world.cloud.services["cmp1"].forced_down:
            within.append(name)
            for _ in range(6):
                world.watch()
                world.maintenances.reconcile()
                world.clock.advance(seconds)
            within.clear()

    for _ in range(12):
        world.clock.advance(3)
        world.watch()
        world.cloud.before = before
        world.hosts.reconcile()
        world.cloud.before = lambda name, subject: None
        if world.cloud.services["cmp1"].forced_down:
            break
    world.clock.advance(0.1)
    world.watch()
    world.maintenances.reconcile()
    world.reconcile(40)
    assert told(world)[0] != "FencingAwaited" and evacuations(world) == 4


@pytest.mark.parametrize("lost_first", [True, False])
def test_a_dead_machine_whose_node_has_no_role_any_more_is_evacuated_once_that_is_confirmed(
    lost_first: bool,
) -> None:
    world = NodeWorld("cmp1", "cmp2", "cmp3", "cmp4", quiet=QUIET)
    if lost_first:
        lost(world, **{COMPUTE: None})
    else:
        world.reconcile(2)
        world.edit_node("cmp1", {"metadata": {"labels": {COMPUTE: None}}})
        lost(world)
    world.maintain("work", "cmp1", mode="Evacuate")
    world.reconcile(3)
    noted = world.maintenance("work")["lastReport"]
    assert noted and evacuations(world) == 0
    confirmed = {**world.confirmed("cmp1"), "lastReport": noted}
    world.kube.merge_patch(COMPUTE_MAINTENANCE, "work", None, {"spec": {"fenced": confirmed}})
    world.reconcile(40)
    assert evacuations(world) == 4


@pytest.mark.parametrize("change", ["set_compute_service", "force_down"])
def test_a_look_at_the_hosts_in_the_middle_of_our_own_change_takes_no_confirmation_off(change: str) -> None:
    """It sees what was asked for before that is noted beside the confirmation."""
    world = lost(NodeWorld("cmp1", "cmp2", "cmp3", "cmp4"))
    world.fence("cmp1")
    world.reconcile(2)
    looked: list[str] = []

    def after(name: str, subject: str) -> None:
        if name == change and not looked:
            looked.append(name)
            world.clock.advance(3)
            world.watch()
            world.hosts.reconcile()

    world.cloud.after = after
    world.maintain("work", "cmp1", mode="Evacuate")
    world.reconcile(10)
    assert looked and evacuations(world) == 4


def test_what_changed_a_compute_service_and_does_not_note_it_voids_a_confirmation_soon(
    world: NodeWorld,
) -> None:
    """As of a process that is killed in between, or of a person: a report may be hidden behind it."""
    world.fence("cmp1")
    world.reconcile(2)
    world.cloud.set_compute_service("service-cmp1", enabled=False, reason="rma 17")
    world.reconcile(6)
    assert "fenced" not in world.notes("cmp1")
