"""Writes to an object that a pass has read: to that very one, and not to another of its name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from controller.errors import Conflict, ObjectMissing, ObjectReplaced
from controller.ports.kubernetes import Kube, KubeObject, Resource
from controller.reconcile.shared.action_log import log_action

# If several clients write at the same time, one succeeds, and the others try again. The containers write at
# most once a second. So many tries are enough for five clients that write as fast as they can.
ATTEMPTS = 100
# What is read and decided again each time: others that write there do so seldom.
READ_AGAIN = 5
# For an object that did not exist: an apply with this condition creates it, and is a Conflict if others
# created an object with its name since. No object has the first revision of a store as its version, and the
# API server compares the version only with an existing object (apiserver, registry/generic/registry,
# Store.Update).
NOTHING_READ: Mapping[str, Any] = {"resourceVersion": "1"}

T = TypeVar("T")


def apply_to_seen(
    kube: Kube,
    resource: Resource,
    seen: Mapping[str, Any],
    *,
    manager: str,
    status: Mapping[str, Any] | None = None,
    finalizers: list[str] | None = None,
    unchanged: bool = False,
) -> KubeObject:
    """Server-side apply of a `status` or of `finalizers` to the object that was `seen`; what it is then.

    A finding about a deleted object must not be written into a new object with its name, and must not create
    the deleted object again. The uid alone prevents only the second. For a status, the API server checks only
    the version of the metadata (apiextensions-apiserver, statusStrategy.PrepareForUpdate). If the version has
    changed and the object is the same, the write is repeated, and `seen` has the new version.

    `unchanged`: it is not repeated, and a Conflict says that the object is not as it was seen. Raises
    ObjectReplaced when the object is gone or another has its name, KubeError otherwise.
    """
    read = seen["metadata"]
    meta = {key: read[key] for key in ("name", "namespace", "uid", "resourceVersion") if key in read}
    body: KubeObject = {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": meta}
    if finalizers is not None:
        meta["finalizers"] = finalizers
    if status is not None:
        body["status"] = dict(status)
    for _ in range(ATTEMPTS):
        try:
            after = kube.apply(body, manager=manager, subresource="" if status is None else "status")
        except (Conflict, ObjectMissing) as error:
            there = kube.get(resource, read["name"], read.get("namespace"))
            if there is None or there["metadata"].get("uid") != read.get("uid"):
                what = "is gone" if there is None else "is another object now"
                raise ObjectReplaced(f"{resource.kind} {read['name']} {what}") from error
            if unchanged or there["metadata"]["resourceVersion"] == meta.get("resourceVersion"):
                raise  # another try is not wanted, or it is not about the version
            meta["resourceVersion"] = there["metadata"]["resourceVersion"]
        else:
            read["resourceVersion"] = after["metadata"]["resourceVersion"]
            if finalizers is not None:
                place = f"{read.get('namespace')}/{read['name']}"
                text = f"{resource.kind} {read['name']}: finalizers {', '.join(finalizers) or 'removed'}"
                log_action("set-finalizers", place, text)
            return after
    raise Conflict(f"{resource.kind} {read['name']}: other clients write it continually")


def patch_seen(
    kube: Kube, resource: Resource, seen: Mapping[str, Any], patch: Mapping[str, Any]
) -> KubeObject | None:
    """JSON merge patch of the object that was `seen`, whatever was written to it since; what it is then.

    None where it is gone, or another has its name. Raises KubeError: Conflict where others write
    all the time.
    """
    read = seen["metadata"]
    version = read["resourceVersion"]
    for _ in range(ATTEMPTS):
        meta = {**patch.get("metadata", {}), "resourceVersion": version}
        try:
            return kube.merge_patch(
                resource, read["name"], read.get("namespace"), {**patch, "metadata": meta}
            )
        except Conflict:
            there = kube.get(resource, read["name"], read.get("namespace"))
            if there is None or there["metadata"]["uid"] != read["uid"]:
                return None
            if there["metadata"]["resourceVersion"] == version:
                raise  # it is not about the version
            version = there["metadata"]["resourceVersion"]
    raise Conflict(f"{resource.kind} {read['name']}: other clients write it continually")


def read_again(write: Callable[[], T]) -> T:
    """What `write` gives, which reads, decides, and writes on condition of what was read.

    It is called again if another client has written in between. Raises its errors, and Conflict if each try
    met another write.
    """
    for _ in range(READ_AGAIN - 1):
        try:
            return write()
        except Conflict:
            continue
    return write()
