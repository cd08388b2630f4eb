"""Makes way for hooks whose chart does not have Helm delete what their last run has left.

Helm takes a Job that is there for the one that it would make. One that has failed, or that was made to fail
when its action was ended, would then fail the action at once, every time.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable

from controller.domain.hooks import meets_its_last_run
from controller.domain.workloads import HOOK
from controller.ports import JOB, POD, Kube, KubeObject

log = logging.getLogger(__name__)

_RUN_TO_THEIR_END = {JOB.kind: JOB, POD.kind: POD}
_POLICY = "helm.sh/resource-policy"


def delete_last_runs(kube: Kube, hooks: Iterable[KubeObject], action: str, namespace: str) -> tuple[str, ...]:
    """Deletes Jobs and Pods that hooks of the coming action have left; gives them as `Job/name`.

    Whether they have ended does not matter: what still runs serves a spec, or a process, that is gone. What
    is no hook is left alone. Raises KubeError.
    """
    deleted = []
    for hook in hooks:
        resource = _RUN_TO_THEIR_END.get(str(hook.get("kind")))
        if resource is None or not meets_its_last_run(hook, action):
            continue
        name = str(hook["metadata"]["name"])
        where = str(hook["metadata"].get("namespace") or namespace)
        live = kube.get(resource, name, where)
        notes = (live or {}).get("metadata", {}).get("annotations") or {}
        if live is None or HOOK not in notes or notes.get(_POLICY) == "keep":
            continue
        kube.delete(resource, name, where, uid=str(live["metadata"]["uid"]))
        log.info("hook %s %s is made anew", resource.kind, name)
        deleted.append(f"{resource.kind}/{name}")
    return tuple(deleted)
