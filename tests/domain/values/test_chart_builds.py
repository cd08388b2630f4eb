"""Which builds of charts are tested, and which of them a chart is."""

from __future__ import annotations

from typing import Any

import pytest

from controller.adapters.system.values_files import load_library
from controller.domain.values.catalogue import UPSTREAM, CatalogueInvalid
from controller.domain.values.chart_builds import BuildSet, ChartBuild, Match, TestedBuilds, parse_builds
from tests.render.region import ROOT

ONE, TWO, THREE = (f"sha256:{digit * 64}" for digit in "123")
BUILDS = TestedBuilds(
    BuildSet(
        "c" * 40, "2026-08-20", {"nova": ChartBuild("1.0.2+c", TWO), "etcd": ChartBuild("1.0.0+c", ONE)}
    ),
    BuildSet(
        "b" * 40, "2026-06-10", {"nova": ChartBuild("1.0.1+b", ONE), "etcd": ChartBuild("1.0.0+b", ONE)}
    ),
)


@pytest.mark.parametrize(
    ("chart", "digest", "match", "versions"),
    [
        ("nova", TWO, Match.PINNED, ("1.0.2+c",)),
        ("nova", ONE, Match.PREVIOUS, ("1.0.1+b",)),
        ("nova", THREE, Match.UNKNOWN, ()),
        ("etcd", ONE, Match.PINNED, ("1.0.0+c", "1.0.0+b")),
        ("heat", ONE, Match.UNKNOWN, ()),
    ],
)
def test_a_build_is_known_by_its_digest(
    chart: str, digest: str, match: Match, versions: tuple[str, ...]
) -> None:
    assert BUILDS.match(chart, digest) == match
    assert BUILDS.versions(chart, digest) == versions


def test_the_version_to_take_is_that_of_the_pinned_build() -> None:
    assert (BUILDS.version("nova"), BUILDS.version("heat")) == ("1.0.2+c", "")


@pytest.mark.parametrize(
    "raw",
    [
        {},
        {"commit": "c", "date": "d", "charts": []},
        {"commit": "c", "date": "d", "charts": {"nova": {"version": "1"}}},
        {"commit": "c", "date": "d", "charts": {"nova": {"version": "1", "digest": "sha256:1"}}},
    ],
)
def test_a_list_of_builds_that_is_none_is_reported(raw: dict[str, Any]) -> None:
    with pytest.raises(CatalogueInvalid, match="pinned"):
        parse_builds(raw, "values/charts/pinned.yaml")


@pytest.mark.slow
@pytest.mark.parametrize("which", ["pinned", "previous"])
def test_every_chart_of_the_catalogue_is_pinned(which: str) -> None:
    library = load_library(ROOT / "values")
    entries = (item for entry in library.catalogue.services.values() for item in entry.charts.items())

    builds: BuildSet = getattr(library.builds, which)
    assert set(builds.charts) == {name for name, entry in entries if UPSTREAM in entry.sources}
    assert all(build.version.endswith(builds.commit[:9]) for build in builds.charts.values())
