"""The one time that there is, and the clocks that say something else."""

from __future__ import annotations


class Time:
    """Seconds that have really passed."""

    def __init__(self) -> None:
        self.seconds = 0.0


class WrongClock:
    """Someone's clock: ahead or behind by `offset`, and monotonic as all are."""

    START = 1_780_000_000.0

    def __init__(self, time: Time, offset: float = 0.0) -> None:
        self._time = time
        self.offset = offset

    def now(self) -> float:
        return self.START + self._time.seconds + self.offset

    def monotonic(self) -> float:
        return 1000.0 + self._time.seconds
