"""The values library: the data under values/, read once, that says what a region needs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from controller.domain.api.spec_rules import definition as rules
from controller.domain.values.catalogue import Catalogue
from controller.domain.values.chart_builds import NO_BUILDS, TestedBuilds
from controller.domain.values.chart_values import DocumentPath, Values
from controller.domain.values.layer import Layer
from controller.domain.values.names.known_names import NO_NAMES, KnownNames
from controller.domain.values.names.unknown_keys import NO_OPEN_MAPS, OpenMaps
from controller.domain.values.rules.checks import ServiceCheck
from controller.domain.values.rules.properties import KnownProperties
from controller.domain.values.rules.relations import NO_RELATIONS, Relations
from controller.domain.values.rules.stores import StoreKind
from controller.domain.values.suggestion import suggestion
from controller.errors import Problem


@dataclass(frozen=True)
class ChartValues:
    """Values of one chart, and where they stand: `base` is their path in the file `source`, `lines` its line
    numbers."""

    values: Values
    source: str = ""
    base: DocumentPath = ()
    lines: Mapping[DocumentPath, int] = field(default_factory=dict)


@dataclass(frozen=True)
class ValuesFile:
    """What a version of OpenStack, a preset or a size says.

    `charts` has values by chart, most of them from the folders of services; `features` are defaults for
    features that the spec leaves open; `services` is the list of services of a preset. `name` is the file as
    people find it in the source tree (`values/sizes/small.yaml`), `lines` its line numbers.
    """

    name: str
    charts: Mapping[str, ChartValues] = field(default_factory=dict)
    features: Values = field(default_factory=dict)
    services: tuple[str, ...] = ()
    lines: Mapping[DocumentPath, int] = field(default_factory=dict)

    def values_of(self, chart: str) -> Values:
        """What it says of the chart, empty where it says nothing."""
        return self.charts[chart].values if chart in self.charts else {}

    def layer(self, name: str, chart: str) -> Layer | None:
        """The layer of this file for one chart, None if the file says nothing about it."""
        if chart not in self.charts:
            return None
        found = self.charts[chart]
        return Layer(name, found.values, found.source, found.base, found.lines)


@dataclass(frozen=True)
class FileChoice:
    """The main fields of a spec that choose files of the library, one each."""

    version: str
    preset: str
    size: str


@dataclass(frozen=True)
class Library:
    """Everything under values/. `templates` are Jinja texts by service.

    `every_release` is the template of what all releases get, `internal_tls` that of their encryption.
    `builds` are the builds of OpenStack-Helm's charts that all of it is tested with, `open_maps` the paths
    below which those take any key, `names` those of options and rules that OpenStack's packages have, and
    `relations` the values that hold only together. `stores` has what stores do not work without, and
    `properties` the names of properties of objects that bootstrap Jobs make.
    """

    catalogue: Catalogue
    versions: Mapping[str, ValuesFile]
    presets: Mapping[str, ValuesFile]
    sizes: Mapping[str, ValuesFile]
    templates: Mapping[str, str]
    every_release: str = ""
    internal_tls: str = ""
    builds: TestedBuilds = NO_BUILDS
    open_maps: OpenMaps = NO_OPEN_MAPS
    names: KnownNames = NO_NAMES
    relations: Relations = NO_RELATIONS
    stores: tuple[StoreKind, ...] = ()
    properties: tuple[KnownProperties, ...] = ()
    checks: tuple[ServiceCheck, ...] = ()


def main_field_problems(library: Library, files: FileChoice) -> list[Problem]:
    """Main fields that choose files which the library does not have."""
    choices = (
        ("openstackVersion", files.version, library.versions),
        ("preset", files.preset, library.presets),
        ("size", files.size, library.sizes),
    )
    return [
        rules.MAIN_FIELD_UNKNOWN.at(f"spec.{name}", value=value, suggestion=suggestion(value, known))
        for name, value, known in choices
        if value not in known
    ]
