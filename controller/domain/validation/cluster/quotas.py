"""What a region's namespace may have by its ResourceQuotas, beside what the region asks for. Pure.

A pod of a DaemonSet counts for each node with its label; pods of Jobs come and go, and are not counted. What
runs in the namespace now counts nothing: it may be the region itself. Quotas with scopes are left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any

from controller.domain.validation.cluster.asked_resources import label_of, parse_quantity
from controller.domain.validation.cluster.cluster_capacity import NodeCapacity, selected
from controller.domain.validation.cluster.pod_security import pod_of
from controller.errors import Problem

Object = Mapping[str, Any]

_STAYING = ("Deployment", "StatefulSet", "DaemonSet")
_COMPUTE = {
    "cpu": ("requests", "cpu"),
    "memory": ("requests", "memory"),
    **{f"{part}.{name}": (part, name) for part in ("requests", "limits") for name in ("cpu", "memory")},
}
_REMEDY = "raise it, or choose a smaller spec.size"


def quota_problems(
    quotas: Iterable[Object], objects: Sequence[Object], nodes: Sequence[NodeCapacity]
) -> Iterator[Problem]:
    """What the quotas of the region's namespace refuse of its objects."""
    for quota in quotas:
        spec, name = quota.get("spec") or {}, quota["metadata"]["name"]
        if spec.get("scopes") or spec.get("scopeSelector"):
            continue
        for resource, text in sorted((spec.get("hard") or {}).items()):
            try:
                hard = parse_quantity(text)
            except ValueError:
                continue
            yield from _of_resource(f"ResourceQuota {name}", resource, hard, objects, nodes)


def _of_resource(
    quota: str, resource: str, hard: Decimal, objects: Sequence[Object], nodes: Sequence[NodeCapacity]
) -> Iterator[Problem]:
    wanted = _asked(resource, objects, nodes)
    if wanted is not None and wanted > hard:
        message = f"allows {_shown(resource, hard)} of {resource}, and the region asks for "
        yield Problem(quota, message + _shown(resource, wanted), _REMEDY)
    if resource in _COMPUTE:
        lacking = [
            f"{obj['kind']}/{obj['metadata']['name']}"
            for obj in objects
            if (pod := pod_of(obj)) is not None and not _says(pod, *_COMPUTE[resource])
        ]
        if lacking:
            more = f" and {len(lacking) - 1} more" if len(lacking) > 1 else ""
            message = f"refuses pods that do not set {resource} for each container: {lacking[0]}{more}"
            remedy = "add a LimitRange with a default for it, or set it in the values of the chart"
            yield Problem(quota, message, remedy)


def _asked(resource: str, objects: Sequence[Object], nodes: Sequence[NodeCapacity]) -> Decimal | None:
    """What the region asks for, None for what is not counted here."""
    if resource in ("pods", "count/pods"):
        return sum((times for _, times in _pods(objects, nodes)), Decimal())
    if resource in _COMPUTE:
        part, name = _COMPUTE[resource]
        return sum((times * _of_pod(pod, part, name) for pod, times in _pods(objects, nodes)), Decimal())
    if resource in ("persistentvolumeclaims", "count/persistentvolumeclaims"):
        return sum((times for _, times in _claims(objects)), Decimal())
    if resource == "requests.storage":
        return sum((times * _size(claim) for claim, times in _claims(objects)), Decimal())
    kinds = {"services": "Service", "secrets": "Secret", "configmaps": "ConfigMap"}
    kind = kinds.get(resource.removeprefix("count/"))
    return Decimal(sum(obj.get("kind") == kind for obj in objects)) if kind else None


def _pods(
    objects: Iterable[Object], nodes: Sequence[NodeCapacity]
) -> Iterator[tuple[Mapping[str, Any], Decimal]]:
    for obj in objects:
        pod = pod_of(obj)
        if pod is None or obj["kind"] not in _STAYING:
            continue
        if obj["kind"] == "DaemonSet":
            yield pod, Decimal(sum(selected(node, label_of(pod)) for node in nodes))
        else:
            yield pod, _replicas(obj)


def _claims(objects: Iterable[Object]) -> Iterator[tuple[Object, Decimal]]:
    for obj in objects:
        if obj.get("kind") == "PersistentVolumeClaim":
            yield obj, Decimal(1)
        elif obj.get("kind") == "StatefulSet":
            for claim in (obj.get("spec") or {}).get("volumeClaimTemplates") or ():
                yield claim, _replicas(obj)


def _replicas(obj: Object) -> Decimal:
    replicas = (obj.get("spec") or {}).get("replicas")
    return Decimal(replicas) if isinstance(replicas, int) else Decimal(1)


def _size(claim: Object) -> Decimal:
    return _read(((claim.get("spec") or {}).get("resources") or {}).get("requests") or {}, "storage")


def _of_pod(pod: Mapping[str, Any], part: str, name: str) -> Decimal:
    found = ((one.get("resources") or {}).get(part) or {} for one in pod.get("containers") or ())
    return sum((_read(one, name) for one in found), Decimal())


def _says(pod: Mapping[str, Any], part: str, name: str) -> bool:
    """Whether each container has it; a request that is left out is taken from the limit."""
    for container in (*(pod.get("initContainers") or ()), *(pod.get("containers") or ())):
        resources = container.get("resources") or {}
        parts = (part, "limits") if part == "requests" else (part,)
        if not any((resources.get(each) or {}).get(name) for each in parts):
            return False
    return True


def _read(quantities: Mapping[str, Any], resource: str) -> Decimal:
    try:
        return parse_quantity(quantities.get(resource, 0))
    except ValueError:
        return Decimal()


def _shown(resource: str, amount: Decimal) -> str:
    if resource.endswith(("memory", "storage")):
        return f"{amount / 1024**3:.1f} GiB"
    return f"{amount:.2f}" if resource.endswith("cpu") else f"{amount.normalize():f}"
