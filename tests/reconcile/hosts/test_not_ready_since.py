"""A node that is not ready: one absence is one, however its condition changes, and has its own fencing."""

from __future__ import annotations

import pytest

from controller.domain.shared.cloud_facts import MARK
from controller.ports.kubernetes import COMPUTE_MAINTENANCE
from tests.reconcile.node_world import NodeWorld


@pytest.fixture
def world() -> NodeWorld:
    world = NodeWorld("cmp1", "cmp2", "cmp3", "cmp4", nodes={"evacuation": "Auto"})
    world.cloud.boot(4, "cmp1", local_disk=False)
    world.reconcile(2)
    return world


def evacuated(world: NodeWorld) -> int:
    return sum(name == "evacuate" for name, _ in world.cloud.writes)


def lose(world: NodeWorld, ready: str = "Unknown") -> None:
    """Not ready for longer than the hold-down."""
    world.set_condition("cmp1", ready)
    world.cloud.die("cmp1")
    world.reconcile(20, after=10)
    assert world.status("cmp1")["reason"] == "FencingAwaited"


@pytest.mark.slow
def test_false_and_then_unknown_is_one_absence(world: NodeWorld) -> None:
    lose(world, "False")
    world.fence("cmp1")
    world.reconcile(3)
    world.set_condition("cmp1", "Unknown")
    world.reconcile(40)
    assert evacuated(world) == 4
    [maintenance] = world.kube.objects("ComputeMaintenance")
    assert maintenance["status"]["phase"] == "Completed"
    assert len(world.notes("cmp1")["readiness-losses"].split()) == 1


@pytest.mark.slow
def test_what_was_taken_back_stays_so_when_false_becomes_unknown(world: NodeWorld) -> None:
    lose(world, "False")
    world.fence("cmp1")
    world.reconcile(1)
    [maintenance] = world.kube.objects("ComputeMaintenance")
    world.kube.delete(COMPUTE_MAINTENANCE, maintenance["metadata"]["name"])
    world.reconcile(8)
    begun = evacuated(world)
    world.set_condition("cmp1", "Unknown")
    world.reconcile(20)
    assert world.kube.objects("ComputeMaintenance") == [] and evacuated(world) == begun


def test_the_hold_down_runs_from_the_first_moment(world: NodeWorld) -> None:
    world.set_condition("cmp1", "False")
    world.reconcile(10, after=10)
    world.set_condition("cmp1", "Unknown")
    world.reconcile(4, after=10)
    assert not world.cloud.services["cmp1"].enabled


def test_a_machine_that_was_started_again_is_not_off(world: NodeWorld) -> None:
    """No one saw that it was ready in between, but it is another boot."""
    world.set_condition("cmp1", "Unknown", boot="first")
    world.cloud.die("cmp1")
    world.reconcile(20, after=10)
    world.fence("cmp1")
    world.clock.advance(5)
    world.set_condition("cmp1", "False", boot="second")
    world.reconcile(20, after=10)
    assert world.status("cmp1")["reason"] == "FencingAwaited"
    assert evacuated(world) == 0


@pytest.mark.slow
def test_the_fencing_service_is_asked_again_for_a_machine_that_was_started_again() -> None:
    world = NodeWorld("cmp1", "cmp2", "cmp3", nodes={"evacuation": "Auto", "fencing": {"url": "https://f"}})
    world.cloud.boot(8, "cmp1", local_disk=False)
    world.reconcile(2)
    world.set_condition("cmp1", "Unknown", boot="first")
    world.cloud.die("cmp1")
    world.fencing.off.add("cmp1")
    while not evacuated(world):
        world.reconcile(1)
    world.fencing.asked.clear()
    world.fencing.off.clear()
    world.set_condition("cmp1", "Unknown", boot="second")
    world.reconcile(6)
    begun = evacuated(world)
    world.reconcile(50)
    assert world.fencing.asked and evacuated(world) == begun < 8
    world.fencing.off.add("cmp1")
    world.reconcile(60)
    assert all(one.host != "cmp1" for one in world.cloud.hosted.values())
    assert len(world.kube.objects("ComputeMaintenance")) == 1


def test_an_unseen_return_ends_an_absence_and_its_confirmation(world: NodeWorld) -> None:
    """The container was away for an hour, in which the node was ready, and was lost again."""
    lose(world)
    world.fence("cmp1")
    world.clock.advance(100)
    world.set_ready("cmp1", True)
    world.clock.advance(3600)
    world.set_ready("cmp1", False)
    world.restart()
    world.reconcile(2)
    assert world.status("cmp1")["reason"] == "NodeNotReady"
    world.reconcile(20, after=10)
    assert world.status("cmp1")["reason"] == "FencingAwaited"
    assert evacuated(world) == 0


