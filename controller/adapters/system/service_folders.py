"""Reads values/services/<service>/: all facts of one service, in one folder."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jsonschema

from controller.adapters.system.values_text import read_map, read_text
from controller.domain.credentials.generate import KINDS
from controller.domain.shared.cel import CelError
from controller.domain.values.catalogue import OWN, Catalogue, CatalogueInvalid, ServiceEntry, parse_service
from controller.domain.values.rules.checks import ServiceCheck, parse_check
from controller.domain.values.shipped_values import ChartValues
from controller.domain.values.yaml_reader import YamlDocument

SCHEMA = "service.schema.yaml"
ENTRY, TEMPLATE, VERSIONS, SIZES = "service.yaml", "releases.yaml.j2", "versions.yaml", "sizes.yaml"
_FILES = frozenset((ENTRY, TEMPLATE, VERSIONS, SIZES))


@dataclass(frozen=True)
class ServiceFolder:
    """One service: its entry, its template, and values of its charts by version of OpenStack and by size.

    `open_maps` are paths under which its charts take any key, by the reason; `references` is the entry's
    part of that name.
    """

    entry: ServiceEntry
    template: str
    versions: Mapping[str, Mapping[str, ChartValues]]
    sizes: Mapping[str, Mapping[str, ChartValues]]
    open_maps: Mapping[str, tuple[str, ...]]
    references: Mapping[str, Any]
    checks: tuple[ServiceCheck, ...]


def read_services(
    directory: Path, versions: Collection[str], sizes: Collection[str]
) -> tuple[Catalogue, Mapping[str, ServiceFolder]]:
    """Every service below values/, in the order of lists, and their catalogue.

    `versions` and `sizes` are those that the library has: a service that lacks one of them is incomplete.
    Raises CatalogueInvalid with the file and the path in it.
    """
    validator = _validator(directory)
    folders = [_folder(directory, path.parent, validator, versions, sizes) for path in _entries(directory)]
    _refuse_strays(directory)
    folders.sort(key=lambda folder: (folder.entry.order, folder.entry.name))
    services = {folder.entry.name: folder for folder in folders}
    for name, folder in services.items():
        for required in folder.entry.requires:
            if required not in services:
                raise CatalogueInvalid(f"values/services/{name}/{ENTRY}: requires: no service {required!r}")
    return Catalogue({name: folder.entry for name, folder in services.items()}), services


def read_entries(directory: Path) -> Catalogue:
    """The entries of all services below values/, and nothing else of their folders.

    Raises CatalogueInvalid as `read_services` does.
    """
    validator = _validator(directory)
    entries = (_entry(directory, path.parent, validator)[0] for path in _entries(directory))
    return Catalogue({entry.name: entry for entry in entries})


def _entries(directory: Path) -> list[Path]:
    return sorted(directory.glob(f"services/*/{ENTRY}"))


def _validator(directory: Path) -> jsonschema.Draft202012Validator:
    return jsonschema.Draft202012Validator(read_map(directory, directory / SCHEMA).value)


def _entry(
    directory: Path, path: Path, validator: jsonschema.Draft202012Validator
) -> tuple[ServiceEntry, YamlDocument]:
    document = read_map(directory, path / ENTRY)
    validate(document, validator)
    return parse_service(path.name, document.value, document.source, KINDS), document


def _folder(
    directory: Path,
    path: Path,
    validator: jsonschema.Draft202012Validator,
    versions: Collection[str],
    sizes: Collection[str],
) -> ServiceFolder:
    entry, document = _entry(directory, path, validator)
    return ServiceFolder(
        entry=entry,
        template=read_text(path / TEMPLATE),
        versions=_by_key(directory, path / VERSIONS, entry, versions, needed=False),
        sizes=_by_key(directory, path / SIZES, entry, sizes, needed=True),
        open_maps={reason: tuple(paths) for reason, paths in document.value.get("openMaps", {}).items()},
        references=document.value.get("references", {}),
        checks=tuple(_checks(path.name, document)),
    )


def validate(document: YamlDocument, validator: jsonschema.Draft202012Validator) -> None:
    """Raises CatalogueInvalid with the path of what does not match."""
    error = jsonschema.exceptions.best_match(validator.iter_errors(document.value))
    if error is not None:
        place = ".".join(map(str, error.absolute_path))
        raise CatalogueInvalid(f"{document.source}: {place + ': ' if place else ''}{error.message}")


def _checks(name: str, document: YamlDocument) -> Iterator[ServiceCheck]:
    for index, body in enumerate(document.value.get("checks", ())):
        try:
            yield parse_check(name, body)
        except CelError as error:
            raise CatalogueInvalid(f"{document.source}: checks[{index}]: {error}") from error


def _by_key(
    directory: Path, path: Path, entry: ServiceEntry, keys: Collection[str], *, needed: bool
) -> Mapping[str, Mapping[str, ChartValues]]:
    """The file's values by version or size, and by chart.

    A file has all of `keys`, or is absent. `needed`: it may be absent only if all charts of the service are
    our own.
    """
    if not path.exists():
        if needed and any(OWN not in chart.sources for chart in entry.charts.values()):
            raise CatalogueInvalid(f"values/services/{entry.name}: {path.name} is missing")
        return {}
    document = read_map(directory, path)
    for wrong, text in (
        (sorted(set(keys) - set(document.value)), "lacks"),
        (sorted(set(document.value) - set(keys)), "has the unknown key"),
    ):
        if wrong:
            raise CatalogueInvalid(f"{document.source}: {text} {wrong[0]}")
    return {key: dict(_charts(document, key, entry)) for key in keys}


def _charts(document: YamlDocument, key: str, entry: ServiceEntry) -> Iterator[tuple[str, ChartValues]]:
    charts = document.value[key] or {}
    for chart, values in charts.items():
        if chart not in entry.charts:
            raise CatalogueInvalid(f"{document.source}: {key}: service {entry.name} has no chart {chart}")
        yield chart, ChartValues(values, document.source, (key, chart), document.lines)


def _refuse_strays(directory: Path) -> None:
    """Raises CatalogueInvalid for an unknown file below services/, which is probably a mistake."""
    for path in sorted(directory.glob("services/*")):
        strays = sorted(found.name for found in path.glob("*") if found.name not in _FILES)
        if path.is_dir() and not strays and (path / ENTRY).exists():
            continue
        what = f"{path.name}/{strays[0]}" if strays else path.name
        raise CatalogueInvalid(f"values/services/{what}: expected {', '.join(sorted(_FILES))} in a folder")
