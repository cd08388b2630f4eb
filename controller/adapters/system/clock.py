"""The time of the operating system."""

from __future__ import annotations

import time


class SystemClock:
    """`controller.ports.system.Clock`."""

    def now(self) -> float:
        return time.time()

    def monotonic(self) -> float:
        return time.monotonic()
