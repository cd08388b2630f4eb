"""Where charts come from: `controller.ports.ChartSource` on directories, archives and repositories.

A chart shipped in the image is named by its path in the chart directory. A `file://` repository is a
directory that holds `<name>/` or `<name>-<version>.tgz`. Charts of `https://` and `oci://` repositories
are pulled once into a cache by a function that the caller brings (only the container that runs Helm
loads its library).
"""

from __future__ import annotations

import hashlib
import re
import tarfile
import tempfile
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import unquote, urlsplit

from controller.adapters.chart_files import ChartFiles, read_archive_member, stamp_of, walk
from controller.adapters.manifests import parse_document
from controller.domain.bundle import ChartRef, Values
from controller.errors import ChartInvalid

#: Pulls chart `name` at exactly `version` from the repository's address into a directory as an archive.
Pull = Callable[[str, str, str, Path], None]

# Names and versions become paths: Helm's own rule for chart names, and semantic versions.
_NAME = re.compile(r"[a-zA-Z0-9][a-zA-Z0-9._-]{0,250}")
_VERSION = re.compile(r"[a-zA-Z0-9][a-zA-Z0-9.+-]{0,127}")


@dataclass(frozen=True)
class _Known:
    stamp: object
    digest: str
    metadata: Mapping[str, Any]
    defaults: Values


class ChartStore:
    """Charts below `directory`, and those of repositories.

    `cache` is where pulled archives are kept; `pull` None means that repositories on the network cannot
    be read here. What a chart holds is read again only when one of its files has changed.
    """

    def __init__(self, directory: Path, *, cache: Path | None = None, pull: Pull | None = None) -> None:
        self._directory = directory
        self._cache = cache
        self._pull = pull
        self._known: dict[Path, _Known] = {}
        self._lock = threading.Lock()
        self._pulling = threading.Lock()

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

    def _find(self, chart: ChartRef) -> tuple[Path, Path]:
        """The chart's path, and the directory that its files may not lead out of."""
        if bool(chart.path) == bool(chart.repository):
            raise ChartInvalid(f'chart "{chart.name}": exactly one of path and repository must be set')
        if chart.path:
            return _inside(self._directory, chart.path, chart.name), self._directory
        scheme, place = urlsplit(chart.repository)[:2]
        if "@" in place:
            raise ChartInvalid(f'chart "{chart.name}": credentials do not belong into an address')
        if scheme == "file":
            directory = _file_repository(chart.repository)
            return _in_repository(directory, chart), directory
        if scheme in ("https", "oci"):
            return self._pulled(chart)
        raise ChartInvalid(
            f'chart "{chart.name}": repository "{chart.repository}" is not supported; '
            "use file://, https:// or oci://"
        )

    def _pulled(self, chart: ChartRef) -> tuple[Path, Path]:
        _require_name(chart)
        if not chart.version:
            raise ChartInvalid(f'chart "{chart.name}" of {chart.repository}: name an exact version')
        if self._pull is None or self._cache is None:
            raise ChartInvalid(
                f'chart "{chart.name}": {chart.repository} is on the network and cannot be read here; '
                "use a file:// repository or the charts of the image"
            )
        home = self._cache / hashlib.sha256(chart.repository.encode()).hexdigest()[:24]
        archive = home / f"{chart.name}-{chart.version}.tgz"
        with self._pulling:
            if not archive.is_file():
                _pull_whole(self._pull, chart, archive)
        return archive, home

    def _checked(self, chart: ChartRef, path: Path, root: Path) -> _Known:
        known = self._content(chart, path, root)
        name, version = str(known.metadata.get("name", "")), str(known.metadata.get("version", ""))
        if chart.name and name != chart.name:
            raise ChartInvalid(f'chart {path} is named "{name}" in its Chart.yaml, not "{chart.name}"')
        if chart.version and version != chart.version:
            raise ChartInvalid(
                f'chart {path} has version "{version}", not "{chart.version}"; '
                "correct the version, or leave it out for a chart of the image"
            )
        return known

    def _content(self, chart: ChartRef, path: Path, root: Path) -> _Known:
        if not path.exists():
            raise ChartInvalid(f'chart "{chart.name}": there is no {path}')
        files = walk(path, root) if path.is_dir() else None
        stamp: object = files.stamp if files else stamp_of(path)
        with self._lock:
            known = self._known.get(path)
        if known is not None and known.stamp == stamp:
            return known
        known = _read_directory(path, files) if files else _read_archive(path)
        known = _Known(stamp, known.digest, known.metadata, known.defaults)
        with self._lock:
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
    _require_name(chart)
    archive = directory / f"{chart.name}-{chart.version}.tgz"
    if chart.version and archive.is_file():
        return _inside(directory, archive.name, chart.name)
    if (directory / chart.name).is_dir():
        return _inside(directory, chart.name, chart.name)
    wanted = archive.name if chart.version else f"{chart.name}-<version>.tgz (and no version is set)"
    raise ChartInvalid(
        f'chart "{chart.name}": neither a directory {chart.name} nor {wanted} is in {directory}'
    )


def _require_name(chart: ChartRef) -> None:
    if not _NAME.fullmatch(chart.name) or (chart.version and not _VERSION.fullmatch(chart.version)):
        raise ChartInvalid(f'"{chart.name}" at version "{chart.version}" is not the name of a chart')


def _pull_whole(pull: Pull, chart: ChartRef, archive: Path) -> None:
    """Pulls beside the archive's place and moves it there: half a download is never taken for a chart."""
    try:
        archive.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=archive.parent, prefix="pull-") as scratch:
            pull(chart.name, chart.version, chart.repository, Path(scratch))
            found = sorted(Path(scratch).glob("*.tgz"))
            if len(found) != 1:
                raise ChartInvalid(f'chart "{chart.name}": {chart.repository} gave {len(found)} archives')
            found[0].replace(archive)
    except OSError as error:
        raise ChartInvalid(f'chart "{chart.name}" cannot be kept in the cache: {error.strerror}') from None


def _read_directory(path: Path, files: ChartFiles) -> _Known:
    digest = hashlib.sha256()
    texts: dict[str, bytes] = {}
    for name, file in files.files:
        try:
            content = file.read_bytes()
        except OSError as error:
            raise ChartInvalid(f"chart {path}: {name} cannot be read: {error.strerror}") from None
        # Lengths first: no two sets of files give the same stream.
        digest.update(f"{len(name.encode())}:{len(content)}:{name}".encode())
        digest.update(content)
        if name in ("Chart.yaml", "values.yaml"):
            texts[name] = content
    return _known(path, f"sha256:{digest.hexdigest()}", texts)


def _read_archive(path: Path) -> _Known:
    try:
        content = path.read_bytes()
        texts = read_archive_member(path, ("Chart.yaml", "values.yaml"))
    except (OSError, tarfile.TarError, EOFError) as error:
        raise ChartInvalid(f"chart {path} is not an archive of a chart ({type(error).__name__})") from None
    return _known(path, f"sha256:{hashlib.sha256(content).hexdigest()}", texts)


def _known(path: Path, digest: str, texts: Mapping[str, bytes]) -> _Known:
    if "Chart.yaml" not in texts:
        raise ChartInvalid(f"chart {path} has no Chart.yaml")
    metadata = _mapping(path, "Chart.yaml", texts["Chart.yaml"])
    defaults = _mapping(path, "values.yaml", texts.get("values.yaml", b""))
    return _Known(None, digest, metadata, defaults)


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
