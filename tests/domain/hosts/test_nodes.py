"""Nodes with roles: their state, their entries in the status, and the condition."""

from __future__ import annotations

from typing import Any

import pytest

from controller.domain.api.reasons import Reason
from controller.domain.api.region_name import node_note
from controller.domain.hosts.nodes import ABSENCE_ANNOTATION, NodeFacts, NodeState, due_notes, parse_node
from controller.domain.hosts.nodes_status import HostReport, node_entries, nodes_condition
from controller.domain.hosts.not_ready_since import noted_absence
from tests.domain.health_objects import NOW, at, condition


def node(
    name: str = "cmp1",
    ready: str = "True",
    *,
    roles: tuple[str, ...] = ("openstack-compute-node",),
    **more: Any,
) -> dict[str, Any]:
    message = "kubelet is posting ready status" if ready == "True" else "Kubelet stopped posting node status."
    return {
        "metadata": {"name": name, "labels": dict.fromkeys(roles, "enabled"), **more.get("metadata", {})},
        "spec": more.get("spec", {}),
        "status": {"conditions": [condition("Ready", ready, "NodeStatusUnknown", message, age=90)]},
    }


def parsed(*objects: dict[str, Any]) -> list[NodeFacts]:
    return [facts for facts in (parse_node(one, "openstack") for one in objects) if facts is not None]


CORDONED = {"unschedulable": True}


@pytest.mark.parametrize(
    ("obj", "state", "message"),
    [
        (node(), NodeState.READY, ""),
        (node(spec=CORDONED), NodeState.CORDONED, "takes no new pods (kubectl cordon)"),
        (
            node(ready="Unknown"),
            NodeState.NOT_READY,
            "NodeStatusUnknown: Kubelet stopped posting node status.",
        ),
        (
            node(ready="False", spec=CORDONED),
            NodeState.NOT_READY,
            "NodeStatusUnknown: Kubelet stopped posting node status.; the node is also cordoned",
        ),
        (node(metadata={"deletionTimestamp": at(1)}), NodeState.READY, "the node is being removed"),
    ],
    ids=["ready", "cordoned", "silent", "not ready and cordoned", "going"],
)
def test_a_node_has_one_state(obj: dict[str, Any], state: NodeState, message: str) -> None:
    (facts,) = parsed(obj)
    assert (facts.state, facts.message) == (state, message)


def test_a_node_without_a_report_is_not_ready() -> None:
    fresh = node()
    fresh["status"] = {}
    assert parsed(fresh)[0].message == "the kubelet has not reported yet"


def test_roles_are_labels_with_the_value_enabled() -> None:
    labels = {"openstack-control-plane": "enabled", "l3-agent": "disabled", "openvswitch": "enabled"}
    (facts,) = parsed(node(metadata={"labels": labels}))
    assert facts.roles == ("openstack-control-plane", "openvswitch")


def test_a_node_without_a_role_does_not_concern_us() -> None:
    assert parsed(node(roles=())) == []


def test_an_entry_says_since_when() -> None:
    before = {"a": {"state": "Ready", "since": at(5000)}, "b": {"state": "Ready", "since": at(5000)}}
    entries = node_entries(parsed(node("a"), node("b", "Unknown"), node("c", spec=CORDONED)), before, NOW)
    assert {name: entry["since"] for name, entry in entries.items()} == {
        "a": at(5000),
        "b": at(0),
        "c": at(0),
    }
    assert entries["a"] == {"roles": ["openstack-compute-node"], "state": "Ready", "since": at(5000)}


def test_true_when_all_are_ready_and_a_cordon_is_reported() -> None:
    reported = nodes_condition(parsed(node("a"), node("b", spec=CORDONED)), 7)
    assert (reported.status, reported.reason) == ("True", Reason.NODES_READY)
    assert reported.message == "2 nodes are ready, 1 of them cordoned: b"
    assert reported.generation == 7


def test_false_when_one_is_not_ready_and_it_is_named() -> None:
    reported = nodes_condition(parsed(node("a"), node("b", "Unknown")), 7)
    assert (reported.status, reported.reason) == ("False", Reason.NODES_NOT_READY)
    assert reported.message.startswith("1 of 2 nodes are not ready: b: NodeStatusUnknown")


ON_ITS_WAY = HostReport(reason=Reason.COMPUTE_AWAITED, message="the compute service has not registered yet")
IN_SERVICE = HostReport(reason=Reason.NODE_IN_SERVICE)


def test_computes_that_are_all_on_their_way_are_no_readiness() -> None:
    known = parsed(node("a"), node("b", roles=("openstack-control-plane",)))
    reported = nodes_condition(known, 7, reports={"a": ON_ITS_WAY})
    assert (reported.status, reported.reason) == ("False", Reason.HOSTS_AWAITED)
    assert reported.message == "no host accepts servers yet: a: the compute service has not registered yet"


def test_one_more_compute_on_its_way_is_no_matter() -> None:
    known = parsed(node("a"), node("b"))
    reported = nodes_condition(known, 7, reports={"a": ON_ITS_WAY, "b": IN_SERVICE})
    assert reported.status == "True"


def test_no_node_with_a_role_is_not_all_nodes_ready() -> None:
    reported = nodes_condition([], 7)
    assert (reported.status, reported.reason) == ("False", Reason.NODES_MISSING)
    assert "kubectl label node" in reported.message


def absent(since: float) -> NodeFacts:
    """A node that is not ready, with an absence that was noted to begin then."""
    (plain,) = parsed(node(ready="Unknown"))
    noted = {node_note("openstack", ABSENCE_ANNOTATION): noted_absence(since, plain.condition, plain.boot)}
    (facts,) = parsed(node(ready="Unknown", metadata={"annotations": noted}))
    assert facts.since == since
    return facts


def test_an_absence_noted_by_a_clock_that_was_ahead_counts_from_now_on() -> None:
    facts = absent(NOW + 800 * 86400)
    notes = due_notes(facts, NOW, planned=False)
    assert notes[ABSENCE_ANNOTATION] == noted_absence(NOW, facts.condition, facts.boot)
    assert not [text for name, text in notes.items() if name != ABSENCE_ANNOTATION]


def test_an_earlier_absence_is_not_noted_again() -> None:
    assert ABSENCE_ANNOTATION not in due_notes(absent(NOW - 60), NOW, planned=False)
