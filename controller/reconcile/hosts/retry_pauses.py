"""Growing pauses after what did not succeed."""

from __future__ import annotations

from collections.abc import Collection, Hashable

from controller.domain.shared import backoff
from controller.ports.system import Clock

# Seconds after a pass that OpenStack did not answer.
AGAIN_AFTER = 15.0


class RetryPauses:
    """Each with jitter. Forgotten at a restart. One thread at a time."""

    def __init__(self, clock: Clock, pauses: backoff.Pauses) -> None:
        self._clock = clock
        self._pauses = pauses
        self._failed: dict[Hashable, tuple[int, float]] = {}

    def over(self, what: Hashable) -> bool:
        """Whether it may be tried (again)."""
        return what not in self._failed or self._clock.monotonic() >= self._failed[what][1]

    def failed(self, what: Hashable) -> None:
        """It was tried, and did not succeed."""
        times = self._failed.get(what, (0, 0.0))[0] + 1
        jitter = backoff.steady_jitter(f"{what} {times}")
        pause = backoff.delay(times, jitter, first=self._pauses.first, cap=self._pauses.cap)
        self._failed[what] = (times, self._clock.monotonic() + pause)

    def succeeded(self, what: Hashable) -> None:
        self._failed.pop(what, None)

    def keep(self, those: Collection[Hashable]) -> None:
        """Forgets everything else."""
        self._failed = {what: entry for what, entry in self._failed.items() if what in those}
