"""Where charts come from, and what is refused on the way."""

from __future__ import annotations

import io
import os
import shutil
import tarfile
from pathlib import Path
from typing import cast

import pytest

from containers.charts import check_charts
from controller.adapters.charts.cache import ChartCache
from controller.adapters.charts.pull import PulledCharts
from controller.adapters.charts.source import ChartStore
from controller.domain.releases.bundle import ChartRef
from controller.errors import ChartInvalid, ChartNotFound


def write_chart(
    directory: Path, name: str = "web", version: str = "0.1.0", values: str = "size: 1\n"
) -> Path:
    chart = directory / name
    (chart / "templates").mkdir(parents=True)
    (chart / "Chart.yaml").write_text(f"apiVersion: v2\nname: {name}\nversion: {version}\n")
    (chart / "values.yaml").write_text(values)
    (chart / "templates" / "a.yaml").write_text("kind: ConfigMap\n")
    return chart


def pack(chart: Path, archive: Path) -> Path:
    with tarfile.open(archive, "w:gz") as out:
        out.add(chart, arcname=chart.name)
    return archive


WEB = ChartRef("web", path="web")


def cached(directory: Path) -> ChartStore:
    """Charts of repositories, with a cache beside them."""
    return ChartStore(directory / "none", cache=ChartCache(directory / "cache"))


def packed_names(path: str) -> set[str]:
    with tarfile.open(path) as archive:
        return set(archive.getnames())


def test_a_shipped_chart_is_found_by_its_path(tmp_path: Path) -> None:
    chart = write_chart(tmp_path)

    assert ChartStore(tmp_path, fixed=True).locate(WEB) == str(chart)


def test_defaults_are_read_as_helm_reads_them(tmp_path: Path) -> None:
    write_chart(tmp_path, values="on: yes\nmode: 0o17\nat: 1:30\nday: 2026-01-02\nsize: 1e3\nsize: 2\n")

    expected = {"true": True, "mode": 15, "at": "1:30", "day": "2026-01-02", "size": 2}
    assert ChartStore(tmp_path).defaults(WEB) == expected


def test_a_chart_without_values_has_no_defaults(tmp_path: Path) -> None:
    (write_chart(tmp_path) / "values.yaml").unlink()

    assert ChartStore(tmp_path).defaults(WEB) == {}


def test_the_digest_depends_on_names_and_contents_only(tmp_path: Path) -> None:
    first = write_chart(tmp_path / "a")
    write_chart(tmp_path / "b")
    os.utime(first / "values.yaml", (1, 1))

    one, other = (ChartStore(tmp_path / name).digest(WEB) for name in ("a", "b"))
    assert one == other
    assert one.startswith("sha256:") and len(one) == 71


@pytest.mark.parametrize("change", ["content", "name", "new", "gone"])
def test_the_digest_follows_every_change(tmp_path: Path, change: str) -> None:
    chart = write_chart(tmp_path)
    store = ChartStore(tmp_path)
    before = store.digest(WEB)
    template = chart / "templates" / "a.yaml"
    if change == "content":
        template.write_text("kind: ConfigMaq\n")
    elif change == "name":
        template.rename(template.with_name("b.yaml"))
    elif change == "new":
        (chart / "templates" / "b.yaml").write_text("")
    else:
        template.unlink()

    assert store.digest(WEB) != before


def test_a_subchart_behind_a_link_counts(tmp_path: Path) -> None:
    library = write_chart(tmp_path, "lib")
    charts = write_chart(tmp_path) / "charts"
    charts.mkdir()
    (charts / "lib").symlink_to("../../lib")
    store = ChartStore(tmp_path)
    before = store.digest(WEB)
    (library / "templates" / "a.yaml").write_text("changed")

    assert store.digest(WEB) != before


def test_an_unchanged_chart_is_not_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_chart(tmp_path)
    store = ChartStore(tmp_path)
    before = store.digest(WEB)
    monkeypatch.setattr(Path, "read_bytes", _refuse)

    assert store.digest(WEB) == before


