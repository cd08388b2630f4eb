"""A clock that tests move, and randomness that repeats."""

from __future__ import annotations

import random


class FakeClock:
    """Stands still until a test advances it. `start` in seconds since the epoch."""

    def __init__(self, start: float = 1_700_000_000.0) -> None:
        self._now = start
        self._monotonic = 0.0

    def now(self) -> float:
        return self._now

    def monotonic(self) -> float:
        return self._monotonic

    def advance(self, seconds: float) -> None:
        self._now += seconds
        self._monotonic += seconds

    def jump(self, seconds: float) -> None:
        """Someone sets the clock; no time passes."""
        self._now += seconds


class FakeRandomness:
    """Repeats itself for the same seed, and never gives the same token twice by chance."""

    def __init__(self, seed: int = 0) -> None:
        self._random = random.Random(seed)
        self.drawn = 0

    def token(self, alphabet: str, length: int) -> str:
        self.drawn += 1
        return "".join(self._random.choice(alphabet) for _ in range(length))

    def octets(self, length: int) -> bytes:
        self.drawn += 1
        return self._random.randbytes(length)

    def jitter(self) -> float:
        return self._random.random()
