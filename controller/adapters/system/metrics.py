"""`controller.ports.metrics.Metrics` with prometheus-client: one registry per container, served as text."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping

import prometheus_client as prometheus
from prometheus_client.exposition import choose_encoder

from controller.domain.shared import metrics
from controller.domain.shared.metrics import (
    BY_CONTAINER,
    EVERY_CONTAINER,
    LABEL_LIMIT,
    NAMESPACE_LABEL,
    REGION_LABEL,
    SERIES_LIMIT,
    Counter,
    Gauge,
    Histogram,
    Metric,
)
from controller.ports.metrics import Row

Series = tuple[str, ...]
#: At module scope because inside a class with a method `set` that name is the method.
SeriesSet = set[Series]
_Instrument = prometheus.Counter | prometheus.Gauge | prometheus.Histogram


_OF_PROCESS = {one.name.removesuffix("_total") for one in (metrics.METRICS_DROPPED, *EVERY_CONTAINER)}


class _Scraped(prometheus.CollectorRegistry):
    """A registry as a scrape reads it: with the labels that all series share.

    Without `works` it lacks the measures of regions, releases, nodes and servers.
    """

    def __init__(self, whole: prometheus.CollectorRegistry, shared: Mapping[str, str], works: bool) -> None:
        super().__init__()
        self._whole = whole
        self._shared = shared
        self._works = works

    def collect(self) -> Iterator[prometheus.Metric]:
        for family in self._whole.collect():
            if self._works or family.name in _OF_PROCESS or not family.name.startswith("osctl_"):
                family.samples = [
                    sample._replace(labels={**self._shared, **sample.labels}) for sample in family.samples
                ]
                yield family


class PrometheusMetrics:
    """Measures of one process, with those of the process itself (memory, CPU, open files).

    Every series has the region and its namespace as labels (SHARED_LABELS). A missing label is empty, and an
    unknown label is ignored. After `limit` series of a metric, new ones are
    only counted as dropped (METRICS_DROPPED).
    """

    def __init__(self, container: str, *, region_namespace: str = "", limit: int = SERIES_LIMIT) -> None:
        # Without the creation times of series, which would double their number and are unused.
        prometheus.disable_created_metrics()  # type: ignore[no-untyped-call]
        self._registry = prometheus.CollectorRegistry()
        prometheus.ProcessCollector(registry=self._registry)
        self._limit = limit
        # Replaced as a whole, so that a scrape needs no lock.
        self._shared = {NAMESPACE_LABEL: region_namespace} if region_namespace else {}
        self._lock = threading.Lock()
        self._instruments: dict[str, _Instrument] = {}
        self._metrics: dict[str, Metric] = {}
        self._series: dict[str, SeriesSet] = {}
        for metric in (metrics.METRICS_DROPPED, *EVERY_CONTAINER, *BY_CONTAINER.get(container, ())):
            self._instrument(metric)

    def count(self, metric: Counter, amount: float = 1.0, **labels: str) -> None:
        """As in the port; a negative amount is ignored."""
        with self._lock:
            one = self._find(metric, _series(metric, labels))
            if isinstance(one, prometheus.Counter) and amount > 0:
                one.inc(amount)

    def set(self, metric: Gauge, value: float, **labels: str) -> None:
        """As the port says."""
        with self._lock:
            one = self._find(metric, _series(metric, labels))
            if isinstance(one, prometheus.Gauge):
                one.set(value)

    def observe(self, metric: Histogram, value: float, **labels: str) -> None:
        """As the port says."""
        with self._lock:
            one = self._find(metric, _series(metric, labels))
            if isinstance(one, prometheus.Histogram):
                one.observe(value)

    def replace(self, metric: Gauge, rows: Iterable[Row], **labels: str) -> None:
        """As in the port.

        New series are added before old ones are removed, so a scrape always sees one of them.
        """
        with self._lock:
            self._instrument(metric)
            desired = {_series(metric, {**labels, **more}): value for more, value in rows}
            ending = self._matching(metric, labels) - desired.keys()
            for series, value in desired.items():
                one = self._find(metric, series, freed=len(ending))
                if isinstance(one, prometheus.Gauge):
                    one.set(value)
            for series in ending:
                self._end(metric.name, series)

    def forget(self, **labels: str) -> None:
        """As the port says."""
        with self._lock:
            for metric in list(self._metrics.values()):
                if labels and set(labels) <= set(metric.labels):
                    for series in self._matching(metric, labels):
                        self._end(metric.name, series)

    def track(self, metric: Gauge, value: Callable[[], float], **labels: str) -> None:
        """From now on every scrape asks `value`, which must neither raise nor wait."""
        with self._lock:
            one = self._find(metric, _series(metric, labels))
            if isinstance(one, prometheus.Gauge):
                one.set_function(value)

    def name_region(self, region: str) -> None:
        """From now on every series has this name as its region, unless it has one of its own."""
        self._shared = {**self._shared, REGION_LABEL: _text(region)}

    def exposition(self, accept: str, *, works: bool = True) -> tuple[bytes, str]:
        """The answer to a scrape with this Accept header, and its content type.

        Without `works` it has only what a container measures of itself: another pod measures the region.
        """
        encode, content_type = choose_encoder(accept)
        return encode(_Scraped(self._registry, self._shared, works)), content_type

    def _instrument(self, metric: Metric) -> _Instrument:
        known = self._instruments.get(metric.name)
        if known is not None:
            return known
        made: _Instrument
        if isinstance(metric, Histogram):
            made = prometheus.Histogram(
                metric.name, metric.help, metric.labels, registry=self._registry, buckets=metric.buckets
            )
        else:
            kind = prometheus.Counter if isinstance(metric, Counter) else prometheus.Gauge
            made = kind(metric.name, metric.help, metric.labels, registry=self._registry)
        self._instruments[metric.name] = made
        self._metrics[metric.name] = metric
        self._series[metric.name] = SeriesSet()
        # From the beginning, so that `increase` sees the first one.
        self._count_dropped(metric, 0)
        return made

    def _find(self, metric: Metric, series: Series, *, freed: int = 0) -> _Instrument | None:
        """The recorder of the series; None, and counted, if the metric has no room for another.

        `freed` series are about to end, so their room is free.
        """
        instrument = self._instrument(metric)
        if not metric.labels:
            return instrument
        known = self._series[metric.name]
        if series not in known and len(known) - freed >= self._limit:
            self._count_dropped(metric, 1)
            return None
        known.add(series)
        return instrument.labels(*series)

    def _count_dropped(self, metric: Metric, amount: float) -> None:
        counter = self._instruments[metrics.METRICS_DROPPED.name]
        if isinstance(counter, prometheus.Counter):
            counter.labels(metric.name).inc(amount)

    def _matching(self, metric: Metric, labels: Mapping[str, str]) -> SeriesSet:
        asked = [(place, _text(labels[name])) for place, name in enumerate(metric.labels) if name in labels]
        known = self._series[metric.name]
        return {one for one in known if all(one[place] == value for place, value in asked)}

    def _end(self, name: str, series: Series) -> None:
        self._series[name].discard(series)
        self._instruments[name].remove(*series)


def _series(metric: Metric, labels: Mapping[str, str]) -> Series:
    return tuple(_text(labels.get(name, "")) for name in metric.labels)


def _text(value: object) -> str:
    """A label's value as a scrape can carry it."""
    return str(value)[:LABEL_LIMIT].encode("utf-8", "replace").decode()
