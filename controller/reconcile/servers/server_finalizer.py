"""The finalizer of an OpenStackServer: the object stays until what was made for it is deleted."""

from __future__ import annotations

from controller.domain.api.names import finalizer
from controller.ports.kubernetes import SERVER, Kube
from controller.reconcile.servers.work import CONTAINER, ServerWork
from controller.reconcile.shared.action_log import log_action

FINALIZER = finalizer(CONTAINER)


def has_finalizer(work: ServerWork) -> bool:
    """Whether the object cannot vanish before we let it."""
    return FINALIZER in (work.obj["metadata"].get("finalizers") or ())


def set_finalizer(kube: Kube, work: ServerWork, *, present: bool) -> None:
    """Adds or removes ours; those of others stay. Raises Conflict where the object has changed, KubeError."""
    meta = work.obj["metadata"]
    others = [name for name in meta.get("finalizers") or () if name != FINALIZER]
    wanted = [*others, FINALIZER] if present else others
    patch = {"metadata": {"finalizers": wanted, "resourceVersion": meta["resourceVersion"]}}
    after = kube.merge_patch(SERVER, meta["name"], meta["namespace"], patch)
    text = f"server {meta['name']}: finalizer {'added' if present else 'removed'}"
    log_action("set-finalizers", work.place, text)
    if after is not None:
        meta["resourceVersion"] = after["metadata"]["resourceVersion"]
        meta["finalizers"] = wanted
