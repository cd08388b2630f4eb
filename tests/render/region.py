"""Regions for the tests: small specs, and the charts that they are rendered with."""

from __future__ import annotations

import copy
import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from controller.adapters.charts.source import ChartStore
from controller.adapters.system.crd_files import load_schema
from controller.adapters.system.values_files import load_library
from controller.domain.region.deployment import OpenStackDeployment, parse_deployment
from controller.domain.releases.bundle import ChartRef
from controller.domain.validation.definitions.crd_schema import ResourceSchema
from controller.domain.values.chart_values import Values
from controller.domain.values.shipped_values import Library
from controller.errors import ChartInvalid
from controller.render.chart_builds import ChartDefaults
from controller.render.region import Region, render_region

ROOT = Path(__file__).parents[2]
UPSTREAM_KEYS = ROOT / "tests" / "data" / "upstream-keys"
UPSTREAM_REPOSITORY = "https://charts.example.org/openstack-helm"
_STAND_INS = {"str": "text", "harmless": "", "int": 1, "float": 1.5, "bool": False, "null": None, "list": []}


@cache
def schema() -> ResourceSchema:
    return load_schema(ROOT / "charts" / "openstack-controller" / "files" / "crds", "openstackdeployments")


def deployment(spec: Mapping[str, Any]) -> OpenStackDeployment:
    """What core makes of an object with this spec."""
    metadata = {"name": "region-one", "namespace": "openstack", "uid": "1", "generation": 1}
    head = {"apiVersion": "osctl.dev/v1alpha1", "kind": "OpenStackDeployment", "metadata": metadata}
    return parse_deployment({**head, "spec": copy.deepcopy(dict(spec))}, schema())


@cache
def library() -> Library:
    return load_library(ROOT / "values")


class UpstreamCharts:
    """Values of the upstream charts, with stand-ins of the same type: keys and types are facts."""

    def build(self, chart: ChartRef) -> str:
        pinned = library().builds.pinned.charts.get(chart.name)
        return pinned.digest if pinned else ""

    def defaults(self, chart: ChartRef) -> Values:
        return embedded().defaults(chart) if chart.path else upstream_defaults(chart.name)


@cache
def upstream_defaults(chart: str) -> dict[str, Any]:
    path = UPSTREAM_KEYS / f"{chart}.json"
    if not path.exists():
        raise ChartInvalid(f"no upstream chart {chart}")
    found = _stand_in(json.loads(path.read_text()))
    assert isinstance(found, dict)
    # What a chart makes is there, unless our values say otherwise.
    found["manifests"] = dict.fromkeys(found.get("manifests") or {}, True)
    return found


def _stand_in(shape: Any) -> Any:
    if isinstance(shape, dict):
        return {key: _stand_in(item) for key, item in shape.items()}
    return "password" if shape == "secret" else _STAND_INS[shape]


class ShippedCharts(ChartStore):
    """The charts of the checkout, which no test changes: their files are looked for once."""

    @cache  # noqa: B019 - there is one store
    def defaults(self, chart: ChartRef) -> Values:
        return super().defaults(chart)


@cache
def embedded() -> ChartStore:
    return ShippedCharts(ROOT / "charts")


def core_spec(**more: Any) -> dict[str, Any]:
    """The smallest spec, rendered with the upstream charts unless `charts` says otherwise."""
    return {
        "openstackVersion": "2025.2",
        "preset": "core",
        "size": "single",
        "publicDomainName": "it.just.works",
        "charts": {"repository": UPSTREAM_REPOSITORY},
        **more,
    }


def render(spec: Mapping[str, Any], **more: Any) -> Region:
    """The region of a spec, rendered once for each spec: many tests look at the same one."""
    if more:
        return render_anew(spec, **more)
    text = json.dumps(spec, sort_keys=True)
    if text not in _RENDERED:
        _RENDERED[text] = render_anew(spec)
    return _RENDERED[text]


_RENDERED: dict[str, Region] = {}


def render_anew(spec: Mapping[str, Any], **more: Any) -> Region:
    """As `render`, and never from memory."""
    charts: ChartDefaults = UpstreamCharts() if (spec.get("charts") or {}).get("repository") else embedded()
    return render_region(deployment(spec), library(), charts, **more)
