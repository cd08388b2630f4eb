"""What OpenStack-Helm's charts need that their releases can be made, as facts and as the sets of our chart.

`make rbac CHARTS=<checkout>` renders every service and feature and records what each chart needs
(tests/data/upstream-rights.yaml); `make rbac` alone makes of that the sets that our chart grants.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path

import yaml

from controller.domain.validation.chart_rights import Rights
from controller.domain.values.catalogue import Catalogue
from tests.render.region import ROOT, library
from tests.upstream.regions import NAMESPACE, objects, region, releases, specs

FACTS = ROOT / "tests" / "data" / "upstream-rights.yaml"
RIGHTS = ROOT / "charts" / "openstack-controller" / "files" / "chart-rights.yaml"
FLAVOURS = ALWAYS, CEPH = "always", "ceph"
CORE = "core"
_HEAD = """\
# What must be held to make releases of OpenStack-Helm's charts, in sets: what preset core needs, and what a
# service or a backend needs beside it. {namespace} stands for the region's. rbac.upstream.sets chooses.
# Written by `make rbac`; do not edit.
"""

_FACTS_HEAD = """\
# What a release of each of OpenStack-Helm's charts needs, in all regions of tests/upstream/regions.py
# together, and what it needs beside that with Ceph. Written by `make rbac CHARTS=…`.
"""

Facts = Mapping[str, Mapping[str, Rights]]


def rendered_rights(charts: Path) -> Facts:
    """By chart, what its releases need: always, and beside that with Ceph."""
    always: dict[str, Rights] = {}
    ceph: dict[str, Rights] = {}
    for spec in specs().values():
        with_ceph = CEPH in json.dumps(spec)
        for release in releases(region(charts, spec)):
            chart = release.spec.chart
            if chart.path:
                continue  # one of ours
            needed = ceph if with_ceph else always
            needed[chart.name] = needed.get(chart.name, Rights()) | Rights.of(objects(release), NAMESPACE)
    return {
        chart: {ALWAYS: always[chart], CEPH: ceph.get(chart, Rights()).beyond(always[chart])}
        for chart in sorted(always)
    }


def recorded_rights() -> Facts:
    """The same from the last record."""
    facts = yaml.load(FACTS.read_text(encoding="utf-8"), Loader=yaml.CSafeLoader)
    return {
        chart: {flavour: Rights.read(flavours.get(flavour) or {}) for flavour in FLAVOURS}
        for chart, flavours in facts.items()
    }


def record(facts: Facts) -> None:
    """Writes what was rendered."""
    lines = [_FACTS_HEAD]
    for chart, flavours in facts.items():
        lines.append(f"{chart}:{'' if any(flavours.values()) else ' {}'}\n")
        for flavour, rights in flavours.items():
            lines += [f"  {line}" for line in _lines(flavour, rights)] if rights else []
    FACTS.write_text("".join(lines), encoding="utf-8")


def sets_of(facts: Facts) -> dict[str, Rights]:
    """By name: what preset core needs, and what backends and services need beside it, where they do."""
    parts: dict[str, Rights] = {}
    for name, rights in _parts(library().catalogue, facts):
        parts[name] = parts.get(name, Rights()) | rights
    core = parts.pop(CORE)
    beside = {name: rights.beyond(core) for name, rights in parts.items()}
    return {CORE: core, **{name: rights for name, rights in beside.items() if rights}}


def _parts(catalogue: Catalogue, facts: Facts) -> Iterator[tuple[str, Rights]]:
    core = library().presets[CORE].services
    in_core = [
        chart for service in core for chart, use in catalogue[service].charts.items() if not use.optional
    ]
    yield CORE, _always(facts, in_core)
    yield CEPH, _union(flavours[CEPH] for flavours in facts.values())
    for service, entry in catalogue.services.items():
        for chart in entry.charts:
            if chart in facts and chart not in in_core:
                yield chart if service in core else service, _always(facts, [chart])


def _always(facts: Facts, charts: list[str]) -> Rights:
    return _union(facts[chart][ALWAYS] for chart in charts)


def _union(all_rights: Iterator[Rights]) -> Rights:
    whole = Rights()
    for rights in all_rights:
        whole |= rights
    return whole


def rights_file(sets: Mapping[str, Rights]) -> str:
    """The text of the file of our chart."""
    return _HEAD + "".join(line for name, rights in sets.items() for line in _lines(name, rights))


def _lines(name: str, rights: Rights) -> list[str]:
    """YAML with a line for each rule, so that a change is seen as one."""
    lines = [f"{name}:\n"]
    for key, entries in rights.as_data().items():
        lines += [f"  {key}:\n", *(f"    - {json.dumps(entry)}\n" for entry in entries)]
    return lines
