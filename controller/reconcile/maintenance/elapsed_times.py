"""How long each maintenance has been reconciled: what its deadlines and pauses are measured by.

It is added up from pass to pass, and kept in the status. So neither a clock that jumps nor a while in which
the controller was down makes a migration late that had no time.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from controller.ports.system import Clock
from controller.reconcile.maintenance.status import MaintenanceWork

# Passes come every 5 to 15 seconds: no two of them are further apart than so many seconds, as far as counts.
LONGEST_STEP = 30.0


class ElapsedTimes:
    """Counts the seconds of each maintenance on a monotonic clock.

    What is not in the status yet when a process ends does not count. Not thread-safe.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        # By uid: seconds so far, and when that was on this process's own clock.
        self._counted: dict[str, tuple[float, float]] = {}

    def brought_up(self, works: Iterable[MaintenanceWork]) -> list[MaintenanceWork]:
        """Each with its time in this pass; forgets all others."""
        at, counted = self._clock.monotonic(), {}
        found = []
        for work in works:
            uid = str(work.obj["metadata"]["uid"])
            so_far, last = self._counted.get(uid, (work.elapsed, at))
            step = min(max(at - last, 0.0), LONGEST_STEP)
            elapsed = max(work.elapsed, so_far + step) if work.started else 0.0
            counted[uid] = (elapsed, at)
            now = work.started + elapsed if work.started else self._clock.now()
            found.append(replace(work, elapsed=elapsed, now=now))
        self._counted = counted
        return found
