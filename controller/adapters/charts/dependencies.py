"""A chart directory with the dependencies that its Chart.yaml names as `file://…`, like `helm dependency
build`. This works in memory, because the directory may be a read-only checkout. Files in its `charts/` are
used as they are. Helm evaluates conditions, tags and aliases when it renders.
"""

from __future__ import annotations

import os.path
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from controller.adapters.charts.archive import read_archive
from controller.adapters.charts.files import (
    LARGEST_CHART,
    MOST_FILES,
    DirectoryStamp,
    parse_map,
    read_files,
    walk,
)
from controller.adapters.charts.versions import satisfies
from controller.errors import ChartInvalid

# Dependencies of dependencies, each counted as often as it is needed.
MOST_PARTS = 100
_FILE = "file://"
_BUILD = "helm dependency build"


@dataclass(frozen=True)
class ChartDirectory:
    """Every file by its name in the complete chart, and the directories of these files.

    `complete`: nothing was added, so the directory is the whole chart.
    """

    files: Mapping[str, bytes]
    read: tuple[tuple[Path, DirectoryStamp], ...]

    @property
    def complete(self) -> bool:
        return len(self.read) == 1


@dataclass(frozen=True)
class _Dependency:
    name: str
    version: str
    repository: str


@dataclass
class _Reading:
    """One chart being read, with all its dependencies, within `root`."""

    chart: Path
    root: Path
    read: list[tuple[Path, DirectoryStamp]] = field(default_factory=list)
    octets: int = 0
    files: int = 0

    def tree(self, directory: Path, above: tuple[Path, ...]) -> dict[str, bytes]:
        """The files of one chart and of all its dependencies."""
        real = directory.resolve()
        if real in above:
            circle = " → ".join(path.name for path in (*above[above.index(real) :], real))
            raise ChartInvalid(f"chart {self.chart}: its dependencies form a circle: {circle}")
        found = walk(directory, self.root)
        self.read.append((directory, found.stamp))
        self.octets += found.octets
        self.files += len(found.files)
        if self.octets > LARGEST_CHART or self.files > MOST_FILES or len(self.read) > MOST_PARTS:
            raise ChartInvalid(f"chart {self.chart}: with its dependencies too large for Helm to load")
        files = read_files(directory, found)
        declared = _declared(directory, files)
        there = _vendored(directory, files) if declared else set()
        for required in declared:
            if required.name not in there:
                self._add(directory, required, files, (*above, real))
        return files

    def _add(
        self, directory: Path, required: _Dependency, files: dict[str, bytes], above: tuple[Path, ...]
    ) -> None:
        if not required.repository.startswith(_FILE):
            where = f"of {required.repository}" if required.repository else "of no repository"
            raise ChartInvalid(
                f'chart {directory}: its dependency "{required.name}" {where} is not in its directory '
                f"charts; put it there with {_BUILD}, or use a packaged chart"
            )
        source = self._local(directory, required)
        added = self.tree(source, above)
        version = _require(directory, required, _metadata(source, added))
        place = f"charts/{required.name}"
        if any(name.startswith(f"{place}/") for name in files):
            place += f"-{version}"  # two versions of one chart, under different aliases
        files.update((f"{place}/{name}", content) for name, content in added.items())

    def _local(self, directory: Path, required: _Dependency) -> Path:
        """The directory that the repository names.

        It must be below the root, also after links are followed.
        """
        path = required.repository.removeprefix(_FILE)
        what = f'chart {directory}: its dependency "{required.name}" at {required.repository[:200]}'
        if "\0" in path:
            raise ChartInvalid(f"{what} is no path")
        # Cleaned of its dots before links are followed, as Helm does.
        plain = Path(os.path.normpath(path if path.startswith("/") else directory / path))
        if not plain.resolve().is_relative_to(self.root):
            raise ChartInvalid(
                f"{what} leads out of {self.root}; put it into the directory charts with {_BUILD}, "
                "or name a repository that holds both"
            )
        if not plain.is_dir():
            raise ChartInvalid(f"{what} is no directory; correct its address, or add it to {self.root}")
        return plain


