"""Deadlines for components that wait for the cluster's own controllers.

Pure. A workload does not say since when it waits, so this is remembered, in memory. A new process continues
with the times in the status, or starts again without one.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from controller.domain.health.region_health import ComponentHealth, ComponentKey
from controller.domain.health.workload_health import PROGRESS_DEADLINE, Health, WorkloadHealth
from controller.domain.shared.times import seconds_of

# A workload's controller that has not observed a new spec for this long does not work, and its counts do not
# describe the new spec.
UNSEEN_AFTER = 60.0


@dataclass(frozen=True, slots=True)
class _Limit:
    """The limit of a wait, in seconds, and the status of the component after it."""

    seconds: float
    then: Health


_UNSEEN = _Limit(UNSEEN_AFTER, Health.UNKNOWN)


@dataclass(frozen=True, slots=True)
class _Wait:
    limit: _Limit
    revision: Hashable
    until: float


class ProgressDeadlines:
    """Remembers since when components wait.

    Not thread-safe. `lacking_for`: seconds after which missing pods are a failure.
    """

    def __init__(self, lacking_for: float = PROGRESS_DEADLINE) -> None:
        self._lacking = _Limit(lacking_for, Health.UNHEALTHY)
        self._waits: dict[ComponentKey, _Wait] = {}
        self._new = True

    def judged(
        self,
        components: Mapping[ComponentKey, ComponentHealth],
        before: Mapping[str, Any],
        now: float,
        epoch: float,
    ) -> dict[ComponentKey, ComponentHealth]:
        """The components, with the status after the limit for those that have waited too long.

        `before` is the present `status.health`; `now` is in seconds of any monotonic clock, `epoch` in
        seconds since the epoch.
        """
        result, waits = {}, {}
        for key, judged in components.items():
            limit = self._limit(judged.verdict)
            if limit is None:
                result[key] = judged
                continue
            wait = self._waits.get(key)
            if wait is None or (wait.limit, wait.revision) != (limit, judged.revision):
                application, component = key
                reported = (before.get(application) or {}).get(component) or {}
                waited = _waited(reported, judged.verdict, epoch) if self._new else 0.0
                until = now if reported.get("status") == limit.then else now + limit.seconds - waited
                wait = _Wait(limit, judged.revision, until)
            waits[key] = wait
            over = now >= wait.until
            verdict = replace(judged.verdict, health=limit.then) if over else judged.verdict
            result[key] = replace(judged, verdict=verdict)
        self._waits, self._new = waits, False
        return result

    def _limit(self, verdict: WorkloadHealth) -> _Limit | None:
        if verdict.health != Health.PROGRESSING:
            return None
        if verdict.unseen:
            return _UNSEEN
        return self._lacking if verdict.lacking else None


def _waited(reported: Mapping[str, Any], verdict: WorkloadHealth, epoch: float) -> float:
    """Seconds for which an earlier process has reported the same wait."""
    same = reported.get("status") == verdict.health and str(reported.get("message") or "").startswith(
        verdict.text
    )
    return max(epoch - seconds_of(reported.get("since")), 0.0) if same and reported.get("since") else 0.0
