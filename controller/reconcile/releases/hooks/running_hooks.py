"""Hooks that an interrupted action has left at work: Helm has lost sight of them, the cluster has not.

The next action would have Helm delete them and begin again, and so cut off, say, a database migration.
"""

from __future__ import annotations

from controller.domain.api.keys import ReleaseKey
from controller.domain.releases.actions import Action
from controller.domain.releases.hooks import HookPhase, awaited_hooks, parse_hook_job
from controller.domain.releases.situation import OpenHook
from controller.errors import HelmFailed
from controller.ports.helm import ReleaseRecords, Revision
from controller.ports.kubernetes import JOB, Kube


def find_running_hook(
    kube: Kube, records: ReleaseRecords, key: ReleaseKey, revision: Revision, timeout: float
) -> OpenHook | None:
    """The first Job of a hook of that revision that still runs, None when there is none.

    It is given as much time as Helm would have given it: `timeout` seconds. What was made before the
    revision was serves another one. Raises KubeError.
    """
    namespace, release = key
    try:
        hooks = records.manifest(release, namespace, revision.version).hooks
    except HelmFailed:
        # The hooks of this revision are unknown.
        return None
    names = {
        hook.name: None
        for action in (Action.INSTALL, Action.UPGRADE)
        for hook in awaited_hooks(hooks, action)
        if hook.kind == JOB.kind
    }
    for name in names:
        live = kube.get(JOB, name, namespace)
        job = parse_hook_job(live) if live else None
        if live is None or job is None or live["metadata"].get("deletionTimestamp"):
            continue
        if job.phase == HookPhase.RUNNING and job.created >= revision.created:
            return OpenHook(name, job.created + timeout, timeout)
    return None
