"""What a chart, an index or a manifest may cost that was made to exhaust whoever reads it.

Each is read by a process of its own, which says how much memory it took beyond its imports at most.
"""

from __future__ import annotations

import gzip
import io
import subprocess
import sys
import tarfile
import textwrap
from pathlib import Path

import pytest

from controller.adapters.charts.crash_guard import MOST_DEATHS
from controller.adapters.charts.source import ChartStore
from controller.domain.releases.bundle import ChartRef
from sandbox.patience import patient
from tests.adapters.charts.test_chart_source import pack, write_chart
from tests.sweeps import swept

MEBIBYTE = 1024 * 1024

READ = r"""
import re, sys
from pathlib import Path
from controller.adapters.charts.repository_index import read_index
from controller.adapters.charts.source import ChartStore
from controller.adapters.helm.manifests import parse_document
from controller.adapters.openstack.clouds_yaml import parse_clouds
from controller.domain.releases.bundle import ChartRef
from controller.errors import ControllerError

kind, path = sys.argv[1], Path(sys.argv[2])
# Not ru_maxrss: a process inherits that of the one which began it.
def peak(): return int(re.search(r"VmHWM:\s*(\d+)", Path("/proc/self/status").read_text())[1]) // 1024
before, said = peak(), "read"
try:
    if kind == "chart":
        ChartStore(path.parent).digest(ChartRef("web", "0.1.0", repository=f"file://{path.parent}"))
    elif kind == "manifest":
        repr(parse_document(path.read_text()))
    elif kind == "index":
        read_index(path.read_bytes(), "x")
    else:
        repr(parse_clouds(path.read_bytes()))
except ControllerError as error:
    said = str(error)
print(peak() - before, said)
"""


def read(kind: str, path: Path) -> tuple[int, str]:
    """Mebibytes that reading took, and what was said of it. Fails when the reader did not come to its end."""
    ended = subprocess.run(
        [sys.executable, "-c", READ, kind, str(path)],
        capture_output=True,
        text=True,
        timeout=patient(60),
        check=False,
    )
    assert ended.returncode == 0, f"the reader ended with {ended.returncode}"
    taken, said = ended.stdout.split(" ", 1)
    return int(taken), said


def write_archive(path: Path, headers: list[tuple[bytes, bytes]]) -> Path:
    """An archive of such members, by type and content."""
    with gzip.open(path, "wb", compresslevel=3) as out:
        for kind, content in headers:
            member = tarfile.TarInfo("web/a")
            member.type, member.size = kind, len(content)
            out.write(member.tobuf(tarfile.GNU_FORMAT) + content + bytes(-len(content) % 512))
        out.write(bytes(1024))
    return path


def pax(keyword: str, value: str) -> bytes:
    """One record of an extended header."""
    record = f" {keyword}={value}\n"
    length = len(record)
    while len(f"{length}{record}") != length:
        length = len(f"{length}{record}")
    return f"{length}{record}".encode()


LONG, RECORDS = b"a" * 60 * MEBIBYTE, b"".join(pax(f"k{n}", "") for n in range(4000))
Members = list[tuple[bytes, bytes]]
BOMBS: dict[str, Members] = {
    "one long name of GNU tar": [(tarfile.GNUTYPE_LONGNAME, LONG), (tarfile.REGTYPE, b"")],
    "one long name of pax": [(tarfile.XHDTYPE, pax("path", "") + LONG), (tarfile.REGTYPE, b"")],
    "keys for all files": [(tarfile.XGLTYPE, RECORDS)] * 500 + [(tarfile.REGTYPE, b"")],
    "long names on each file": [(tarfile.GNUTYPE_LONGNAME, LONG[:MEBIBYTE]), (tarfile.REGTYPE, b"")] * 60,
    "headers of headers": [(tarfile.XHDTYPE, pax("path", "a"))] * 40_001,
    "files without end": [(tarfile.REGTYPE, b"")] * 10_001,
}


@pytest.mark.slow
@pytest.mark.parametrize("bomb", swept(BOMBS, daily=("one long name of pax", "headers of headers")))
def test_headers_of_an_archive_take_no_memory(tmp_path: Path, bomb: str) -> None:
    path = write_archive(tmp_path / "web-0.1.0.tgz", BOMBS[bomb])
    assert path.stat().st_size < 8 * MEBIBYTE

    taken, said = read("chart", path)
    assert taken < 32
    assert "too large" in said


@pytest.mark.slow
def test_what_says_it_is_larger_than_it_is_is_no_archive(tmp_path: Path) -> None:
    member = tarfile.TarInfo("web/a")
    member.size = 4 * MEBIBYTE
    with gzip.open(tmp_path / "web-0.1.0.tgz", "wb") as out:
        out.write(member.tobuf(tarfile.GNU_FORMAT))

    assert "not an archive" in read("chart", tmp_path / "web-0.1.0.tgz")[1]


@pytest.mark.parametrize("form", [tarfile.GNU_FORMAT, tarfile.PAX_FORMAT, tarfile.USTAR_FORMAT])
def test_long_names_are_read_as_tar_writes_them(tmp_path: Path, form: int) -> None:
    chart = write_chart(tmp_path)
    deep = chart / "templates" / ("d" * 60) / ("é" * 20)
    deep.mkdir(parents=True)
    (deep / f"{'n' * 60}.yaml").write_text("kind: X\n")
    (deep / "link").symlink_to("nowhere")
    archive = tmp_path / "web-0.1.0.tgz"
    with tarfile.open(archive, "w:gz", format=form) as out:
        out.add(chart, arcname="web")

    files = ChartStore(tmp_path).files(ChartRef("web", "0.1.0", repository=f"file://{tmp_path}"))

    with tarfile.open(archive) as known:
        assert files == {
            one.name.removeprefix("web/"): (known.extractfile(one) or io.BytesIO()).read()
            for one in known
            if one.isfile()
        }
    assert len(files) == 4


