"""Where charts come from: `controller.ports.helm.ChartSource` on directories, archives and repositories.

A chart shipped in the image is named by its path in the chart directory. A `file://` repository is a
directory that holds `<name>/` or `<name>-<version>.tgz`. Charts of repositories on the network are pulled
once into a cache.
"""

from __future__ import annotations

import hashlib
import re
import tarfile
import threading
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import unquote, urlsplit

from controller.adapters.charts.files import ChartFiles, read_archive, stamp_of, walk
from controller.adapters.charts.pull import PulledCharts
from controller.adapters.charts.versions import is_version
from controller.adapters.helm.manifests import parse_document
from controller.domain.releases.bundle import ChartRef
from controller.domain.values.chart_values import Values
from controller.errors import ChartInvalid, ChartNotFound

# Names and versions become paths: Helm's own rule for chart names, and semantic versions.
_NAME = re.compile(r"[a-zA-Z0-9][a-zA-Z0-9._-]{0,250}")
_VERSION = re.compile(r"[a-zA-Z0-9][a-zA-Z0-9.+-]{0,127}")


# What is known of charts is forgotten beyond this many: repositories bring new versions for ever.
_MOST_KNOWN = 512


@dataclass(frozen=True)
class _Known:
    """What one chart holds, as of `stamp`. Its values are read when first asked for."""

    path: Path
    root: Path
    stamp: object
    digest: str
    metadata: Mapping[str, Any]
    values_text: bytes

    @cached_property
    def defaults(self) -> Values:
        return _mapping(self.path, "values.yaml", self.values_text)


class ChartStore:
    """Charts below `directory`, and those of repositories.

    `pulled` None means that repositories on the network cannot be read here. What a chart holds is read
    again only when one of its files has changed.
    """

    def __init__(self, directory: Path, *, pulled: PulledCharts | None = None) -> None:
        self._directory = directory
        self._pulled = pulled
        self._known: dict[Path, _Known] = {}
        self._lock = threading.Lock()

    def locate(self, chart: ChartRef) -> str:
        path, root = self._find(chart)
        self._checked(chart, path, root)
        return str(path)

    def digest(self, chart: ChartRef) -> str:
        path, root = self._find(chart)
        return self._checked(chart, path, root).digest

    def defaults(self, chart: ChartRef) -> Values:
        path, root = self._find(chart)
        return self._checked(chart, path, root).defaults

    def files(self, chart: ChartRef) -> Mapping[str, bytes]:
        path, root = self._find(chart)
        self._checked(chart, path, root)
        return dict(_files_of(path, walk(path, root)) if path.is_dir() else _members_of(path))

    def changed(self) -> bool:
        """Whether a chart that was read is another by now, in its files or their times; told once of each."""
        with self._lock:
            known = list(self._known.values())
        outdated = [one for one in known if _stamp_now(one.path, one.root) != one.stamp]
        with self._lock:
            for one in outdated:
                if self._known.get(one.path) is one:
                    del self._known[one.path]
        return bool(outdated)

    def _find(self, chart: ChartRef) -> tuple[Path, Path]:
        """The chart's path, and the directory that its files may not lead out of."""
        if bool(chart.path) == bool(chart.repository):
            raise ChartInvalid(f'chart "{chart.name}": exactly one of path and repository must be set')
        if chart.path:
            return _inside(self._directory, chart.path, chart.name), self._directory
        try:
            scheme, place, _, query, _ = urlsplit(chart.repository)
        except ValueError:
            raise ChartInvalid(
                f'chart "{chart.name}": repository "{chart.repository}" is no address'
            ) from None
        if "@" in place or query:
            raise ChartInvalid(
                f'chart "{chart.name}": credentials do not belong into the address of a repository; '
                "name a Secret in credentialsSecret"
            )
        if scheme == "file":
            directory = _file_repository(chart.repository)
            return _in_repository(directory, chart), directory
        if scheme in ("https", "http", "oci"):
            archive = self._archive(chart)
            return archive, archive.parent
        raise ChartInvalid(
            f'chart "{chart.name}": repository "{chart.repository}" is not supported; '
            "use file://, https:// or oci://"
        )

    def _archive(self, chart: ChartRef) -> Path:
        _require_name(chart)
        if not chart.version:
            raise ChartInvalid(f'chart "{chart.name}" of {chart.repository}: name an exact version')
        if self._pulled is None:
            raise ChartInvalid(
                f'chart "{chart.name}": {chart.repository} is on the network and cannot be read here; '
                "use a file:// repository or the charts of the image"
            )
        return self._pulled.archive(chart)

    def _checked(self, chart: ChartRef, path: Path, root: Path) -> _Known:
        known = self._content(chart, path, root)
        name, version = str(known.metadata.get("name", "")), str(known.metadata.get("version", ""))
        if chart.name and name != chart.name:
            raise ChartInvalid(f'chart {path} is named "{name}" in its Chart.yaml, not "{chart.name}"')
        if chart.version and not is_version(version, chart.version):
            raise ChartInvalid(
                f'chart {path} has version "{version}", not "{chart.version}"; '
                "correct the version, or leave it out for a chart of the image"
            )
        return known

    def _content(self, chart: ChartRef, path: Path, root: Path) -> _Known:
        if not path.exists():
            raise ChartNotFound(f'chart "{chart.name}": there is no {path}; correct its name or path')
        files = walk(path, root) if path.is_dir() else None
        stamp: object = files.stamp if files else stamp_of(path)
        with self._lock:
            known = self._known.get(path)
        if known is not None and known.stamp == stamp:
            return known
        known = _read(path, root, stamp, _files_of(path, files) if files else _members_of(path))
        with self._lock:
            while len(self._known) >= _MOST_KNOWN:
                self._known.pop(next(iter(self._known)))
            self._known[path] = known
        return known


