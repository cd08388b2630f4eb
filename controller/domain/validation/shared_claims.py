"""Claims that one node can mount, under pods that may be on several: all but those of one node never start.

Pods that stay are counted: those of Jobs come and go. A StatefulSet's template makes a claim for each pod.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from controller.errors import Problem

Object = Mapping[str, Any]

_STAYING = ("Deployment", "StatefulSet", "DaemonSet", "ReplicaSet")
_SHARED_MODES = frozenset(("ReadWriteMany", "ReadOnlyMany"))
_SEVERAL = 2
_REMEDY = "set its replicas to 1, or use a claim with ReadWriteMany and a storage class that supports it"


def shared_claims(made: Mapping[str, Iterable[Object]]) -> Iterator[tuple[str, str]]:
    """Release and message of each claim of one node that several pods mount. `made`: objects by release."""
    claims: dict[str, Object] = {}
    mounted: defaultdict[str, list[tuple[str, Object]]] = defaultdict(list)
    for release, objects in made.items():
        for obj in objects:
            if obj.get("kind") == "PersistentVolumeClaim":
                claims[str(obj["metadata"]["name"])] = obj
            elif obj.get("kind") in _STAYING:
                for name in _claims_of(obj):
                    mounted[name].append((release, obj))
    for name, users in mounted.items():
        claim = claims.get(name)
        modes = (claim.get("spec") or {}).get("accessModes") or () if claim else ()
        if claim is None or _SHARED_MODES & set(modes) or not modes:
            continue
        pods = sum(_pods(obj) for _, obj in users)
        if pods >= _SEVERAL:
            named = ", ".join(f"{obj['kind']}/{obj['metadata']['name']}" for _, obj in users)
            some = "each node" if any(obj["kind"] == "DaemonSet" for _, obj in users) else f"{pods} pods"
            yield (
                users[0][0],
                f"claim {name} is for one node ({', '.join(modes)}), but {some} of {named} mount it",
            )


def claim_problems(made: Mapping[str, Iterable[Object]], place: Mapping[str, str]) -> Iterator[Problem]:
    """A problem for each such claim. `place` has the field of each release."""
    for release, message in shared_claims(made):
        yield Problem(place.get(release, "spec"), message, _REMEDY)


def _claims_of(obj: Object) -> Iterator[str]:
    pod = (((obj.get("spec") or {}).get("template") or {}).get("spec")) or {}
    for volume in pod.get("volumes") or ():
        if claim := volume.get("persistentVolumeClaim"):
            yield str(claim["claimName"])


def _pods(obj: Object) -> int:
    if obj["kind"] == "DaemonSet":
        return _SEVERAL
    replicas = (obj.get("spec") or {}).get("replicas")
    return replicas if isinstance(replicas, int) else 1
