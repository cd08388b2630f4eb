"""Reads the values library (VALUES_DIR) and the values.yaml of charts that lie in a directory."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from controller.domain.bundle import ChartRef, Values
from controller.domain.catalogue import CatalogueInvalid, parse_catalogue
from controller.domain.library import Library, ValuesFile
from controller.domain.yaml_reader import YamlDocument, read_documents
from controller.errors import ChartInvalid, SpecInvalid


def load_library(directory: Path) -> Library:
    """Reads everything under values/. Raises CatalogueInvalid when our own data is missing or broken."""
    catalogue_file = _read(directory, directory / "catalogue.yaml")
    catalogue = parse_catalogue(catalogue_file.value, catalogue_file.source)
    templates = {
        path.name.removesuffix(".yaml.j2"): _text(path)
        for path in sorted(directory.glob("services/*.yaml.j2"))
    }
    missing = [name for name in catalogue.services if name not in templates]
    if missing:
        raise CatalogueInvalid(f"values/services: no template for {', '.join(missing)}")
    return Library(
        catalogue=catalogue,
        versions=_values_files(directory, "versions"),
        presets=_values_files(directory, "presets"),
        sizes=_values_files(directory, "sizes"),
        templates=templates,
        every_release=_text(directory / "every-release.yaml.j2"),
    )


def _values_files(directory: Path, folder: str) -> Mapping[str, ValuesFile]:
    files = sorted((directory / folder).glob("*.yaml"))
    if not files:
        raise CatalogueInvalid(f"values/{folder}: no file")
    return {path.name.removesuffix(".yaml"): _values_file(directory, path) for path in files}


def _values_file(directory: Path, path: Path) -> ValuesFile:
    document = _read(directory, path)
    value = document.value
    unknown = set(value) - {"charts", "features", "services", "description"}
    if unknown:
        raise CatalogueInvalid(f"{document.source}: unknown key {sorted(unknown)[0]}")
    return ValuesFile(
        name=document.source,
        charts=value.get("charts") or {},
        features=value.get("features") or {},
        services=tuple(value.get("services") or ()),
        lines=document.lines,
    )


def _read(directory: Path, path: Path) -> YamlDocument:
    name = f"values/{path.relative_to(directory).as_posix()}"
    try:
        documents = read_documents(_text(path), name)
    except SpecInvalid as error:
        raise CatalogueInvalid(str(error)) from error
    if len(documents) != 1 or not isinstance(documents[0].value, dict):
        raise CatalogueInvalid(f"{name}: expected one map")
    return documents[0]


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise CatalogueInvalid(f"cannot read {path}: {error}") from error


class DirectoryCharts:
    """Chart defaults from `<directory>/<chart>/values.yaml`, for shipped charts and `file://` repositories.

    A file is read again when its size or time of modification changed. Safe from several threads.
    """

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._lock = threading.Lock()
        self._known: dict[Path, tuple[tuple[int, int], Values]] = {}

    def defaults(self, chart: ChartRef) -> Values:
        """The chart's values.yaml. Raises ChartInvalid when there is no such chart, or it is no YAML."""
        path = self._path(chart) / "values.yaml"
        try:
            stat = path.stat()
            stamp = (stat.st_mtime_ns, stat.st_size)
            with self._lock:
                known = self._known.get(path)
            if known and known[0] == stamp:
                return known[1]
            documents = read_documents(path.read_text(encoding="utf-8"), f"{chart.name}/values.yaml")
        except FileNotFoundError:
            raise ChartInvalid(f"chart {chart.name}: no values.yaml in {path.parent}") from None
        except (OSError, UnicodeDecodeError, SpecInvalid) as error:
            raise ChartInvalid(f"chart {chart.name}: {error}") from error
        value: Any = documents[0].value if documents else {}
        if not isinstance(value, dict):
            raise ChartInvalid(f"chart {chart.name}: values.yaml is no map")
        with self._lock:
            self._known[path] = (stamp, value)
        return value

    def _path(self, chart: ChartRef) -> Path:
        if chart.path:
            return self._directory / chart.path
        if chart.repository.startswith("file://"):
            return Path(chart.repository.removeprefix("file://")) / chart.name
        raise ChartInvalid(
            f"chart {chart.name}: {chart.repository} is no directory; only file:// is read here"
        )
