"""A build is recognised in a checkout and in archives of it, under whatever version they were packed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from controller.adapters.charts.source import ChartStore
from controller.domain.releases.bundle import ChartRef
from controller.domain.values.chart_builds import BuildSet, ChartBuild, TestedBuilds
from controller.errors import ChartInvalid
from tests.adapters.charts.checkout import TOOLKIT, checkout, store, web, write
from tests.chart_repositories.packing import packed

VERSION = "2026.1.7+0ee5adeff"


def published(directory: Path, place: Path, *, version: str = VERSION, packed_inside: bool = False) -> Path:
    """The archive that upstream would make of the checkout's `web`."""
    files = dict(store(directory).files(web(directory)))
    metadata = json.loads(files["Chart.yaml"])
    files["Chart.yaml"] = json.dumps({**metadata, "home": "x", "version": version}).encode()
    files["Chart.lock"] = b"generated: today\n"
    if packed_inside:
        inside = {name: content for name, content in files.items() if name.startswith("charts/toolkit/")}
        files = {name: content for name, content in files.items() if name not in inside}
        library = {name.removeprefix("charts/toolkit/"): content for name, content in inside.items()}
        files["charts/toolkit-0.1.0.tgz"] = packed("toolkit", library)
    place.mkdir(parents=True, exist_ok=True)
    (place / f"web-{version}.tgz").write_bytes(packed("web", files))
    return place


def build(directory: Path, version: str = "") -> str:
    return store(directory).build(ChartRef("web", version, repository=f"file://{directory}"))


@pytest.mark.parametrize("packed_inside", [False, True])
def test_a_checkout_and_its_archive_are_one_build(tmp_path: Path, packed_inside: bool) -> None:
    charts = checkout(tmp_path / "osh")
    archives = published(charts, tmp_path / "archives", packed_inside=packed_inside)

    assert build(charts) == build(archives)
    assert store(charts).digest(web(charts)) != store(archives).digest(web(archives))


@pytest.mark.parametrize("edit", ["template", "dependency", "dependencies"])
def test_another_content_is_another_build(tmp_path: Path, edit: str) -> None:
    charts = checkout(tmp_path / "osh")
    before = build(charts)
    if edit == "template":
        write(charts / "web", {"templates/b.yaml": "# more\n"}, dependencies=[TOOLKIT])
    elif edit == "dependency":
        write(charts / "toolkit", {"templates/_more.tpl": "{{/* more */}}\n"})
    else:
        write(charts / "web", dependencies=[{**TOOLKIT, "condition": "toolkit.enabled"}])

    assert build(charts) != before


def builds_with(digest: str) -> TestedBuilds:
    return TestedBuilds(BuildSet("0" * 40, "2026-08-20", {"web": ChartBuild(VERSION, digest)}))


def test_a_known_build_in_a_checkout_may_be_named_by_its_version(tmp_path: Path) -> None:
    charts = checkout(tmp_path / "osh")
    known = ChartStore(tmp_path / "none", builds=builds_with(build(charts)))
    desired = ChartRef("web", VERSION, repository=f"file://{charts}")

    assert known.version(desired) == VERSION
    assert known.digest(desired) == known.digest(web(charts))
    write(charts / "toolkit", {"templates/_more.tpl": "{{/* more */}}\n"})
    with pytest.raises(ChartInvalid, match=r'has version "0\.1\.0", not "2026'):
        known.digest(desired)
    assert known.version(web(charts)) == "0.1.0"


def test_of_several_archives_the_pinned_one_is_taken(tmp_path: Path) -> None:
    charts = checkout(tmp_path / "osh")
    archives = published(charts, tmp_path / "archives")
    published(charts, archives, version="2026.1.9+later")
    known = ChartStore(tmp_path / "none", builds=builds_with(build(charts)))

    assert json.loads(known.files(web(archives))["Chart.yaml"])["version"] == VERSION
    assert known.versions(web(archives)) == (VERSION, "2026.1.9+later")


def test_archives_within_archives_end(tmp_path: Path) -> None:
    chart_yaml = "apiVersion: v2\nname: web\nversion: 1.0.0\n"
    content = packed("web", {"Chart.yaml": chart_yaml})
    for _ in range(20):
        content = packed("web", {"Chart.yaml": chart_yaml, "charts/web-1.0.0.tgz": content})
    (tmp_path / "web-1.0.0.tgz").write_bytes(content)

    with pytest.raises(ChartInvalid, match="deeper than"):
        build(tmp_path)
