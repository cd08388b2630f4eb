"""Writes to an object that a look has read: to that very one, and not to another of its name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from controller.errors import Conflict, ObjectMissing, ObjectReplaced
from controller.ports import Kube, KubeObject, Resource


def apply_to_seen(
    kube: Kube,
    resource: Resource,
    seen: Mapping[str, Any],
    *,
    manager: str,
    status: Mapping[str, Any] | None = None,
    finalizers: list[str] | None = None,
) -> KubeObject:
    """Server-side apply of a `status` or of `finalizers` to the object that was `seen`; what it is then.

    With the uid the API server itself compares: what was found of an object that was deleted meanwhile must
    not be told of one that was made under its name since, nor bring a deleted one back.

    Raises ObjectReplaced when the object is gone or another has its name, KubeError otherwise.
    """
    read = seen["metadata"]
    meta = {key: read[key] for key in ("name", "namespace", "uid") if key in read}
    body: KubeObject = {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": meta}
    if finalizers is not None:
        meta["finalizers"] = finalizers
    if status is not None:
        body["status"] = dict(status)
    try:
        return kube.apply(body, manager=manager, subresource="" if status is None else "status")
    except (Conflict, ObjectMissing) as error:
        there = kube.get(resource, read["name"], read.get("namespace"))
        if there is not None and there["metadata"].get("uid") == read.get("uid"):
            raise  # writers that came in between
        what = "is gone" if there is None else "is another object now"
        raise ObjectReplaced(f"{resource.kind} {read['name']} {what}") from error
