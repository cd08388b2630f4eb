"""Builds of OpenStack-Helm's charts: those that these values are tested with, and which of them a chart is.

A build is one state of a chart's files. Its version cannot be relied on: `2026.1.27+0ee5adeff` counts commits
that touched the chart, and in a checkout every Chart.yaml says `2026.1.0`. It is known by its digest, which
leaves out what packing changes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from controller.domain.values.catalogue import CatalogueInvalid

_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")


class Match(StrEnum):
    """What is known of a build."""

    PINNED = "pinned"
    PREVIOUS = "previous"
    UNKNOWN = "unknown build"


@dataclass(frozen=True)
class ChartBuild:
    """One build of one chart: the version under which upstream publishes it, and its digest."""

    version: str
    digest: str


@dataclass(frozen=True)
class BuildSet:
    """The builds of all charts at one commit of OpenStack-Helm; `date` is the commit's, as YYYY-MM-DD."""

    commit: str = ""
    date: str = ""
    charts: Mapping[str, ChartBuild] = field(default_factory=dict)

    def __str__(self) -> str:
        return f"{self.commit[:9]} of {self.date}"


@dataclass(frozen=True)
class TestedBuilds:
    """The builds that values are written for, and those before them, from which regions are upgraded."""

    __test__ = False  # no class of tests, whatever pytest makes of its name

    pinned: BuildSet = BuildSet()
    previous: BuildSet = BuildSet()

    def version(self, chart: str) -> str:
        """The default version of the chart, empty if none is pinned."""
        build = self.pinned.charts.get(chart)
        return build.version if build else ""

    def match(self, chart: str, digest: str) -> Match:
        """What is known of a chart with this digest. Where both sets have it, it is the pinned one."""
        return next((match for match, _ in self._of(chart, digest)), Match.UNKNOWN)

    def versions(self, chart: str, digest: str) -> tuple[str, ...]:
        """The versions under which a chart with this digest is known."""
        return tuple(build.version for _, build in self._of(chart, digest))

    def _of(self, chart: str, digest: str) -> Iterator[tuple[Match, ChartBuild]]:
        for match, builds in ((Match.PINNED, self.pinned), (Match.PREVIOUS, self.previous)):
            build = builds.charts.get(chart)
            if build is not None and build.digest == digest:
                yield match, build


NO_BUILDS = TestedBuilds()


def parse_builds(raw: Any, source: str) -> BuildSet:
    """Reads values/charts/pinned.yaml or previous.yaml. Raises CatalogueInvalid when it is none of ours."""
    try:
        charts = {
            str(name): ChartBuild(str(build["version"]), str(build["digest"]))
            for name, build in raw["charts"].items()
        }
        found = BuildSet(str(raw["commit"]), str(raw["date"]), charts)
    except (KeyError, TypeError, AttributeError) as error:
        raise CatalogueInvalid(f"{source}: not a list of chart builds ({error!r})") from error
    for name, build in charts.items():
        if not _DIGEST.fullmatch(build.digest) or not build.version:
            raise CatalogueInvalid(f"{source}: chart {name} has no version or no digest")
    return found
