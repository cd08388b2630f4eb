"""The files of a chart, as Helm would load them: links followed, within bounds."""

from __future__ import annotations

import os
import tarfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from controller.errors import ChartInvalid

# Helm's own bounds are 100 MiB for a chart and 5 MiB for a file; a release must fit into 1 MiB packed.
LARGEST_CHART = 100 * 1024 * 1024
LARGEST_FILE = 5 * 1024 * 1024
# Packed; a release of a larger one would not fit into its record.
LARGEST_ARCHIVE = 20 * 1024 * 1024
MOST_FILES = 10_000

Stamp = tuple[int, int, int, int]


@dataclass(frozen=True)
class ChartFiles:
    """The path of each file by its name in the chart, sorted, and what changes when one of them does."""

    files: tuple[tuple[str, str], ...]
    stamp: tuple[tuple[str, Stamp], ...]


def stamp_of(path: Path) -> Stamp:
    """What changes when the file is written or replaced. Raises ChartInvalid when it cannot be seen."""
    return _stamp(str(path), path.stat)


def _stamp(path: str, look: Callable[[], os.stat_result]) -> Stamp:
    try:
        stat = look()
    except OSError as error:
        raise ChartInvalid(f"{path} cannot be read: {error.strerror}") from None
    return stat.st_mtime_ns, stat.st_ino, stat.st_size, stat.st_ctime_ns


def walk(chart: Path, root: Path) -> ChartFiles:
    """All files of the chart. Links may point elsewhere below `root`, and nowhere else.

    Raises ChartInvalid for links that leave `root` or go round in a circle, and beyond the bounds.
    """
    found: dict[str, str] = {}
    stamps: dict[str, Stamp] = {}
    limit, start = root.resolve(), chart.resolve()
    if not start.is_relative_to(limit):
        raise ChartInvalid(f"chart {chart}: . is a link out of {root}")
    # A directory's name in the chart, its path and its real one, and the real ones on the way to it. As
    # texts: this is done with every chart each time somebody asks whether it has changed.
    pending: list[tuple[str, str, str, frozenset[str]]] = [("", str(chart), str(start), frozenset())]
    size = 0
    while pending:
        prefix, directory, real, above = pending.pop()
        if real in above:
            raise ChartInvalid(f"chart {chart}: {prefix} is a link in a circle")
        for entry in _entries(chart, directory):
            name, linked = f"{prefix}{entry.name}", entry.is_symlink()
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
            found[name] = entry.path
            size += stamps[name][2]
            if stamps[name][2] > LARGEST_FILE or size > LARGEST_CHART or len(found) > MOST_FILES:
                raise ChartInvalid(f"chart {chart}: too large at {name} for Helm to load")
    return ChartFiles(tuple(sorted(found.items())), tuple(sorted(stamps.items())))


def _entries(chart: Path, directory: str) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(directory) as entries:
            return list(entries)
    except OSError as error:
        raise ChartInvalid(f"chart {chart}: {directory} cannot be read: {error.strerror}") from None


def read_archive(archive: Path) -> Iterator[tuple[str, bytes]]:
    """Names and contents of a chart's files, in the archive's order, without unpacking to disk.

    A chart lies in one directory of its archive, whose name is left out, as Helm does. Raises
    ChartInvalid beyond the bounds, and what `tarfile` raises for what is no archive.
    """
    size = 0
    with tarfile.open(archive, mode="r:gz") as content:
        for number, member in enumerate(content):
            # Before it is unpacked, if only to skip it: some archives of a few kilobytes are endless.
            size += member.size
            if number > MOST_FILES or size > LARGEST_CHART:
                raise ChartInvalid(f"chart {archive}: too large at {member.name[:200]} for Helm to load")
            parts = PurePosixPath(member.name).parts
            if len(parts) < 2 or not member.isfile():
                continue
            name = "/".join(parts[1:])
            if member.size > LARGEST_FILE:
                raise ChartInvalid(f"chart {archive}: {name[:200]} is too large for Helm to load")
            reader = content.extractfile(member)
            if reader is not None:
                yield name, reader.read()
