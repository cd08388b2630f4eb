"""Where charts come from: `controller.ports.charts.ChartSource` on directories, archives and repositories.

A chart shipped in the image is named by its path in the chart directory. A `file://` repository is a
directory that holds `<name>/` or `<name>-<version>.tgz`. Charts of network repositories are pulled once into
a cache. Charts that were completed with their dependencies are also there, for Helm.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import unquote, urlsplit

from controller.adapters.charts.archive import read_archive
from controller.adapters.charts.build_digest import build_digest, content_digest
from controller.adapters.charts.cache import ChartCache
from controller.adapters.charts.crash_guard import CrashGuard
from controller.adapters.charts.dependencies import read_directory
from controller.adapters.charts.files import pack, parse_map, stamp_of, walk
from controller.adapters.charts.pull import PulledCharts
from controller.adapters.charts.real_paths import chart_root
from controller.adapters.charts.versions import is_version
from controller.domain.releases.bundle import ChartRef
from controller.domain.values.chart_builds import NO_BUILDS, TestedBuilds
from controller.domain.values.chart_values import Values
from controller.errors import ChartInvalid, ChartNotFound, ChartPending

# Names and versions become paths: Helm's own rule for chart names, and semantic versions.
_NAME = re.compile(r"[a-zA-Z0-9][a-zA-Z0-9._-]{0,250}")
_VERSION = re.compile(r"[a-zA-Z0-9][a-zA-Z0-9.+-]{0,127}")


# Facts about more charts than this are dropped, because repositories never stop publishing versions.
_MOST_KNOWN = 512


@dataclass(frozen=True)
class _KnownChart:
    """The content of one chart, as of the stamps of its files.

    Its values are read on demand. `complete`: Helm may load it from `path`.
    """

    path: Path
    root: Path
    stamps: tuple[tuple[Path, object], ...]
    complete: bool
    digest: str
    build: str
    metadata: Mapping[str, Any]
    values_text: bytes
    templates: frozenset[str]

    @cached_property
    def defaults(self) -> Values:
        return parse_map(self.path, "values.yaml", self.values_text)

    @property
    def name(self) -> str:
        return str(self.metadata.get("name", ""))

    @property
    def version(self) -> str:
        return str(self.metadata.get("version", ""))

    def omitted(self, chart: ChartRef) -> tuple[str, ...]:
        """Its files that Helm does not get."""
        return tuple(sorted(self.templates.intersection(chart.omit_templates)))

    @property
    def current(self) -> bool:
        """Whether its files are unchanged."""
        return all(_stamp_now(path, self.root) == stamp for path, stamp in self.stamps)


class ChartStore:
    """Charts below `directory`, and those of repositories.

    `pulled` None means that repositories on the network cannot be read here, `cache` None that Helm cannot be
    given charts that have to be packed. `builds` have versions that are known by content. A chart is read
    again only if one of its files has changed. With `marks`, it is not read again after it has killed its
    readers.

    `fixed`: `directory` is part of the image, so that Helm may load charts there. What others may write is
    given to Helm as an archive of the octets that were checked, because Helm follows every link.
    """

    def __init__(
        self,
        directory: Path,
        *,
        pulled: PulledCharts | None = None,
        cache: ChartCache | None = None,
        marks: CrashGuard | None = None,
        fixed: bool = False,
        builds: TestedBuilds = NO_BUILDS,
    ) -> None:
        self._directory = directory
        self._pulled = pulled
        self._cache = cache
        self._marks = marks
        self._fixed = fixed
        self._builds = builds
        self._known: dict[Path, _KnownChart] = {}
        self._lock = threading.Lock()

    def locate(self, chart: ChartRef) -> str:
        known = self._checked(chart)
        omitted = known.omitted(chart)
        as_it_is = known.complete and not omitted and self._is_ours(chart)
        return str(known.path if as_it_is else self._packed(known, omitted))

    def of_objects(self) -> str:
        return str(Path(__file__).with_name("objects"))

    def digest(self, chart: ChartRef) -> str:
        known = self._checked(chart)
        return _digest_without(known, known.omitted(chart))

    def build(self, chart: ChartRef) -> str:
        return self._checked(chart).build

    def version(self, chart: ChartRef) -> str:
        """The version under which the chart is published if its build is known, else its Chart.yaml's."""
        known = self._checked(chart)
        return next(iter(self._builds.versions(known.name, known.build)), known.version)

    def versions(self, chart: ChartRef) -> tuple[str, ...]:
        """The versions that the chart's repository lists, or the archives of a directory."""
        if urlsplit(chart.repository).scheme == "file":
            directory = _file_repository(chart.repository)
            chart_root(directory, f'chart "{chart.name}"')
            return _archived(directory, chart.name)
        return self._pulled.versions(chart) if self._pulled is not None else ()

    def defaults(self, chart: ChartRef) -> Values:
        known = self._checked(chart)
        if "defaults" in vars(known):
            return known.defaults
        with self._reading(known.path, known.root):
            return known.defaults

    def files(self, chart: ChartRef) -> Mapping[str, bytes]:
        known = self._checked(chart)
        omitted = known.omitted(chart)
        with self._reading(known.path, known.root):
            found = _files_of(known.path, known.root)
        return {name: content for name, content in found.items() if name not in omitted}

    def changed(self) -> bool:
        """Whether a chart that was read has other files or times by now; reported once of each."""
        with self._lock:
            known = list(self._known.values())
        outdated = [one for one in known if not one.current]
        with self._lock:
            for one in outdated:
                if self._known.get(one.path) is one:
                    del self._known[one.path]
        return bool(outdated)

    def _is_ours(self, chart: ChartRef) -> bool:
        """Whether only this controller writes the chart's files: those of the image and of the cache."""
        return self._fixed if chart.path else urlsplit(chart.repository).scheme != "file"

    def _packed(self, known: _KnownChart, omitted: tuple[str, ...]) -> Path:
        """The archive of a chart with its dependencies, without omitted files, stored by its digest.

        It is made once for each content.
        """
        if self._cache is None:
            without = f" without {', '.join(omitted)}" if omitted else ""
            raise ChartInvalid(f"chart {known.path}: no directory to assemble it in{without}")
        digest = _digest_without(known, omitted)
        built = ChartRef(known.name, digest.replace(":", "-"), repository="built")
        _require_name(built)
        found = self._cache.find(built)
        if found is not None:
            return found
        files = _files_of(known.path, known.root)
        if content_digest(files) != known.digest:
            raise ChartPending(f"chart {known.path} is being edited", 1.0)
        kept = {name: content for name, content in files.items() if name not in omitted}
        return self._cache.store(built, pack(known.name, kept))

    def _find(self, chart: ChartRef) -> tuple[Path, Path]:
        """The chart's path, and the real path of the directory that its files may not lead out of."""
        if bool(chart.path) == bool(chart.repository):
            raise ChartInvalid(f'chart "{chart.name}": exactly one of path and repository must be set')
        if chart.path:
            root = chart_root(self._directory, f'chart "{chart.name}"')
            return _inside(self._directory, chart.path, chart.name), root
        try:
            scheme, place, _, query, _ = urlsplit(chart.repository)
        except ValueError:
            raise ChartInvalid(
                f'chart "{chart.name}": repository "{chart.repository}" is not an address'
            ) from None
        if "@" in place or query:
            raise ChartInvalid(
                f'chart "{chart.name}": the address of its repository contains credentials; put them '
                "into a Secret, and name it in credentialsSecret"
            )
        if scheme == "file":
            directory = _file_repository(chart.repository)
            root = chart_root(directory, f'chart "{chart.name}"')
            return _in_repository(directory, chart, self._builds.version(chart.name)), root
        if scheme in ("https", "http", "oci"):
            archive = self._archive(chart)
            return archive, archive.parent.resolve()
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

    def _checked(self, chart: ChartRef) -> _KnownChart:
        path, root = self._find(chart)
        known = self._content(chart, path, root)
        if chart.name and known.name != chart.name:
            raise ChartInvalid(f'chart {path} is named "{known.name}" in its Chart.yaml, not "{chart.name}"')
        versions = (known.version, *self._builds.versions(known.name, known.build))
        if chart.version and not any(is_version(version, chart.version) for version in versions):
            raise ChartInvalid(
                f'chart {path} has version "{versions[-1]}", not "{chart.version}"; '
                "correct the version, or leave it out for a chart of the image or of a checkout"
            )
        return known

    def _content(self, chart: ChartRef, path: Path, root: Path) -> _KnownChart:
        if not path.exists():
            raise ChartNotFound(f'chart "{chart.name}": there is no {path}; correct its name or path')
        with self._lock:
            known = self._known.get(path)
        if known is not None and known.current:
            return known
        with self._reading(path, root):
            known = _read(path, root)
        with self._lock:
            while len(self._known) >= _MOST_KNOWN:
                self._known.pop(next(iter(self._known)))
            self._known[path] = known
        return known

    def _reading(self, path: Path, root: Path) -> AbstractContextManager[None]:
        return self._marks.reading(path, _stamp_now(path, root)) if self._marks else nullcontext()


