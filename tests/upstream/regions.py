"""Regions of OpenStack-Helm's own charts, and every object that Helm makes of them."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import yaml
from helm_python import Chart

from controller.domain.values.secret_refs import resolve
from controller.render.region import Region, RegionRelease, render_region
from tests.render.region import deployment, embedded, library
from tests.render.specs import FEATURES

# A name that no chart has of its own: what holds it is named after the namespace.
NAMESPACE = "namespace-of-the-region"
ALL_SERVICES = ["shared-file-system", "object-storage", "instance-ha", "metering", "gateway"]
PRESETS = ("core", "compute", "compute-baremetal")
OVN = {"features": {"networking": {"backend": "ml2/ovn"}}}


def charts_given() -> Path | None:
    """The directory of charts that CHARTS names, None without."""
    given = os.environ.get("CHARTS")
    return Path(given).resolve() if given else None


def everything() -> dict[str, Any]:
    """A spec with every service that there is."""
    return {
        "preset": "compute-baremetal",
        "features": {"services": {"enabled": ALL_SERVICES}, "gateway": {"className": "envoy"}},
    }


def specs() -> dict[str, dict[str, Any]]:
    """By name: each preset, every service, small and single, and each feature by itself."""
    return {
        **{preset: {"preset": preset} for preset in PRESETS},
        "everything": everything(),
        "small": {**everything(), "size": "small"},
        "ovn-small": {"preset": "compute", "size": "small", **OVN},
        **{name: {"preset": "compute", **spec} for name, spec in FEATURES.items()},
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
    return render_region(deployment(whole), library(), embedded())


def releases(found: Region) -> Iterator[RegionRelease]:
    """All releases of a region."""
    return (release for bundle in found.bundles for release in bundle.releases)


_OBJECTS: dict[str, tuple[Mapping[str, Any], ...]] = {}


def objects(release: RegionRelease, *, namespace: str = NAMESPACE) -> tuple[Mapping[str, Any], ...]:
    """Everything that Helm makes of a release, hooks included, with made-up secrets."""
    values = dict(resolve(release.spec.values, lambda name, key: f"made-up-{name}-{key}").values)
    path = embedded().locate(release.spec.chart)
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


@cache
def _chart(path: str) -> Chart:
    return Chart.load(path)
