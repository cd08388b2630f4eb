"""Time and randomness, as protocols: nothing in a reconciler asks the operating system itself."""

from __future__ import annotations

from typing import Protocol


class Clock(Protocol):
    """The time of day, which may jump, and a clock for intervals, which does not."""

    def now(self) -> float:
        """Seconds since the epoch."""
        ...

    def monotonic(self) -> float:
        """Seconds since some moment: never less than before, whatever is done to the time of day."""
        ...


class Randomness(Protocol):
    """Random values that nothing can predict, and values that only must differ."""

    def token(self, alphabet: str, length: int) -> str:
        """A cryptographically random text."""
        ...

    def octets(self, length: int) -> bytes:
        """Cryptographically random octets."""
        ...

    def jitter(self) -> float:
        """Uniform in [0, 1): not for secrets."""
        ...