@pytest.mark.parametrize("path", ["../web", "a/../../web", "/etc", "nothing"])
def test_a_path_out_of_the_chart_directory_is_refused(tmp_path: Path, path: str) -> None:
    write_chart(tmp_path)
    inner = tmp_path / "inner"
    inner.mkdir()

    with pytest.raises(ChartInvalid):
        ChartStore(inner).locate(ChartRef("web", path=path))


@pytest.mark.parametrize("link", ["chart", "directory", "file"])
def test_a_link_out_of_the_chart_directory_is_refused(tmp_path: Path, link: str) -> None:
    outside = write_chart(tmp_path / "outside")
    charts = tmp_path / "charts"
    chart = charts / "web"
    if link == "chart":
        charts.mkdir()
        chart.symlink_to(outside)
    else:
        write_chart(charts)
        target = outside if link == "directory" else outside / "values.yaml"
        (chart / "files").symlink_to(target)

    with pytest.raises(ChartInvalid, match="link out of"):
        ChartStore(charts).locate(WEB)


def test_links_in_a_circle_are_refused(tmp_path: Path) -> None:
    chart = write_chart(tmp_path)
    (chart / "again").symlink_to(".")

    with pytest.raises(ChartInvalid, match="circle"):
        ChartStore(tmp_path).digest(WEB)


def test_a_dead_link_is_refused(tmp_path: Path) -> None:
    (write_chart(tmp_path) / "dead").symlink_to("nowhere")

    with pytest.raises(ChartInvalid, match="dead link"):
        ChartStore(tmp_path).digest(WEB)


@pytest.mark.parametrize(
    ("name", "content", "cause"),
    [
        ("Chart.yaml", b"a: [", "not YAML in line"),
        ("values.yaml", b"- 1\n", "is not a map"),
        ("values.yaml", b"\xff\xfe\x00", "not UTF-8"),
        ("values.yaml", b"a: &x [*x, *x]\nb: *y\n", "not YAML"),
    ],
)
def test_an_unreadable_file_is_named(tmp_path: Path, name: str, content: bytes, cause: str) -> None:
    (write_chart(tmp_path) / name).write_bytes(content)

    with pytest.raises(ChartInvalid, match=cause) as caught:
        ChartStore(tmp_path).defaults(WEB)
    assert name in str(caught.value)


def test_another_chart_than_named_is_refused(tmp_path: Path) -> None:
    write_chart(tmp_path)

    with pytest.raises(ChartInvalid, match="is named"):
        ChartStore(tmp_path).locate(ChartRef("nova", path="web"))
    with pytest.raises(ChartInvalid, match="has version"):
        ChartStore(tmp_path).locate(ChartRef("web", version="9.9.9", path="web"))


def test_both_or_neither_of_path_and_repository_is_refused(tmp_path: Path) -> None:
    for chart in (ChartRef("web"), ChartRef("web", path="web", repository="file:///charts")):
        with pytest.raises(ChartInvalid, match="exactly one"):
            ChartStore(tmp_path).locate(chart)


def test_a_file_repository_serves_directories(tmp_path: Path) -> None:
    write_chart(tmp_path / "repo")
    desired = ChartRef("web", "0.1.0", repository=f"file://{tmp_path}/repo")

    assert "web/templates/a.yaml" in packed_names(cached(tmp_path).locate(desired))


def test_a_file_repository_serves_archives(tmp_path: Path) -> None:
    pack(write_chart(tmp_path), tmp_path / "web-0.1.0.tgz")
    desired = ChartRef("web", "0.1.0", repository=f"file://{tmp_path}")
    store = cached(tmp_path)

    assert "web/templates/a.yaml" in packed_names(store.locate(desired))
    assert store.defaults(desired) == {"size": 1}
    assert len(store.digest(desired)) == 71


def test_a_file_repository_without_a_version_serves_its_only_archive(tmp_path: Path) -> None:
    pack(write_chart(tmp_path), tmp_path / "web-0.1.0.tgz")
    shutil.rmtree(tmp_path / "web")
    pack(write_chart(tmp_path / "other", "web-api"), tmp_path / "web-api-0.1.0.tgz")
    desired = ChartRef("web", repository=f"file://{tmp_path}")

    assert "web/templates/a.yaml" in packed_names(cached(tmp_path).locate(desired))


