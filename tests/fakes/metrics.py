"""Metrics that tests read back; unlike the real ones they complain of labels that a metric does not have."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping

from controller.domain.shared.metrics import BY_CONTAINER, EVERY_CONTAINER, Counter, Gauge, Histogram, Metric
from controller.ports.metrics import Row

ALL_METRICS = (*EVERY_CONTAINER, *(metric for group in BY_CONTAINER.values() for metric in group))


class FakeMetrics:
    """`controller.ports.metrics.Metrics`. `values` by name and labels; a histogram's is what was observed."""

    def __init__(self) -> None:
        self.values: dict[str, dict[tuple[tuple[str, str], ...], float]] = defaultdict(dict)
        self.observed: list[tuple[str, dict[str, str], float]] = []

    def count(self, metric: Counter, amount: float = 1.0, **labels: str) -> None:
        key = _key(metric, labels)
        self.values[metric.name][key] = self.values[metric.name].get(key, 0.0) + amount

    def set(self, metric: Gauge, value: float, **labels: str) -> None:
        self.values[metric.name][_key(metric, labels)] = value

    def observe(self, metric: Histogram, value: float, **labels: str) -> None:
        self.observed.append((metric.name, dict(_key(metric, labels)), value))

    def replace(self, metric: Gauge, rows: Iterable[Row], **labels: str) -> None:
        self._drop(metric.name, labels)
        for more, value in rows:
            self.set(metric, value, **{**labels, **more})

    def forget(self, **labels: str) -> None:
        for name in self.values:
            self._drop(name, labels)

    def value(self, metric: Metric, **labels: str) -> float | None:
        """What the series says now, None when there is none."""
        return self.values[metric.name].get(_key(metric, labels))

    def _drop(self, name: str, labels: Mapping[str, str]) -> None:
        gone = [key for key in self.values[name] if set(labels.items()) <= set(key)]
        for key in gone:
            del self.values[name][key]


def _key(metric: Metric, labels: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    assert set(labels) == set(metric.labels), f"{metric.name} has the labels {metric.labels}"
    return tuple(sorted(labels.items()))