def read_directory(chart: Path, root: Path) -> ChartDirectory:
    """The chart with its dependencies, all below `root`, which is a real path.

    Raises ChartInvalid for a dependency that cannot be resolved, is outside of `root`, forms a circle or
    exceeds the bounds.
    """
    reading = _Reading(chart, root)
    files = reading.tree(chart, ())
    return ChartDirectory(dict(sorted(files.items())), tuple(reading.read))


def _declared(directory: Path, files: Mapping[str, bytes]) -> list[_Dependency]:
    """The dependencies of the chart, with exact versions from a lock file if there is one."""
    metadata = _metadata(directory, files)
    written = metadata.get("dependencies")
    if "requirements.yaml" in files:
        written = parse_map(directory, "requirements.yaml", files["requirements.yaml"]).get("dependencies")
    required = [_dependency(directory, one) for one in _list(directory, written)]
    name = "Chart.lock" if "Chart.lock" in files else "requirements.lock"
    if name not in files:
        return required
    locked = [
        _dependency(directory, one)
        for one in _list(directory, parse_map(directory, name, files[name]).get("dependencies"))
    ]
    exact = {(one.name, one.repository): one for one in locked}
    for one in required:
        if (one.name, one.repository) not in exact:
            raise ChartInvalid(
                f'chart {directory}: {name} lacks its dependency "{one.name}"; update that file with '
                "helm dependency update, or remove it"
            )
    return [exact[one.name, one.repository] for one in required]


def _list(directory: Path, written: Any) -> list[Any]:
    if written is None:
        return []
    if not isinstance(written, list):
        raise ChartInvalid(f"chart {directory}: its dependencies are not a list")
    return written


def _dependency(directory: Path, written: Any) -> _Dependency:
    name = written.get("name") if isinstance(written, dict) else None
    if not isinstance(name, str) or not name or "/" in name or name[0] in "._":
        raise ChartInvalid(f"chart {directory}: one of its dependencies has no name that a chart may have")
    return _Dependency(name, str(written.get("version") or ""), str(written.get("repository") or ""))


def _metadata(directory: Path, files: Mapping[str, bytes]) -> Mapping[str, Any]:
    if "Chart.yaml" not in files:
        raise ChartInvalid(f"chart {directory} has no Chart.yaml")
    return parse_map(directory, "Chart.yaml", files["Chart.yaml"])


def _vendored(directory: Path, files: Mapping[str, bytes]) -> set[str]:
    """The names of the charts in the directory `charts`, unpacked or not."""
    names = set()
    for name, content in files.items():
        parts = name.split("/")
        if parts[0] != "charts" or len(parts) < 2 or parts[1][0] in "._":
            continue
        where = directory / name
        if len(parts) == 2 and name.endswith(".tgz"):
            names.add(str(_metadata(where, read_archive(where, content)).get("name")))
        elif parts[2:] == ["Chart.yaml"]:
            names.add(str(parse_map(where, "Chart.yaml", content).get("name")))
    return names


def _require(directory: Path, required: _Dependency, metadata: Mapping[str, Any]) -> str:
    """The dependency's version, if it fits."""
    name, version = str(metadata.get("name", "")), str(metadata.get("version", ""))
    what = f'chart {directory}: its dependency "{required.name}" at {required.repository[:200]}'
    if name != required.name:
        raise ChartInvalid(f'{what} is named "{name}" in its Chart.yaml')
    try:
        fits = satisfies(version, required.version)
    except ValueError as error:
        raise ChartInvalid(f"{what}: {error}") from None
    if not fits:
        raise ChartInvalid(
            f'{what} has version "{version}", which is not "{required.version}"; correct one of '
            "them, or update Chart.lock with helm dependency update"
        )
    return version