def test_a_file_repository_without_the_version_says_what_it_has(tmp_path: Path) -> None:
    pack(write_chart(tmp_path / "chart"), tmp_path / "web-0.1.0.tgz")

    with pytest.raises(ChartNotFound, match=r"web-0\.1\.0\.tgz"):
        ChartStore(tmp_path).locate(ChartRef("web", "0.2.0", repository=f"file://{tmp_path}"))


def test_a_directory_that_is_not_there_is_reported_as_such(tmp_path: Path) -> None:
    with pytest.raises(ChartNotFound, match=r"^directory .*/nowhere does not exist here; .*extraVolumes"):
        ChartStore(tmp_path).digest(ChartRef("web", repository=f"file://{tmp_path}/nowhere"))


def test_a_chart_packed_again_is_the_same_chart(tmp_path: Path) -> None:
    chart = write_chart(tmp_path / "chart")
    store = ChartStore(tmp_path)
    digests = []
    for directory, moment in (("a", 1), ("b", 2)):
        os.utime(chart / "values.yaml", (moment, moment))
        (tmp_path / directory).mkdir()
        pack(chart, tmp_path / directory / "web-0.1.0.tgz")
        digests.append(store.digest(ChartRef("web", "0.1.0", repository=f"file://{tmp_path}/{directory}")))

    assert digests[0] == digests[1] == store.digest(ChartRef("web", repository=f"file://{tmp_path}/chart"))


@pytest.mark.slow
def test_an_archive_that_unpacks_without_end_is_refused(tmp_path: Path) -> None:
    with tarfile.open(tmp_path / "web-0.1.0.tgz", "w:gz", compresslevel=1) as out:
        for number in range(30):
            member = tarfile.TarInfo(f"web/{number}")
            member.size = 4 * 1024 * 1024
            out.addfile(member, io.BytesIO(bytes(member.size)))

    with pytest.raises(ChartInvalid, match="too large"):
        ChartStore(tmp_path).digest(ChartRef("web", "0.1.0", repository=f"file://{tmp_path}"))


def test_an_archive_that_is_none_is_refused(tmp_path: Path) -> None:
    (tmp_path / "web-0.1.0.tgz").write_bytes(b"no archive")

    with pytest.raises(ChartInvalid, match="not an archive"):
        ChartStore(tmp_path).defaults(ChartRef("web", "0.1.0", repository=f"file://{tmp_path}"))


@pytest.mark.parametrize(
    "repository",
    [
        "https://charts.example/?token=me:pw",
        "https://[charts",
        "file://host/charts",
        "file:///a/../etc",
        "https://me:pw@charts.example",
        "ftp:x",
    ],
)
def test_other_addresses_are_refused_without_being_tried(tmp_path: Path, repository: str) -> None:
    store = ChartStore(tmp_path, pulled=cast(PulledCharts, NeverAsked()))
    with pytest.raises(ChartInvalid) as caught:
        store.locate(ChartRef("web", "0.1.0", repository=repository))
    assert "me:pw" not in str(caught.value)


@pytest.mark.parametrize(("name", "version"), [("../web", "1"), ("web", "../1"), ("web/x", "1"), ("", "1")])
def test_a_name_that_would_be_another_path_is_refused(tmp_path: Path, name: str, version: str) -> None:
    with pytest.raises(ChartInvalid, match="not the name of a chart"):
        ChartStore(tmp_path).locate(ChartRef(name, version, repository=f"file://{tmp_path}"))


def test_the_network_needs_an_exact_version_and_someone_who_pulls(tmp_path: Path) -> None:
    with pytest.raises(ChartInvalid, match="exact version"):
        ChartStore(tmp_path).locate(ChartRef("web", repository="https://charts.example"))
    with pytest.raises(ChartInvalid, match="cannot be read here"):
        ChartStore(tmp_path).locate(ChartRef("web", "1.0.0", repository="https://charts.example"))


