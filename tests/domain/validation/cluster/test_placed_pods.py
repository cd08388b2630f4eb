"""Pods that the taints or cordons of nodes keep away are reported before they wait."""

from __future__ import annotations

from typing import Any

import pytest

from controller.domain.validation.cluster.cluster_capacity import cluster_capacity
from controller.domain.validation.cluster.placed_pods import (
    cordoned_problems,
    placed_pods,
    placement_problems,
)
from controller.domain.validation.cluster.taints import Taint

KUBEADM = {"key": "node-role.kubernetes.io/control-plane", "effect": "NoSchedule"}
TOLERATED = {"key": "node-role.kubernetes.io/control-plane", "operator": "Exists", "effect": "NoSchedule"}
CONTROL = "openstack-control-plane=enabled"


def node(name: str, *taints: dict[str, str], cordoned: bool = False) -> dict[str, Any]:
    return {
        "metadata": {"name": name, "labels": {"openstack-control-plane": "enabled"}},
        "spec": {"taints": list(taints), "unschedulable": cordoned},
    }


def workload(kind: str, name: str, *tolerations: dict[str, str], **spec: Any) -> dict[str, Any]:
    pod = {"nodeSelector": {"openstack-control-plane": "enabled"}, "tolerations": list(tolerations)}
    whole = {"template": {"spec": pod}, **spec}
    if kind == "CronJob":
        whole = {"jobTemplate": {"spec": whole}}
    return {"kind": kind, "metadata": {"name": name}, "spec": whole}


def told(
    objects: list[dict[str, Any]], *nodes: dict[str, Any], everywhere: Any = ()
) -> list[tuple[str, str]]:
    there = cluster_capacity(nodes, []).nodes
    return [(one.message, one.remedy) for one in placement_problems(placed_pods(objects), there, everywhere)]


def test_pods_that_no_node_takes_are_named_with_the_feature_that_helps() -> None:
    objects = [workload(kind, "a") for kind in ("Deployment", "StatefulSet", "Job", "CronJob")]
    [(message, remedy)] = told(objects, node("one", KUBEADM), node("two", KUBEADM))
    assert message == (
        f"each with the label {CONTROL} has a taint that keeps pods away "
        "(node-role.kubernetes.io/control-plane:NoSchedule): Deployment/a, StatefulSet/a, Job/a and 1 more"
    )
    assert remedy.startswith(
        "set spec.features.pods.tolerations: "
        "[{key: node-role.kubernetes.io/control-plane, operator: Exists, effect: NoSchedule}], or "
    )
    assert remedy.endswith("kubectl taint node NODE node-role.kubernetes.io/control-plane:NoSchedule-")


def test_one_node_without_the_taint_is_enough_unless_pods_have_to_be_apart() -> None:
    nodes = (node("one", KUBEADM), node("two"), node("three", KUBEADM))
    assert told([workload("Deployment", "a", replicas=3)], *nodes) == []
    apart = workload("StatefulSet", "mariadb", replicas=3)
    terms = [{"topologyKey": "kubernetes.io/hostname"}]
    rule = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}
    apart["spec"]["template"]["spec"]["affinity"] = rule
    [(message, _)] = told([apart], *nodes)
    assert message.startswith(f"1 of 3 nodes with the label {CONTROL} is without a taint (node-role")
    assert message.endswith("and 3 are needed for the pods of each: StatefulSet/mariadb")


def test_nodes_that_a_daemonset_leaves_out_are_named() -> None:
    [(message, _)] = told([workload("DaemonSet", "agent")], node("one", KUBEADM), node("two"))
    assert message.startswith(f"one has the label {CONTROL}, and a taint that keeps pods away (node-role")
    assert message.endswith(": DaemonSet/agent")


def test_what_tolerates_the_taint_is_not_reported() -> None:
    objects = [workload(kind, "a", TOLERATED) for kind in ("Deployment", "DaemonSet", "Job")]
    assert told(objects, node("one", KUBEADM)) == []


def test_a_chart_without_a_place_is_reported_once_the_feature_is_set() -> None:
    objects = [workload("Deployment", "octavia-api")]
    [(_, remedy)] = told(objects, node("one", KUBEADM), everywhere=[TOLERATED])
    assert remedy.startswith(
        "the charts of these pods do not support tolerations: keep a node without the taint"
    )


def test_what_is_stopped_or_a_test_waits_for_no_node() -> None:
    tested = workload("Job", "test")
    tested["metadata"]["annotations"] = {"helm.sh/hook": "test"}
    assert told([workload("Deployment", "off", replicas=0), tested], node("one", KUBEADM)) == []


def test_a_taint_that_only_advises_keeps_no_pod_away() -> None:
    advice = {"key": "old", "effect": "PreferNoSchedule"}
    assert told([workload("Deployment", "a")], node("one", advice)) == []


def test_cordoned_nodes_are_for_daemonsets_only() -> None:
    unready = {"key": "node.kubernetes.io/not-ready", "effect": "NoExecute"}
    there = cluster_capacity([node("one", cordoned=True), node("two", unready)], []).nodes
    [problem] = cordoned_problems(placed_pods([workload("Deployment", "a")]), there)
    assert problem.message == f"nodes with the label {CONTROL} are cordoned or not ready: one, two"
    assert list(cordoned_problems(placed_pods([workload("DaemonSet", "a")]), there)) == []
    assert placement_problems(placed_pods([workload("DaemonSet", "a")]), there) == []


@pytest.mark.parametrize(
    ("toleration", "tolerates"),
    [
        ({"operator": "Exists"}, True),
        ({"key": "role", "operator": "Exists"}, True),
        ({"key": "role", "value": "gpu"}, True),
        ({"key": "role", "value": "gpu", "effect": "NoSchedule"}, True),
        ({"key": "role", "operator": "Equal", "value": "other"}, False),
        ({"key": "role", "operator": "Exists", "effect": "NoExecute"}, False),
        ({"key": "other", "operator": "Exists"}, False),
        ({"value": "gpu"}, False),
    ],
)
def test_a_taint_is_tolerated_as_the_scheduler_says(toleration: dict[str, str], tolerates: bool) -> None:
    assert Taint("role", "gpu", "NoSchedule").tolerated_by([toleration]) == tolerates
