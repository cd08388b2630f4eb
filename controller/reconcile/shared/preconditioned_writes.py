"""Writes to an object that a pass has read: to that very one, and not to another of its name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from controller.domain.api.names import field_manager, finalizer
from controller.errors import Conflict, ObjectMissing, ObjectReplaced
from controller.ports.kubernetes import Kube, KubeObject, Resource
from controller.reconcile.shared.action_log import log_action

# Of those that write at once one succeeds, and the next try is a request away. The containers write once a
# second at the most; so many tries are for five that write as fast as they can.
ATTEMPTS = 100
# What is read and decided again each time: others that write there do so seldom.
READ_AGAIN = 5
# Of an object that was not there: an apply on this condition makes it, and is a Conflict where somebody has
# made one of its name since. No object has the first revision of a store for its version, and the API server
# compares it with that of an object that is there only (apiserver, registry/generic/registry, Store.Update).
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

    What was found of an object that was deleted meanwhile must not be told of one that was made under its
    name since, nor bring a deleted one back. The uid alone does the second only: of a status the API server
    looks at no metadata but the version (apiextensions-apiserver, statusStrategy.PrepareForUpdate). Where the
    version has moved on and the object is the same, the write is repeated; `seen` has the new version then.

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


@dataclass(frozen=True)
class OwnFinalizer:
    """The finalizer of one container on objects of one kind. Writes raise ObjectReplaced, KubeError."""

    resource: Resource
    container: str

    @property
    def name(self) -> str:
        return finalizer(self.container)

    def is_on(self, obj: Mapping[str, Any]) -> bool:
        """Whether the object stays when it is deleted."""
        return self.name in (obj["metadata"].get("finalizers") or ())

    def ensure(self, kube: Kube, obj: Mapping[str, Any]) -> None:
        """Puts it on the object, if it is not there."""
        if not self.is_on(obj):
            self._apply(kube, obj, [self.name])

    def remove(self, kube: Kube, obj: Mapping[str, Any]) -> None:
        """Takes it off: a deleted object goes."""
        self._apply(kube, obj, [])

    def _apply(self, kube: Kube, obj: Mapping[str, Any], desired: list[str]) -> None:
        manager = field_manager(self.container)
        apply_to_seen(kube, self.resource, obj, manager=manager, finalizers=desired)


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

    It is called again where somebody else has written in between. Raises what it raises: Conflict where that
    was so each time.
    """
    for _ in range(READ_AGAIN - 1):
        try:
            return write()
        except Conflict:
            continue
    return write()
