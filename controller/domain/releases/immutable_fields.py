"""Fields that Kubernetes fixes for the life of an object, and what to do when they are to be others. Pure.

Of a StatefulSet everything but what a rollout needs (apps/v1, ValidateStatefulSetUpdate), of a claim
everything but a larger request where its class allows that (core/v1, ValidatePersistentVolumeClaimUpdate),
of other workloads the selector. A Job is fixed as well, but is replaced: see
`controller.reconcile.releases.actions.immutable_jobs`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

KubeObject = Mapping[str, Any]
STATEFUL_SET = "StatefulSet"
CLAIM = "PersistentVolumeClaim"
_SELECTING = ("Deployment", "DaemonSet", STATEFUL_SET)


def fixed_changes(before: KubeObject, after: KubeObject) -> tuple[str, ...]:
    """`claim mysql-data: size 20Gi → 50Gi` for each fixed field that the object is to have otherwise.

    `before` may be the object as rendered or as the API server has it; both are of one kind and name.
    """
    old, new = _map(before.get("spec")), _map(after.get("spec"))
    kind = after.get("kind")
    if kind == CLAIM:
        return tuple(_of_claim(old, new, may_grow=True))
    if kind not in _SELECTING:
        return ()
    found = list(_differing("selector", _map(old.get("selector")), _map(new.get("selector"))))
    if kind == STATEFUL_SET:
        found += _differing("serviceName", old.get("serviceName") or "", new.get("serviceName") or "")
        policies = [spec.get("podManagementPolicy") or "OrderedReady" for spec in (old, new)]
        found += _differing("podManagementPolicy", *policies)
        found += _templates(_by_name(old), _by_name(new))
    return tuple(found)


def way_out(kind: str, name: str, namespace: str = "") -> str:
    """What an operator can do whose object is to change in a fixed field."""
    where = f" -n {namespace}" if namespace else ""
    if kind == STATEFUL_SET:
        return (
            "keep its values; or delete it, so that it is created again without a change of its pods "
            f"and volumes: kubectl{where} delete statefulset {name} --cascade=orphan"
        )
    if kind == CLAIM:
        return "keep its values: another class or size needs a new volume, to which you move the data"
    return (
        f"keep its values, or delete it, so that it is created again: kubectl{where} delete "
        f"{kind.lower()} {name}"
    )


def _templates(old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[str]:
    for name in sorted(old.keys() | new.keys()):
        if name not in old or name not in new:
            yield f"claim {name}: {'added' if name in new else 'removed'}"
            continue
        changes = list(_of_claim(old[name], new[name], may_grow=False))
        if changes:
            yield f"claim {name}: {', '.join(changes)}"


def _of_claim(old: Mapping[str, Any], new: Mapping[str, Any], *, may_grow: bool) -> Iterator[str]:
    """`may_grow`: a size that differs is for the API server to judge, which knows the volume's class."""
    if not may_grow:
        yield from _differing("size", _size(old), _size(new))
    desired = new.get("storageClassName")
    if not may_grow or desired is not None:  # the API server fills in the default class of a claim
        yield from _differing("storage class", old.get("storageClassName"), desired)
    yield from _differing("access modes", old.get("accessModes"), new.get("accessModes"))


def _differing(what: str, old: Any, new: Any) -> Iterator[str]:
    if old != new:
        yield f"{what} {_shown(old)} → {_shown(new)}"


def _shown(value: Any) -> str:
    if value in (None, "", {}, []):
        return "(none)"
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def _size(claim: Mapping[str, Any]) -> Any:
    return _map(_map(claim.get("resources")).get("requests")).get("storage")


def _by_name(spec: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    templates = spec.get("volumeClaimTemplates") or ()
    return {str(_map(one.get("metadata")).get("name")): _map(one.get("spec")) for one in templates}


def _map(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