def test_the_hold_down_after_an_unseen_return_is_a_whole_one(world: NodeWorld) -> None:
    world.set_ready("cmp1", False)
    world.reconcile(2)
    world.set_ready("cmp1", True)
    world.clock.advance(3600)
    world.set_ready("cmp1", False)
    world.restart()
    world.reconcile(4, after=10)
    assert world.cloud.services["cmp1"].enabled


@pytest.mark.slow
def test_a_confirmation_holds_without_a_look_while_false_became_unknown(world: NodeWorld) -> None:
    """Its kubelet has said nothing since."""
    lose(world, "False")
    world.fence("cmp1")
    world.clock.advance(3600)
    world.set_condition("cmp1", "Unknown")
    world.reconcile(20, after=10)
    assert evacuated(world) == 4


def test_a_kubelet_that_spoke_between_two_looks_was_not_off(world: NodeWorld) -> None:
    lose(world, "False")
    world.fence("cmp1")
    world.clock.advance(3600)
    world.set_condition("cmp1", "False")
    world.set_condition("cmp1", "Unknown")
    world.reconcile(20, after=10)
    assert world.status("cmp1")["reason"] == "FencingAwaited"
    assert evacuated(world) == 0


def test_a_kubelet_that_speaks_again_was_not_off(world: NodeWorld) -> None:
    lose(world, "Unknown")
    world.fence("cmp1")
    world.clock.advance(5)
    world.set_condition("cmp1", "False")
    world.reconcile(20, after=10)
    assert world.status("cmp1")["reason"] == "FencingAwaited"
    assert evacuated(world) == 0


@pytest.mark.slow
def test_an_absence_is_the_same_one_after_a_restart(world: NodeWorld) -> None:
    lose(world)
    world.fence("cmp1")
    world.restart()
    world.reconcile(40)
    assert evacuated(world) == 4


@pytest.mark.parametrize("words", ["true", "2026-11-22T07:00:00Z", "uid/boot", "/boot/Unknown/then"])
def test_what_names_no_machine_confirms_nothing(world: NodeWorld, words: str) -> None:
    lose(world)
    world.annotate("cmp1", fenced=words)
    world.reconcile(20)
    assert world.status("cmp1")["reason"] == "FencingAwaited"
    assert evacuated(world) == 0


def test_a_word_goes_when_the_node_is_back(world: NodeWorld) -> None:
    lose(world)
    world.fence("cmp1")
    world.set_ready("cmp1", True)
    world.reconcile(2)
    assert not {"fenced", "not-ready-since"} & world.notes("cmp1").keys()


def test_a_node_that_never_said_whether_it_is_ready_gets_its_hold_down(world: NodeWorld) -> None:
    live = world.node("cmp1")
    world.kube.replace({**live, "status": {"conditions": []}}, subresource="status")
    world.reconcile(3)
    assert world.cloud.services["cmp1"].enabled
    world.reconcile(20, after=10)
    assert world.cloud.services["cmp1"].reason == f"{MARK}node not ready"


def test_what_a_person_forced_down_meanwhile_stays_down(world: NodeWorld) -> None:
    lose(world)
    world.cloud.force_down("service-cmp1", down=True)
    world.set_ready("cmp1", True)
    world.cloud.calls.clear()
    world.reconcile(10, after=10)
    assert world.cloud.writes == []
    assert world.status("cmp1")["reason"] == "DisabledByOthers"


@pytest.mark.slow
@pytest.mark.parametrize("why", ["broken fan", ""])
def test_what_a_person_had_disabled_is_so_again_after_its_evacuation(world: NodeWorld, why: str) -> None:
    world.cloud.set_compute_service("service-cmp1", enabled=False, reason=why)
    world.set_ready("cmp1", False)
    world.cloud.die("cmp1")
    world.fence("cmp1")
    world.maintain("by-hand", "cmp1", mode="Evacuate")
    world.reconcile(30)
    assert evacuated(world) == 4
    assert world.cloud.services["cmp1"].forced_down
    world.kube.delete(COMPUTE_MAINTENANCE, "by-hand")
    world.set_ready("cmp1", True)
    world.reconcile(3)
    world.cloud.restart("cmp1")
    world.reconcile(4)
    world.cloud.restart("cmp1")
    world.reconcile(4)
    service = world.cloud.services["cmp1"]
    assert (service.forced_down, service.enabled, service.reason) == (False, False, why)


def test_the_hold_down_runs_by_no_clock_of_a_kubelet(world: NodeWorld) -> None:
    """It calls its node not ready, and takes it to be last year."""
    then = "2025-01-01T00:00:00Z"
    ready = {"type": "Ready", "status": "False", "lastTransitionTime": then, "lastHeartbeatTime": then}
    status = {**world.node("cmp1")["status"], "conditions": [ready]}
    world.kube.replace({**world.node("cmp1"), "status": status}, subresource="status")
    world.reconcile(5, after=10)
    assert world.cloud.services["cmp1"].enabled
    world.reconcile(12, after=10)
    assert not world.cloud.services["cmp1"].enabled
