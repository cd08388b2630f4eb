"""What the template of a service says of its releases, read so that no mistake passes in silence.

releases:
  <release>: {chart: …, dependsOn: […], timeout: <seconds>, driftIgnore: […], values: {…}}
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from controller.domain.releases.bundle import DEFAULT_TIMEOUT_SECONDS, DriftIgnore
from controller.domain.releases.drift.ignore_rules import ignore_rules
from controller.domain.values.catalogue import ServiceEntry
from controller.domain.values.chart_values import DocumentPath, Values, format_path, type_name
from controller.domain.values.layer import Layer
from controller.domain.values.layer_order import LayerKind
from controller.domain.values.source_lines import nearest_line
from controller.domain.values.suggestion import suggestion
from controller.domain.values.templates.service_template import RenderedTemplate, template_defect
from controller.errors import Problem, SpecInvalid

_TOP = "releases"


@dataclass(frozen=True)
class ReleaseTemplate:
    """One release as its template wants it. `timeout` in seconds; `template` is where it is written.

    `drift_ignore`: what a controller of the chart's own changes in the release's objects.
    """

    name: str
    chart: str
    depends_on: tuple[str, ...]
    timeout: int
    drift_ignore: tuple[DriftIgnore, ...]
    values: Values
    template: RenderedTemplate = field(repr=False)

    def layer(self, service: str) -> Layer:
        """The values that the template gives, as a layer of those of the release."""
        root: DocumentPath = (_TOP, self.name, "values")
        name, source = LayerKind.SERVICE.of(service), self.template
        return Layer(name, self.values, source.name, root, source.lines)


def read_releases(template: RenderedTemplate, entry: ServiceEntry) -> Mapping[str, ReleaseTemplate]:
    """The releases of a service. Raises SpecInvalid with every defect, each with the template's line."""
    problems = list(_defects(template, entry))
    if problems:
        raise SpecInvalid(problems)
    return {
        name: ReleaseTemplate(
            name=name,
            chart=body["chart"],
            depends_on=tuple(body.get("dependsOn", ())),
            timeout=body.get("timeout", DEFAULT_TIMEOUT_SECONDS),
            drift_ignore=ignore_rules(body.get("driftIgnore")),
            values=body.get("values") or {},
            template=template,
        )
        for name, body in template.value[_TOP].items()
    }


def unmet_dependencies(releases: Mapping[str, ReleaseTemplate]) -> list[Problem]:
    """Dependencies that the region does not have, for which a release would wait without end."""
    return [
        _defect(
            release.template,
            (_TOP, name, "dependsOn"),
            f'depends on "{other}", which is not a release of this region',
        )
        for name, release in releases.items()
        for other in release.depends_on
        if other not in releases
    ]


def _defects(template: RenderedTemplate, entry: ServiceEntry) -> Iterator[Problem]:
    top = template.value
    if not isinstance(top, Mapping):
        yield _defect(template, (), f"expected a map with {_TOP}, got {type_name(top)}")
        return
    yield from _unknown(template, (), top, (_TOP,))
    releases = top.get(_TOP)
    if not isinstance(releases, Mapping) or not releases:
        yield _defect(template, (_TOP,), f"service {entry.name} has no release; write one below {_TOP}")
        return
    for name, body in releases.items():
        path = (_TOP, name)
        if isinstance(body, Mapping):
            yield from _unknown(template, path, body, _KEYS)
            yield from _wrong(template, path, body, entry)
        else:
            yield _defect(template, path, f"expected a map, got {type_name(body)}")


def _wrong(
    template: RenderedTemplate, path: DocumentPath, body: Mapping[str, Any], entry: ServiceEntry
) -> Iterator[Problem]:
    if "chart" not in body:
        yield _defect(template, path, f"names no chart; {suggestion('', entry.charts)}")
    elif body["chart"] not in tuple(entry.charts):
        remedy = suggestion(str(body["chart"]), entry.charts)
        message = f'service {entry.name} has no chart "{body["chart"]}" in the catalogue; {remedy}'
        yield _defect(template, (*path, "chart"), message)
    for key, (expected, right) in _TYPES.items():
        if key in body and not right(body[key]):
            yield _defect(template, (*path, key), f"expected {expected}, got {type_name(body[key])}")


def _unknown(
    template: RenderedTemplate, path: DocumentPath, found: Mapping[str, Any], known: Collection[str]
) -> Iterator[Problem]:
    for key in found:
        if key not in known:
            yield _defect(template, (*path, key), f'unknown key "{key}"; {suggestion(key, known)}')


def _defect(template: RenderedTemplate, path: DocumentPath, message: str) -> Problem:
    shown = f"{format_path(path)}: {message}" if path else message
    return template_defect(shown, f"{template.name}:{_line(template, path)}")


def _line(template: RenderedTemplate, path: DocumentPath) -> int:
    return nearest_line(template.lines, path) or 1


def _texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


def _rules(value: Any) -> bool:
    return isinstance(value, list) and all(
        isinstance(item, Mapping) and {*item} <= {"kind", "name", "paths"} and _texts(item.get("paths"))
        for item in value
    )


def _seconds(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value > 0


_TYPES: Mapping[str, tuple[str, Callable[[Any], bool]]] = {
    "dependsOn": ("a list of releases", _texts),
    "timeout": ("a number of seconds", _seconds),
    "driftIgnore": ("a list of rules with kind, name and paths", _rules),
    "values": ("a map of chart values", lambda value: value is None or isinstance(value, Mapping)),
}
_KEYS = ("chart", *_TYPES)
