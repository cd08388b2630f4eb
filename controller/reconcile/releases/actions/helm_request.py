"""What Helm is asked for an install and an upgrade, and the labels that identify the revision."""

from __future__ import annotations

from collections.abc import Mapping

from controller.domain.api.names import (
    BUNDLE_LABEL,
    CHART_VERSION_LABEL,
    DIGEST_LABEL,
    FORCE_LABEL,
    REVISION_LABEL,
    ROLLBACK_LABEL,
    SPEC_DIGEST_LABEL,
)
from controller.domain.releases.actions import MAKING
from controller.domain.releases.requests import label_of
from controller.errors import Conflict, HelmFailed
from controller.ports.charts import ChartSource
from controller.ports.helm import HelmRequest, ReleaseRecords, Revision
from controller.reconcile.releases.action_request import ActionRequest


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
    )


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


def insist_on_revision(records: ReleaseRecords, request: ActionRequest) -> None:
    """Right before Helm is called, which starts from the newest revision, whoever has made it. What has been
    looked at and marked is that of the request.

    Raises Conflict where another one has come since, and KubeError.
    """
    newest = newest_revision(records, request)
    there = newest.version if newest else 0
    prepared = request.version - 1 if request.action in MAKING else request.version
    if there > prepared:
        raise Conflict(
            f"another Helm has made revision {there} while the {request.action} from revision {prepared} was "
            f"prepared: the next try starts from {there}"
        )