def _inside(directory: Path, path: str, name: str) -> Path:
    parts = PurePosixPath(path)
    expected = directory / parts
    if parts.is_absolute() or ".." in parts.parts or "\0" in path:
        raise ChartInvalid(f'chart "{name}": path "{path}" leads out of the chart directory')
    if expected.exists() and not expected.resolve().is_relative_to(directory.resolve()):
        raise ChartInvalid(f'chart "{name}": path "{path}" is a link out of the chart directory')
    return expected


def _file_repository(address: str) -> Path:
    parts = urlsplit(address)
    path = Path(unquote(parts.path))
    if parts.netloc not in ("", "localhost") or not path.is_absolute() or ".." in path.parts:
        raise ChartInvalid(f'repository "{address}": write file:// and an absolute path without ".."')
    return path


def _in_repository(directory: Path, chart: ChartRef, pinned: str) -> Path:
    """`<name>-<version>.tgz`, else the directory `<name>`; if any version is accepted, also the archive of
    the pinned version, or the only archive.
    """
    _require_name(chart)
    archive = directory / f"{chart.name}-{chart.version}.tgz"
    if chart.version and archive.is_file():
        return _inside(directory, archive.name, chart.name)
    builds = sorted(path.name for path in directory.glob(f"{chart.name}-{chart.version}+*.tgz"))
    if chart.version and len(builds) == 1:
        return _inside(directory, builds[0], chart.name)
    if (directory / chart.name).is_dir():
        return _inside(directory, chart.name, chart.name)
    versions = _archived(directory, chart.name)
    chosen = pinned if pinned in versions else versions[0] if len(versions) == 1 else ""
    if not chart.version and chosen:
        return _inside(directory, f"{chart.name}-{chosen}.tgz", chart.name)
    there = [f"{chart.name}-{version}.tgz" for version in versions]
    if not directory.is_dir():
        mounted = "mount directories for the controller with extraVolumes of its chart"
        raise ChartNotFound(f"directory {directory} does not exist here; {mounted}")
    listed = f"it has {', '.join(there[:5])}" if there else "the directory has no archive with that name"
    expected = archive.name if chart.version else "a single archive (no version is set)"
    raise ChartNotFound(
        f'chart "{chart.name}": {directory} contains neither a directory {chart.name} nor '
        f"{expected}; {listed}"
    )


