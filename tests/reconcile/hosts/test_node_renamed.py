"""Two Nodes say that they are one host: one of them has it, and the other is left alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from controller.ports.kubernetes import COMPUTE_MAINTENANCE, NODE, POD
from tests.reconcile.node_world import NodeWorld

pytestmark = pytest.mark.slow


def renamed(**features: Any) -> NodeWorld:
    """The machine of cmp1 joined again as `renamed1`, and the old Node object is still there."""
    world = NodeWorld(*(f"cmp{number}" for number in range(1, 7)), **features)
    world.cloud.boot(2, "cmp1")
    world.reconcile(3)
    world.set_ready("cmp1", False)
    join_again(world)
    world.reconcile(3)
    world.cloud.calls.clear()
    return world


def join_again(world: NodeWorld, *, compute: bool = True) -> None:
    world.add_node("renamed1", compute=compute)
    world.edit_node("renamed1", {"metadata": {"labels": {"kubernetes.io/hostname": "cmp1"}}})


def evacuating() -> NodeWorld:
    """The machine of cmp1 is lost and fenced, and the first of its 20 servers are being evacuated."""
    world = NodeWorld(
        *(f"cmp{number}" for number in range(1, 7)),
        nodes={"evacuation": "Auto"},
        compute={"images": {"backend": "ceph"}},
    )
    world.cloud.boot(20, "cmp1")
    world.reconcile(3)
    lose(world, "cmp1")
    world.fence("cmp1")
    world.reconcile(6)
    assert 0 < evacuations(world) < 20
    return world


def lose(world: NodeWorld, node: str) -> None:
    world.set_ready(node, False)
    world.cloud.die("cmp1")
    world.reconcile(60)


def evacuations(world: NodeWorld) -> int:
    return sum(call == "evacuate" for call, _ in world.cloud.writes)


@pytest.mark.slow
def test_the_ready_one_has_the_host_and_nothing_is_done_for_the_other() -> None:
    world = renamed()
    world.reconcile(60, after=10)
    assert world.cloud.writes == []
    assert world.status("renamed1")["reason"] == "InService"
    assert world.status("cmp1")["reason"] == "NodeReplaced"
    assert "the host of this node now belongs to the node renamed1" in world.status("cmp1")["message"]


@pytest.mark.slow
def test_a_machine_that_runs_under_another_name_is_neither_fenced_nor_evacuated() -> None:
    world = renamed(
        nodes={"evacuation": "Auto", "fencing": {"url": "https://fencing"}},
        compute={"images": {"backend": "ceph"}},
    )
    world.fence("cmp1")
    world.cloud.die("cmp1")
    world.reconcile(60, after=10)
    assert world.fencing.asked == []
    assert world.cloud.writes == []


def test_the_old_node_is_forgotten_with_its_object() -> None:
    world = renamed()
    world.kube.delete(NODE, "cmp1")
    world.reconcile(5)
    assert world.cloud.writes == []
    assert world.status("cmp1") == {}
    assert world.status("renamed1")["servers"] == 2


@pytest.mark.slow
def test_an_evacuation_that_has_begun_ends_when_the_machine_is_back_under_another_name() -> None:
    world = evacuating()
    begun = evacuations(world)
    join_again(world)
    world.reconcile(40)
    assert evacuations(world) == begun
    assert world.kube.list(COMPUTE_MAINTENANCE) == []
    for _ in ("it cleans up, and is held down no more", "it reports"):
        world.cloud.restart("cmp1")
        world.reconcile(30)
    assert world.cloud.services["cmp1"].enabled
    assert world.status("renamed1")["reason"] == "InService"


def test_nothing_is_evacuated_on_a_persons_word_for_the_old_node_while_its_machine_is_ready() -> None:
    world = renamed()
    world.cloud.die("cmp1")
    world.maintain("nm", "cmp1", mode="Evacuate", fenced=True)
    world.reconcile(20)
    assert evacuations(world) == 0
    ready = world.maintenance("nm")["conditions"][0]
    assert ready["reason"] == "ComputeStillReports"
    assert "the machine is now the node renamed1, which is ready" in ready["message"]


def join_by_address(world: NodeWorld) -> None:
    """As with another `--hostname-override`: its label is the new name, too."""
    world.add_node("renamed1")
    world.give_address("renamed1", "10.0.0.1")


def join_without_role(world: NodeWorld) -> None:
    join_again(world, compute=False)
    world.edit_node("renamed1", {"metadata": {"labels": {"openstack-control-plane": None}}})


@pytest.mark.parametrize("join", [join_without_role, join_by_address])
def test_nothing_is_evacuated_while_the_machine_is_ready_as_a_node_that_is_none_of_ours(
    join: Callable[[NodeWorld], None],
) -> None:
    world = NodeWorld("cmp1", "cmp2", "cmp3")
    world.give_address("cmp1", "10.0.0.1")
    world.cloud.boot(2, "cmp1")
    world.reconcile(3)
    lose(world, "cmp1")
    world.maintain("nm", "cmp1", mode="Evacuate", fenced=True)
    join(world)
    world.reconcile(20)
    assert evacuations(world) == 0
    assert "renamed1" in world.maintenance("nm")["conditions"][0]["message"]


def test_no_machine_is_powered_off_that_is_ready_as_a_node_that_is_none_of_ours() -> None:
    features = {"evacuation": "Auto", "fencing": {"url": "https://fencing"}}
    world = NodeWorld("cmp1", "cmp2", "cmp3", nodes=features, compute={"images": {"backend": "ceph"}})
    world.cloud.boot(2, "cmp1")
    world.reconcile(3)
    join_without_role(world)
    lose(world, "cmp1")
    assert world.fencing.asked == []
    assert "the machine is now the node renamed1" in world.status("cmp1")["message"]


def test_a_node_that_is_said_to_be_another_host_is_not_the_machine_of_its_address() -> None:
    world = NodeWorld("cmp1", "cmp2", "cmp3")
    world.give_address("cmp1", "10.0.0.1")
    world.cloud.boot(2, "cmp1")
    world.reconcile(3)
    lose(world, "cmp1")
    join_by_address(world)
    world.annotate("renamed1", host="renamed1")
    world.maintain("nm", "cmp1", mode="Evacuate", fenced=True)
    world.reconcile(20)
    assert evacuations(world) == 2


def test_an_evacuation_ends_at_once_when_the_machine_is_ready_before_any_watch_reports() -> None:
    world = evacuating()
    begun = evacuations(world)
    world.watch = lambda: None  # type: ignore[method-assign]
    join_again(world)
    world.reconcile(20)
    assert evacuations(world) == begun


def test_no_pod_is_freed_while_its_machine_is_ready_as_an_unreported_node() -> None:
    world = NodeWorld("cmp1", "cmp2", "cmp3")
    world.reconcile(3)
    lose(world, "cmp1")
    world.fence("cmp1")
    world.reconcile(3)
    meta = {"name": "mariadb-0", "namespace": "openstack", "finalizers": ["x/y"]}
    world.kube.create(
        {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": {"nodeName": "cmp1", "containers": []}}
    )
    world.kube.delete(POD, "mariadb-0", "openstack")
    world.clock.advance(100)
    world.watch()
    join_again(world)
    world.kube.requests.clear()
    world.hosts.reconcile()
    assert not [one for one in world.kube.requests if (one.verb, one.name) == ("delete", "mariadb-0")]


@pytest.mark.slow
def test_a_word_that_the_machine_is_off_ends_when_it_has_run_under_another_name() -> None:
    world = evacuating()
    begun = evacuations(world)
    join_again(world)
    world.reconcile(40)
    lose(world, "renamed1")
    world.maintain("nm", "cmp1", mode="Evacuate")
    world.reconcile(20)
    assert evacuations(world) == begun
    ready = world.maintenance("nm")["conditions"][0]
    assert ready["reason"] == "FencingAwaited"
    assert "osctl node fenced renamed1" in ready["message"]
    assert "fenced" not in world.notes("cmp1")
    world.fence("renamed1")
    world.reconcile(20)
    assert evacuations(world) > begun


def test_a_host_in_maintenance_stays_so_when_its_machine_joins_again_under_another_name() -> None:
    world = NodeWorld("cmp1", "cmp2")
    world.cloud.boot(2, "cmp1")
    world.reconcile(3)
    world.maintain("nm", "cmp1", mode="Cordon")
    world.reconcile(5)
    world.set_ready("cmp1", False)
    join_again(world)
    world.reconcile(3)
    world.cloud.calls.clear()
    world.reconcile(30)
    assert world.cloud.writes == []
    assert world.status("renamed1")["reason"] == "InMaintenance"
    assert world.status("renamed1")["maintenance"] == "nm"


def test_it_is_in_service_again_under_its_new_name_once_that_maintenance_is_deleted() -> None:
    world = NodeWorld("cmp1", "cmp2")
    world.reconcile(3)
    world.maintain("nm", "cmp1", mode="Cordon")
    world.reconcile(5)
    world.set_ready("cmp1", False)
    join_again(world)
    world.reconcile(3)
    world.kube.delete(COMPUTE_MAINTENANCE, "nm")
    world.reconcile(6)
    assert world.cloud.services["cmp1"].enabled
    assert world.status("renamed1")["reason"] == "InService"


def test_that_its_compute_is_disabled_by_us_makes_no_confirmation_of_the_machine_void() -> None:
    """Both of its Nodes are confirmed to be off, before it has been lost for long enough."""
    world = renamed(nodes={"holdDown": "2m"})
    world.set_ready("renamed1", False)
    world.cloud.die("cmp1")
    world.reconcile()
    for name in ("renamed1", "cmp1"):
        world.fence(name)
        world.reconcile(3)
    assert world.cloud.services["cmp1"].enabled
    world.reconcile(60)
    assert not world.cloud.services["cmp1"].enabled
    assert {name: bool(world.notes(name).get("fenced")) for name in ("renamed1", "cmp1")} == {
        "renamed1": True,
        "cmp1": True,
    }
