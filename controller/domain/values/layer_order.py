"""The layers of one release and their order: the one list for render, `osctl explain` and docs/values.md."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

from controller.domain.api.spec_rules import values as rules
from controller.domain.values.catalogue import GROUPS, Catalogue, ServiceEntry, meant_service
from controller.domain.values.chart_values import (
    DocumentPath,
    Values,
    format_path,
    lookup,
    type_name,
)
from controller.domain.values.layer import Layer
from controller.domain.values.shipped_values import FileChoice, Library
from controller.domain.values.suggestion import unknown_key
from controller.domain.values.value_provenance import CHART_DEFAULTS
from controller.errors import Problem


class LayerKind(StrEnum):
    """All kinds of layers, lowest first. A layer's name is that of its kind, or begins with it."""

    CHART_DEFAULTS = CHART_DEFAULTS
    EVERY_RELEASE = "every release"
    INTERNAL_TLS = "internal TLS"
    VERSION = "version"
    PRESET = "preset"
    SIZE = "size"
    SERVICE = "service"
    IMAGES = "images"
    COMMON = "common.charts"
    GROUP = "common.<group>"
    GROUP_RELEASE = "common.<group>.releases"
    SERVICES = "services"
    NODES = "nodes"

    def of(self, name: str) -> str:
        """The name of a layer of this kind: `size small`, `common.openstack`."""
        return self.replace("<group>", name) if "<group>" in self else f"{self} {name}"


Layers = Mapping[LayerKind, Layer | None]


def in_order(layers: Layers) -> list[Layer]:
    """Those of the layers that say something, lowest first."""
    return [layer for kind in LayerKind if (layer := layers.get(kind)) is not None and layer.values]


@dataclass(frozen=True)
class SpecSource:
    """The spec of the osdpl and where it was read: `source` and `lines` of its file, if it came from one."""

    spec: Mapping[str, Any]
    source: str = ""
    lines: Mapping[DocumentPath, int] = field(default_factory=dict)

    def layer(self, name: str, *path: str) -> Layer | None:
        """The layer of the values at this path of the spec, None where the spec says nothing."""
        values = lookup(self.spec, path)
        if not isinstance(values, dict) or not values:
            return None
        return Layer(name, values, self.source, ("spec", *path), self.lines)


def library_layers(library: Library, files: FileChoice, chart: str, defaults: Values) -> Layers:
    """The layers that our own data has for a chart, by the spec's version, preset and size.

    Image tags that the chart does not know are left out: not every source's chart has every Job.
    """
    images = library.versions[files.version].layer(LayerKind.VERSION.of(files.version), chart)
    return {
        LayerKind.VERSION: _with_known_tags(images, defaults) if images else None,
        LayerKind.PRESET: library.presets[files.preset].layer(LayerKind.PRESET.of(files.preset), chart),
        LayerKind.SIZE: library.sizes[files.size].layer(LayerKind.SIZE.of(files.size), chart),
    }


def _with_known_tags(layer: Layer, defaults: Values) -> Layer:
    tags = lookup(layer.values, ("images", "tags"))
    if not tags:
        return layer
    known = lookup(defaults, ("images", "tags")) or {}
    kept = {name: image for name, image in tags.items() if name in known}
    return replace(layer, values={**layer.values, "images": {**layer.values["images"], "tags": kept}})


def spec_layers(spec: SpecSource, service: ServiceEntry, chart: str, release: str) -> Layers:
    """The layers that the operator wrote for a release."""
    group, kind = service.group, LayerKind
    return {
        kind.COMMON: spec.layer(kind.COMMON, "common", "charts", "values"),
        kind.GROUP: spec.layer(kind.GROUP.of(group), "common", group, "values"),
        kind.GROUP_RELEASE: spec.layer(
            kind.GROUP_RELEASE.of(group), "common", group, "releases", release, "values"
        ),
        kind.SERVICES: spec.layer(kind.SERVICES, "services", service.name, chart, "values"),
    }


def check_overrides(
    spec: Mapping[str, Any], catalogue: Catalogue, enabled: frozenset[str], releases: Mapping[str, str]
) -> list[Problem]:
    """Keys under `common` and `services` that nothing would read, and values that are no maps.

    `releases` maps the releases of this region to their group.
    """
    problems: list[Problem] = []
    common = spec.get("common") or {}
    for group in GROUPS:
        desired = lookup(common, (group, "releases"), {}) or {}
        known = [release for release, its_group in releases.items() if its_group == group]
        base: DocumentPath = ("spec", "common", group, "releases")
        problems += [
            unknown_key(base, f'release "%" in group {group}', release, known)
            for release in desired
            if release not in known
        ]
        for release, body in desired.items():
            problems += _check_values_only(body, (*base, release))
    problems += _check_services(spec.get("services") or {}, catalogue, enabled)
    for path in (("charts",), *((group,) for group in GROUPS)):
        values = lookup(common, (*path, "values"), {})
        if not isinstance(values, dict):
            problems.append(_not_a_map(("spec", "common", *path, "values"), values))
    return problems


def _check_services(services: Any, catalogue: Catalogue, enabled: frozenset[str]) -> list[Problem]:
    base: DocumentPath = ("spec", "services")
    if not isinstance(services, dict):
        return [_not_a_map(base, services)]
    problems: list[Problem] = []
    for service, charts in services.items():
        path = (*base, service)
        if service not in catalogue:
            meant = meant_service(service, catalogue.services)
            problems.append(
                rules.VALUES_OF_UNKNOWN_SERVICE.at(format_path(path), service=service, suggestion=meant)
            )
        elif not isinstance(charts, dict):
            problems.append(_not_a_map(path, charts))
        elif service not in enabled:
            problems.append(rules.VALUES_OF_DISABLED_SERVICE.at(format_path(path), service=service))
        else:
            known = catalogue[service].charts
            for chart, body in charts.items():
                if chart not in known:
                    problems.append(unknown_key(path, f'chart "%" in service {service}', chart, known))
                else:
                    problems += _check_values_only(body, (*path, chart))
    return problems


def _check_values_only(body: Any, path: DocumentPath) -> list[Problem]:
    """A release's name, namespace and chart are not mergeable: only `values` may stand here."""
    if not isinstance(body, dict):
        return [_not_a_map(path, body)]
    problems = [
        rules.ONLY_VALUES_SET.at(format_path((*path, key)), key=key) for key in body if key != "values"
    ]
    if not isinstance(body.get("values", {}), dict):
        problems.append(_not_a_map((*path, "values"), body["values"]))
    return problems


def _not_a_map(path: DocumentPath, value: Any) -> Problem:
    return rules.VALUES_NO_MAP.at(format_path(path), got=type_name(value))
