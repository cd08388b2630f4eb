"""Main fields that name charts and services: names that nothing reads are reported, with what was meant."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from controller.domain.api.region_spec import ProxySpec
from controller.domain.api.spec_rules import charts_and_services as rules
from controller.domain.region.deployment import ChartsSpec, DeploymentSpec
from controller.domain.releases.bundle import ChartRef
from controller.domain.values.catalogue import Catalogue
from controller.domain.values.chart_builds import TestedBuilds
from controller.domain.values.chart_values import DocumentPath, format_path, lookup
from controller.domain.values.suggestion import unknown_key
from controller.errors import Problem

_VERSIONS: DocumentPath = ("spec", "charts", "versions")
_CLASSES: DocumentPath = ("spec", "storageClasses")


def name_problems(spec: DeploymentSpec, catalogue: Catalogue) -> Iterator[Problem]:
    """Charts and services that do not exist, and versions that cannot be chosen."""
    charts = {name for entry in catalogue.services.values() for name in entry.charts}
    versions = spec.charts.versions
    if versions and not spec.charts.repository:
        yield rules.CHART_VERSIONS_WITHOUT_REPOSITORY.at(format_path(_VERSIONS))
    for name in versions:
        if name not in charts:
            yield unknown_key(_VERSIONS, 'chart "%"', name, charts)
        elif catalogue.is_own(name):
            yield rules.OWN_CHART_VERSION.at(format_path((*_VERSIONS, name)), name=name)
    for name in spec.storage_classes:
        if name not in catalogue:
            yield unknown_key(_CLASSES, 'service "%"', name, catalogue.services)


def unused_charts(
    document: Mapping[str, Any], catalogue: Catalogue, rendered: Mapping[str, Collection[str]]
) -> Iterator[Problem]:
    """Values for charts that a service may use, and that no release of this region is made of.

    `document` is the spec as it is written; `rendered` are the charts of each service that was rendered.
    """
    places: list[tuple[DocumentPath, Any]] = [(("spec", "services"), document.get("services"))]
    for label, body in (document.get("nodes") or {}).items():
        places.append((("spec", "nodes", label, "services"), lookup(body, ("services",))))
    for path, services in places:
        for service, used in rendered.items():
            charts = lookup(services, (service,))
            for chart in charts if isinstance(charts, Mapping) else ():
                if chart in catalogue[service].charts and chart not in used:
                    yield rules.CHART_UNUSED.at(
                        format_path((*path, service, chart)),
                        chart=chart,
                        service=service,
                        used=", ".join(sorted(used)),
                    )


def name_warnings(
    spec: DeploymentSpec, charts: Collection[str], claiming: Collection[str]
) -> Iterator[Problem]:
    """What is named rightly and has no effect. `charts` are those of the region's releases, `claiming` the
    services whose templates asked for a StorageClass."""
    for name in spec.charts.versions:
        if name not in charts:
            yield rules.CHART_VERSION_UNUSED.at(format_path((*_VERSIONS, name)), name=name)
    for name in spec.storage_classes:
        if name not in claiming:
            yield rules.STORAGE_CLASS_UNUSED.at(
                format_path((*_CLASSES, name)), name=name, claiming=", ".join(sorted(claiming))
            )


def proxy_warnings(proxy: ProxySpec) -> Iterator[Problem]:
    """What a proxy of the region does not reach."""
    if proxy.given:
        yield rules.PROXY_CONTROLLER_ONLY.at("spec.proxy")


def chart_of(charts: ChartsSpec, catalogue: Catalogue, builds: TestedBuilds, name: str) -> ChartRef:
    """The source and version of this chart, from `spec.charts`.

    Without a version, a network repository must have the pinned build; a directory has its own version.
    """
    repository = charts.repository
    if catalogue.is_own(name):
        return ChartRef(name=name, path=name)
    if not repository:
        directory = charts.path.rstrip("/")
        return ChartRef(name=name, path=f"{directory}/{name}" if directory else name)
    version = charts.versions.get(name, "")
    if not version and not repository.startswith("file://"):
        version = builds.version(name)
    return ChartRef(
        name=name,
        version=version,
        repository=repository,
        credentials_secret=charts.credentials_secret,
        ca_secret=charts.ca_secret,
    )
