"""Revisions of releases, from the labels of Helm's records."""

from __future__ import annotations

from collections.abc import Mapping

from controller.domain.api.names import (
    BUNDLE_LABEL,
    CHART_VERSION_LABEL,
    DESIRED_AT_ROLLBACK_LABEL,
    DIGEST_LABEL,
    FORCE_LABEL,
    JOBS_FIRST_LABEL,
    REMOVAL_LABEL,
    REVISION_LABEL,
    ROLLBACK_LABEL,
    ROLLED_BACK_TO_LABEL,
    SPEC_DIGEST_LABEL,
)
from controller.ports.helm import Revision


def revision(version: int, status: str, labels: Mapping[str, str], modified: float) -> Revision:
    """A revision from its record and the record's labels."""
    origin = labels.get(REVISION_LABEL, "")
    # Helm copies labels from revision to revision, so the label of a rollback counts only on the revision
    # that it names.
    back_to, _, made = labels.get(ROLLED_BACK_TO_LABEL, "").partition(".")
    rolled_back = made == str(version) and back_to.isdigit()
    half, _, jobs_for = labels.get(JOBS_FIRST_LABEL, "").partition(".")
    return Revision(
        version=version,
        status=status,
        digest=labels.get(DIGEST_LABEL, ""),
        spec_digest=labels.get(SPEC_DIGEST_LABEL, ""),
        chart_version=labels.get(CHART_VERSION_LABEL, ""),
        bundle=labels.get(BUNDLE_LABEL, ""),
        modified=modified,
        ours=origin == str(version),
        origin=int(origin) if origin.isdigit() else 0,
        forced=labels.get(FORCE_LABEL, ""),
        asked=labels.get(ROLLBACK_LABEL, ""),
        rolled_back_to=int(back_to) if rolled_back else 0,
        desired_at_rollback=labels.get(DESIRED_AT_ROLLBACK_LABEL, "") if rolled_back else "",
        removing=labels.get(REMOVAL_LABEL) == str(version),
        jobs_for=jobs_for if half == str(version) else "",
    )


def modified(labels: Mapping[str, str]) -> float:
    """When Helm wrote the record last, in seconds since the epoch; 0 if it does not say."""
    stamp = labels.get("modifiedAt") or labels.get("createdAt") or ""
    return float(stamp) if stamp.isdigit() else 0.0
