"""A database and a broker that the region does not run, and servers that values would part. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from controller.domain.api.spec_rules import encryption_and_servers as rules
from controller.domain.values.chart_values import Values, is_map, lookup
from controller.domain.values.layer import Layer
from controller.domain.values.merge import MergedValues
from controller.errors import Problem

Features = Mapping[str, Any]

# The feature, and the name of its administrator's password.
_SERVERS = (("database", "root-password"), ("messaging", "admin-password"))
# Nova's databases, of which one has the addresses of the others, as builds of its chart name them.
_OF_NOVA = ("oslo_db", "oslo_db_api", "oslo_db_cell0", "oslo_db_cell1")


def external_server_problems(features: Features) -> Iterator[Problem]:
    """Features that only the owner of an external server could provide. `features` are the completed ones."""
    for service, password in _SERVERS:
        external = features[service]["external"]
        if not external:
            continue
        place = f"spec.features.{service}"
        if password not in features["credentials"].get(service, {}):
            yield rules.EXTERNAL_PASSWORD_REQUIRED.at(
                f"spec.features.credentials.{service}.{password}",
                service=service,
                administrator=external["administrator"],
            )
        internal = features["tls"]["internal"]
        if internal["enabled"] and service in internal["traffic"] and not internal["issuer"]:
            yield rules.EXTERNAL_SERVER_NEEDS_ISSUER.at("spec.features.tls.internal.traffic", service=service)
        if service == "database" and features["database"]["backup"]["enabled"]:
            yield rules.BACKUP_OF_EXTERNAL_DATABASE.at(f"{place}.backup.enabled")
    if features["messaging"]["external"] and features["messaging"]["dedicatedBrokers"]:
        yield rules.BROKERS_BESIDE_EXTERNAL.at("spec.features.messaging.dedicatedBrokers")


def parted_databases(release: str, merged: MergedValues) -> list[Problem]:
    """Databases of one service that its values have on different servers: the override of one does not reach
    the others, and Nova would look for its cells beside them. What the chart does not have counts nothing."""
    places = {
        name: _place(endpoint)
        for name in _OF_NOVA
        if is_map(endpoint := lookup(merged.values, ("endpoints", name)))
        and is_map(lookup(merged.defaults, ("endpoints", name)))
    }
    if len(set(places.values())) < 2:
        return []
    places_text = ", ".join(f"{name} at {place}" for name, place in places.items())
    return [rules.DATABASES_APART.at("spec.services", release=release, places=places_text)]


def unread_databases(layer: Layer, defaults: Values, chart: str) -> Iterator[Problem]:
    """Warnings of databases of Nova that other builds of its chart have, and this one does not read."""
    for name in _OF_NOVA if chart == "nova" else ():
        path = ("endpoints", name)
        there = lookup(layer.values, path) is not None
        if (
            there
            and not is_map(lookup(defaults, path))
            and is_map(lookup(defaults, ("endpoints", "oslo_db")))
        ):
            yield rules.DATABASE_ENDPOINT_UNREAD.at(
                layer.full_path(path), source=layer.place(path), name=name
            )


def _place(endpoint: Mapping[str, Any]) -> str:
    host = lookup(endpoint, ("host_fqdn_override", "default")) or lookup(endpoint, ("hosts", "default"))
    host = host.get("host") if is_map(host) else host
    if host is None:
        host = lookup(endpoint, ("hosts", "default"))
    return f"{host}:{lookup(endpoint, ('port', 'mysql', 'default'))}"
