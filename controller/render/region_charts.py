"""The charts as one rendering of a region sees them: which build, with which defaults and keys."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

from controller.domain.region.deployment import OpenStackDeployment
from controller.domain.region.named_charts import chart_of
from controller.domain.releases.bundle import ChartRef
from controller.domain.values.chart_values import DocumentPath, Values, is_map, lookup
from controller.domain.values.shipped_values import Library
from controller.render.chart_builds import ChartBuilds, ChartDefaults

_MISSING = object()


@dataclass(frozen=True)
class RegionCharts:
    """Charts by their names. One rendering reads a chart once, and so sees it in one state."""

    deployment: OpenStackDeployment
    library: Library
    source: ChartDefaults
    read: dict[ChartRef, Values] = field(default_factory=dict)

    @cached_property
    def builds(self) -> ChartBuilds:
        """Which keys the builds of charts know."""
        return ChartBuilds(self.library, self.source)

    def chart(self, name: str) -> ChartRef:
        """The source and version of this chart, by the spec."""
        return chart_of(self.deployment.spec.charts, self.library.catalogue, self.library.builds, name)

    def defaults(self, chart: ChartRef) -> Values:
        """Its values.yaml. Raises ChartInvalid."""
        if chart not in self.read:
            self.read[chart] = self.source.defaults(chart)
        return self.read[chart]

    def knows(self, chart: str, path: DocumentPath, *, a_map: bool = False) -> bool:
        """Whether the values.yaml of a chart has this key, and a map there, if that is asked."""
        found = lookup(self.defaults(self.chart(chart)), path, _MISSING)
        return is_map(found) if a_map else found is not _MISSING
