"""What the controller renders for a region is taken by the lean charts."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

import pytest

from tests.charts.lean import NAMESPACE, chart
from tests.render.region import core_spec, render
from tests.render.specs import EMBEDDED, FEATURES

pytestmark = pytest.mark.slow


def resolved(values: Any) -> Any:
    """Values with every reference to a Secret replaced by some text."""
    if isinstance(values, dict):
        if "$secretRef" in values:
            return "resolved"
        return {key: resolved(item) for key, item in values.items()}
    return [resolved(item) for item in values] if isinstance(values, list) else values


def renders(spec: dict[str, Any]) -> None:
    for bundle in render(spec).bundles:
        for release in bundle.releases:
            values = json.dumps(resolved(dict(release.spec.values)), sort_keys=True)
            assert "kind: " in rendered(release.spec.chart.name, release.spec.name, values), release.spec.name


@cache
def rendered(chart_name: str, release: str, values: str) -> str:
    """A feature changes few releases; all others are those of another region."""
    text = chart(chart_name).render(json.loads(values), name=release, namespace=NAMESPACE)
    return "".join(text.values())


@pytest.mark.parametrize("size", ["single", "tiny", "small", "medium", "large"])
def test_a_region_of_every_size_renders(size: str) -> None:
    renders(core_spec(size=size, charts={}))


@pytest.mark.parametrize("version", ["2025.1", "2025.2", "2026.1"])
def test_a_region_of_every_version_renders(version: str) -> None:
    renders(core_spec(openstackVersion=version, charts={}))


@pytest.mark.parametrize("feature", EMBEDDED)
def test_every_feature_of_the_lean_charts_renders(feature: str) -> None:
    renders(core_spec(charts={}, **FEATURES[feature]))
