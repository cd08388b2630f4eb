"""Takes a release back to an older revision, and notes in the new revision that it did.

Killed in between, the note is made then.
"""

from __future__ import annotations

from controller.domain.api.names import (
    DESIRED_AT_ROLLBACK_LABEL,
    REVISION_LABEL,
    ROLLED_BACK_TO_LABEL,
    SPEC_DIGEST_LABEL,
)
from controller.errors import HelmFailed, ReleaseMissing
from controller.ports.helm import Cancellation, ReleaseRecords, RollbackRequest
from controller.reconcile.releases.action_request import ActionRequest
from controller.reconcile.releases.actions.helm_request import (
    newest_revision,
    recorded_revisions,
    request_labels,
)
from controller.reconcile.releases.actions.preparation import BEFORE_ROLLBACK, Preparation, prepare
from controller.reconcile.releases.base_revisions import base_revisions
from controller.reconcile.releases.parts import ReleasePorts


def rollback(ports: ReleasePorts, request: ActionRequest, cancellation: Cancellation) -> str:
    """Gives in words which volumes it keeps. Raises ObjectsTaken, FieldsFixed, HelmFailed, also as
    HelmCancelled, and KubeError."""
    records, release, namespace = ports.records, request.release, request.namespace
    target, kept = request.requests.rollback_revision, ""
    if not _is_back(records, request, target):
        seen = recorded_revisions(records, request)
        desired = records.manifest(release, namespace, target)
        before = base_revisions(records, release, namespace)
        found = Preparation(ports, request, cancellation, desired, before, seen)
        prepare(found, BEFORE_ROLLBACK)
        kept = found.kept
        try:
            ports.helm.rollback(
                RollbackRequest(release, namespace, target, timeout=request.timeout), cancellation
            )
        except HelmFailed:
            _give_up(records, request)
            raise
    newest = newest_revision(records, request)
    if newest is None:
        raise ReleaseMissing(f"release {release} vanished while it was rolled back")
    labels = {
        REVISION_LABEL: str(newest.version),
        ROLLED_BACK_TO_LABEL: f"{target}.{newest.version}",
        DESIRED_AT_ROLLBACK_LABEL: request.digest,
        # A spec without a known digest was never served: this revision must not count as its result.
        SPEC_DIGEST_LABEL: request.spec_digest if request.digest else "",
        **request_labels(request),
    }
    records.relabel(release, namespace, newest.version, labels)
    return kept


def _give_up(records: ReleaseRecords, request: ActionRequest) -> None:
    """Helm leaves a rollback whose hook failed as pending, which it is not any more."""
    newest = newest_revision(records, request)
    if newest is not None and newest.status == "pending-rollback":
        records.mark_failed(request.release, request.namespace, newest.version, "the rollback failed")


def _is_back(records: ReleaseRecords, request: ActionRequest, target: int) -> bool:
    """Whether the newest revision is a rollback to `target` that lacks only its note."""
    release = request.release
    revisions = records.observe(request.namespace, releases=(release,)).get(release, ())
    if not revisions or revisions[-1].status != "deployed" or revisions[-1].ours:
        return False
    newest = revisions[-1]
    origins = {target} | {one.origin for one in revisions if one.version == target and one.origin}
    return newest.version > target and newest.origin in origins
