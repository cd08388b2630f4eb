"""How long to wait before the next try."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Pauses:
    """Seconds between tries of what does not succeed: they double from `first` to `cap`."""

    first: float
    cap: float

    def after(self, failures: int, jitter: float) -> float:
        """Seconds to wait after that many failures in a row; see `delay`."""
        return delay(failures, jitter, first=self.first, cap=self.cap)


# Connections and whole passes: most of what ends them is over in a second.
RECONNECT_PAUSES = Pauses(1.0, 60.0)
# What servers wait for and what heals by itself: it is tried again soon.
SHORT_PAUSES = Pauses(5.0, 60.0)
# What OpenStack refuses, until a person or another service has changed something.
LONG_PAUSES = Pauses(10.0, 600.0)


def delay(failures: int, jitter: float, *, first: float, cap: float) -> float:
    """Seconds to wait after that many failures in a row: doubling from `first` to `cap`.

    `jitter` in [0, 1) spreads the wait over the upper half of its range ("equal jitter": AWS
    Architecture Blog, Exponential Backoff And Jitter), so that releases that failed together do not
    come back together. 0 failures: no wait.
    """
    if failures <= 0:
        return 0.0
    # 2**30 s is beyond any cap; without the bound a float overflows after 1,024 failures.
    full = min(cap, first * float(2 ** min(failures - 1, 30)))
    return full * (0.5 + jitter / 2)


def steady_jitter(seed: str) -> float:
    """A number in [0, 1) that differs between seeds, not between passes."""
    return int.from_bytes(hashlib.sha256(seed.encode()).digest()[:4], "big") / 2**32
