"""What Helm is asked for an install and an upgrade, and the labels that identify the revision."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from controller.domain.api.names import (
    BUNDLE_LABEL,
    CHART_VERSION_LABEL,
    DIGEST_LABEL,
    FORCE_LABEL,
    REVISION_LABEL,
    ROLLBACK_LABEL,
    SPEC_DIGEST_LABEL,
)
from controller.domain.releases.actions import MAKING, Action
from controller.domain.releases.requests import label_of
from controller.errors import Conflict, HelmFailed
from controller.ports.charts import ChartSource
from controller.ports.helm import HelmRequest, ReleaseRecords, Revision
from controller.reconcile.releases.action_request import ActionRequest

# Number and uid of each record, the oldest first.
RecordedRevisions = tuple[tuple[int, str], ...]


def helm_request(charts: ChartSource, request: ActionRequest, *, history: int) -> HelmRequest:
    """Raises HelmFailed for a request without a spec, ChartInvalid when the chart cannot be had."""
    if request.spec is None or request.resolved_values is None:
        raise HelmFailed(f"{request.action} of {request.release} without a spec")
    chart = request.spec.chart
    labels = {
        BUNDLE_LABEL: request.bundle,
        DIGEST_LABEL: request.digest,
        SPEC_DIGEST_LABEL: request.spec_digest,
        REVISION_LABEL: str(request.version),
        **request_labels(request),
    }
    if chart.version:
        labels[CHART_VERSION_LABEL] = chart.version.replace("+", "_")[:63]
    return HelmRequest(
        release=request.release,
        namespace=request.namespace,
        chart_path=charts.locate(chart),
        values=request.resolved_values,
        labels=labels,
        timeout=request.timeout,
        max_history=history,
        description=f"{request.action} by openstack-controller",
        revision=request.version if request.action == Action.UPGRADE else 0,
    )


def next_revision(revisions: Sequence[Revision]) -> int:
    """What `HelmRequest.revision` is for what is desired: of an upgrade where anything is recorded."""
    return revisions[-1].version + 1 if revisions else 0


def request_labels(request: ActionRequest) -> Mapping[str, str]:
    """Marks of what the operator asked for."""
    return {
        FORCE_LABEL: label_of(request.requests.force),
        ROLLBACK_LABEL: label_of(request.requests.rollback),
    }


def newest_revision(records: ReleaseRecords, request: ActionRequest) -> Revision | None:
    """The newest revision of the release as it is recorded now, None when there is none."""
    revisions = records.observe(request.namespace, releases=(request.release,)).get(request.release, ())
    return revisions[-1] if revisions else None


def recorded_revisions(records: ReleaseRecords, request: ActionRequest) -> RecordedRevisions:
    """What is recorded of the release when its action begins, to be insisted on.

    Raises Conflict where its newest revision is not that of the request, and KubeError.
    """
    seen = _recorded(records, request)
    _insist_on_newest(seen[-1][0] if seen else 0, request)
    return seen


def insist_on_revisions(records: ReleaseRecords, request: ActionRequest, seen: RecordedRevisions) -> None:
    """Right before Helm is called, which starts from the newest revision, whoever has made it, or from the
    newest deployed one. What has been looked at and marked is in those that were `seen`.

    Raises Conflict where another one has come since, one has gone, or another record is in its place, and
    KubeError.
    """
    now = _recorded(records, request)
    if now == seen:
        return
    _insist_on_newest(now[-1][0] if now else 0, request)
    raise Conflict(
        f"records of {request.release} were deleted or replaced during the preparation of its "
        f"{request.action}; the next attempt starts from the new records"
    )


def _recorded(records: ReleaseRecords, request: ActionRequest) -> RecordedRevisions:
    revisions = records.observe(request.namespace, releases=(request.release,)).get(request.release, ())
    return tuple((one.version, one.uid) for one in revisions)


def _insist_on_newest(there: int, request: ActionRequest) -> None:
    prepared = request.version - 1 if request.action in MAKING else request.version
    if there > prepared:
        raise Conflict(
            f"another Helm created revision {there} during the preparation of the {request.action} "
            f"from revision {prepared}; the next try starts from {there}"
        )
    # Nothing at all is nothing to be uninstalled.
    if there < prepared and (there or request.action != Action.UNINSTALL):
        left = f"revision {there}" if there else "nothing"
        raise Conflict(
            f"the record of revision {prepared} was deleted after its {request.action} was decided; "
            f"{left} is now the newest, and the next try starts from it"
        )
