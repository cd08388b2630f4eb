"""Components that wait for the cluster's own controllers: for how long that is on its way. Pure.

Nothing that a workload says tells since when it waits so, so the moment is remembered. In memory: a
new process goes on with what the status says, and begins to wait again where that says nothing of it.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from controller.domain.health.region_health import ComponentHealth, ComponentKey
from controller.domain.health.workload_health import PROGRESS_DEADLINE, Health, WorkloadHealth
from controller.domain.shared.times import seconds_of

# A workload's controller that does not take up a new spec for so long does not work, and what the
# counts say is not about the new spec.
UNSEEN_AFTER = 60.0


@dataclass(frozen=True, slots=True)
class _Limit:
    """How long a wait may last, in seconds, and what the component is then."""

    seconds: float
    then: Health


_UNSEEN = _Limit(UNSEEN_AFTER, Health.UNKNOWN)


@dataclass(frozen=True, slots=True)
class _Wait:
    limit: _Limit
    revision: Hashable
    until: float


class ProgressDeadlines:
    """Remembers since when components wait. Not thread-safe.

    `lacking_for`: seconds after which pods that are not there are a failure.
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
        """The components, those that have waited for too long as what they are then.

        `before` is `status.health` as it is now; `now` in seconds of any steady clock, `epoch` in those
        since 1970.
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
    """For how many seconds a process before this one has reported the very same wait."""
    same = reported.get("status") == verdict.health and str(reported.get("message") or "").startswith(
        verdict.text
    )
    return max(epoch - seconds_of(reported.get("since")), 0.0) if same and reported.get("since") else 0.0
