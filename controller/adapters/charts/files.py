"""The files of a chart as Helm would load them: links followed, ignored files omitted, within bounds."""

from __future__ import annotations

import gzip
import io
import os
import tarfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from controller.adapters.charts.helmignore import FILE as HELMIGNORE
from controller.adapters.charts.helmignore import Ignored, ignored_by
from controller.adapters.charts.real_paths import read_plain
from controller.adapters.helm.manifests import parse_document
from controller.errors import ChartInvalid

# Helm's own bounds are 100 MiB for a chart and 5 MiB for a file; a release must fit into 1 MiB packed.
LARGEST_CHART = 100 * 1024 * 1024
LARGEST_FILE = 5 * 1024 * 1024
# Packed; a release of a larger one would not fit into its record.
LARGEST_ARCHIVE = 20 * 1024 * 1024
MOST_FILES = 10_000

Stamp = tuple[int, int, int, int]
DirectoryStamp = tuple[tuple[str, Stamp], ...]


@dataclass(frozen=True)
class ChartFiles:
    """The real path of each file by its name in the chart, sorted, and a stamp that changes with each."""

    files: tuple[tuple[str, str], ...]
    stamp: DirectoryStamp

    @property
    def octets(self) -> int:
        return sum(stamp[2] for _, stamp in self.stamp)


def stamp_of(path: Path) -> Stamp:
    """A stamp that changes when the file is written or replaced. Raises ChartInvalid if it cannot be read."""
    return _stamp(str(path), path.stat)


def _stamp(path: str, read_stat: Callable[[], os.stat_result]) -> Stamp:
    try:
        stat = read_stat()
    except OSError as error:
        raise ChartInvalid(f"{path} cannot be read: {error.strerror}") from None
    return stat.st_mtime_ns, stat.st_ino, stat.st_size, stat.st_ctime_ns


def walk(chart: Path, root: Path) -> ChartFiles:
    """All files of the chart that its .helmignore does not exclude.

    `root` is a real path, and links may point only to places below it. Raises ChartInvalid for links that
    leave `root` or form a circle, and if bounds are exceeded.
    """
    found: dict[str, str] = {}
    stamps: dict[str, Stamp] = {}
    limit, start = root, chart.resolve()
    if not start.is_relative_to(limit):
        raise ChartInvalid(f"chart {chart}: . is a link out of {root}")
    ignored = _ignored(chart, limit, stamps)
    # A directory's name in the chart, its path, its real path, and the real paths of its parents. They are
    # strings for speed, because each check for changes walks every chart.
    pending: list[tuple[str, str, str, frozenset[str]]] = [("", str(chart), str(start), frozenset())]
    size = 0
    while pending:
        prefix, directory, real, above = pending.pop()
        if real in above:
            raise ChartInvalid(f"chart {chart}: {prefix} is a link in a circle")
        for entry in _entries(chart, directory):
            name, linked = f"{prefix}{entry.name}", entry.is_symlink()
            if ignored(name, entry.is_dir()):
                continue
            target = Path(os.path.realpath(entry.path)) if linked else None
            if target is not None and not target.is_relative_to(limit):
                raise ChartInvalid(f"chart {chart}: {name} is a link out of {root}")
            if entry.is_dir():
                below = str(target) if linked else f"{real}/{entry.name}"
                pending.append((f"{name}/", entry.path, below, above | {real}))
                continue
            if not entry.is_file():
                raise ChartInvalid(f"chart {chart}: {name} is a dead link or no file")
            stamps[name] = _stamp(entry.path, entry.stat)
            found[name] = str(target) if linked else f"{real}/{entry.name}"
            size += stamps[name][2]
            if stamps[name][2] > LARGEST_FILE or size > LARGEST_CHART or len(found) > MOST_FILES:
                raise ChartInvalid(f"chart {chart}: too large at {name} for Helm to load")
    return ChartFiles(tuple(sorted(found.items())), tuple(sorted(stamps.items())))


def _ignored(chart: Path, limit: Path, stamps: dict[str, Stamp]) -> Ignored:
    """The chart's ignore rules, which count as a file even if they exclude themselves."""
    path = chart / HELMIGNORE
    if not path.is_file():
        return ignored_by("")
    stamps[HELMIGNORE] = stamp_of(path)
    real = path.resolve()
    if not real.is_relative_to(limit) or stamps[HELMIGNORE][2] > LARGEST_FILE:
        raise ChartInvalid(f"chart {chart}: {HELMIGNORE} is too large, or a link out of {limit}")
    try:
        return ignored_by(read_plain(real, LARGEST_FILE).decode("utf-8-sig", "replace"))
    except OSError as error:
        raise ChartInvalid(f"chart {chart}: {HELMIGNORE} cannot be read: {error.strerror}") from None
    except ChartInvalid as error:
        raise ChartInvalid(f"chart {chart}: {error}") from None


def _entries(chart: Path, directory: str) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(directory) as entries:
            return list(entries)
    except OSError as error:
        raise ChartInvalid(f"chart {chart}: {directory} cannot be read: {error.strerror}") from None


def read_files(chart: Path, files: ChartFiles) -> dict[str, bytes]:
    """The contents of the files that `walk` found. A link made since then is not followed.

    Raises ChartInvalid if a file cannot be read.
    """
    contents = {}
    for name, file in files.files:
        try:
            contents[name] = read_plain(Path(file), LARGEST_FILE)
        except OSError as error:
            raise ChartInvalid(f"chart {chart}: {name} cannot be read: {error.strerror}") from None
    return contents


def pack(chart: str, files: Mapping[str, bytes]) -> bytes:
    """An archive of the chart's files; the same octets for the same files.

    Raises ChartInvalid if it is too large for a release.
    """
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w") as archive:
        for name, content in files.items():
            member = tarfile.TarInfo(f"{chart}/{name}")
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    packed = gzip.compress(raw.getvalue(), mtime=0)
    if len(packed) > LARGEST_ARCHIVE:
        raise ChartInvalid(f"chart {chart}: too large for Helm to install")
    return packed


def parse_map(chart: Path, name: str, content: bytes) -> Mapping[str, Any]:
    """A YAML file of the chart. Raises ChartInvalid if it is not a map."""
    try:
        parsed = parse_document(content.decode())
    except (ChartInvalid, UnicodeDecodeError) as error:
        cause = "the text is not UTF-8" if isinstance(error, UnicodeDecodeError) else str(error)
        raise ChartInvalid(f"chart {chart}: {name} cannot be read: {cause}") from None
    if parsed is None:
        return {}
    if not isinstance(parsed, dict):
        raise ChartInvalid(f"chart {chart}: {name} is not a map")
    return parsed
