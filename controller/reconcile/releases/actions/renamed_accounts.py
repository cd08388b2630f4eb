"""Has the Jobs of a release run before its pods, where accounts get other names.

Pods wait for the Jobs that make accounts, and take those of the last action for them: Helm sends workloads
before it runs hooks, and no plain Job runs twice. New pods would begin with an account that is not there yet,
and take the place of pods that work.
"""

from __future__ import annotations

from controller.domain.values.account_names import renames_accounts
from controller.errors import HelmFailed
from controller.ports.helm import Cancellation, RenderedRelease
from controller.ports.kubernetes import JOB
from controller.reconcile.releases.action_request import ActionRequest
from controller.reconcile.releases.actions.base_revisions import BaseRevisions
from controller.reconcile.releases.hooks.previous_runs import delete_run, last_run
from controller.reconcile.releases.parts import ReleasePorts
from controller.reconcile.shared.action_log import log_action


def delete_jobs_of_renamed_accounts(
    ports: ReleasePorts,
    request: ActionRequest,
    rendered: RenderedRelease,
    before: BaseRevisions,
    cancellation: Cancellation,
) -> None:
    """Deletes the release's Jobs, which the upgrade makes again, if an account has another name than in the
    newest revision. Raises KubeError and HelmFailed, also as HelmCancelled."""
    if not before or request.resolved_values is None:
        return
    try:
        values = ports.records.effective_values(request.release, request.namespace, max(before))
    except HelmFailed:
        return
    if not renames_accounts(values, request.resolved_values):
        return
    for job in (*rendered.manifest, *rendered.hooks):
        live = last_run(ports.kube, JOB, job, *_names(request)) if job.get("kind") == JOB.kind else None
        if live is not None:
            delete_run(ports.kube, JOB, live, cancellation=cancellation, timeout=request.timeout)
            name = str(live["metadata"]["name"])
            text = f"Job {name}: deleted, it runs again for accounts with other names"
            log_action("replace", f"{request.namespace}/{name}", text, release=request.release)


def _names(request: ActionRequest) -> tuple[str, str]:
    return request.release, request.namespace
