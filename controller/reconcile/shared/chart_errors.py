"""What it means for a release or a region that a chart cannot be had."""

from __future__ import annotations

from controller.domain.api.reasons import Reason
from controller.errors import (
    ChartInvalid,
    ChartNotFound,
    ChartPending,
    ChartUntrusted,
    RepositoryDenied,
    RepositoryUnavailable,
    RepositoryUntrusted,
)

# A chart or a Secret that is missing is looked for again after this many seconds: no event says when
# it comes.
RETRY_SECONDS = 2.0
# A repository that rests is not asked at such a pass, but a Secret that was corrected meanwhile is seen.
LONGEST = 15.0

_REASONS: tuple[tuple[type[ChartInvalid], Reason], ...] = (
    (ChartNotFound, Reason.CHART_NOT_FOUND),
    (ChartPending, Reason.CHART_PENDING),
    (ChartUntrusted, Reason.CHART_UNTRUSTED),
    (RepositoryDenied, Reason.REPOSITORY_DENIED),
    (RepositoryUnavailable, Reason.REPOSITORY_UNAVAILABLE),
    (RepositoryUntrusted, Reason.REPOSITORY_UNTRUSTED),
)


def chart_reason(error: ChartInvalid) -> Reason:
    """The word for why the chart cannot be had, or cannot be used."""
    return next((reason for kind, reason in _REASONS if isinstance(error, kind)), Reason.CHART_INVALID)


def retry_after(error: ChartInvalid) -> float:
    """Seconds until another pass may find something else."""
    return RETRY_SECONDS if error.retry_after is None else min(max(error.retry_after, 0.5), LONGEST)
