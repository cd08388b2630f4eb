"""The examples beside our chart become releases; tests/api shows that a server accepts them."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from controller.domain.releases.bundle_object import parse_bundle
from tests.render.region import render
from tools.chart_objects import CHARTS, CONTROLLER_CHART

EXAMPLES = [
    (path, yaml.load(path.read_text(encoding="utf-8"), yaml.CSafeLoader))
    for path in sorted((CONTROLLER_CHART / "examples").glob("*.yaml"))
]
REGIONS = [(path.stem, obj["spec"]) for path, obj in EXAMPLES if obj["kind"] == "OpenStackDeployment"]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "spec"), REGIONS, ids=[name for name, _ in REGIONS])
def test_a_region_among_the_examples_can_be_rendered_without_a_warning(
    name: str, spec: dict[str, object]
) -> None:
    region = render(spec)
    assert region.release("nova") is not None
    assert region.warnings == ()


@pytest.mark.parametrize(
    ("path", "obj"), EXAMPLES, ids=lambda value: value.stem if isinstance(value, Path) else ""
)
def test_every_example_begins_by_saying_what_it_is_for(path: Path, obj: dict[str, object]) -> None:
    assert path.read_text(encoding="utf-8").startswith("# ")
    assert obj["apiVersion"] == "osctl.dev/v1alpha1"


def test_a_bundle_among_the_examples_uses_a_chart_that_is_shipped() -> None:
    bundles = [parse_bundle(obj) for _, obj in EXAMPLES if obj["kind"] == "HelmBundle"]
    assert bundles
    for bundle in bundles:
        assert all((CHARTS / release.chart.path / "Chart.yaml").is_file() for release in bundle.spec.releases)
