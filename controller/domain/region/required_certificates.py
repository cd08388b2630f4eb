"""Which certificates of the region's own authority a region needs, and what they stand for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from controller.domain.api.names import CA_BUNDLE_SECRET
from controller.domain.region.deployment import DeploymentSpec
from controller.domain.region.required_credentials import region_services
from controller.domain.values.catalogue import BUNDLE_KEYS, CertificateRequest, ServiceEntry
from controller.domain.values.shipped_values import Library


def region_certificates(
    spec: DeploymentSpec, namespace: str, library: Library
) -> tuple[CertificateRequest, ...]:
    """The Secrets with certificates to make for a region in this namespace, in the order of the catalogue.

    Raises SpecInvalid when the choice of services cannot be served.
    """
    domain = spec.internal_domain_name
    services = region_services(spec, library)
    return tuple(_requests(spec.features, services, spec.charts.source, namespace, domain))


def has_own_authority(features: Mapping[str, Any]) -> bool:
    """Whether traffic inside the region is encrypted, with certificates that we make."""
    internal = features["tls"]["internal"]
    return bool(internal["enabled"] and not internal["issuer"])


def _requests(
    features: Mapping[str, Any],
    services: tuple[ServiceEntry, ...],
    source: str,
    namespace: str,
    domain: str,
) -> Iterator[CertificateRequest]:
    if not (has_own_authority(features) and "endpoints" in features["tls"]["internal"]["traffic"]):
        return
    for entry in services:
        for chart, about in entry.charts.items():
            if about.serves and about.offered_by(source):
                names = tuple(
                    name for host in about.serves for name in service_names(host, namespace, domain)
                )
                yield CertificateRequest(certificate_secret(chart), entry.name, names)


def secrets_made(requests: tuple[CertificateRequest, ...]) -> dict[str, frozenset[str]]:
    """The keys of each Secret with certificates that comes of the requests, the bundle's too."""
    made = {one.name: one.keys for one in requests}
    return {**made, CA_BUNDLE_SECRET: frozenset(BUNDLE_KEYS)} if made else {}


def certificate_secret(chart: str) -> str:
    """The Secret with the certificate of a chart's APIs: as OpenStack-Helm's charts call it
    (keystone: secrets.tls.identity.api.internal)."""
    return f"{chart}-tls-api"


def service_names(host: str, namespace: str, domain: str) -> tuple[str, ...]:
    """All names by which a Service is found in the cluster."""
    return host, f"{host}.{namespace}", f"{host}.{namespace}.svc", f"{host}.{namespace}.svc.{domain}"
