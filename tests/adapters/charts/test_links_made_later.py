"""A writer of a chart's directory sees no file of the controller's pod, whenever a link is made."""

from __future__ import annotations

import os
import shutil
import tarfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from controller.adapters.charts import dependencies, source
from controller.adapters.charts.cache import ChartCache
from controller.adapters.charts.files import ChartFiles, walk
from controller.adapters.charts.real_paths import open_plain
from controller.adapters.charts.source import ChartStore
from controller.cli.offline.charts import GivenSecrets, offline_charts
from controller.domain.releases.bundle import ChartRef
from controller.domain.values.chart_builds import NO_BUILDS
from controller.errors import ChartInvalid
from controller.settings import shipped_files
from tests.adapters.charts.test_chart_source import pack, write_chart

TOKEN = "the token of the controller"


@pytest.fixture
def token(tmp_path: Path) -> Path:
    path = tmp_path / "pod" / "token"
    path.parent.mkdir()
    path.write_text(TOKEN)
    return path


@pytest.fixture
def charts(tmp_path: Path) -> Path:
    write_chart(tmp_path / "charts")
    return tmp_path / "charts"


def kept(charts: Path) -> ChartStore:
    """As the containers have it with `paths.charts`."""
    return ChartStore(charts, cache=ChartCache(charts.parent / "cache"))


def both(charts: Path) -> Iterator[ChartRef]:
    yield ChartRef("web", path="web")
    yield ChartRef("web", repository=f"file://{charts}")


def read_link(place: Path, target: Path) -> None:
    """Replaces what is at the place by a link."""
    if place.is_dir():
        shutil.rmtree(place)
    else:
        place.unlink()
    place.symlink_to(target)


def contents(archive: str) -> bytes:
    """All that Helm finds at the path."""
    with tarfile.open(archive) as opened:
        files = [file for one in opened if (file := opened.extractfile(one)) is not None]
        return b"".join(file.read() for file in files)


@pytest.mark.parametrize("named", [0, 1], ids=["paths.charts", "file"])
def test_helm_is_given_what_was_checked(charts: Path, token: Path, named: int) -> None:
    path = kept(charts).locate(list(both(charts))[named])
    read_link(charts / "web" / "values.yaml", token)

    assert not Path(path).is_relative_to(charts)
    assert b"size: 1" in contents(path) and TOKEN.encode() not in contents(path)


def test_an_archive_that_becomes_a_directory_is_not_given_to_helm(charts: Path) -> None:
    archive = pack(charts / "web", charts / "web-0.1.0.tgz")
    path = kept(charts).locate(ChartRef("web", "0.1.0", repository=f"file://{charts}"))
    archive.unlink()

    assert b"size: 1" in contents(path)


def test_only_the_charts_of_the_image_are_given_to_helm_as_they_are(
    charts: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CHART_CACHE_DIR", str(tmp_path / "cache"))
    shipped = shipped_files() / "charts"
    found = [
        Path(offline_charts(directory, GivenSecrets(), NO_BUILDS).locate(ChartRef(name, path=name)))
        for directory, name in ((shipped, "gateway"), (charts, "web"))
    ]

    assert found[0] == shipped / "gateway"
    assert found[1].is_relative_to(tmp_path / "cache")


@pytest.mark.parametrize("place", ["web/values.yaml", "web/templates", "web", "."])
def test_a_link_made_after_the_check_is_not_followed(
    charts: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    other = write_chart(tmp_path / "pod", values=f"token: {TOKEN}\n")
    (other / "templates" / "a.yaml").write_text(TOKEN)
    target = tmp_path / "pod" / place

    def link_after(chart: Path, root: Path) -> ChartFiles:
        found = walk(chart, root)
        read_link(charts / place, target)
        return found

    monkeypatch.setattr(dependencies, "walk", link_after)
    with pytest.raises(ChartInvalid, match="cannot be read"):
        kept(charts).locate(ChartRef("web", repository=f"file://{charts}"))


def test_an_archive_that_becomes_a_link_is_not_followed(
    charts: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = write_chart(tmp_path / "pod", values=f"token: {TOKEN}\n")
    secret = pack(other, tmp_path / "pod" / "secret.tgz")
    archive = pack(charts / "web", charts / "web-0.1.0.tgz")
    stamp_of = source.stamp_of

    def link_after(path: Path) -> object:
        stamp = stamp_of(path)
        if not path.is_symlink():
            read_link(archive, secret)
        return stamp

    monkeypatch.setattr(source, "stamp_of", link_after)
    with pytest.raises(ChartInvalid, match="link out of"):
        kept(charts).files(ChartRef("web", "0.1.0", repository=f"file://{charts}"))


def test_a_pipe_holds_no_reader_up(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")

    with pytest.raises(OSError, match="not a plain file"):
        open_plain(tmp_path / "pipe")


def test_links_within_the_root_are_followed(charts: Path) -> None:
    (charts / "common.yaml").write_text("size: 7\n")
    read_link(charts / "web" / "values.yaml", Path("../common.yaml"))
    store = kept(charts)
    (given, _) = both(charts)

    assert b"size: 7" in contents(store.locate(given))
    assert store.defaults(given) == {"size": 7}


@pytest.mark.parametrize(
    "directory", ["/", "/etc", "/var", "/proc/self", "/run/secrets", "/var/run/secrets", "/root", "/home"]
)
@pytest.mark.parametrize(
    "use", [ChartStore.locate, ChartStore.files, ChartStore.versions], ids=["locate", "files", "versions"]
)
def test_a_directory_of_the_system_is_no_repository(
    tmp_path: Path, directory: str, use: Callable[[ChartStore, ChartRef], object]
) -> None:
    store = ChartStore(tmp_path)
    (tmp_path / "link").symlink_to(directory)

    for address in (directory, f"{tmp_path}/link"):
        with pytest.raises(ChartInvalid, match=r"directory of the system.*own, such as /charts") as refused:
            use(store, ChartRef("web", repository=f"file://{address}"))
        assert address in str(refused.value)


def test_it_holds_no_charts_for_paths_charts_either() -> None:
    with pytest.raises(ChartInvalid, match="directory of the system"):
        ChartStore(Path("/etc")).locate(ChartRef("web", path="web"))


def test_a_directory_below_a_home_holds_charts() -> None:
    with pytest.raises(ChartInvalid, match="does not exist"):
        ChartStore(Path("/none")).locate(ChartRef("web", repository="file:///home/none/charts"))
