"""osctl charts: what is tested, and what a repository holds."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from controller.adapters.charts.source import ChartStore
from controller.cli.offline.region import offline_renderer
from controller.domain.releases.bundle import ChartRef
from controller.domain.values.chart_builds import BuildSet, ChartBuild
from tests.adapters.charts.checkout import DEFINES, TOOLKIT, USES, write
from tests.cli.objects import example_text, osctl
from tests.render.region import ROOT

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def own_values(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A values/ of this test, whose builds it may choose."""
    values = tmp_path / "values"
    shutil.copytree(ROOT / "values", values)
    monkeypatch.setenv("VALUES_DIR", str(values))
    monkeypatch.setenv("CHART_CACHE_DIR", str(tmp_path / "cache"))
    offline_renderer.cache_clear()
    yield values
    offline_renderer.cache_clear()


@pytest.fixture
def charts(tmp_path: Path, own_values: Path) -> Path:
    """A checkout with three charts: one as pinned, one as before, one as no one knows it."""
    directory = tmp_path / "osh"
    write(directory / "toolkit", DEFINES)
    for name in ("keystone", "glance", "nova"):
        write(directory / name, USES, version="2026.1.0", dependencies=[TOOLKIT])
    store = ChartStore(directory)
    builds = {}
    for which, name in (("pinned", "keystone"), ("previous", "glance")):
        digest = store.build(ChartRef(name, repository=f"file://{directory}"))
        builds[which] = BuildSet(which * 5, "2026-08-20", {name: ChartBuild(f"2026.1.3+{which}", digest)})
        document = {
            "commit": builds[which].commit,
            "date": "2026-08-20",
            "charts": {name: {"version": f"2026.1.3+{which}", "digest": digest}},
        }
        (own_values / "charts" / f"{which}.yaml").write_text(json.dumps(document))
    return directory


def test_without_a_repository_it_lists_what_is_tested() -> None:
    result = osctl("charts")

    assert result.exit_code == 0, result.stderr
    assert result.stdout.splitlines()[0].split() == ["CHART", "PINNED", "PREVIOUS"]
    pinned = offline_renderer().library.builds.pinned
    assert any(
        line.split()[:2] == ["nova", pinned.charts["nova"].version] for line in result.stdout.splitlines()
    )
    assert str(pinned) in result.stderr


def test_of_a_repository_it_says_which_build_each_chart_is(charts: Path) -> None:
    result = osctl("charts", "--repository", f"file://{charts}", "-o", "json")

    assert result.exit_code == 8, "most charts are not there"
    rows = {row["chart"]: row for row in json.loads(result.stdout)}
    assert (rows["keystone"]["version"], rows["keystone"]["build"]) == ("2026.1.3+pinned", "pinned")
    assert (rows["glance"]["version"], rows["glance"]["build"]) == ("2026.1.3+previous", "previous")
    assert (rows["nova"]["version"], rows["nova"]["build"]) == ("2026.1.0", "unknown build")
    assert "heat" in rows["heat"]["error"] and not rows["heat"]["build"]


@pytest.mark.slow
def test_of_a_region_it_looks_at_the_regions_repository(charts: Path, tmp_path: Path) -> None:
    file = tmp_path / "region.yaml"
    file.write_text(example_text(charts={"repository": f"file://{charts}"}))
    result = osctl("charts", "-f", str(file))

    [line] = [line for line in result.stdout.splitlines() if line.startswith("nova ")]
    assert "unknown build" in line
    assert 'chart "heat"' in result.stderr


def test_a_repository_that_is_not_there_is_reported_once(tmp_path: Path) -> None:
    result = osctl("charts", "--repository", f"file://{tmp_path}/nowhere")

    assert result.exit_code == 8
    assert result.stderr.count("nowhere") == 1


@pytest.mark.slow
def test_of_a_region_with_the_charts_of_the_image_it_says_so(tmp_path: Path) -> None:
    file = tmp_path / "region.yaml"
    file.write_text(example_text())
    result = osctl("charts", "-f", str(file))

    assert result.exit_code == 0, result.stderr
    assert "not there" not in result.stdout
    assert "not builds of OpenStack-Helm" in result.stderr
