"""What a cluster lacks for a region is reported before the region waits for it."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from controller.domain.validation.cluster.asked_resources import (
    AskedOfClass,
    AskedOfNodes,
    AskedResources,
    MarkedNodes,
    asked_resources,
)
from controller.domain.validation.cluster.cluster_capacity import capacity_problems, cluster_capacity

CONTROL, COMPUTE = "openstack-control-plane=enabled", "openstack-compute-node=enabled"
GIB = Decimal(1024**3)


def node(name: str, *labels: str, cpu: str = "8", memory: str = "16Gi") -> dict[str, Any]:
    return {
        "metadata": {"name": name, "labels": {label.partition("=")[0]: "enabled" for label in labels}},
        "status": {"allocatable": {"cpu": cpu, "memory": memory}},
    }


def storage(name: str, *, default: bool = False) -> dict[str, Any]:
    notes = {"storageclass.kubernetes.io/is-default-class": "true"} if default else {}
    return {"metadata": {"name": name, "annotations": notes}}


def told(asked: AskedResources, nodes: list[dict[str, Any]], *classes: dict[str, Any]) -> list[str]:
    return [problem.message for problem in capacity_problems(asked, cluster_capacity(nodes, classes))]


def of(label: str, *, each: bool = False, cpu: str = "1", memory: int = 1, apart: int = 1) -> AskedOfNodes:
    return AskedOfNodes(label, each, 3, Decimal(cpu), memory * GIB, apart)


def test_a_label_that_no_node_has_is_reported_with_the_command_that_gives_it() -> None:
    asked = AskedResources((of(CONTROL), of(COMPUTE, each=True)))
    (problem,) = capacity_problems(asked, cluster_capacity([node("a", CONTROL)], []))
    assert problem.message == f"none has the label {COMPUTE}: 3 pods would stay Pending"
    assert problem.remedy == f"kubectl label node NODE {COMPUTE}"


def test_servers_that_may_not_meet_need_as_many_nodes() -> None:
    asked = AskedResources((of(CONTROL, apart=3),))
    two = [node("a", CONTROL), node("b", CONTROL)]
    assert told(asked, two) == [f"2 have the label {CONTROL}, but 3 pods must be on different ones"]
    assert told(asked, [*two, node("c", CONTROL)]) == []


def test_what_each_node_runs_is_not_left_for_the_others() -> None:
    asked = AskedResources((of(CONTROL, cpu="15"), of(CONTROL, each=True, cpu="1")))
    two = [node("a", CONTROL), node("b", CONTROL)]
    assert told(asked, two) == [
        f"2 have the label {CONTROL}, with 16.00 CPU, and 17.00 CPU are asked for",
    ]
    assert told(AskedResources((of(CONTROL, cpu="14"), of(CONTROL, each=True))), two) == []


def test_a_hypervisor_that_is_too_small_for_its_own_pods_is_named() -> None:
    asked = AskedResources((of(COMPUTE, each=True, memory=20),))
    assert told(asked, [node("big", COMPUTE, memory="64Gi"), node("small", COMPUTE)]) == [
        "small has 16.0 GiB of memory, but its labels request 20.0 GiB of memory"
    ]


def test_claims_name_a_class_that_there_is_or_there_is_a_default() -> None:
    asked = AskedResources((), (AskedOfClass("", 2, GIB), AskedOfClass("fast", 1, GIB)))
    assert told(asked, [], storage("slow")) == [
        "no class is the default, and claims do not name a class (2)",
        "there is no fast: claims of this class would stay Pending (1)",
    ]
    assert told(asked, [], storage("fast", default=True)) == []


def test_pods_are_kept_apart_by_a_required_anti_affinity_only() -> None:
    def workload(kind: str) -> dict[str, Any]:
        terms = [{"topologyKey": "kubernetes.io/hostname", "labelSelector": {}}]
        pod = {"affinity": {"podAntiAffinity": {kind: terms}}, "containers": []}
        return {"kind": "StatefulSet", "spec": {"replicas": 3, "template": {"spec": pod}}}

    required = asked_resources([workload("requiredDuringSchedulingIgnoredDuringExecution")])
    preferred = asked_resources([workload("preferredDuringSchedulingIgnoredDuringExecution")])
    assert (required.nodes[0].apart, preferred.nodes[0].apart) == (3, 1)


def test_gateways_that_no_node_of_the_switch_is_are_reported() -> None:
    marked = (MarkedNodes("l3-agent=enabled,openvswitch=enabled", "gateways of routers"),)
    asked = AskedResources(marked=marked)
    apart = [node("one", "openvswitch"), node("two", "l3-agent")]
    [problem] = capacity_problems(asked, cluster_capacity(apart, []))
    assert problem.message == (
        "none has l3-agent=enabled and openvswitch=enabled: there are no gateways of routers"
    )
    assert problem.remedy == "kubectl label node NODE l3-agent=enabled openvswitch=enabled"
    assert told(asked, [*apart, node("three", "l3-agent", "openvswitch")]) == []
