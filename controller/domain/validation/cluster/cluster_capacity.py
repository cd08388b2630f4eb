"""Compares the requests of a region with the nodes and storage classes of a cluster.

Other pods in the cluster are not counted: more may be missing than the problems say. Nodes that are cordoned
or not ready count for pods of DaemonSets only. placed_pods.py finds which taints keep which pods away.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from controller.domain.shared.plurals import count
from controller.domain.validation.cluster.asked_resources import AskedOfNodes, AskedResources, parse_quantity
from controller.domain.validation.cluster.taints import Taint, taints_of
from controller.errors import Problem

_DEFAULT_CLASS = "storageclass.kubernetes.io/is-default-class"
NODES, _CLASSES = "nodes of the cluster", "storage classes of the cluster"


@dataclass(frozen=True)
class NodeCapacity:
    """A node: what its pods may ask for together (`allocatable`). `cpu` in cores, `memory` in bytes.
    `taints` are those that keep pods away."""

    name: str
    labels: Mapping[str, str] = field(default_factory=dict)
    cpu: Decimal = Decimal()
    memory: Decimal = Decimal()
    cordoned: bool = False
    taints: tuple[Taint, ...] = ()

    @property
    def available(self) -> bool:
        """Whether it takes new pods, as far as Kubernetes decides that by itself."""
        return not self.cordoned and not any(taint.passes for taint in self.taints)


@dataclass(frozen=True)
class ClusterCapacity:
    """The nodes of a cluster and its storage classes; `default_class` is empty where there is none."""

    nodes: tuple[NodeCapacity, ...] = ()
    classes: frozenset[str] = frozenset()
    default_class: str = ""


def cluster_capacity(
    nodes: Iterable[Mapping[str, Any]], classes: Iterable[Mapping[str, Any]]
) -> ClusterCapacity:
    """The capacity of Nodes and StorageClasses as the API server has them."""
    found = [(obj["metadata"]["name"], obj["metadata"].get("annotations") or {}) for obj in classes]
    default = next((name for name, notes in found if notes.get(_DEFAULT_CLASS) == "true"), "")
    return ClusterCapacity(tuple(_node(obj) for obj in nodes), frozenset(name for name, _ in found), default)


def capacity_problems(asked: AskedResources, cluster: ClusterCapacity) -> list[Problem]:
    """What pods and claims of the region would wait for in vain."""
    return [
        *_nodes(asked.nodes, cluster.nodes),
        *_hypervisors(asked.nodes, cluster.nodes),
        *_marked(asked, cluster.nodes),
        *_classes(asked, cluster),
    ]


def _nodes(asked: Sequence[AskedOfNodes], nodes: Sequence[NodeCapacity]) -> Iterator[Problem]:
    for one in asked:
        labelled = [node for node in nodes if selected(node, one.label)]
        fitting = [node for node in labelled if one.each or node.available]
        if labelled and not fitting:
            continue  # they are cordoned, which another problem reports
        verb = "has" if len(fitting) < 2 else "have"
        what = f"{verb} the label {one.label}" if one.label else "may be used"
        if not fitting:
            text = f"none {what}: {count(one.pods, 'pod')} would stay Pending"
            yield Problem(NODES, text, _how_to_label(one.label))
        elif len(fitting) < one.apart:
            text = f"{len(fitting)} {what}, but {one.apart} pods must be on different ones"
            yield Problem(NODES, text, f"{_how_to_label(one.label)}, or choose a smaller spec.size")
        elif not one.each:
            yield from _together(one, what, fitting, asked)


def _together(
    one: AskedOfNodes, what: str, fitting: Sequence[NodeCapacity], asked: Sequence[AskedOfNodes]
) -> Iterator[Problem]:
    """Whether what is asked of all of them together is there, beside what is asked of each."""
    for resource in ("cpu", "memory"):
        there = sum((getattr(node, resource) for node in fitting), Decimal())
        each = sum(
            (
                getattr(other, resource)
                for node in fitting
                for other in asked
                if other.each and selected(node, other.label)
            ),
            Decimal(),
        )
        wanted = getattr(one, resource) + each
        if wanted > there:
            text = f"{len(fitting)} {what}, with {_shown(resource, there)}, and {_shown(resource, wanted)} "
            text += "are asked for"
            yield Problem(NODES, text, f"{_how_to_label(one.label)}, or choose a smaller spec.size")


def _hypervisors(asked: Sequence[AskedOfNodes], nodes: Sequence[NodeCapacity]) -> Iterator[Problem]:
    """Nodes that cannot run what each node with their labels has to."""
    for node in nodes:
        own = [one for one in asked if one.each and selected(node, one.label)]
        for resource in ("cpu", "memory"):
            wanted = sum((getattr(one, resource) for one in own), Decimal())
            there = getattr(node, resource)
            if wanted > there:
                text = f"{node.name} has {_shown(resource, there)}, but its labels request "
                text += _shown(resource, wanted)
                yield Problem(NODES, text, "remove one of its labels, or choose a smaller spec.size")


def _marked(asked: AskedResources, nodes: Sequence[NodeCapacity]) -> Iterator[Problem]:
    for one in asked.marked:
        if not any(selected(node, one.label) for node in nodes):
            labels = one.label.replace(",", " and ")
            yield Problem(NODES, f"none has {labels}: there are no {one.use}", _how_to_label(one.label))


def _classes(asked: AskedResources, cluster: ClusterCapacity) -> Iterator[Problem]:
    for one in asked.classes:
        if not one.name and not cluster.default_class:
            text = f"no class is the default, and claims do not name a class ({one.claims})"
            yield Problem(_CLASSES, text, "name one in spec.storageClass")
        elif one.name and one.name not in cluster.classes:
            known = ", ".join(sorted(cluster.classes)) or "none"
            text = f"there is no {one.name}: claims of this class would stay Pending ({one.claims})"
            yield Problem(_CLASSES, text, f"known: {known}")


def _node(obj: Mapping[str, Any]) -> NodeCapacity:
    there = (obj.get("status") or {}).get("allocatable") or {}
    labels = obj["metadata"].get("labels") or {}
    return NodeCapacity(
        name=obj["metadata"]["name"],
        labels=labels,
        cpu=_read(there, "cpu"),
        memory=_read(there, "memory"),
        cordoned=bool((obj.get("spec") or {}).get("unschedulable")),
        taints=taints_of(obj),
    )


def _read(quantities: Mapping[str, Any], resource: str) -> Decimal:
    try:
        return parse_quantity(quantities.get(resource, 0))
    except ValueError:
        return Decimal()


def selected(node: NodeCapacity, label: str) -> bool:
    """Whether a pod with this node selector, `key=value,…`, may be on the node by its labels."""
    pairs = (pair.partition("=") for pair in label.split(",") if pair)
    return all(node.labels.get(key) == value for key, _, value in pairs)


def _how_to_label(label: str) -> str:
    return f"kubectl label node NODE {label.replace(',', ' ')}" if label else "add nodes"


def _shown(resource: str, amount: Decimal) -> str:
    return f"{amount:.2f} CPU" if resource == "cpu" else f"{amount / 1024**3:.1f} GiB of memory"