def _inside(directory: Path, path: str, name: str) -> Path:
    parts = PurePosixPath(path)
    wanted = directory / parts
    if parts.is_absolute() or ".." in parts.parts or "\0" in path:
        raise ChartInvalid(f'chart "{name}": path "{path}" leads out of the chart directory')
    if wanted.exists() and not wanted.resolve().is_relative_to(directory.resolve()):
        raise ChartInvalid(f'chart "{name}": path "{path}" is a link out of the chart directory')
    return wanted


def _file_repository(address: str) -> Path:
    parts = urlsplit(address)
    path = Path(unquote(parts.path))
    if parts.netloc not in ("", "localhost") or not path.is_absolute() or ".." in path.parts:
        raise ChartInvalid(f'repository "{address}": write file:// and an absolute path without ".."')
    return path


def _in_repository(directory: Path, chart: ChartRef) -> Path:
    """`<name>-<version>.tgz`, else the directory `<name>`, else the only archive if any version will do."""
    _require_name(chart)
    archive = directory / f"{chart.name}-{chart.version}.tgz"
    if chart.version and archive.is_file():
        return _inside(directory, archive.name, chart.name)
    builds = sorted(path.name for path in directory.glob(f"{chart.name}-{chart.version}+*.tgz"))
    if chart.version and len(builds) == 1:
        return _inside(directory, builds[0], chart.name)
    if (directory / chart.name).is_dir():
        return _inside(directory, chart.name, chart.name)
    # A version begins with a digit: the archives of ceph are not those of ceph-mon.
    there = sorted(path.name for path in directory.glob(f"{chart.name}-[0-9]*.tgz"))
    if not chart.version and len(there) == 1:
        return _inside(directory, there[0], chart.name)
    listed = f"it has {', '.join(there[:5])}" if there else "it has no other archive of that name"
    wanted = archive.name if chart.version else "a single archive (no version is set)"
    raise ChartNotFound(
        f'chart "{chart.name}": neither a directory {chart.name} nor {wanted} is in {directory}; {listed}'
    )


def _require_name(chart: ChartRef) -> None:
    if not _NAME.fullmatch(chart.name) or (chart.version and not _VERSION.fullmatch(chart.version)):
        raise ChartInvalid(f'"{chart.name}" at version "{chart.version}" is not the name of a chart')


def _files_of(path: Path, files: ChartFiles) -> Iterable[tuple[str, bytes]]:
    for name, file in files.files:
        try:
            yield name, Path(file).read_bytes()
        except OSError as error:
            raise ChartInvalid(f"chart {path}: {name} cannot be read: {error.strerror}") from None


def _members_of(path: Path) -> Iterable[tuple[str, bytes]]:
    """The files of an archive in the order of their names: packed again, a chart is still the same."""
    try:
        return sorted(read_archive(path))
    except (OSError, tarfile.TarError, EOFError, zlib.error) as error:
        raise ChartInvalid(f"chart {path} is not an archive of a chart ({type(error).__name__})") from None


def _stamp_now(path: Path, root: Path) -> object:
    try:
        return walk(path, root).stamp if path.is_dir() else stamp_of(path)
    except ChartInvalid:
        return None


def _read(path: Path, root: Path, stamp: object, files: Iterable[tuple[str, bytes]]) -> _Known:
    digest = hashlib.sha256()
    texts: dict[str, bytes] = {}
    for name, content in files:
        # Lengths first: no two sets of files give the same stream.
        encoded = name.encode("utf-8", "surrogateescape")
        digest.update(b"%d:%d:%b" % (len(encoded), len(content), encoded))
        digest.update(content)
        if name in ("Chart.yaml", "values.yaml"):
            texts[name] = content
    if "Chart.yaml" not in texts:
        raise ChartInvalid(f"chart {path} has no Chart.yaml")
    metadata = _mapping(path, "Chart.yaml", texts["Chart.yaml"])
    return _Known(path, root, stamp, f"sha256:{digest.hexdigest()}", metadata, texts.get("values.yaml", b""))


def _mapping(path: Path, name: str, content: bytes) -> Mapping[str, Any]:
    try:
        parsed = parse_document(content.decode())
    except (ChartInvalid, UnicodeDecodeError) as error:
        cause = "it is not UTF-8" if isinstance(error, UnicodeDecodeError) else str(error)
        raise ChartInvalid(f"chart {path}: {name} cannot be read: {cause}") from None
    if parsed is None:
        return {}
    if not isinstance(parsed, dict):
        raise ChartInvalid(f"chart {path}: {name} must be a map, and is not")
    return parsed
