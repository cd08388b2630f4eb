"""A word that a node is off, in `spec.fenced`: it ends where the machine shows that it was on since."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from controller.ports import NODE, NODE_MAINTENANCE
from tests.reconcile.node_world import COMPUTE, NodeWorld


@pytest.fixture
def world() -> NodeWorld:
    """The machine of cmp1 is lost, and the first of its 12 servers are being evacuated on a person's word."""
    world = NodeWorld("cmp1", "cmp2", "cmp3", "cmp4", compute={"images": {"backend": "ceph"}})
    world.cloud.boot(12, "cmp1", local_disk=False)
    world.set_condition("cmp1", "True", boot="first")
    world.look(2)
    world.set_condition("cmp1", "Unknown", boot="first")
    world.cloud.die("cmp1")
    world.look(3)
    world.maintain("work", "cmp1", mode="Evacuate", fenced=True)
    world.look(6)
    assert 0 < evacuations(world) < 12
    return world


def evacuations(world: NodeWorld) -> int:
    return sum(name == "evacuate" for name, _ in world.cloud.writes)


def reason(world: NodeWorld) -> str:
    return str(world.maintenance("work")["conditions"][0]["reason"])


def boots(world: NodeWorld) -> None:
    world.set_condition("cmp1", "False", boot="second")


def boots_before_it_was_missed(world: NodeWorld) -> None:
    """Its kubelet speaks again before Kubernetes has noticed that it was silent."""
    status = world.node("cmp1")["status"]
    status = {**status, "nodeInfo": {"bootID": "second"}}
    world.kube.replace({**world.node("cmp1"), "status": status}, subresource="status")


def speaks(world: NodeWorld) -> None:
    world.set_condition("cmp1", "False", boot="first")


def speaks_with_a_clock_far_behind(world: NodeWorld) -> None:
    conditions = [{"type": "Ready", "status": "False", "lastTransitionTime": "1970-01-01T00:01:00Z"}]
    status = {**world.node("cmp1")["status"], "conditions": conditions}
    world.kube.replace({**world.node("cmp1"), "status": status}, subresource="status")


def was_ready_and_is_lost_again(world: NodeWorld) -> None:
    world.set_condition("cmp1", "True", boot="first")
    world.clock.advance(1)
    world.set_condition("cmp1", "Unknown", boot="first")


def joins_anew(world: NodeWorld) -> None:
    world.kube.delete(NODE, "cmp1")
    world.look()
    world.add_node("cmp1")
    world.set_condition("cmp1", "False")


def boots_without_its_role(world: NodeWorld) -> None:
    world.edit_node("cmp1", {"metadata": {"labels": {COMPUTE: None}}})
    boots(world)


def ran_under_another_name(world: NodeWorld) -> None:
    world.clock.advance(10)
    world.add_node("renamed1", **{"kubernetes.io/hostname": "cmp1"})
    world.set_condition("renamed1", "False")


PROOFS = (
    boots,
    boots_before_it_was_missed,
    speaks,
    speaks_with_a_clock_far_behind,
    was_ready_and_is_lost_again,
    joins_anew,
    boots_without_its_role,
    ran_under_another_name,
)


@pytest.mark.parametrize("proof", PROOFS)
def test_no_further_server_is_evacuated_once_the_machine_shows_that_it_was_on(
    world: NodeWorld, proof: Callable[[NodeWorld], None]
) -> None:
    proof(world)
    begun = evacuations(world)
    world.look(30)
    assert evacuations(world) == begun
    assert reason(world) == "FencingAwaited"


def test_the_word_lives_on_in_a_new_process(world: NodeWorld) -> None:
    world.restart()
    boots(world)
    begun = evacuations(world)
    world.look(30)
    assert evacuations(world) == begun


@pytest.mark.parametrize("anew", ["osctl node fenced", "spec.fenced"])
def test_a_word_on_the_new_absence_lets_it_go_on(world: NodeWorld, anew: str) -> None:
    boots(world)
    world.look(10)
    world.set_condition("cmp1", "Unknown", boot="second")
    world.look(2)
    if anew == "spec.fenced":
        for fenced in (False, True):
            world.kube.merge_patch(NODE_MAINTENANCE, "work", None, {"spec": {"fenced": fenced}})
            world.look(8)
    else:
        world.fence("cmp1")
    world.look(60)
    assert all(one.host != "cmp1" for one in world.cloud.hosted.values())


def test_a_node_that_only_falls_silent_or_is_removed_is_still_off(world: NodeWorld) -> None:
    world.kube.delete(NODE, "cmp1")
    world.look(60)
    assert all(one.host != "cmp1" for one in world.cloud.hosted.values())


def test_what_said_false_when_the_word_was_given_may_fall_silent() -> None:
    world = NodeWorld("cmp1", "cmp2", "cmp3", compute={"images": {"backend": "ceph"}})
    world.cloud.boot(12, "cmp1", local_disk=False)
    world.set_condition("cmp1", "False", boot="first")
    world.cloud.die("cmp1")
    world.maintain("work", "cmp1", mode="Evacuate", fenced=True)
    world.look(5)
    world.set_condition("cmp1", "Unknown", boot="first")
    world.look(60)
    assert all(one.host != "cmp1" for one in world.cloud.hosted.values())
