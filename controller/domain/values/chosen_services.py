"""Which services a region has: those of its preset and of `spec.features.services`, in their order. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from controller.domain.api.spec_rules import charts_and_services as rules
from controller.domain.values.catalogue import EMBEDDED, Catalogue, ServiceEntry, meant_service
from controller.errors import Problem


def decide_services(
    catalogue: Catalogue,
    *,
    preset: str,
    preset_services: Sequence[str],
    enabled: Sequence[str],
    disabled: Sequence[str],
    source: str,
) -> tuple[tuple[ServiceEntry, ...], tuple[Problem, ...]]:
    """The services of a region, in catalogue order, and what is wrong with the choice.

    `enabled` and `disabled` change what the preset brings; `source` is the chart source in use.
    """
    problems: list[Problem] = []
    for field_name, names in (("enabled", enabled), ("disabled", disabled)):
        problems += [
            rules.SERVICE_UNKNOWN.at(
                _path(field_name, names, name),
                service=name,
                suggestion=meant_service(name, catalogue.services),
            )
            for name in names
            if name not in catalogue
        ]
    problems += [
        rules.SERVICE_ENABLED_AND_DISABLED.at(_path("disabled", disabled, name), service=name)
        for name in disabled
        if name in enabled
    ]
    desired = (set(preset_services) | set(enabled)) - set(disabled)
    chosen = tuple(entry for name, entry in catalogue.services.items() if name in desired)
    for entry in chosen:
        problems += _what_it_lacks(entry, desired, preset, enabled, disabled)
        if not entry.offered_by(source):
            problems.append(_not_offered(entry, enabled, source))
    return chosen, tuple(problems)


def _what_it_lacks(
    entry: ServiceEntry, desired: set[str], preset: str, enabled: Sequence[str], disabled: Sequence[str]
) -> list[Problem]:
    problems = []
    for name in entry.requires:
        if name in desired:
            continue
        if name in disabled:
            path = _path("disabled", disabled, name)
            problems.append(rules.NEEDED_SERVICE_DISABLED.at(path, service=entry.name, needed=name))
        else:
            path = _path("enabled", enabled, entry.name)
            problems.append(
                rules.NEEDED_SERVICE_ABSENT.at(path, service=entry.name, needed=name, preset=preset)
            )
    return problems


def _not_offered(entry: ServiceEntry, enabled: Sequence[str], source: str) -> Problem:
    missing = ", ".join(
        name for name, chart in entry.charts.items() if not (chart.offered_by(source) or chart.optional)
    )
    where = (
        "the charts shipped with the controller" if source == EMBEDDED else "the OpenStack-Helm repository"
    )
    remedy = (
        "set spec.charts.repository to an OpenStack-Helm repository, or disable the service"
        if source == EMBEDDED
        else "leave spec.charts empty to use the charts shipped with the controller, or disable the service"
    )
    return rules.SERVICE_NOT_OFFERED.at(
        _path("enabled", enabled, entry.name),
        service=entry.name,
        charts=where,
        missing=missing,
        remedy=remedy,
    )


def _path(field: str, names: Sequence[str], name: str) -> str:
    """The field that names a service. A service without one comes with the preset."""
    return f"spec.features.services.{field}[{list(names).index(name)}]" if name in names else "spec.preset"


def in_order_of_need(services: tuple[ServiceEntry, ...]) -> list[ServiceEntry]:
    """Services so that each comes after those it requires."""
    by_name = {entry.name: entry for entry in services}
    ordered: dict[str, ServiceEntry] = {}

    def visit(entry: ServiceEntry, above: tuple[str, ...]) -> None:
        if entry.name in ordered or entry.name in above:
            return
        for name in entry.requires:
            if name in by_name:
                visit(by_name[name], (*above, entry.name))
        ordered[entry.name] = entry

    for entry in services:
        visit(entry, ())
    return list(ordered.values())
