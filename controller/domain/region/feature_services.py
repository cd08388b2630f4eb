"""Features that name services: whether the region has them, and their charts can do what is asked."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from controller.domain.api.spec_rules import encryption_and_servers as rules
from controller.domain.values.catalogue import ServiceEntry, meant_service
from controller.domain.values.chart_values import DocumentPath, format_path, parse_path
from controller.errors import Problem

Knows = Callable[[str, DocumentPath], bool]

# What a chart of the service must have, one of the keys, for the feature to have an effect.
_NEEDED: Mapping[str, tuple[str, ...]] = {
    "policies": ("conf.policy",),
    "audit": ("conf.api_audit_map", "conf.audit_map"),
    "log levels": ("conf.logging", "conf.horizon.local_settings.config.log_level"),
    "a separate broker": ("endpoints.oslo_messaging",),
    "database cleanup": (
        "manifests.cron_job_archive_deleted_rows",
        "manifests.cron_db_purge",
        "manifests.cron_job_purge_deleted",
    ),
}


def feature_service_problems(
    features: Mapping[str, Any], services: tuple[ServiceEntry, ...], knows: Knows
) -> list[Problem]:
    """Services that features name and that the region lacks, or whose charts would ignore the feature."""
    by_name = {entry.name: entry for entry in services if entry.group == "openstack"}
    problems = []
    for feature, path, service in _named(features):
        if service not in by_name:
            remedy = meant_service(service, by_name)
            problems.append(
                rules.FEATURE_SERVICE_UNKNOWN.at(format_path(path), service=service, suggestion=remedy)
            )
        elif not _can(by_name[service], feature, knows):
            able = [name for name, entry in by_name.items() if _can(entry, feature, knows)]
            problems.append(
                rules.FEATURE_SERVICE_UNABLE.at(
                    format_path(path),
                    service=service,
                    part=feature.removeprefix("a "),
                    able=", ".join(able) or "none",
                )
            )
    return problems


def _named(features: Mapping[str, Any]) -> Iterator[tuple[str, DocumentPath, str]]:
    base: DocumentPath = ("spec", "features")
    maps = (
        ("policies", ("policies",), features["policies"]),
        ("log levels", ("logging", "services"), features["logging"]["services"]),
        ("database cleanup", ("database", "cleanup"), features["database"]["cleanup"]),
    )
    for feature, path, services in maps:
        for service in services:
            yield feature, (*base, *path, service), service
    lists = (
        ("audit", ("audit", "services"), features["audit"]["services"]),
        ("a separate broker", ("messaging", "dedicatedBrokers"), features["messaging"]["dedicatedBrokers"]),
    )
    for feature, path, services in lists:
        for index, service in enumerate(services):
            yield feature, (*base, *path, index), service


def _can(entry: ServiceEntry, feature: str, knows: Knows) -> bool:
    charts = [name for name, chart in entry.charts.items() if not chart.optional]
    return any(knows(chart, parse_path(key)) for chart in charts for key in _NEEDED[feature])