class NeverAsked:
    """Stands where pulled charts would be."""

    def archive(self, chart: ChartRef) -> Path:
        raise AssertionError(f"{chart} was tried")


def _refuse(path: Path) -> bytes:
    raise AssertionError(f"{path} was read again")


def test_an_edited_chart_of_a_directory_is_reported_once(tmp_path: Path) -> None:
    chart, store = write_chart(tmp_path), ChartStore(tmp_path)
    assert not store.changed(), "nothing was read yet"
    before = store.digest(WEB)
    assert not store.changed()
    (chart / "templates" / "a.yaml").write_text("kind: Secret\n")
    assert store.changed()
    assert not store.changed()
    assert store.digest(WEB) != before


def test_a_chart_that_goes_is_reported_once(tmp_path: Path) -> None:
    chart, store = write_chart(tmp_path), ChartStore(tmp_path)
    store.digest(WEB)
    shutil.rmtree(chart)
    assert store.changed()
    assert not store.changed()


def test_who_looks_out_for_edits_is_informed_of_them_within_a_minute(tmp_path: Path) -> None:
    chart, store, reported = write_chart(tmp_path), ChartStore(tmp_path), list[str]()
    check = check_charts(store, lambda: reported.append("changed"))
    store.digest(WEB)
    assert (check("", "") or 0) < 60 and reported == []
    (chart / "values.yaml").write_text("size: 2\n")
    check("", "")
    assert reported == ["changed"]


WITHOUT = ChartRef("web", path="web", omit_templates=("templates/a.yaml",))


@pytest.mark.parametrize("archived", [False, True])
def test_helm_is_given_a_chart_without_the_templates_that_are_omitted(tmp_path: Path, archived: bool) -> None:
    chart = write_chart(tmp_path)
    (chart / "templates" / "b.yaml").write_text("kind: Secret\n")
    path = pack(chart, tmp_path / "web-0.1.0.tgz").name if archived else "web"
    store = ChartStore(tmp_path, cache=ChartCache(tmp_path / "cache"))
    given = ChartRef("web", path=path, omit_templates=WITHOUT.omit_templates)

    assert packed_names(store.locate(given)) == {"web/Chart.yaml", "web/values.yaml", "web/templates/b.yaml"}
    assert "templates/a.yaml" not in store.files(given)
    assert store.defaults(given) == {"size": 1}


def test_a_chart_with_a_template_omitted_is_another_one_and_follows_its_content(tmp_path: Path) -> None:
    chart = write_chart(tmp_path)
    store = ChartStore(tmp_path, cache=ChartCache(tmp_path / "cache"), fixed=True)
    whole, before = store.digest(WEB), store.digest(WITHOUT)
    first = store.locate(WITHOUT)
    (chart / "values.yaml").write_text("size: 2\n")

    assert whole != before and before.startswith("sha256:") and len(before) == 71
    assert store.digest(WITHOUT) not in (whole, before)
    assert store.locate(WITHOUT) != first
    assert store.locate(WEB) == str(chart)


def test_a_build_is_recognised_whatever_of_it_is_omitted(tmp_path: Path) -> None:
    write_chart(tmp_path)
    store = ChartStore(tmp_path)
    assert store.build(WITHOUT) == store.build(WEB)


def test_templates_that_a_chart_does_not_have_are_passed_over(tmp_path: Path) -> None:
    chart = write_chart(tmp_path)
    store = ChartStore(tmp_path, fixed=True)
    given = ChartRef("web", path="web", omit_templates=("templates/certificates.yaml", "values.yaml"))

    assert store.digest(given) == store.digest(WEB)
    assert store.locate(given) == str(chart)


def test_without_a_place_for_the_copy_a_template_cannot_be_omitted(tmp_path: Path) -> None:
    write_chart(tmp_path)

    with pytest.raises(ChartInvalid, match=r"no directory to assemble it in without templates/a\.yaml"):
        ChartStore(tmp_path).locate(WITHOUT)
