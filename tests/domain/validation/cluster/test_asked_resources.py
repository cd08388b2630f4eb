"""What a region asks of its cluster, added up."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from controller.domain.validation.cluster.asked_resources import (
    AskedOfClass,
    AskedOfNodes,
    MarkedNodes,
    asked_resources,
    marked_nodes,
    parse_quantity,
)


def workload(kind: str, cpu: str, memory: str, claim: str = "", **spec: Any) -> dict[str, Any]:
    requests = {"cpu": cpu, "memory": memory}
    pod = {
        "nodeSelector": {"role": "control"},
        "initContainers": [{"name": "waits", "resources": {"requests": {"cpu": "9"}}}],
        "containers": [{"name": "main", "resources": {"requests": requests}}, {"name": "beside"}],
    }
    claims = [{"spec": {"storageClassName": "fast", "resources": {"requests": {"storage": claim}}}}]
    more = {"volumeClaimTemplates": claims} if claim else {}
    return {"kind": kind, "spec": {"template": {"spec": pod}, **more, **spec}}


@pytest.mark.parametrize(
    ("text", "number"),
    [("100m", "0.1"), ("2", "2"), ("1.5", "1.5"), ("2Gi", 2 * 1024**3), ("1G", 10**9), (".5k", "500")],
)
def test_a_quantity_is_read_as_kubernetes_writes_it(text: str, number: object) -> None:
    assert parse_quantity(text) == Decimal(str(number))


@pytest.mark.parametrize("text", ["", "much", "1gi", "-1", "1 Gi", None])
def test_what_is_no_quantity_is_refused(text: object) -> None:
    with pytest.raises(ValueError, match="not a quantity"):
        parse_quantity(text)


def test_replicas_count_together_and_pods_of_a_daemonset_by_node() -> None:
    found = asked_resources(
        [workload("Deployment", "250m", "1Gi", replicas=3), workload("DaemonSet", "1", "512Mi")]
    )
    together, each = found.nodes
    assert together == AskedOfNodes("role=control", False, 3, Decimal("0.75"), Decimal(3 * 1024**3))
    assert each == AskedOfNodes("role=control", True, 1, Decimal(1), Decimal(512 * 1024**2))


def test_claims_count_by_class_for_each_replica() -> None:
    own = {"kind": "PersistentVolumeClaim", "spec": {"resources": {"requests": {"storage": "20Gi"}}}}
    found = asked_resources([workload("StatefulSet", "1", "1Gi", claim="10Gi", replicas=3), own])
    assert found.classes == (
        AskedOfClass("", 1, Decimal(20 * 1024**3)),
        AskedOfClass("fast", 3, Decimal(30 * 1024**3)),
    )


def test_jobs_and_what_is_stopped_ask_for_nothing() -> None:
    found = asked_resources([workload("Job", "1", "1Gi"), workload("Deployment", "1", "1Gi", replicas=0)])
    assert found.nodes == ()


def test_a_figure_that_is_none_counts_nothing() -> None:
    [found] = asked_resources([workload("Deployment", "much", "1Gi", replicas=None)]).nodes
    assert (found.cpu, found.pods) == (Decimal(), 1)


def test_the_gateways_of_ovn_are_nodes_of_its_controller_with_another_label() -> None:
    labels = {
        "ovn_controller": {"node_selector_key": "openvswitch", "node_selector_value": "enabled"},
        "ovn_controller_gw": {"node_selector_key": "l3-agent", "node_selector_value": "enabled"},
    }
    expected = MarkedNodes("l3-agent=enabled,openvswitch=enabled", "gateways of routers")
    assert marked_nodes("ovn", {"labels": labels}) == (expected,)
    assert marked_nodes("neutron", {"labels": labels}) == ()
    assert marked_nodes("ovn", {}) == ()


def part(cpu: str, memory: str, component: str = "compute") -> dict[str, Any]:
    """One of the DaemonSets into which the nodes of a spec part one."""
    terms = [{"matchExpressions": [{"key": "pinned", "operator": "In", "values": ["enabled"]}]}]
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
    made = workload("DaemonSet", cpu, memory, selector={"matchLabels": {"component": component}})
    made["spec"]["template"]["spec"]["affinity"] = {"nodeAffinity": required}
    return made


def test_parts_of_one_daemonset_for_labels_of_nodes_count_once_and_as_the_largest() -> None:
    parts = [part("1", "2Gi"), part("2", "1Gi"), part("1", "1Gi"), part("3", "1Gi", component="other")]
    [each] = asked_resources(parts).nodes
    assert each == AskedOfNodes("role=control", True, 2, Decimal(5), Decimal(3 * 1024**3))
