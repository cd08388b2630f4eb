"""Where charts come from, as a protocol."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from controller.domain.releases.bundle import ChartRef
from controller.domain.values.chart_values import Values


class ChartSource(Protocol):
    """Where charts come from."""

    def locate(self, chart: ChartRef) -> str:
        """A local path that Helm can load. Raises ChartInvalid with cause and remedy."""
        ...

    def digest(self, chart: ChartRef) -> str:
        """Digest of the chart's content, `sha256:` and 64 hex digits."""
        ...

    def build(self, chart: ChartRef) -> str:
        """Digest by which the chart's build is recognised (controller.domain.values.chart_builds)."""
        ...

    def defaults(self, chart: ChartRef) -> Values:
        """The chart's values.yaml."""
        ...

    def of_objects(self) -> str:
        """A local path of a chart that makes the objects in its values (`upgrade_jobs.jobs_first`)."""
        ...

    def files(self, chart: ChartRef) -> Mapping[str, bytes]:
        """Every file of the chart by its name in there, subcharts included. Raises ChartInvalid."""
        ...
