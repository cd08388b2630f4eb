"""Deadlines that count the seconds of a quiet machine: a busy or a slow one is given more time.

A deadline tells a hang from work. On a machine that does much else, the same work takes longer.
"""

from __future__ import annotations

import os
import time
from functools import cache

# Processor seconds of the measured loop on the machine that the deadlines were written on.
REFERENCE_SECONDS = 0.006
ROUNDS = 200_000
# So many runnable tasks a core are usual while tests run beside each other.
USUAL_LOAD = 2.0
# A hang must end some time.
MOST = 15.0


def slowness() -> float:
    """How many times as long as on a quiet machine work takes at present: between 1 and 15."""
    return min(MOST, machine_slowness() * max(1.0, load_per_core() / USUAL_LOAD))


def patient(seconds: float) -> float:
    """As many seconds as work that takes up to `seconds` on a quiet machine may take here and now."""
    return seconds * slowness()


class Patience:
    """A deadline in `seconds` of a quiet machine; each stretch counts by the load during it."""

    def __init__(self, seconds: float) -> None:
        self._left = seconds
        self._last = time.monotonic()

    def is_over(self) -> bool:
        """Whether the time is up."""
        now = time.monotonic()
        self._left -= (now - self._last) / slowness()
        self._last = now
        return self._left < 0


@cache
def machine_slowness() -> float:
    """The same without its load, measured once a process in its own processor time; at least 1."""
    best = min(_measured() for _ in range(3))
    return max(1.0, best / REFERENCE_SECONDS)


def load_per_core() -> float:
    """Runnable tasks for each core that this process may use: now or in the mean, whichever is more."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(_runnable(), os.getloadavg()[0]) / cores


def _runnable() -> float:
    try:
        with open("/proc/loadavg", encoding="ascii") as file:  # noqa: PTH123
            return float(file.read().split()[3].partition("/")[0])
    except OSError:
        return 0.0


def _measured() -> float:
    began = time.process_time()
    total = 0
    for one in range(ROUNDS):
        total += one
    return time.process_time() - began
