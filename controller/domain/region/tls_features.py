"""Encryption that is asked for and cannot be had: refused, because ignoring it would deceive.

What each chart can do shows in its values: `tls.oslo_db` and `tls.oslo_messaging` (its connections),
`secrets.tls.ca` and `tls.identity` (trusting, and being, an encrypted API).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any

from controller.domain.api.spec_rules import encryption_and_servers as rules
from controller.domain.values.catalogue import EMBEDDED, ServiceEntry
from controller.domain.values.chart_values import DocumentPath
from controller.errors import Problem

Knows = Callable[[str, DocumentPath], bool]

_INTERNAL = "spec.features.tls.internal"
_PUBLIC = "spec.features.tls.public"
TRAFFIC = ("database", "messaging", "endpoints")
# Charts with a database that are used with a feature only, and which that is.
_OPTIONAL = {"gnocchi": ("metering", "gnocchi"), "aodh": ("metering", "alarms")}


def with_default_traffic(features: dict[str, Any]) -> dict[str, Any]:
    """The completed features, with the traffic that is encrypted where the spec does not choose: all of it
    but to servers that others run; with certificates that we make, APIs only, so that no region starts to
    encrypt more with a new version of the controller."""
    internal = features["tls"]["internal"]
    traffic = internal["traffic"] or (TRAFFIC if internal["issuer"] else ("endpoints",))
    if not internal["traffic"]:
        traffic = tuple(kind for kind in traffic if not features.get(kind, {}).get("external"))
    tls = {**features["tls"], "internal": {**internal, "traffic": list(traffic)}}
    return {**features, "tls": tls}


def tls_problems(
    features: Mapping[str, Any], services: tuple[ServiceEntry, ...], knows: Knows, source: str
) -> list[Problem]:
    """What cannot be had of `spec.features.tls` with these services and charts.

    `features` are the completed ones; `knows` tells whether a chart's values.yaml has a key.
    """
    tls = features["tls"]
    problems = list(_public(tls["public"], services))
    if not tls["internal"]["enabled"]:
        return problems
    if source == EMBEDDED:
        problems.append(rules.INTERNAL_TLS_NEEDS_UPSTREAM_CHARTS.at(f"{_INTERNAL}.enabled"))
        return problems
    return [*problems, *_internal(features, services, knows)]


def tls_warnings(
    features: Mapping[str, Any], services: tuple[ServiceEntry, ...], knows: Knows
) -> list[Problem]:
    """Connections to the database that stay in clear because a chart cannot encrypt them."""
    internal = features["tls"]["internal"]
    if not internal["enabled"] or not internal["issuer"] or "database" not in internal["traffic"]:
        return []
    names = _without(services, knows, "endpoints.oslo_db", "tls.oslo_db")
    if not names:
        return []
    return [rules.DATABASE_WITHOUT_TLS.at(f"{_INTERNAL}.traffic", names=", ".join(names))]


def _public(public: Mapping[str, Any], services: tuple[ServiceEntry, ...]) -> Iterator[Problem]:
    if any(entry.name == "gateway" for entry in services):
        return
    for key in ("secretName", "issuer"):
        if public[key]:
            yield rules.PUBLIC_CERTIFICATE_UNUSED.at(f"{_PUBLIC}.{key}")


def _internal(
    features: Mapping[str, Any], services: tuple[ServiceEntry, ...], knows: Knows
) -> Iterator[Problem]:
    internal = features["tls"]["internal"]
    traffic = internal["traffic"]
    if not internal["issuer"]:
        yield from _own_authority(features, services, knows)
    elif "endpoints" in traffic and not internal["caSecret"]:
        yield rules.ISSUER_AUTHORITY_REQUIRED.at(f"{_INTERNAL}.caSecret")
    unable = {
        "messaging": _without(services, knows, "endpoints.oslo_messaging", "tls.oslo_messaging"),
        "endpoints": _without(services, knows, "endpoints.identity", "secrets.tls.ca", "pod.extraContainers"),
    }
    for kind, names in unable.items():
        if kind in traffic and names:
            yield rules.ENCRYPTED_TRAFFIC_UNSUPPORTED.at(
                f"{_INTERNAL}.traffic", names=", ".join(names), kind=kind
            )


def _own_authority(
    features: Mapping[str, Any], services: tuple[ServiceEntry, ...], knows: Knows
) -> Iterator[Problem]:
    """What cannot be had of certificates that we make."""
    internal = features["tls"]["internal"]
    if "database" in internal["traffic"]:
        optional = [
            chart for chart, (service, part) in _OPTIONAL.items() if features[service][part]["enabled"]
        ]
        names = _without(services, knows, "endpoints.oslo_db", "tls.oslo_db", optional=optional)
        if names:
            # The administrator's account of a database that begins with certificates demands one, and their
            # Jobs have none to show (mariadb: bin/_start.py).
            yield rules.ENCRYPTED_DATABASE_UNSUPPORTED.at(f"{_INTERNAL}.traffic", names=", ".join(names))
    elif "messaging" in internal["traffic"]:
        # keystone: job-db-sync.yaml mounts a volume that it defines with tls.oslo_db only.
        yield rules.ENCRYPTED_MESSAGING_ALONE.at(f"{_INTERNAL}.traffic")
    for kind, key in (("database", "tls.oslo_db"), ("messaging", "tls.oslo_messaging")):
        names = _without(services, knows, key, "secrets.tls.client") if kind in internal["traffic"] else []
        if names:
            yield rules.CLIENT_CERTIFICATES_UNSUPPORTED.at(
                f"{_INTERNAL}.traffic", kind=kind, names=", ".join(names)
            )
    if internal["caSecret"]:
        yield rules.AUTHORITY_WITHOUT_ISSUER.at(f"{_INTERNAL}.caSecret")


def _without(
    services: tuple[ServiceEntry, ...],
    knows: Knows,
    concerned: str,
    *able: str,
    optional: Collection[str] = (),
) -> list[str]:
    """Services with a chart that has the key `concerned` and none of the keys `able`; of charts that are used
    with some features only, those of `optional`."""
    found = []
    for entry in services:
        if entry.group != "openstack":
            continue
        charts = [chart for chart, about in entry.charts.items() if not about.optional or chart in optional]
        if any(
            _has(knows, chart, concerned) and not any(_has(knows, chart, key) for key in able)
            for chart in charts
        ):
            found.append(entry.name)
    return found


def _has(knows: Knows, chart: str, key: str) -> bool:
    return knows(chart, tuple(key.split(".")))
