"""A checkout's charts with what they depend on: completed as Helm does, in memory, within bounds."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from controller.adapters.charts.source import ChartStore
from controller.errors import ChartInvalid, ChartNotFound
from tests.adapters.charts.checkout import DEFINES, TOOLKIT, USES, checkout, store, web, write
from tests.chart_repositories.packing import packed
from tests.helm_program import Chart


def rendered(path: str) -> str:
    return "".join(Chart.load(path).render({}, name="r", namespace="n").values())


def test_a_dependency_beside_the_chart_is_used(tmp_path: Path) -> None:
    charts = checkout(tmp_path / "osh")

    assert 'size: "1"' in rendered(store(charts).locate(web(charts)))


def test_nothing_is_written_into_the_checkout(tmp_path: Path) -> None:
    charts = checkout(tmp_path / "osh")
    before = sorted(charts.rglob("*"))
    store(charts).locate(web(charts))

    assert sorted(charts.rglob("*")) == before


def test_a_chart_that_is_complete_is_packed_once(tmp_path: Path) -> None:
    charts = tmp_path / "osh"
    write(charts / "web")
    path = store(charts).locate(web(charts))
    made = Path(path).stat()

    assert path.startswith(str(tmp_path / "cache"))
    assert store(charts).locate(web(charts)) == path
    assert Path(path).stat() == made


def test_an_edited_dependency_is_seen_and_makes_another_chart(tmp_path: Path) -> None:
    charts = checkout(tmp_path / "osh")
    charts_read = store(charts)
    before = charts_read.digest(web(charts)), charts_read.locate(web(charts))
    assert not charts_read.changed()
    (charts / "toolkit/templates/_size.tpl").write_text('{{- define "toolkit.size" -}}7{{- end -}}\n')

    assert charts_read.changed()
    assert charts_read.digest(web(charts)) != before[0]
    assert 'size: "7"' in rendered(charts_read.locate(web(charts)))


def test_a_dependency_that_goes_is_seen(tmp_path: Path) -> None:
    charts = checkout(tmp_path / "osh")
    read = store(charts)
    read.digest(web(charts))
    for file in (charts / "toolkit").rglob("*.*"):
        file.unlink()

    assert read.changed()
    with pytest.raises(ChartInvalid, match="toolkit"):
        read.digest(web(charts))


def test_a_completed_chart_is_the_same_wherever_and_whenever_it_is_completed(tmp_path: Path) -> None:
    one, other = checkout(tmp_path / "a/osh"), checkout(tmp_path / "b/osh")
    os.utime(one / "toolkit/values.yaml", (1, 1))
    paths = [Path(store(place).locate(web(place))) for place in (one, other)]

    assert paths[0].name == paths[1].name
    assert paths[0].read_bytes() == paths[1].read_bytes()
    assert store(one).locate(web(one)) == str(paths[0]), "a second process finds what the first has made"


def test_a_completed_chart_that_is_lost_is_made_again(tmp_path: Path) -> None:
    charts = checkout(tmp_path / "osh")
    read = store(charts)
    path = Path(read.locate(web(charts)))
    path.write_bytes(b"damaged")

    assert rendered(read.locate(web(charts)))


@pytest.mark.parametrize("form", ["directory", "archive"])
def test_what_lies_in_its_directory_charts_is_used_and_not_what_lies_beside(
    tmp_path: Path, form: str
) -> None:
    charts = checkout(tmp_path / "osh", values="size: 1\n")
    vendored = {"templates/_size.tpl": '{{- define "toolkit.size" -}}vendored{{- end -}}\n'}
    if form == "directory":
        write(charts / "web/charts/anything", vendored, name="toolkit")
    else:
        (charts / "web/charts").mkdir()
        chart_yaml = "apiVersion: v2\nname: toolkit\nversion: 0.0.1\n"
        (charts / "web/charts/toolkit-0.0.1.tgz").write_bytes(
            packed("toolkit", {"Chart.yaml": chart_yaml, **vendored})
        )

    assert "vendored" in rendered(store(charts).locate(web(charts)))


def test_dependencies_of_dependencies_are_completed_too(tmp_path: Path) -> None:
    charts = tmp_path / "osh"
    write(charts / "toolkit", DEFINES)
    write(charts / "middle", USES, dependencies=[TOOLKIT])
    middle = {"name": "middle", "repository": "file://../middle/", "version": "0.1.0"}
    write(charts / "web", dependencies=[middle])

    assert set(store(charts).files(web(charts))) >= {
        "Chart.yaml",
        "charts/middle/templates/a.yaml",
        "charts/middle/charts/toolkit/templates/_size.tpl",
    }


def test_two_versions_of_one_chart_are_distinguished(tmp_path: Path) -> None:
    charts = tmp_path / "osh"
    both = []
    for version in ("1.0.0", "2.0.0"):
        place = f"toolkit-{version[0]}"
        write(charts / place, version=version, name="toolkit")
        both.append({"name": "toolkit", "repository": f"file://../{place}", "version": version})
        both[-1]["alias"] = f"t{version[0]}"
    write(charts / "web", dependencies=both)

    files = store(charts).files(web(charts))
    assert {"charts/toolkit/Chart.yaml", "charts/toolkit-2.0.0/Chart.yaml"} <= set(files)


def test_files_that_a_chart_ignores_are_no_part_of_it(tmp_path: Path) -> None:
    charts = checkout(tmp_path / "osh")
    for chart in ("web", "toolkit"):
        write(charts / chart, {".helmignore": "notes/\n", "notes/a.txt": "a", "templates/.a.swp": "x"})
    read = store(charts)
    before = read.digest(web(charts))
    (charts / "toolkit/notes/a.txt").write_text("b")

    assert not read.changed() and read.digest(web(charts)) == before
    assert not any("notes" in name or ".swp" in name for name in read.files(web(charts)))


def test_rules_of_what_to_ignore_that_change_are_seen(tmp_path: Path) -> None:
    charts = checkout(tmp_path / "osh")
    write(charts / "web", {".helmignore": ".*\nnotes/\n", "notes/a.txt": "a"})
    read = store(charts)
    before = read.digest(web(charts))
    (charts / "web/.helmignore").write_text(".*\n")

    assert read.changed() and read.digest(web(charts)) != before


@pytest.mark.parametrize(
    ("repository", "cause"),
    [
        ("file://../nothing", "is no directory"),
        ("file://../../outside", "leads out of"),
        ("file:///etc", "leads out of"),
        ("file://../link", "leads out of"),
        ("file://../toolkit/values.yaml", "is no directory"),
        ("file://a\0b", "is no path"),
        ("https://charts.example", "is not in its directory charts"),
        ("", "of no repository is not in its directory charts"),
    ],
)
def test_a_dependency_that_cannot_be_resolved_is_named(tmp_path: Path, repository: str, cause: str) -> None:
    charts = checkout(tmp_path / "osh")
    write(tmp_path / "outside", name="toolkit")
    (charts / "link").symlink_to(tmp_path / "outside")
    write(charts / "web", dependencies=[{**TOOLKIT, "repository": repository}])

    with pytest.raises(ChartInvalid, match=cause) as caught:
        store(charts).digest(web(charts))
    assert '"toolkit"' in str(caught.value)


def test_a_link_out_of_the_checkout_within_a_dependency_is_refused(tmp_path: Path) -> None:
    charts = checkout(tmp_path / "osh")
    (charts / "toolkit/secret").symlink_to("/etc/passwd")

    with pytest.raises(ChartInvalid, match="link out of"):
        store(charts).digest(web(charts))


def test_dependencies_in_a_circle_are_refused(tmp_path: Path) -> None:
    charts = tmp_path / "osh"
    write(charts / "toolkit", dependencies=[{"name": "web", "repository": "file://../web"}])
    write(charts / "web", dependencies=[TOOLKIT])

    with pytest.raises(ChartInvalid, match="circle: web → toolkit → web"):
        store(charts).digest(web(charts))


@pytest.mark.slow
def test_dependencies_that_double_at_each_level_are_refused(tmp_path: Path) -> None:
    charts = tmp_path / "osh"
    write(charts / "a0")
    for level in range(1, 40):
        below = {"name": f"a{level - 1}", "repository": f"file://../a{level - 1}", "version": "*"}
        write(charts / f"a{level}", dependencies=[{**below, "alias": alias} for alias in ("x", "y")])
    write(charts / "web", dependencies=[{"name": "a39", "repository": "file://../a39", "version": "*"}])

    with pytest.raises(ChartInvalid, match="too large"):
        store(charts).digest(web(charts))


@pytest.mark.parametrize(
    ("version", "cause"),
    [("9.9.9", 'has version "9.9.9", which is not'), ("no version", "is not a version")],
)
def test_a_dependency_of_another_version_than_wanted_is_refused(
    tmp_path: Path, version: str, cause: str
) -> None:
    charts = checkout(tmp_path / "osh", version=version)
    write(charts / "web", dependencies=[{**TOOLKIT, "version": "^0.1.0"}])

    with pytest.raises(ChartInvalid, match=cause):
        store(charts).digest(web(charts))


def test_a_dependency_with_another_name_is_refused(tmp_path: Path) -> None:
    charts = checkout(tmp_path / "osh", name="other")

    with pytest.raises(ChartInvalid, match='is named "other"'):
        store(charts).digest(web(charts))


def test_the_lock_file_says_which_version(tmp_path: Path) -> None:
    charts = checkout(tmp_path / "osh")
    locked = {"dependencies": [{**TOOLKIT, "version": "0.1.0"}]}
    (charts / "web/Chart.lock").write_text(json.dumps(locked))
    assert store(charts).digest(web(charts))
    write(charts / "toolkit", version="0.2.0")

    with pytest.raises(ChartInvalid, match=r'"0\.2\.0", which is not "0\.1\.0".*dependency update'):
        store(charts).digest(web(charts))


def test_a_lock_file_without_the_dependency_is_refused(tmp_path: Path) -> None:
    charts = checkout(tmp_path / "osh")
    (charts / "web/Chart.lock").write_text("dependencies: []\n")

    with pytest.raises(ChartInvalid, match=r'Chart\.lock lacks its dependency "toolkit"'):
        store(charts).digest(web(charts))


def test_an_old_charts_requirements_are_read(tmp_path: Path) -> None:
    charts = checkout(tmp_path / "osh")
    (charts / "web/Chart.yaml").write_text("apiVersion: v1\nname: web\nversion: 0.1.0\n")
    (charts / "web/requirements.yaml").write_text(json.dumps({"dependencies": [TOOLKIT]}))

    assert "charts/toolkit/Chart.yaml" in store(charts).files(web(charts))


@pytest.mark.parametrize("written", ["text", [7], [{"name": "../x"}], [{"repository": "file://../toolkit"}]])
def test_dependencies_that_are_none_are_refused(tmp_path: Path, written: object) -> None:
    charts = tmp_path / "osh"
    write(charts / "web", {"Chart.yaml": json.dumps({"name": "web", "dependencies": written})})

    with pytest.raises(ChartInvalid, match="dependencies"):
        store(charts).digest(web(charts))


def test_a_missing_chart_of_a_checkout_is_not_found(tmp_path: Path) -> None:
    with pytest.raises(ChartNotFound):
        store(tmp_path).digest(web(tmp_path))


def test_without_a_place_for_it_nothing_is_put_together(tmp_path: Path) -> None:
    charts = checkout(tmp_path / "osh")
    with pytest.raises(ChartInvalid, match="no directory"):
        ChartStore(tmp_path).locate(web(charts))