NESTED = {
    "merges": "a: &a {k: v}\n"
    + "".join(
        f"{chr(98 + n)}: &{chr(98 + n)} {{<<: [{','.join([f'*{chr(97 + n)}'] * 9)}]}}\n" for n in range(9)
    ),
    "aliases": "a: &a [x,x,x,x,x,x,x,x,x]\n"
    + "".join(f"{chr(98 + n)}: &{chr(98 + n)} [{','.join([f'*{chr(97 + n)}'] * 9)}]\n" for n in range(8)),
    "aliases of a long text": f"a: &a {'x' * MEBIBYTE}\nb: [{','.join(['*a'] * 2000)}]\n",
    "an alias of itself": "a: &a [*a]\n",
    "brackets": "[" * 20_000,
    "dashes": "- " * 20_000 + "a",
    "keys": "? " * 20_000 + "a",
    "a long list": "[" + "a," * 400_000 + "]",
}


@pytest.mark.slow
@pytest.mark.parametrize("nested", swept(NESTED, daily=("merges", "brackets", "a long list")))
def test_a_manifest_takes_no_more_than_it_is(tmp_path: Path, nested: str) -> None:
    path = tmp_path / "manifest"
    path.write_text(NESTED[nested])

    taken, said = read("manifest", path)
    assert taken < 64
    assert "not YAML" in said


@pytest.mark.slow
@pytest.mark.parametrize("nested", swept(NESTED, daily=("aliases",)))
def test_neither_does_a_clouds_yaml(tmp_path: Path, nested: str) -> None:
    path = tmp_path / "clouds"
    path.write_text(NESTED[nested])

    taken, said = read("clouds", path)
    assert taken < 64
    assert "not a clouds.yaml" in said


INDEXES = {
    "versions": "entries: {a: [" + "{version: 1}," * 200_000 + "]}",
    "charts": "entries: {" + "".join(f"a{n}: [],\n" for n in range(200_000)) + "}",
    "addresses": "entries: {a: [{version: 1, urls: [" + "".join(f"u{n}," for n in range(200_000)) + "]}]}",
    "brackets": "entries: " + "[" * 20_000,
}


@pytest.mark.slow
@pytest.mark.parametrize("name", swept(INDEXES, daily=("versions", "brackets")))
def test_an_index_is_kept_within_bounds(tmp_path: Path, name: str) -> None:
    path, content = tmp_path / "index.yaml", INDEXES[name]
    path.write_text(content)

    taken, _ = read("index", path)
    # What is there of it beside the text itself, which was read and handed over.
    assert taken < 2 * len(content) // MEBIBYTE + 64


KILLED = textwrap.dedent(
    """
    import os, sys
    from pathlib import Path
    from controller.adapters.charts import source
    from controller.adapters.charts.crash_guard import CrashGuard
    from controller.domain.releases.bundle import ChartRef

    def _die(*_): os.kill(os.getpid(), 9)
    directory, how = Path(sys.argv[1]), sys.argv[2]
    if how != "read": source._read = _die
    store = source.ChartStore(directory, marks=CrashGuard(directory / "reading"))
    try:
        print(store.digest(ChartRef("web", "0.1.0", repository=f"file://{directory}")))
    except source.ChartInvalid as error:
        print(error)
    """
)


def read_as(how: str, directory: Path) -> str:
    """What a process says that reads the chart, and is killed at it or not."""
    ended = subprocess.run(
        [sys.executable, "-c", KILLED, str(directory), how],
        capture_output=True,
        text=True,
        timeout=patient(60),
        check=False,
    )
    assert ended.returncode in (0, -9), ended.stderr
    return ended.stdout


@pytest.mark.slow
def test_a_chart_that_ends_its_readers_is_not_read_again_and_reported(tmp_path: Path) -> None:
    archive = pack(write_chart(tmp_path), tmp_path / "web-0.1.0.tgz")
    for _ in range(MOST_DEATHS):
        assert read_as("killed", tmp_path) == ""

    said = read_as("killed", tmp_path)
    assert str(archive) in said and "memory" in said and "another version" in said
    (mark,) = (tmp_path / "reading").iterdir()
    assert str(mark) in said
    mark.unlink()
    assert read_as("read", tmp_path).startswith("sha256:")


@pytest.mark.slow
def test_one_kill_while_a_chart_is_read_counts_against_no_chart(tmp_path: Path) -> None:
    pack(write_chart(tmp_path), tmp_path / "web-0.1.0.tgz")
    for _ in range(MOST_DEATHS + 1):
        assert read_as("killed", tmp_path) == ""
        assert read_as("read", tmp_path).startswith("sha256:")
    assert list((tmp_path / "reading").iterdir()) == []


@pytest.mark.slow
def test_a_chart_that_was_replaced_is_read(tmp_path: Path) -> None:
    chart = write_chart(tmp_path)
    pack(chart, tmp_path / "web-0.1.0.tgz")
    for _ in range(MOST_DEATHS):
        read_as("killed", tmp_path)
    (chart / "values.yaml").write_text("size: 2\n")
    (tmp_path / "web-0.1.0.tgz").unlink()
    pack(chart, tmp_path / "web-0.1.0.tgz")

    assert read_as("read", tmp_path).startswith("sha256:")


@pytest.mark.slow
def test_where_no_mark_can_be_written_charts_are_read(tmp_path: Path) -> None:
    pack(write_chart(tmp_path), tmp_path / "web-0.1.0.tgz")
    (tmp_path / "reading").write_text("no directory")

    assert read_as("read", tmp_path).startswith("sha256:")
