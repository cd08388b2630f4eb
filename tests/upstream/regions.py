"""Regions of OpenStack-Helm's own charts, and every object that Helm makes of them."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from controller.adapters.charts.cache import ChartCache
from controller.adapters.charts.source import ChartStore
from controller.domain.releases.bundle import ChartRef
from controller.domain.values.chart_values import Values
from controller.domain.values.secret_refs import resolve
from controller.render.region import Region, RegionRelease, render_region
from tests.fakes.option_files import option_files
from tests.helm_program import Chart
from tests.render.region import ROOT, deployment, library
from tests.render.specs import FEATURES, PAIRS, brought

# A name that no chart has of its own: what holds it is named after the namespace.
NAMESPACE = "namespace-of-the-region"
# Begins every secret that stands in the values.
MADE_UP = "made-up-secret"
PRESETS = ("core", "compute", "compute-baremetal")
# What no preset brings.
ALL_SERVICES = [
    name for name in library().catalogue.services if name not in library().presets[PRESETS[-1]].services
]
OVN = {"features": {"networking": {"backend": "ml2/ovn"}}}


_CACHE = tempfile.TemporaryDirectory(prefix="upstream-charts-")


class _GivenCharts(ChartStore):
    """Charts that nothing changes while tests run: each is looked at once."""

    @cache  # noqa: B019 - there is one store
    def locate(self, chart: ChartRef) -> str:
        return super().locate(chart)

    @cache  # noqa: B019 - there is one store
    def defaults(self, chart: ChartRef) -> Values:
        return super().defaults(chart)

    @cache  # noqa: B019 - there is one store
    def build(self, chart: ChartRef) -> str:
        return super().build(chart)


@cache
def store() -> ChartStore:
    """The charts of the directories that tests name, and those of the image."""
    return _GivenCharts(ROOT / "charts", cache=ChartCache(Path(_CACHE.name)), builds=library().builds)


def charts_given() -> Path | None:
    """The directory of charts that CHARTS names, None without."""
    given = os.environ.get("CHARTS")
    return Path(given).resolve() if given else None


def everything() -> dict[str, Any]:
    """A spec with every service that there is."""
    return {
        "preset": "compute-baremetal",
        "features": {"services": {"enabled": ALL_SERVICES}, "gateway": {"className": "envoy"}},
        **brought(*ALL_SERVICES),
    }


def specs() -> dict[str, dict[str, Any]]:
    """By name: each preset, every service, small and single, each feature by itself, and pairs."""
    return {
        **{preset: {"preset": preset} for preset in PRESETS},
        "everything": everything(),
        "small": {**everything(), "size": "small"},
        "ovn-small": {"preset": "compute", "size": "small", **OVN},
        **{name: {"preset": "compute", **spec} for name, spec in {**FEATURES, **PAIRS}.items()},
    }


def region(charts: Path, spec: Mapping[str, Any]) -> Region:
    """The region of a spec on these charts. Raises SpecInvalid and ChartInvalid."""
    whole = {
        "openstackVersion": "2026.1",
        "preset": "core",
        "size": "single",
        "publicDomainName": "it.just.works",
        "charts": {"repository": f"file://{charts}"},
        **spec,
    }
    return render_region(deployment(whole), library(), store())


def releases(found: Region) -> Iterator[RegionRelease]:
    """All releases of a region."""
    return (release for bundle in found.bundles for release in bundle.releases)


_OBJECTS: dict[str, tuple[Mapping[str, Any], ...]] = {}


def objects(
    release: RegionRelease, *, namespace: str = NAMESPACE, given: Mapping[str, str] | None = None
) -> tuple[Mapping[str, Any], ...]:
    """Everything that Helm makes of a release, hooks included, with made-up secrets, or those that are
    `given` by their keys."""
    known = given or {}

    def lookup(name: str, key: str) -> str:
        return known.get(key, f"{MADE_UP}-{name}-{key}")

    values = dict(resolve(release.spec.values, lookup, option_files()).values)
    path = store().locate(release.spec.chart)
    identity = json.dumps([path, release.spec.name, namespace, values], sort_keys=True, default=str)
    if identity not in _OBJECTS:
        texts = _chart(path).render(values, name=release.spec.name, namespace=namespace)
        _OBJECTS[identity] = tuple(
            obj
            for name, text in texts.items()
            if not name.endswith("NOTES.txt")
            for obj in yaml.load_all(text, Loader=yaml.CSafeLoader)
            if obj
        )
    return _OBJECTS[identity]


def of_chart(path: Path, values: Mapping[str, Any]) -> tuple[Mapping[str, Any], ...]:
    """What Helm makes of a chart in a directory with these values."""
    texts = Chart.load(str(path)).render(dict(values), name=path.name, namespace=NAMESPACE)
    return tuple(obj for text in texts.values() for obj in yaml.load_all(text, yaml.CSafeLoader) if obj)


@cache
def _chart(path: str) -> Chart:
    return Chart.load(path)
