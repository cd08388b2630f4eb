"""Reads the values library (VALUES_DIR)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from controller.domain.credentials.generate import KINDS
from controller.domain.values.catalogue import CatalogueInvalid, parse_catalogue
from controller.domain.values.chart_builds import TestedBuilds, parse_builds
from controller.domain.values.names.known_names import KnownNames
from controller.domain.values.shipped_values import Library, ValuesFile
from controller.domain.values.unknown_keys import OpenMaps
from controller.domain.values.yaml_reader import YamlDocument, read_documents
from controller.errors import SpecInvalid


def load_library(directory: Path) -> Library:
    """Reads everything under values/. Raises CatalogueInvalid when our own data is missing or broken."""
    catalogue_file = _read(directory, directory / "catalogue.yaml")
    catalogue = parse_catalogue(catalogue_file.value, catalogue_file.source, KINDS)
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
        internal_tls=_text(directory / "internal-tls.yaml.j2"),
        builds=load_builds(directory),
        open_maps=OpenMaps.of(_read(directory, directory / "charts" / "open-maps.yaml").value),
        names=_names(directory / "charts" / "option-names.json"),
    )


def load_builds(directory: Path) -> TestedBuilds:
    """The builds of charts that the values are tested with. Raises CatalogueInvalid."""
    files = (_read(directory, directory / "charts" / f"{name}.yaml") for name in ("pinned", "previous"))
    return TestedBuilds(*(parse_builds(file.value, file.source) for file in files))


def _names(path: Path) -> KnownNames:
    """The names that packages have, and what the values of options have to be."""
    try:
        found = json.loads(_text(path))
        return KnownNames(tuple(found["pins"]), found["options"], found["rules"], found["kinds"])
    except (ValueError, LookupError, TypeError) as error:
        raise CatalogueInvalid(f"{path}: cannot be read: {error}") from error


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
