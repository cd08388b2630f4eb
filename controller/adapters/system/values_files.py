"""Reads the values library (VALUES_DIR)."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema

from controller.adapters.system.service_folders import read_services, validate
from controller.adapters.system.values_text import read_map, read_text
from controller.domain.values.catalogue import Catalogue, CatalogueInvalid
from controller.domain.values.chart_builds import TestedBuilds, parse_builds
from controller.domain.values.names.known_names import KnownNames
from controller.domain.values.names.option_defaults import OptionDefaults
from controller.domain.values.names.unknown_keys import OpenMaps
from controller.domain.values.rules.properties import parse_properties
from controller.domain.values.rules.relations import Relations, parse_relations
from controller.domain.values.rules.stores import StoreKind, parse_stores
from controller.domain.values.shipped_values import ChartValues, Library, ValuesFile


def load_library(directory: Path) -> Library:
    """Reads everything under values/. Raises CatalogueInvalid when our own data is missing or broken."""
    versions, sizes = _values_files(directory, "versions"), _values_files(directory, "sizes")
    catalogue, services = read_services(directory, versions, sizes)
    shared_maps = read_map(directory, directory / "charts" / "open-maps.yaml").value
    return Library(
        catalogue=catalogue,
        versions=_with_charts(versions, (folder.versions for folder in services.values())),
        presets=_values_files(directory, "presets"),
        sizes=_with_charts(sizes, (folder.sizes for folder in services.values())),
        templates={name: folder.template for name, folder in services.items()},
        every_release=read_text(directory / "every-release.yaml.j2"),
        internal_tls=read_text(directory / "internal-tls.yaml.j2"),
        builds=load_builds(directory),
        open_maps=OpenMaps.of(
            shared_maps,
            *(one.open_maps for one in services.values()),
            *(chart.option_maps for entry in catalogue.services.values() for chart in entry.charts.values()),
        ),
        relations=_relations(directory),
        stores=_stores(directory),
        properties=parse_properties(_checked(directory, "properties")["properties"]),
        checks=tuple(check for folder in services.values() for check in folder.checks),
        names=_names(directory / "charts" / "option-names.json", catalogue),
    )


def load_builds(directory: Path) -> TestedBuilds:
    """The builds of charts that the values are tested with. Raises CatalogueInvalid."""
    files = (read_map(directory, directory / "charts" / f"{name}.yaml") for name in ("pinned", "previous"))
    return TestedBuilds(*(parse_builds(file.value, file.source) for file in files))


def load_option_defaults(directory: Path) -> OptionDefaults:
    """What options of packages are where nothing sets them. Raises CatalogueInvalid."""
    path = directory / "charts" / "option-defaults.json"
    try:
        return OptionDefaults(json.loads(read_text(path))["defaults"])
    except (ValueError, LookupError, TypeError) as error:
        raise CatalogueInvalid(f"{path}: cannot be read: {error}") from error


def _relations(directory: Path) -> Relations:
    """The values that hold only together. Raises CatalogueInvalid."""
    return parse_relations(_checked(directory, "relations"))


def _stores(directory: Path) -> tuple[StoreKind, ...]:
    """What stores do not work without. Raises CatalogueInvalid."""
    return parse_stores(_checked(directory, "stores")["kinds"])


def _checked(directory: Path, name: str) -> Mapping[str, Any]:
    """A file that matches the schema beside it. Raises CatalogueInvalid."""
    document = read_map(directory, directory / f"{name}.yaml")
    schema = read_map(directory, directory / f"{name}.schema.yaml").value
    validate(document, jsonschema.Draft202012Validator(schema))
    found: Mapping[str, Any] = document.value
    return found


def _names(path: Path, catalogue: Catalogue) -> KnownNames:
    """The names in packages, the types of options, and the secret ones."""
    try:
        found = json.loads(read_text(path))
        return KnownNames(
            series=tuple(found["pins"]),
            **{part: found[part] for part in ("options", "rules", "kinds", "secrets")},
            files=catalogue.option_files,
            charts=catalogue.chart_options,
        )
    except (ValueError, LookupError, TypeError) as error:
        raise CatalogueInvalid(f"{path}: cannot be read: {error}") from error


def _values_files(directory: Path, folder: str) -> Mapping[str, ValuesFile]:
    files = sorted((directory / folder).glob("*.yaml"))
    if not files:
        raise CatalogueInvalid(f"values/{folder}: no file")
    return {path.name.removesuffix(".yaml"): _values_file(directory, path) for path in files}


def _values_file(directory: Path, path: Path) -> ValuesFile:
    document = read_map(directory, path)
    value = document.value
    unknown = set(value) - {"charts", "features", "services", "description"}
    if unknown:
        raise CatalogueInvalid(f"{document.source}: unknown key {sorted(unknown)[0]}")
    return ValuesFile(
        name=document.source,
        charts={
            chart: ChartValues(values, document.source, ("charts", chart), document.lines)
            for chart, values in (value.get("charts") or {}).items()
        },
        features=value.get("features") or {},
        services=tuple(value.get("services") or ()),
        lines=document.lines,
    )


def _with_charts(
    files: Mapping[str, ValuesFile], of_services: Iterable[Mapping[str, Mapping[str, ChartValues]]]
) -> Mapping[str, ValuesFile]:
    """The files, merged with the folders of services. Raises CatalogueInvalid if two of them have values for
    one chart."""
    charts = {name: dict(file.charts) for name, file in files.items()}
    for service in of_services:
        for name, its_charts in service.items():
            for chart, values in its_charts.items():
                other = charts[name].setdefault(chart, values)
                if other is not values:
                    raise CatalogueInvalid(
                        f"{values.source}: {name}: {other.source} has values of {chart} too"
                    )
    return {name: replace(file, charts=charts[name]) for name, file in files.items()}
