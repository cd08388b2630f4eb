"""For how long a record has been seen that begins later than now: one of two clocks was wrong, then or now.

A clock that is behind for some minutes must not replace an authority that is right. One that was ahead must
not leave one that is not valid for years.
"""

from __future__ import annotations

from controller.domain.credentials.authority import AuthorityRecord, begins_ahead
from controller.ports.system import Clock

# Seconds of watching, by the monotonic clock, after which the clock of today is believed.
PATIENCE = 600.0


class ClockPatience:
    """Of the authorities of one process, by the names of their Secrets."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._since: dict[str, float] = {}

    def is_over(self, name: str, record: AuthorityRecord | None) -> bool:
        """Whether what the record has that begins later than now is to be replaced."""
        if record is None or not begins_ahead(record, self._clock.now()):
            self._since.pop(name, None)
            return False
        now = self._clock.monotonic()
        return now - self._since.setdefault(name, now) >= PATIENCE