def _archived(directory: Path, name: str) -> tuple[str, ...]:
    # A version begins with a digit: the archives of ceph are not those of ceph-mon.
    found = sorted(path.name for path in directory.glob(f"{name}-[0-9]*.tgz"))
    return tuple(file.removeprefix(f"{name}-").removesuffix(".tgz") for file in found)


def _require_name(chart: ChartRef) -> None:
    if not _NAME.fullmatch(chart.name) or (chart.version and not _VERSION.fullmatch(chart.version)):
        raise ChartInvalid(f'"{chart.name}" at version "{chart.version}" is not the name of a chart')


def _files_of(path: Path, root: Path) -> Mapping[str, bytes]:
    return read_directory(path, root).files if path.is_dir() else read_archive(path, root=root)


def _digest_without(known: _KnownChart, omitted: tuple[str, ...]) -> str:
    """The digest of the chart's content and of the names of omitted files."""
    if not omitted:
        return known.digest
    parts = {"chart": known.digest.encode(), "omitted": "\n".join(omitted).encode()}
    return content_digest(parts)


def _stamp_now(path: Path, root: Path) -> object:
    try:
        return walk(path, root).stamp if path.is_dir() else stamp_of(path)
    except ChartInvalid:
        return None


def _read(path: Path, root: Path) -> _KnownChart:
    stamps: tuple[tuple[Path, object], ...]
    if path.is_dir():
        directory = read_directory(path, root)
        files, stamps, complete = directory.files, directory.read, directory.complete
    else:
        stamps, complete = ((path, stamp_of(path)),), True
        files = read_archive(path, root=root)
    if "Chart.yaml" not in files:
        raise ChartInvalid(f"chart {path} has no Chart.yaml")
    metadata = parse_map(path, "Chart.yaml", files["Chart.yaml"])
    digests = content_digest(files), build_digest(path, files)
    templates = frozenset(name for name in files if name.startswith("templates/"))
    values = files.get("values.yaml", b"")
    return _KnownChart(path, root, stamps, complete, *digests, metadata, values, templates)
