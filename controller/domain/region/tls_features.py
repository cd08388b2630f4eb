"""Encryption that is asked for and cannot be had: refused, because ignoring it would deceive.

What each chart can do shows in its values: `tls.oslo_db` and `tls.oslo_messaging` (its connections),
`secrets.tls.ca` and `tls.identity` (trusting, and being, an encrypted API).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from controller.domain.values.catalogue import EMBEDDED, ServiceEntry
from controller.domain.values.chart_values import DocumentPath
from controller.errors import Problem

Knows = Callable[[str, DocumentPath], bool]

_INTERNAL = "spec.features.tls.internal"
_PUBLIC = "spec.features.tls.public"
TRAFFIC = ("database", "messaging", "endpoints")
# Traffic whose servers' charts ask cert-manager for their certificate, and take none from elsewhere.
_BY_CERT_MANAGER = ("database", "messaging")


def with_default_traffic(features: dict[str, Any]) -> dict[str, Any]:
    """The completed features, with the traffic that is encrypted where the spec does not choose: all of it
    but to servers that others run, or what can be with certificates that we make."""
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
    return [*problems, *_internal(tls["internal"], services, knows)]


def tls_warnings(
    features: Mapping[str, Any], services: tuple[ServiceEntry, ...], knows: Knows
) -> list[Problem]:
    """Connections to the database that stay in clear because a chart cannot encrypt them."""
    internal = features["tls"]["internal"]
    if not internal["enabled"] or "database" not in internal["traffic"]:
        return []
    names = _without(services, knows, "endpoints.oslo_db", "tls.oslo_db")
    if not names:
        return []
    message = f"the charts of {', '.join(names)} connect to the database in clear"
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
                'nothing uses the certificate without service "gateway"',
                'add "gateway" to spec.features.services.enabled, or give the certificate to what publishes '
                "the endpoints",
            )


def _internal(
    internal: Mapping[str, Any], services: tuple[ServiceEntry, ...], knows: Knows
) -> Iterator[Problem]:
    traffic = internal["traffic"]
    if not internal["issuer"]:
        yield from _own_authority(internal)
    elif "endpoints" in traffic and not internal["caSecret"]:
        yield Problem(
            f"{_INTERNAL}.caSecret",
            "required for endpoints, and not set",
            "name a Secret whose key ca.crt has the issuer's authority, and no private key",
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
                f'leave out "{kind}", or disable these services',
            )


def _own_authority(internal: Mapping[str, Any]) -> Iterator[Problem]:
    """What cannot be had of certificates that we make."""
    needing = [kind for kind in internal["traffic"] if kind in _BY_CERT_MANAGER]
    if needing:
        yield Problem(
            f"{_INTERNAL}.traffic",
            f"{' and '.join(needing)}: the charts of MariaDB and RabbitMQ have cert-manager issue them",
            f"name a ClusterIssuer in {_INTERNAL}.issuer, or leave it at endpoints",
        )
    if internal["caSecret"]:
        yield Problem(
            f"{_INTERNAL}.caSecret",
            "is an issuer's, and none is named; the region's own authority is trusted without it",
            f"remove it, or name the ClusterIssuer in {_INTERNAL}.issuer",
        )


def _without(services: tuple[ServiceEntry, ...], knows: Knows, concerned: str, *able: str) -> list[str]:
    """Services with a chart that has the key `concerned` and none of the keys `able`."""
    found = []
    for entry in services:
        if entry.group != "openstack":
            continue
        charts = [chart for chart, about in entry.charts.items() if not about.optional]
        if any(
            _has(knows, chart, concerned) and not any(_has(knows, chart, key) for key in able)
            for chart in charts
        ):
            found.append(entry.name)
    return found


def _has(knows: Knows, chart: str, key: str) -> bool:
    return knows(chart, tuple(key.split(".")))
