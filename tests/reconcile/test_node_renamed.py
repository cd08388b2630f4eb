"""Two Nodes say that they are one host: one of them has it, and the other is left alone."""

from __future__ import annotations

from typing import Any

from controller.ports import NODE
from tests.reconcile.node_world import NodeWorld


def renamed(**features: Any) -> NodeWorld:
    """The machine of cmp1 joined again as `renamed1`, and the old Node object is still there."""
    world = NodeWorld(*(f"cmp{number}" for number in range(1, 7)), **features)
    world.cloud.boot(2, "cmp1")
    world.look(3)
    world.set_ready("cmp1", False)
    world.add_node("renamed1")
    world.edit_node("renamed1", {"metadata": {"labels": {"kubernetes.io/hostname": "cmp1"}}})
    world.look(3)
    world.cloud.calls.clear()
    return world


def test_the_ready_one_has_the_host_and_nothing_is_done_for_the_other() -> None:
    world = renamed()
    world.look(60, after=10)
    assert world.cloud.writes == []
    assert world.status("renamed1")["reason"] == "InService"
    assert world.status("cmp1")["reason"] == "NodeReplaced"
    assert "its host belongs to the node renamed1 now" in world.status("cmp1")["message"]


def test_a_machine_that_runs_under_another_name_is_neither_fenced_nor_evacuated() -> None:
    world = renamed(
        nodes={"evacuation": "Auto", "fencing": {"url": "https://fencing"}},
        compute={"images": {"backend": "ceph"}},
    )
    world.fence("cmp1")
    world.cloud.die("cmp1")
    world.look(60, after=10)
    assert world.fencing.asked == []
    assert world.cloud.writes == []


def test_the_old_node_is_forgotten_with_its_object() -> None:
    world = renamed()
    world.kube.delete(NODE, "cmp1")
    world.look(5)
    assert world.cloud.writes == []
    assert world.status("cmp1") == {}
    assert world.status("renamed1")["servers"] == 2
