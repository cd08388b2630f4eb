"""The builds of charts in one rendering: what of our own values each knows, and what is said of it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Protocol

from controller.domain.releases.bundle import ChartRef
from controller.domain.values.chart_builds import Match
from controller.domain.values.chart_values import Values
from controller.domain.values.layer_order import LayerKind, Layers
from controller.domain.values.shipped_values import Library
from controller.domain.values.unknown_keys import known_part
from controller.errors import Problem, SpecInvalid

_REPOSITORY = "spec.charts.repository"
_REMEDY = "osctl charts shows which build each chart is, and which are tested"
_CALLED = {Match.PREVIOUS: "the previous build", Match.UNKNOWN: "this unknown build"}


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

        The pinned builds have them all; the charts of the image are of one piece with the values, but for
        components that sizes speak of and lean charts do not have. Those that the previous builds do not have
        are no loss either: without a word, for these builds are tested with what is left. Raises SpecInvalid
        naming the keys that cannot be left out.
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
                if not (kind == LayerKind.SIZE and match == Match.PREVIOUS):
                    self._left_out.setdefault(chart.name, {}).update(dict.fromkeys(part.left_out))
        if needed:
            raise SpecInvalid([_lacks(chart, match, key, str(self.library.builds.pinned)) for key in needed])
        return known

    def warnings(self) -> Iterator[Problem]:
        """Charts of builds that were not tested, and keys that were left out."""
        builds = self.library.builds
        untested = [name for name, match in self._matches.items() if match == Match.UNKNOWN]
        if untested:
            yield Problem(
                _REPOSITORY,
                f"builds of charts that were not tested: {', '.join(sorted(untested))}; "
                f"tested are those of OpenStack-Helm {builds.pinned}, and {builds.previous}",
                _REMEDY,
            )
        for name, keys in sorted(self._left_out.items()):
            if keys:
                text = f"{_CALLED[self._matches[name]]} of chart {name} does not have {', '.join(keys)}: left out"
                yield Problem(_REPOSITORY, text, f"use a build that has it: {_REMEDY}")


def _lacks(chart: ChartRef, match: Match, key: str, pinned: str) -> Problem:
    return Problem(
        _REPOSITORY,
        f"{_CALLED[match]} of chart {chart.name} does not have {key}, which this region needs",
        f"take the build of {pinned}, or leave out what needs it; {_REMEDY}",
    )
