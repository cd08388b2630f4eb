"""Encryption that is asked for and cannot be had: refused, because ignoring it would deceive.

What each chart can do shows in its values: `tls.oslo_db` and `tls.oslo_messaging` (its connections),
`secrets.tls.ca` and `tls.identity` (trusting, and being, an encrypted API).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any

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
        problems.append(
            Problem(
                f"{_INTERNAL}.enabled",
                "the charts shipped with the controller do not encrypt traffic between services",
                "use an OpenStack-Helm repository in spec.charts, or encrypt in the network of the cluster",
            )
        )
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
    message = f"the charts of {', '.join(names)} connect to the database without TLS"
    return [
        Problem(f"{_INTERNAL}.traffic", message, "disable them, or encrypt in the network of the cluster")
    ]


def _public(public: Mapping[str, Any], services: tuple[ServiceEntry, ...]) -> Iterator[Problem]:
    if any(entry.name == "gateway" for entry in services):
        return
    for key in ("secretName", "issuer"):
        if public[key]:
            yield Problem(
                f"{_PUBLIC}.{key}",
                'the certificate is unused without service "gateway"',
                'add "gateway" to spec.features.services.enabled, or use the certificate in your own ingress',
            )


def _internal(
    features: Mapping[str, Any], services: tuple[ServiceEntry, ...], knows: Knows
) -> Iterator[Problem]:
    internal = features["tls"]["internal"]
    traffic = internal["traffic"]
    if not internal["issuer"]:
        yield from _own_authority(features, services, knows)
    elif "endpoints" in traffic and not internal["caSecret"]:
        yield Problem(
            f"{_INTERNAL}.caSecret",
            "required for endpoints, and not set",
            "name a Secret with the issuer's authority in key ca.crt, and without a private key",
        )
    unable = {
        "messaging": _without(services, knows, "endpoints.oslo_messaging", "tls.oslo_messaging"),
        "endpoints": _without(services, knows, "endpoints.identity", "secrets.tls.ca", "pod.extraContainers"),
    }
    for kind, names in unable.items():
        if kind in traffic and names:
            yield Problem(
                f"{_INTERNAL}.traffic",
                f"the charts of {', '.join(names)} cannot use encrypted {kind}",
                f'remove "{kind}", or disable these services',
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
            yield Problem(
                f"{_INTERNAL}.traffic",
                f"the charts of {', '.join(names)} cannot use an encrypted database",
                'remove "database", or disable these services',
            )
    elif "messaging" in internal["traffic"]:
        # keystone: job-db-sync.yaml mounts a volume that it defines with tls.oslo_db only.
        yield Problem(
            f"{_INTERNAL}.traffic",
            "with messaging but without database, Kubernetes refuses a Job of the chart of keystone",
            'add "database", or remove "messaging"',
        )
    for kind, key in (("database", "tls.oslo_db"), ("messaging", "tls.oslo_messaging")):
        names = _without(services, knows, key, "secrets.tls.client") if kind in internal["traffic"] else []
        if names:
            yield Problem(
                f"{_INTERNAL}.traffic",
                (
                    f"{kind}: these builds of the charts of {', '.join(names)} do not support client "
                    "certificates"
                ),
                (
                    f"use builds of 2026-06-11 or later, name a ClusterIssuer in {_INTERNAL}.issuer, or "
                    f'remove "{kind}"'
                ),
            )
    if internal["caSecret"]:
        yield Problem(
            f"{_INTERNAL}.caSecret",
            "is for an issuer, and none is named; clients trust the region's own authority without it",
            f"remove it, or name the ClusterIssuer in {_INTERNAL}.issuer",
        )


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
