"""Pods of an upgrade are replaced on a bounded number of nodes at once, and on none after failures."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from controller.domain.api.conditions import timestamp
from controller.domain.region.upgrade.node_choice import MOST_SECONDS, NodePods, choose_nodes
from controller.domain.region.upgrade.upgrade_policy import UpgradePolicy
from controller.domain.shared.max_unhealthy import MaxUnhealthy

NOW = 1_800_000_000.0


def pod(name: str, *, ready: bool = True, age: float = 60.0, **more: Any) -> dict[str, Any]:
    meta = {"name": name, "uid": name, "creationTimestamp": timestamp(NOW - age), **more.pop("meta", {})}
    status = {"conditions": [{"type": "Ready", "status": "True" if ready else "False"}], **more}
    return {"metadata": meta, "status": status}


def old(node: str) -> NodePods:
    return NodePods.of(node, [(pod(f"nova-{node}"), True)], NOW)


def new(node: str, **more: Any) -> NodePods:
    return NodePods.of(node, [(pod(f"nova-{node}", **more), False)], NOW)


def policy(batch: int = 2, **more: Any) -> UpgradePolicy:
    return UpgradePolicy(batch=MaxUnhealthy(number=batch), **more)


def waiting(reason: str, message: str = "") -> Mapping[str, Any]:
    state = {"waiting": {"reason": reason, "message": message}}
    return {"containerStatuses": [{"name": "main", "state": state}]}


def test_as_many_nodes_go_at_once_as_the_batch_says() -> None:
    choice = choose_nodes([old("c"), old("a"), old("b")], policy(2))
    assert choice.next == ("a", "b")
    assert choice.waiting == "0 of 3 nodes done"


def test_a_node_whose_pod_starts_takes_its_place_in_the_batch() -> None:
    assert choose_nodes([new("a", ready=False), old("b"), old("c")], policy(2)).next == ("b",)


def test_a_pod_that_is_not_made_yet_takes_a_place_in_the_batch() -> None:
    assert choose_nodes([old("b"), old("c")], policy(2), missing=1).next == ("b",)


def test_a_percentage_always_allows_one_node() -> None:
    assert len(choose_nodes(map(old, "abc"), UpgradePolicy()).next) == 1


def test_no_node_begins_after_more_failures_than_the_spec_allows() -> None:
    broken = new("a", ready=False, **waiting("ImagePullBackOff", "no such image"))
    choice = choose_nodes([broken, old("b")], policy(2))
    assert choice.next == ()
    assert choice.failing == "1 node does not come back: a: nova-a: ImagePullBackOff: no such image"
    assert choice.progress.failed == ("a",)


def test_failures_that_the_spec_allows_stop_no_other_node() -> None:
    broken = new("a", ready=False, **waiting("CrashLoopBackOff"))
    choice = choose_nodes([broken, old("b")], policy(1, max_failed=1))
    assert (choice.next, choice.failing) == (("b",), "")


def test_a_pod_that_never_becomes_ready_is_a_failure_in_the_end() -> None:
    assert choose_nodes([new("a", ready=False, age=MOST_SECONDS + 1)], policy()).failing
    assert not choose_nodes([new("a", ready=False, age=MOST_SECONDS - 1)], policy()).failing


def test_a_pod_that_does_not_end_is_a_failure_in_the_end() -> None:
    meta = {"deletionTimestamp": timestamp(NOW - MOST_SECONDS - 1)}
    stuck = NodePods.of("a", [(pod("nova-a", meta=meta), True)], NOW)
    assert choose_nodes([stuck], policy()).failing == "1 node does not come back: a: pod nova-a does not end"


def test_a_pause_lets_no_other_node_begin() -> None:
    choice = choose_nodes([new("a"), old("b")], policy(2, paused=True))
    assert choice.next == ()
    assert "spec.upgrade.paused" in choice.waiting


def test_the_step_is_done_when_every_pod_is_new_and_ready() -> None:
    choice = choose_nodes([new("a"), new("b")], policy())
    assert (choice.waiting, choice.failing, choice.progress.done) == ("", "", 2)


def test_a_pause_holds_the_step_once_all_that_has_begun_is_done() -> None:
    paused = policy(1, paused=True)
    moving = choose_nodes([new("a", ready=False), old("b")], paused)
    assert moving.next == () and not moving.held
    assert not choose_nodes([new("a"), old("b")], paused, missing=1).held
    held = choose_nodes([new("a"), old("b")], paused)
    assert held.next == () and held.held
    assert not choose_nodes([new("a"), old("b")], policy(1)).held
    assert not choose_nodes([new("a"), new("b")], paused).held


ZONE = "topology.kubernetes.io/zone"


def zoned(one: NodePods, zone: str) -> NodePods:
    return replace(one, group=zone)


def test_no_node_of_another_zone_begins_before_a_zone_is_done() -> None:
    by_zone = policy(3, by_label=ZONE)
    nodes = [zoned(old("a"), "west"), zoned(old("b"), "east"), zoned(old("c"), "east"), old("d")]
    choice = choose_nodes(nodes, by_zone)
    assert choice.next == ("b", "c")
    assert choice.waiting == f"0 of 4 nodes done; now those with {ZONE}=east"
    nodes[1:3] = [zoned(new("b"), "east"), zoned(new("c", ready=False), "east")]
    assert choose_nodes(nodes, by_zone).next == ()
    nodes[2] = zoned(new("c"), "east")
    assert choose_nodes(nodes, by_zone).next == ("a",)
    nodes[0] = zoned(new("a"), "west")
    assert choose_nodes(nodes, by_zone).next == ("d",)


def test_a_pod_that_is_not_made_yet_keeps_the_next_zone_back() -> None:
    by_zone = policy(3, by_label=ZONE)
    nodes = [zoned(new("a"), "east"), zoned(old("b"), "west"), zoned(old("c"), "west")]
    assert choose_nodes(nodes, by_zone, missing=1).next == ()
    assert choose_nodes(nodes, by_zone).next == ("b", "c")
    begun = [*nodes[:1], zoned(new("b"), "west"), *nodes[2:]]
    assert choose_nodes(begun, by_zone, missing=1).next == ("c",)


def test_a_failure_that_the_spec_allows_does_not_hold_the_next_zone() -> None:
    broken = zoned(new("a", ready=False, **waiting("CrashLoopBackOff")), "east")
    choice = choose_nodes([broken, zoned(old("b"), "west")], policy(1, max_failed=1, by_label=ZONE))
    assert choice.next == ("b",)


def test_a_node_that_is_down_already_goes_before_one_that_serves() -> None:
    """An edit during the step makes a pod outdated that does not start: its successor may."""
    broken = pod("nova-b", ready=False, **waiting("ImagePullBackOff"))
    down = NodePods.of("b", [(broken, True)], NOW)
    choice = choose_nodes([old("a"), down, old("c")], policy(1))
    assert (choice.next, choice.failing) == (("b",), "")
    assert choose_nodes([old("a"), down, old("c")], policy(2)).next == ("b",)
    by_zone = policy(2, by_label=ZONE)
    assert choose_nodes([zoned(old("a"), "east"), zoned(down, "west")], by_zone).next == ("b",)
