"""Time and randomness, as protocols: nothing in a reconciler asks the operating system itself."""

from __future__ import annotations

from typing import Protocol


class Clock(Protocol):
    def now(self) -> float:
        """Seconds since the epoch."""
        ...

    def monotonic(self) -> float: ...


class Randomness(Protocol):
    def token(self, alphabet: str, length: int) -> str:
        """A cryptographically random text."""
        ...

    def octets(self, length: int) -> bytes: ...

    def jitter(self) -> float:
        """Uniform in [0, 1): not for secrets."""
        ...
