"""What rendered objects ask of a cluster: CPU and memory by label of nodes, volumes by storage class. Pure.

Jobs are left out, which come and go; so is what a container may have beyond what it asks for. Quantities are
those of Kubernetes (https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/quantity).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

_FACTORS = {
    **{"": Decimal(1), "m": Decimal("0.001"), "k": Decimal(10**3)},
    **{"u": Decimal("0.000001"), "n": Decimal("0.000000001")},
    **{unit: Decimal(10 ** (3 * power)) for power, unit in enumerate("MGTPE", 2)},
    **{f"{unit}i": Decimal(1024**power) for power, unit in enumerate("KMGTPE", 1)},
}
_QUANTITY = re.compile(r"((?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?)([a-zA-Z]*)")
_WORKLOADS = ("Deployment", "StatefulSet", "DaemonSet")


@dataclass(frozen=True)
class AskedOfNodes:
    """What pods with one node selector ask for: `cpu` in cores, `memory` in bytes, `pods` in number.

    `each`: that much of every node with the label, not of all together. `apart`: on how many nodes pods of
    one workload have to be."""

    label: str
    each: bool
    pods: int
    cpu: Decimal
    memory: Decimal
    apart: int = 1


@dataclass(frozen=True)
class AskedOfClass:
    """Claims of one storage class, by name (empty: the cluster chooses). `size` in bytes, all together."""

    name: str
    claims: int
    size: Decimal


@dataclass(frozen=True)
class MarkedNodes:
    """Nodes that pods look up by their labels: no pod is there for them alone. `use` says what they do."""

    label: str
    use: str


@dataclass(frozen=True)
class AskedResources:
    """What a region asks of its cluster."""

    nodes: tuple[AskedOfNodes, ...] = ()
    classes: tuple[AskedOfClass, ...] = ()
    marked: tuple[MarkedNodes, ...] = ()


@dataclass
class _Sum:
    count: int = 0
    cpu: Decimal = field(default_factory=Decimal)
    amount: Decimal = field(default_factory=Decimal)
    apart: int = 1


def parse_quantity(text: object) -> Decimal:
    """The number that a quantity such as `100m` or `2Gi` stands for. Raises ValueError."""
    found = _QUANTITY.fullmatch(str(text))
    if found is None or found[2] not in _FACTORS:
        raise ValueError(f"{text} is not a quantity")
    return Decimal(found[1]) * _FACTORS[found[2]]


def marked_nodes(chart: str, values: Mapping[str, Any]) -> tuple[MarkedNodes, ...]:
    """The gateways of OVN: nodes of its controller with another label, which the pod reads of its node.

    Neutron has gateways of routers on these only (get_candidates_for_scheduling of its OVN client)."""
    labels = (values.get("labels") or {}) if chart == "ovn" else {}
    pairs = [labels.get(name) or {} for name in ("ovn_controller_gw", "ovn_controller")]
    if not all(pairs):
        return ()
    names = sorted(f"{one.get('node_selector_key')}={one.get('node_selector_value')}" for one in pairs)
    return (MarkedNodes(",".join(names), "gateways of routers"),)


def asked_resources(
    objects: Iterable[Mapping[str, Any]], marked: Iterable[MarkedNodes] = ()
) -> AskedResources:
    """The sum over workloads and claims. A figure that is written as Kubernetes has none counts nothing."""
    nodes: dict[tuple[bool, str], _Sum] = {}
    classes: dict[str, _Sum] = {}
    split: dict[tuple[str, ...], _Sum] = {}
    for obj in objects:
        kind, spec = obj.get("kind"), obj.get("spec") or {}
        if kind in _WORKLOADS:
            each = kind == "DaemonSet"
            replicas = spec.get("replicas")
            times = replicas if isinstance(replicas, int) and not each else 1
            pod = (spec.get("template") or {}).get("spec") or {}
            one = _Sum(times, times * _requested(pod, "cpu"), times * _requested(pod, "memory"))
            if each and (parts := _split(obj, pod)):
                before = split.setdefault(parts, _Sum())
                one, split[parts] = _more(before, one), _larger(before, one)
            own = nodes.setdefault((each, label_of(pod)), _Sum())
            own.count += one.count
            own.cpu += one.cpu
            own.amount += one.amount
            own.apart = max(own.apart, times if keeps_apart(pod) else 1)
            for claim in spec.get("volumeClaimTemplates") or ():
                _add_claim(classes, claim, times)
        elif kind == "PersistentVolumeClaim":
            _add_claim(classes, obj, 1)
    return AskedResources(
        tuple(
            AskedOfNodes(label, each, one.count, one.cpu, one.amount, one.apart)
            for (each, label), one in sorted(nodes.items())
            if one.count
        ),
        tuple(AskedOfClass(name, one.count, one.amount) for name, one in sorted(classes.items())),
        tuple(marked),
    )


def _split(obj: Mapping[str, Any], pod: Mapping[str, Any]) -> tuple[str, ...]:
    """What the parts of one DaemonSet have in common, of which each is for nodes with labels of their own;
    empty for a DaemonSet that is no such part. A node has a pod of one of them."""
    affinity = (pod.get("affinity") or {}).get("nodeAffinity") or {}
    if not affinity.get("requiredDuringSchedulingIgnoredDuringExecution"):
        return ()
    labels = ((obj.get("spec") or {}).get("selector") or {}).get("matchLabels") or {}
    return (label_of(pod), *(f"{key}={value}" for key, value in sorted(labels.items())))


def _larger(one: _Sum, other: _Sum) -> _Sum:
    return _Sum(max(one.count, other.count), max(one.cpu, other.cpu), max(one.amount, other.amount))


def _more(before: _Sum, now: _Sum) -> _Sum:
    """What another part adds to the largest ones before it."""
    whole = _larger(before, now)
    return _Sum(whole.count - before.count, whole.cpu - before.cpu, whole.amount - before.amount)


def label_of(pod: Mapping[str, Any]) -> str:
    """What a pod selects its node by: `key=value,…`, empty for any."""
    return ",".join(f"{key}={value}" for key, value in sorted((pod.get("nodeSelector") or {}).items()))


def keeps_apart(pod: Mapping[str, Any]) -> bool:
    """Whether no two pods of the workload may be on one node."""
    terms = ((pod.get("affinity") or {}).get("podAntiAffinity") or {}).get(
        "requiredDuringSchedulingIgnoredDuringExecution"
    )
    return any(one.get("topologyKey") == "kubernetes.io/hostname" for one in terms or ())


def _requested(pod: Mapping[str, Any], resource: str) -> Decimal:
    """Of a running pod: its init containers, which ask one after the other, ask for less in these charts."""
    return sum((_read(one, resource) for one in _requests(pod)), Decimal())


def _requests(pod: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    for container in pod.get("containers") or ():
        yield (container.get("resources") or {}).get("requests") or {}


def _add_claim(classes: dict[str, _Sum], claim: Mapping[str, Any], times: int) -> None:
    spec = claim.get("spec") or {}
    own = classes.setdefault(spec.get("storageClassName") or "", _Sum())
    own.count += times
    own.amount += times * _read((spec.get("resources") or {}).get("requests") or {}, "storage")


def _read(requests: Mapping[str, Any], resource: str) -> Decimal:
    try:
        return parse_quantity(requests.get(resource, 0))
    except ValueError:
        return Decimal()
