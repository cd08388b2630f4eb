"""The builds of charts in one rendering: what of our own values each knows, and what is said of it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Protocol

from controller.domain.api.spec_rules import charts_and_services as rules
from controller.domain.releases.bundle import ChartRef
from controller.domain.values.chart_builds import Match
from controller.domain.values.chart_values import Values
from controller.domain.values.layer_order import LayerKind, Layers
from controller.domain.values.names.unknown_keys import known_part
from controller.domain.values.shipped_values import Library
from controller.errors import Problem, SpecInvalid

_REPOSITORY = "spec.charts.repository"
_REMEDY = "osctl charts shows the build of each chart, and whether it is tested"
_FIGURES = "pod.resources."
_CALLED = {Match.PREVIOUS: "the previous build", Match.UNKNOWN: "an unknown build"}


class ChartDefaults(Protocol):
    """What a rendering reads of charts; `controller.ports.charts.ChartSource` is one."""

    def build(self, chart: ChartRef) -> str:
        """Digest by which the chart's build is recognised. Raises ChartInvalid."""
        ...

    def defaults(self, chart: ChartRef) -> Values:
        """The chart's values.yaml. Raises ChartInvalid."""
        ...


@dataclass
class ChartBuilds:
    """The builds that one rendering has come across, and the keys that they lack."""

    library: Library
    charts: ChartDefaults
    _matches: dict[str, Match] = field(default_factory=dict)
    _left_out: dict[str, dict[str, None]] = field(default_factory=dict)

    def known_layers(self, chart: ChartRef, layers: Layers) -> Layers:
        """Our layers for a chart without the keys that its build does not have.

        The pinned builds have all of them. The charts of the image fit the values, except for components that
        sizes name and lean charts do not have. Raises SpecInvalid with the keys that cannot be left out.
        """
        if not chart.repository:
            size = layers.get(LayerKind.SIZE)
            known_size = size and known_part(size, self.charts.defaults(chart), self.library.open_maps).layer
            return {**layers, LayerKind.SIZE: known_size}
        match = self.library.builds.match(chart.name, self.charts.build(chart))
        self._matches[chart.name] = match
        if match == Match.PINNED:
            return layers
        known, needed, defaults = dict(layers), dict[str, None](), self.charts.defaults(chart)
        for kind, layer in layers.items():
            if layer is not None:
                part = known_part(layer, defaults, self.library.open_maps)
                known[kind] = part.layer
                needed.update(dict.fromkeys(part.needed))
                told = (key for key in part.left_out if not _is_no_loss(key, kind, match))
                self._left_out.setdefault(chart.name, {}).update(dict.fromkeys(told))
        if needed:
            pinned, called = self.library.builds.pinned, self._called(chart.name)
            raise SpecInvalid([_lacks(called, key, str(pinned)) for key in needed])
        return known

    def warnings(self) -> Iterator[Problem]:
        """Charts of builds that were not tested, and keys that were left out."""
        builds = self.library.builds
        untested = [name for name, match in self._matches.items() if match == Match.UNKNOWN]
        if untested:
            yield rules.BUILDS_UNTESTED.at(
                _REPOSITORY,
                untested=", ".join(sorted(untested)),
                pinned=builds.pinned,
                previous=builds.previous,
            )
        for name, keys in sorted(self._left_out.items()):
            if keys:
                yield rules.BUILD_LACKS_KEY_OMITTED.at(
                    _REPOSITORY, called=self._called(name), keys=", ".join(keys)
                )

    def _called(self, chart: str) -> str:
        return f"{_CALLED[self._matches[chart]]} of chart {chart}"


def _is_no_loss(key: str, kind: LayerKind, match: Match) -> bool:
    """Whether a size has a figure here for a container that a tested build does not have."""
    return match == Match.PREVIOUS and kind == LayerKind.SIZE and key.startswith(_FIGURES)


def _lacks(called: str, key: str, pinned: str) -> Problem:
    return rules.BUILD_LACKS_KEY_NEEDED.at(_REPOSITORY, called=called, key=key, pinned=pinned)
