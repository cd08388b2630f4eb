"""Which certificates of the region's own authority a region needs, and what they stand for."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from controller.domain.api.names import AMPHORA_SECRET, CA_BUNDLE_SECRET
from controller.domain.region.deployment import DeploymentSpec
from controller.domain.shared.plurals import count
from controller.domain.values.catalogue import (
    BUNDLE_KEYS,
    UPSTREAM,
    CertificateRequest,
    ServiceEntry,
    public_hosts,
)

COMPUTE, LOAD_BALANCER = "compute", "load-balancer"
# As templates and charts call them: of libvirt and QEMU on all hypervisors, and of the proxy of consoles
# (nova: secrets.tls.compute_novnc_proxy.vencrypt.internal).
HYPERVISORS_SECRET = "libvirt-tls"  # noqa: S105 - a name
# That of the public endpoints, which the gateway shows.
GATEWAY = "gateway"
PUBLIC_SECRET = "gateway-tls-public"  # noqa: S105 - a name
CONSOLE_SECRET = "nova-novncproxy-vencrypt"  # noqa: S105 - a name
DATABASE, MESSAGING = "database", "messaging"
# As the charts of MariaDB and RabbitMQ call their Services (mariadb: endpoints.oslo_db.hosts), and the one
# below which their pods have names.
_DATABASE_SERVICES, _DATABASE_PODS = ("mariadb", "mariadb-server"), "mariadb-discovery"
# The provider of load balancers whose servers Octavia speaks to (features.loadBalancer.provider).
AMPHORA = "amphora"
# Which charts run what services of their kind ask, and the values by which clients show a certificate.
_SERVER_CHARTS = {"mariadb": DATABASE, "rabbitmq": MESSAGING}
_CLIENT_KEYS = {DATABASE: "oslo_db", MESSAGING: "oslo_messaging"}
_CERTIFICATES = "templates/certificates.yaml"
# Beside those of libvirtTLS.addresses: what TLS takes of a certificate is bounded.
MOST_OF_NODES = 2048


def region_certificates(
    spec: DeploymentSpec, namespace: str, services: tuple[ServiceEntry, ...]
) -> tuple[CertificateRequest, ...]:
    """The Secrets with certificates to make for services of a region in this namespace, in their order."""
    domain = spec.internal_domain_name
    found = _requests(spec.features.tree, services, spec.charts.source, namespace, domain)
    return (*found, *_published(spec, services))


def _published(spec: DeploymentSpec, services: tuple[ServiceEntry, ...]) -> Iterator[CertificateRequest]:
    """What the gateway shows where the spec names neither a certificate nor who issues it."""
    public = spec.features.tree["tls"]["public"]
    hosts = sorted(set(public_hosts(services, spec.public_domain_name).values()))
    shown = public["enabled"] and not (public["secretName"] or public["issuer"])
    if shown and hosts and any(entry.name == GATEWAY for entry in services):
        yield CertificateRequest(PUBLIC_SECRET, GATEWAY, tuple(hosts))


def _requests(
    features: Mapping[str, Any],
    services: tuple[ServiceEntry, ...],
    source: str,
    namespace: str,
    domain: str,
) -> Iterator[CertificateRequest]:
    internal, compute = features["tls"]["internal"], features["compute"]
    own = internal["enabled"] and not internal["issuer"]
    traffic = tuple(internal["traffic"]) if own else ()
    yield from _servers(features, traffic, services, namespace, domain)
    for entry in services:
        for chart, about in entry.charts.items():
            if not about.offered_by(source):
                continue
            if "endpoints" in traffic and about.serves:
                names = tuple(one for host in about.serves for one in service_names(host, namespace, domain))
                yield CertificateRequest(certificate_secret(chart), entry.name, names)
            elif not {*traffic}.isdisjoint(about.clients):
                yield CertificateRequest(client_secret(chart), entry.name)
        if entry.name == COMPUTE and _hypervisors_encrypt(compute["libvirtTLS"]["enabled"], source):
            addresses = tuple(migration_addresses(compute["libvirtTLS"]["addresses"]))
            yield CertificateRequest(HYPERVISORS_SECRET, entry.name, addresses=addresses, hypervisors=True)
            if compute["console"]["type"] == "novnc":
                yield CertificateRequest(CONSOLE_SECRET, entry.name, ("nova-novncproxy",))
        balancer = features["loadBalancer"]
        if (
            entry.name == LOAD_BALANCER
            and balancer["provider"] == AMPHORA
            and not balancer["certificatesSecret"]
        ):
            yield CertificateRequest(AMPHORA_SECRET, entry.name, amphorae=True)


def _servers(
    features: Mapping[str, Any],
    traffic: tuple[str, ...],
    services: tuple[ServiceEntry, ...],
    namespace: str,
    domain: str,
) -> Iterator[CertificateRequest]:
    """What MariaDB and each RabbitMQ of the region show, and by which they know each other."""
    run = {entry.name for entry in services}
    run = {one for one in (DATABASE, MESSAGING) if one in traffic and one in run}
    if DATABASE in run and not features["database"]["external"]:
        names = [one for host in _DATABASE_SERVICES for one in service_names(host, namespace, domain)]
        names.append(_pods_below(_DATABASE_PODS, namespace, domain))
        yield CertificateRequest(server_secret("mariadb"), DATABASE, tuple(names))
    if MESSAGING in run and not features["messaging"]["external"]:
        for broker in ("rabbitmq", *(f"rabbitmq-{one}" for one in features["messaging"]["dedicatedBrokers"])):
            names = [*service_names(broker, namespace, domain), _pods_below(broker, namespace, domain)]
            yield CertificateRequest(server_secret(broker), MESSAGING, tuple(names))


def _pods_below(service: str, namespace: str, domain: str) -> str:
    return f"*.{service}.{namespace}.svc.{domain}"


def omitted_templates(features: Mapping[str, Any], chart: str, values: Mapping[str, Any]) -> tuple[str, ...]:
    """Templates of a chart that would have cert-manager issue what our authority does.

    Without them the values that mount such a certificate make no `Certificate` (helm-toolkit:
    manifests/_certificates.tpl)."""
    internal = features["tls"]["internal"]
    if not internal["enabled"] or internal["issuer"]:
        return ()
    tls, traffic = values.get("tls") or {}, internal["traffic"]
    serves = _SERVER_CHARTS.get(chart) in traffic
    shows = any(kind in traffic and tls.get(key) for kind, key in _CLIENT_KEYS.items())
    return (_CERTIFICATES,) if serves or shows else ()


def _hypervisors_encrypt(wanted: bool | None, source: str) -> bool:
    """Without a choice in the spec, the certificates are for charts that can mount them."""
    return source == UPSTREAM if wanted is None else wanted


def migration_addresses(given: Iterable[str]) -> Iterator[str]:
    """Every address of addresses and networks. Raises ValueError for what is none."""
    for text in given:
        network = ipaddress.ip_network(text, strict=False)
        yield from map(str, network.hosts() if network.num_addresses > 1 else network)


def node_addresses(nodes: Iterable[Mapping[str, Any]]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The addresses by which these Nodes are reached from others, each as certificates write it; and what is
    wrong with them. Those that hold on one link or host only are none."""
    found: set[str] = set()
    problems: list[str] = []
    for node in nodes:
        for one in (node.get("status") or {}).get("addresses") or ():
            kind = one.get("type")
            if kind not in ("InternalIP", "ExternalIP"):
                continue
            try:
                address = ipaddress.ip_address(str(one.get("address")).partition("%")[0])
            except ValueError:
                problems.append(f'Node "{node["metadata"]["name"]}": its {kind} is not an address')
                continue
            if not (address.is_link_local or address.is_loopback or address.is_unspecified):
                found.add(str(address))
    kept = tuple(sorted(found)[:MOST_OF_NODES])
    if len(found) > len(kept):
        every = count(len(found), "address", "addresses")
        text = f"the Nodes have {every}, and it stands for the first {len(kept)} only"
        problems.append(text)
    return kept, tuple(sorted(problems))


