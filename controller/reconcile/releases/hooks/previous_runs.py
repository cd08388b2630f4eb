"""Makes way for hooks whose chart does not have Helm delete what their last run has left.

Helm takes a Job that is there for the one that it would make. One that has failed, or that was made to fail
when its action was ended, would then fail the action at once, every time.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable

from controller.domain.api.names import HOOK
from controller.domain.api.object_owner import Ownership, owner_of
from controller.domain.releases.hooks import meets_its_last_run
from controller.errors import HelmCancelled, HelmFailed
from controller.ports.helm import Cancellation
from controller.ports.kubernetes import JOB, POD, Kube, KubeObject, Resource
from controller.reconcile.shared.action_log import log_action

_RUN_TO_THEIR_END = {JOB.kind: JOB, POD.kind: POD}
_POLICY = "helm.sh/resource-policy"
_POLL_SECONDS = 0.2


def delete_last_runs(
    kube: Kube,
    hooks: Iterable[KubeObject],
    action: str,
    release: str,
    namespace: str,
    *,
    cancellation: Cancellation,
    timeout: float,
    pause: Callable[[float], None] = time.sleep,
) -> tuple[str, ...]:
    """Deletes Jobs and Pods that hooks of the coming action have left; gives them as `Job/name`.

    Whether they have ended does not matter: a running one serves an old spec or a dead process, or has
    exceeded its time. An object that is no hook, or belongs to another release by its labels, is left alone.
    The function waits for at most `timeout` seconds until each is gone, because Helm would mistake an ending
    one for the new one. Raises KubeError and HelmFailed, also as HelmCancelled.
    """
    deleted = []
    for hook in hooks:
        resource = _RUN_TO_THEIR_END.get(str(hook.get("kind")))
        if resource is None or not meets_its_last_run(hook, action):
            continue
        live = last_run(kube, resource, hook, release, namespace)
        if live is None or HOOK not in (live["metadata"].get("annotations") or {}):
            continue
        delete_run(kube, resource, live, cancellation=cancellation, timeout=timeout, pause=pause)
        name, where = str(live["metadata"]["name"]), str(live["metadata"]["namespace"])
        log_action(
            "replace", f"{where}/{name}", f"{resource.kind} {name}: deleted, because its hook runs again"
        )
        deleted.append(f"{resource.kind}/{name}")
    return tuple(deleted)


def last_run(
    kube: Kube, resource: Resource, rendered: KubeObject, release: str, namespace: str
) -> KubeObject | None:
    """What an earlier action has left of a Job or Pod that is rendered; None where that is to stay."""
    meta = rendered["metadata"]
    live = kube.get(resource, str(meta["name"]), str(meta.get("namespace") or namespace))
    if live is None or (live["metadata"].get("annotations") or {}).get(_POLICY) == "keep":
        return None
    others = owner_of(live["metadata"], meta, release, namespace).ownership == Ownership.OTHERS
    return None if others else live


def delete_run(
    kube: Kube,
    resource: Resource,
    live: KubeObject,
    *,
    cancellation: Cancellation,
    timeout: float,
    pause: Callable[[float], None] = time.sleep,
) -> None:
    """Deletes that very Job or Pod, and waits until it is gone. Raises KubeError and HelmFailed, also as
    HelmCancelled."""
    meta = live["metadata"]
    name, where, uid = str(meta["name"]), str(meta["namespace"]), str(meta["uid"])
    # The deletion of an unwanted pod does not wait for its node.
    kube.delete(resource, name, where, uid=uid, grace=0 if resource == POD else None)
    remaining = timeout
    while _is_there(kube, resource, name, where, uid):
        if cancellation.cancelled:
            cut = cancellation.overdue or "cancelled"
            raise HelmCancelled(f"{cut}: {resource.kind} {name} of the last run still exists", cut)
        if remaining <= 0:
            raise HelmFailed(
                f"{resource.kind} {name} of the last run still exists {timeout:g} s after its deletion"
            )
        pause(_POLL_SECONDS)
        remaining -= _POLL_SECONDS


def _is_there(kube: Kube, resource: Resource, name: str, namespace: str, uid: str) -> bool:
    found = kube.get(resource, name, namespace)
    return found is not None and str(found["metadata"]["uid"]) == uid
