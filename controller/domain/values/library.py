"""The values library: the data under values/, read once, that says what a region needs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from controller.domain.values.catalogue import Catalogue
from controller.domain.values.chart_values import DocumentPath, Values
from controller.domain.values.merge import Layer
from controller.domain.values.suggestions import suggestion
from controller.errors import Problem


@dataclass(frozen=True)
class ValuesFile:
    """One file of values/.

    `charts` has values by chart; `features` are defaults for features that the spec leaves open;
    `services` is the list of services of a preset. `name` is the file as people find it in the source
    tree (`values/sizes/small.yaml`), `lines` its line numbers.
    """

    name: str
    charts: Mapping[str, Values] = field(default_factory=dict)
    features: Values = field(default_factory=dict)
    services: tuple[str, ...] = ()
    lines: Mapping[DocumentPath, int] = field(default_factory=dict)

    def layer(self, name: str, chart: str) -> Layer | None:
        """The layer of this file for one chart, None if the file says nothing about it."""
        if chart not in self.charts:
            return None
        return Layer(name, self.charts[chart], self.name, ("charts", chart), self.lines)


@dataclass(frozen=True)
class Library:
    """Everything under values/. `templates` are Jinja texts by service.

    `every_release` is the template of what all releases get, `internal_tls` that of their encryption.
    """

    catalogue: Catalogue
    versions: Mapping[str, ValuesFile]
    presets: Mapping[str, ValuesFile]
    sizes: Mapping[str, ValuesFile]
    templates: Mapping[str, str]
    every_release: str = ""
    internal_tls: str = ""


def main_field_problems(spec: Mapping[str, Any], library: Library) -> list[Problem]:
    """What is wrong with the main fields that choose files of the library."""
    choices = (
        ("openstackVersion", library.versions),
        ("preset", library.presets),
        ("size", library.sizes),
    )
    problems = []
    for name, known in choices:
        value = spec.get(name)
        if not isinstance(value, str):
            message = "is missing" if value is None else "must be a string"
            remedy = f"one of {', '.join(sorted(known))} (in quotes)"
            problems.append(Problem(f"spec.{name}", message, remedy))
        elif value not in known:
            problems.append(Problem(f"spec.{name}", f'unknown value "{value}"', suggestion(value, known)))
    return problems
