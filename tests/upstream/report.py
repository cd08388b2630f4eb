"""The report of `make test-upstream`, in Markdown: what was rendered, is valid and was installed.

Tests tell by `record_property`: `region` (name, series, objects by service), `previous` (name, series),
`feature` (its name), `ready` (name, services, releases, seconds) and `options` (chart, series, and how many
were compared with the definitions of the packages). Of references, of objects that an API server takes and of
installed regions, the parameter of the test is the name.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from controller.domain.releases.bundle import ChartRef
from controller.errors import ChartInvalid
from tests.render.region import library
from tests.upstream.covering import features_of
from tests.upstream.regions import store
from tools.pins import upstream_charts

# xdist writes the group of a test behind it.
_PARAMETER = re.compile(r"\[(.+?)\](@\w+)?$")
_WORDS = {True: "yes", False: "**no**"}


@dataclass
class Results:
    """What tests have reported, as their reports come in."""

    regions: dict[tuple[str, str], tuple[bool, Mapping[str, int]]] = field(default_factory=dict)
    previous: dict[tuple[str, str], bool] = field(default_factory=dict)
    features: dict[str, bool] = field(default_factory=dict)
    references: dict[str, bool] = field(default_factory=dict)
    taken: dict[str, bool] = field(default_factory=dict)
    installed: dict[str, bool] = field(default_factory=dict)
    ready: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    options: dict[tuple[str, str], tuple[bool, int]] = field(default_factory=dict)
    failed: list[str] = field(default_factory=list)

    def add(self, nodeid: str, outcome: str, properties: Iterable[tuple[str, object]]) -> None:
        """One phase of one test."""
        good = outcome == "passed"
        if outcome == "failed":
            self.failed.append(nodeid)
        for name, value in properties:
            self._add_property(name, value, good=good)
        parameter = _PARAMETER.search(nodeid)
        if parameter is None or outcome == "skipped":
            return
        for file, found in (
            ("test_references", self.references),
            ("test_dry_run", self.taken),
            ("test_installed", self.installed),
        ):
            if f"{file}.py" in nodeid:
                found[parameter.group(1)] = found.get(parameter.group(1), True) and good

    def _add_property(self, name: str, value: Any, *, good: bool) -> None:
        if name == "region":
            self.regions[value["name"], value["series"]] = good, value["objects"]
        elif name == "previous":
            self.previous[value["name"], value["series"]] = good
        elif name == "feature":
            self.features[str(value)] = good
        elif name == "ready":
            self.ready[value["name"]] = value
        elif name == "options":
            self.options[value["chart"], value["series"]] = good, int(value["count"])


def text_of(results: Results, charts: Path) -> str:
    """The report."""
    parts = [_head(charts), _regions(results), _services(results), _options(results), _features(results)]
    parts = [part for part in (*parts, _installed(results)) if part]
    if results.failed:
        parts.append("## Failed\n\n" + "\n".join(f"- `{one}`" for one in sorted(set(results.failed))))
    return "\n\n".join(parts) + "\n"


def _head(charts: Path) -> str:
    builds, found = library().builds, Counter[str]()
    for name in upstream_charts(library().catalogue):
        try:
            digest = store().build(ChartRef(name, repository=f"file://{charts}"))
            found[str(builds.match(name, digest))] += 1
        except ChartInvalid:
            found["not there"] += 1
    counted = ", ".join(f"{count} {match}" for match, count in found.most_common())
    return (
        "# OpenStack-Helm's charts\n\n"
        f"Pinned: {builds.pinned}; previous: {builds.previous}. The charts of this run: {counted}."
    )


def _regions(results: Results) -> str:
    names = list(dict.fromkeys(name for name, _ in (*results.regions, *results.previous)))
    if not names:
        return ""
    series = sorted({one for _, one in (*results.regions, *results.previous)})
    rows: list[Iterable[str]] = []
    for name in names:
        cells = []
        for one in series:
            good, objects = results.regions.get((name, one), (None, {}))
            text = "" if good is None else f"{_WORDS[good]}, {sum(objects.values())} objects"
            before = results.previous.get((name, one))
            cells.append(text + ("" if before is None else f"; previous: {_WORDS[before]}"))
        rows.append([name, *cells])
    return "## Regions: rendered and valid\n\n" + _table(["region", *series], rows)


def _services(results: Results) -> str:
    found: dict[str, dict[str, int]] = {}
    for (_, series), (good, objects) in results.regions.items():
        for service, count in objects.items() if good else ():
            found.setdefault(service, {})[series] = max(count, found.get(service, {}).get(series, 0))
    installed: dict[str, bool] = {}
    for region, good in results.installed.items():
        for service in results.ready.get(region, {}).get("services", ()):
            found.setdefault(service, {})
            installed[service] = installed.get(service, False) or good
    series = sorted({one for counts in found.values() for one in counts})
    rows = [
        [name, *(str(found[name].get(one, "")) for one in series), _word(installed.get(name))]
        for name in library().catalogue.services
        if name in found
    ]
    head = "## Services: the most objects in one region\n\n"
    return head + _table(["service", *series, "installed"], rows) if rows else ""


def _options(results: Results) -> str:
    if not results.options:
        return ""
    series = sorted({one for _, one in results.options})
    sums = [
        str(sum(count for (_, one), (_, count) in results.options.items() if one == each)) for each in series
    ]
    rows: list[Iterable[str]] = []
    for chart in dict.fromkeys(chart for chart, _ in results.options):
        found = [results.options.get((chart, one)) for one in series]
        rows.append([chart, *("" if one is None else f"{_WORDS[one[0]]}, {one[1]}" for one in found)])
    return "## Options that OpenStack's packages know\n\n" + _table(
        ["chart", *series], [*rows, ["all", *sums]]
    )


def _features(results: Results) -> str:
    installed = dict(results.installed)
    for region, good in results.installed.items():
        for feature in features_of(region):
            installed[feature] = installed.get(feature, True) and good
    columns = (results.features, results.references, results.taken, installed)
    names = dict.fromkeys((*results.features, *results.references, *results.taken))
    if not names:
        return ""
    head = (
        "## Features, and regions of several\n\n"
        "What is empty was not run. `pairs-…` are regions of many features, in which each meets every other "
        "one.\n\n"
    )
    rows = ([name, *(_word(found.get(name)) for found in columns)] for name in names)
    return head + _table(["feature", "rendered", "nothing missing", "taken by Kubernetes", "installed"], rows)


def _installed(results: Results) -> str:
    rows = [
        [
            name,
            _WORDS[good],
            *(str(results.ready.get(name, {}).get(one, "")) for one in ("releases", "seconds")),
        ]
        for name, good in results.installed.items()
    ]
    head = ["region", "installed", "releases", "Ready after seconds"]
    return "## Installed regions\n\n" + _table(head, rows) if results.installed else ""


def _word(good: bool | None) -> str:
    return "" if good is None else _WORDS[good]


def _table(head: list[str], rows: Iterable[Iterable[str]]) -> str:
    return "\n".join(_lines(head, rows))


def _lines(head: list[str], rows: Iterable[Iterable[str]]) -> Iterator[str]:
    yield f"| {' | '.join(head)} |"
    yield "|---" * len(head) + "|"
    for row in rows:
        yield f"| {' | '.join(row)} |"
