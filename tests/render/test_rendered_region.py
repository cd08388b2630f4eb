"""What has a region rendered again, and what does not, on charts as they lie on a disk."""

from __future__ import annotations

import traceback
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from controller.adapters.charts.source import ChartStore
from controller.domain.releases.bundle import ChartRef
from controller.domain.values.chart_values import Values
from controller.errors import ChartInvalid, ChartNotFound, Problem, RepositoryUnavailable, SpecInvalid
from controller.render.chart_builds import ChartDefaults
from controller.render.region import Region
from controller.render.rendered_region import RenderedRegion
from tests.fakes.world import FakeClock

CHART = ChartRef("demo", path="demo")
OTHER = ChartRef("other", path="other")


class Rendering:
    """A region of two services, with one chart each, and how often it was rendered."""

    def __init__(self, charts: Any) -> None:
        self.charts = charts
        self.times = 0
        self.problem = ""
        self.region = RenderedRegion(self.render, charts=charts, clock=FakeClock())

    def render(self, osdpl: Mapping[str, Any], charts: ChartDefaults) -> Region:
        self.times += 1
        if self.problem:
            raise SpecInvalid([Problem("spec", self.problem)]) from ValueError("a template")
        charts.defaults(CHART)
        missing = {}
        try:
            charts.defaults(OTHER)
        except ChartInvalid as error:
            missing["other"] = error
        return Region((), (), missing=missing)

    def of(self, **meta: Any) -> Region:
        return self.region.of({"metadata": {**META, **meta}, "spec": {}, "status": {}})


META = {"name": "region-one", "namespace": "openstack", "uid": "u1", "generation": 1}


def write_chart(directory: Path, name: str, values: str = "replicas: 1\n") -> None:
    (directory / name).mkdir(exist_ok=True)
    (directory / name / "Chart.yaml").write_text(f"name: {name}\nversion: 0.1.0\n", encoding="utf-8")
    (directory / name / "values.yaml").write_text(values, encoding="utf-8")


@pytest.fixture
def rendering(tmp_path: Path) -> Rendering:
    """Rendered once, of two charts."""
    for name in ("demo", "other"):
        write_chart(tmp_path, name)
    made = Rendering(ChartStore(tmp_path))
    made.of()
    return made


def test_a_status_and_other_metadata_render_nothing(rendering: Rendering) -> None:
    first = rendering.of()
    assert rendering.of(resourceVersion="77", annotations={"a": "b"}, finalizers=["osctl.dev/core"]) is first
    assert rendering.times == 1


@pytest.mark.parametrize("changed", [{"generation": 2}, {"uid": "u2"}, {"name": "two"}, {"namespace": "two"}])
def test_another_generation_and_another_object_are_rendered(
    rendering: Rendering, changed: dict[str, Any]
) -> None:
    rendering.of(**changed)
    rendering.of(**changed)
    assert rendering.times == 2


def test_an_edited_chart_is_rendered(rendering: Rendering, tmp_path: Path) -> None:
    write_chart(tmp_path, "demo", "replicas: 22\n")
    rendering.of()
    rendering.of()
    assert rendering.times == 2


def test_a_chart_that_goes_and_comes_back_is_rendered_both_times(
    rendering: Rendering, tmp_path: Path
) -> None:
    (tmp_path / "other").rename(tmp_path / "away")
    for _ in range(3):
        assert set(rendering.of().missing) == {"other"}
    assert rendering.times == 2
    (tmp_path / "away").rename(tmp_path / "other")
    assert rendering.of().missing == {}
    assert rendering.times == 3


def test_a_chart_whose_values_cannot_be_read_is_rendered_once_and_again_when_they_can(
    rendering: Rendering, tmp_path: Path
) -> None:
    write_chart(tmp_path, "demo", "- no map\n")
    for _ in range(3):
        with pytest.raises(ChartInvalid, match=r"values\.yaml is not a map"):
            rendering.of()
    assert rendering.times == 2
    write_chart(tmp_path, "demo", "replicas: 1\n")
    rendering.of()
    assert rendering.times == 3


def test_mistakes_in_the_spec_are_reported_again_without_rendering(rendering: Rendering) -> None:
    rendering.problem = "has a mistake"
    for _ in range(3):
        with pytest.raises(SpecInvalid, match="has a mistake"):
            rendering.of(generation=2)
    assert rendering.times == 2


def test_an_error_that_is_reported_again_keeps_nothing_of_the_passes_before(rendering: Rendering) -> None:
    """A traceback would grow with each pass, and hold all that was rendered."""
    rendering.problem = "has a mistake"
    lengths = []
    for _ in range(4):
        with pytest.raises(SpecInvalid) as caught:
            rendering.of(generation=2)
        lengths.append(len(traceback.extract_tb(caught.value.__traceback__)))
        assert caught.value.__cause__ is None
    assert len(set(lengths)) == 1


class Repository:
    """Has all charts but one, and says of that one when it is asked for again."""

    def __init__(self) -> None:
        self.error: ChartInvalid | None = RepositoryUnavailable("503; tried again at 12:00", 9.0)
        self.asked: list[ChartRef] = []

    def digest(self, chart: ChartRef) -> str:
        self.asked.append(chart)
        if chart == OTHER and self.error:
            raise self.error
        return "sha256:1"

    def build(self, chart: ChartRef) -> str:
        return ""

    def defaults(self, chart: ChartRef) -> Values:
        return {}


def test_a_chart_that_cannot_be_pulled_says_at_every_pass_when_it_is_tried_next() -> None:
    repository = Repository()
    rendering = Rendering(repository)
    rendering.of()
    repository.error = RepositoryUnavailable("503; tried again at 12:00", 4.0)
    error = rendering.of().missing["other"]
    assert (rendering.times, error.retry_after) == (1, 4.0)
    repository.error = ChartNotFound("no such version")
    error = rendering.of().missing["other"]
    assert (rendering.times, str(error)) == (2, "no such version")
    repository.error = None
    assert (rendering.of().missing, rendering.times) == ({}, 3)


def test_one_rendering_looks_each_chart_up_once() -> None:
    repository = Repository()
    asked = []

    def render(osdpl: Mapping[str, Any], charts: ChartDefaults) -> Region:
        asked.extend([charts.defaults(CHART), charts.defaults(CHART)])
        return Region((), ())

    RenderedRegion(render, charts=repository, clock=FakeClock()).of({"metadata": META})  # type: ignore[arg-type]
    assert (len(asked), repository.asked) == (2, [CHART])
