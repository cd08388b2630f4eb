"""The region as it was last rendered, for as long as everything that it was made from is the same.

A rendering is made from

- the spec, known by uid and generation of the osdpl: a write of the status changes neither;
- the charts that it asked for, each known by the digest of its content, or by why it cannot be had;
- the image's own values, templates and definitions, which do not change while a process lives.

No Secret is among them: references are resolved by helmbundle, and what the log-in of a repository is worth
shows in the charts that can be pulled with it.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from controller.domain.releases.bundle import ChartRef
from controller.domain.values.chart_values import Values
from controller.errors import ChartInvalid, SecretMissing, SpecInvalid
from controller.ports.charts import ChartSource
from controller.ports.system import Clock
from controller.render.chart_builds import ChartDefaults
from controller.render.parsed_deployment import Identity, identity_of
from controller.render.region import Region

log = logging.getLogger(__name__)

_ChartError = ChartInvalid | SecretMissing


@dataclass(frozen=True)
class _Rendering:
    """One rendering: of what, from which charts, and what came of it."""

    of: Identity
    charts: Mapping[ChartRef, str | _ChartError]
    outcome: Region | SpecInvalid | _ChartError


class RenderedRegion:
    """Renders an osdpl once, and again only when its spec or a chart of it has changed.

    Only the last rendering is kept, in memory: a new process renders once more. A failure is kept too, and
    every caller gets the same. One caller at a time.
    """

    def __init__(
        self,
        render: Callable[[Mapping[str, Any], ChartDefaults], Region],
        *,
        charts: ChartSource,
        clock: Clock,
    ) -> None:
        self._render = render
        self._charts = charts
        self._clock = clock
        self._last: _Rendering | None = None

    def of(self, osdpl: Mapping[str, Any]) -> Region:
        """The region that the osdpl asks for. Raises SpecInvalid, ChartInvalid and SecretMissing."""
        identity = identity_of(osdpl)
        outcome = self._kept(identity)
        if outcome is None:
            self._last = None  # before the next one is made: each takes some megabytes
            charts = _AskedCharts(self._charts)
            outcome = self._rendered(osdpl, charts)
            for error in (outcome, *charts.found.values()):
                _bare(error)
            self._last = _Rendering(identity, charts.found, outcome)
        if isinstance(outcome, Region):
            return outcome
        _bare(outcome)
        raise outcome

    def _rendered(self, osdpl: Mapping[str, Any], charts: _AskedCharts) -> Region | SpecInvalid | _ChartError:
        began = self._clock.monotonic()
        try:
            region = self._render(osdpl, charts)
        except (SpecInvalid, ChartInvalid, SecretMissing) as error:
            return error
        meta = osdpl["metadata"]
        extra = {
            "object": f"{meta.get('namespace')}/{meta['name']}",
            "reason": "Rendered",
            "duration": round(self._clock.monotonic() - began, 3),
        }
        count = sum(len(bundle.releases) for bundle in region.bundles)
        log.info("rendered %d releases of generation %s", count, meta.get("generation"), extra=extra)
        return region

    def _kept(self, identity: Identity) -> Region | SpecInvalid | _ChartError | None:
        """What came of the last rendering, with its charts' errors as of now; None when it is outdated."""
        last = self._last
        if last is None or last.of != identity:
            return None
        again: dict[int, ChartInvalid] = {}  # each chart's error as of now: it says when it is tried next
        for chart, before in last.charts.items():
            now = _found(self._charts, chart, before)
            if not _same(before, now):
                return None
            if isinstance(now, ChartInvalid):
                again[id(before)] = now
        if isinstance(last.outcome, Region):
            missing = {name: again.get(id(error), error) for name, error in last.outcome.missing.items()}
            return replace(last.outcome, missing=missing) if missing else last.outcome
        return again.get(id(last.outcome), last.outcome)


class _AskedCharts:
    """Charts as one rendering finds them; each is looked up once, so that all of it sees the same."""

    def __init__(self, charts: ChartSource) -> None:
        self._charts = charts
        self._defaults: dict[ChartRef, Values] = {}
        self._builds: dict[ChartRef, str] = {}
        self.found: dict[ChartRef, str | _ChartError] = {}

    def defaults(self, chart: ChartRef) -> Values:
        """The chart's values.yaml. Raises ChartInvalid and SecretMissing."""
        self._ask(chart)
        return self._defaults[chart]

    def build(self, chart: ChartRef) -> str:
        """Digest by which its build is recognised. Raises ChartInvalid and SecretMissing."""
        self._ask(chart)
        return self._builds[chart]

    def _ask(self, chart: ChartRef) -> None:
        known = self.found.get(chart)
        if known is None:
            try:
                # The digest first: of a chart that is replaced in between, the next pass sees another one.
                known = self._charts.digest(chart)
                self._defaults[chart] = self._charts.defaults(chart)
                self._builds[chart] = self._charts.build(chart)
            except (ChartInvalid, SecretMissing) as error:
                known = error
            self.found[chart] = known
        if not isinstance(known, str):
            raise known


def _found(charts: ChartSource, chart: ChartRef, before: str | _ChartError) -> str | _ChartError:
    """The digest of the chart's content, or why it cannot be had or read."""
    try:
        digest = charts.digest(chart)
        if not isinstance(before, str):
            charts.defaults(chart)  # it may have been there, and not been readable
    except (ChartInvalid, SecretMissing) as error:
        return error
    return digest


def _bare(error: object) -> None:
    """Takes from an error what would hold all of its rendering, and grow each time it is raised."""
    if isinstance(error, Exception):
        error.__traceback__ = error.__cause__ = error.__context__ = None


def _same(before: str | _ChartError, now: str | _ChartError) -> bool:
    return (type(before), str(before)) == (type(now), str(now))
