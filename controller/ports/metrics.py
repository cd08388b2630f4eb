"""The port through which anything is measured, and one that measures nothing.

    self._metrics.count(metrics.DRIFT_FOUND, release="nova")
    self._metrics.observe(metrics.HELM_DURATION, 12.5, release="nova", action="Upgrade", result="success")

`controller.domain.shared.metrics` defines what there is to record. No call raises, waits or asks a server.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Protocol

from controller.domain.shared.metrics import Counter, Gauge, Histogram

# The labels of one series beside those given for all, and its value.
Row = tuple[Mapping[str, str], float]


class Metrics(Protocol):
    """What a container has measured. Safe from any thread."""

    def count(self, metric: Counter, amount: float = 1.0, **labels: str) -> None:
        """So many more of it happened."""
        ...

    def set(self, metric: Gauge, value: float, **labels: str) -> None:
        """So it is now."""
        ...

    def observe(self, metric: Histogram, value: float, **labels: str) -> None:
        """It took so many seconds."""
        ...

    def replace(self, metric: Gauge, rows: Iterable[Row], **labels: str) -> None:
        """So they are now, all the series that have these labels: one that is not among `rows` ends."""
        ...

    def forget(self, **labels: str) -> None:
        """Ends every series of any metric that has these labels: what they name is gone."""
        ...


class NoMetrics:
    """`Metrics` without a reader, for the command line and tests."""

    def count(self, metric: Counter, amount: float = 1.0, **labels: str) -> None:
        pass

    def set(self, metric: Gauge, value: float, **labels: str) -> None:
        pass

    def observe(self, metric: Histogram, value: float, **labels: str) -> None:
        pass

    def replace(self, metric: Gauge, rows: Iterable[Row], **labels: str) -> None:
        pass

    def forget(self, **labels: str) -> None:
        pass
