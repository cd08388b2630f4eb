"""The finalizer of a ComputeMaintenance: the object stays until the maintenance is rolled back.

It has the name of its region: that of another region is not ours to remove.
"""

from __future__ import annotations

from collections.abc import Sequence

from controller.domain.api.region_name import region_of
from controller.ports.kubernetes import COMPUTE_MAINTENANCE, Kube, KubeObject
from controller.reconcile.shared.action_log import log_action

_CONTAINER = "node"


def finalizer_of(obj: KubeObject) -> str:
    """The name of the finalizer, of the region of the maintenance."""
    return region_of(obj).finalizer(_CONTAINER)


def has_finalizer(obj: KubeObject) -> bool:
    """Whether the object cannot vanish before we let it."""
    return finalizer_of(obj) in (obj["metadata"].get("finalizers") or ())


def add_finalizer(kube: Kube, seen: KubeObject) -> None:
    """To an object that is as it was seen. Raises KubeError."""
    _set(kube, seen, [*(seen["metadata"].get("finalizers") or ()), finalizer_of(seen)])


def remove_finalizer(kube: Kube, seen: KubeObject) -> None:
    """From an object that is as it was seen; those of others stay. Raises KubeError."""
    ours = finalizer_of(seen)
    _set(kube, seen, [one for one in seen["metadata"].get("finalizers") or () if one != ours])


def _set(kube: Kube, seen: KubeObject, desired: Sequence[str]) -> None:
    meta = seen["metadata"]
    patch = {"metadata": {"finalizers": list(desired), "resourceVersion": meta["resourceVersion"]}}
    kube.merge_patch(COMPUTE_MAINTENANCE, meta["name"], None, patch)
    text = f"maintenance {meta['name']}: finalizers {', '.join(desired) or 'removed'}"
    log_action("set-finalizers", meta["name"], text)