def secrets_made(requests: tuple[CertificateRequest, ...]) -> dict[str, frozenset[str]]:
    """The keys of each Secret with certificates that comes of the requests, the bundle's too."""
    made = {one.name: one.keys for one in requests}
    signed = any(not one.amphorae for one in requests)
    return {**made, CA_BUNDLE_SECRET: frozenset(BUNDLE_KEYS)} if signed else made


def certificate_secret(chart: str) -> str:
    """The Secret with the certificate of a chart's APIs: as OpenStack-Helm's charts call it
    (keystone: secrets.tls.identity.api.internal)."""
    return f"{chart}-tls-api"


def client_secret(chart: str) -> str:
    """The Secret with what a chart shows the database and the broker, where it serves no API that is
    encrypted: as OpenStack-Helm's charts call it (keystone: secrets.tls.client)."""
    return f"{chart}-client"


def server_secret(release: str) -> str:
    """The Secret with the certificate of a MariaDB or RabbitMQ (mariadb: secrets.tls.oslo_db.server)."""
    return f"{release}-tls-direct"


def service_names(host: str, namespace: str, domain: str) -> tuple[str, ...]:
    """All names by which a Service is found in the cluster."""
    return host, f"{host}.{namespace}", f"{host}.{namespace}.svc", f"{host}.{namespace}.svc.{domain}"
