"""The catalogue: which services there are, what each needs, and which chart source offers it.

How one is added: docs/add-a-service.md.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from controller.domain.api.spec_rules.rule import Rule
from controller.domain.values.names.chart_options import NO_OPTIONS, ChartOptions, parse_chart_options
from controller.domain.values.option_files import NO_FILES, ChartFiles, OptionFiles, parse_chart_files
from controller.domain.values.rules.service_rules import parse_rule
from controller.domain.values.suggestion import suggestion
from controller.domain.values.upgrade_parts import (
    UpgradeCheck,
    UpgradePart,
    parse_upgrade_checks,
    parse_upgrade_parts,
)
from controller.errors import ControllerError

GROUPS = ("openstack", "infra")
EMBEDDED = "embedded"
UPSTREAM = "upstream"
OWN = "own"  # shipped with the controller, and used whatever the source of the other charts
LAST = 1000
"""The order of a service that names none."""


class CatalogueInvalid(ControllerError):
    """Our own data under values/ is broken: a defect of the product, not of the operator's input."""


# What a Secret with a certificate of the region's own authority has, and the one with what all trust.
BUNDLE_KEYS = ("ca.crt", "digest")
CERTIFICATE_KEYS = ("tls.crt", "tls.key", *BUNDLE_KEYS)
# By which names libvirt (https://libvirt.org/kbase/tlscerts.html) and QEMU (docs/system/tls.rst) read them.
HYPERVISOR_FILES = {
    "cacert.pem": "ca.crt",
    "servercert.pem": "tls.crt",
    "serverkey.pem": "tls.key",
    "clientcert.pem": "tls.crt",
    "clientkey.pem": "tls.key",
    "ca-cert.pem": "ca.crt",
    "server-cert.pem": "tls.crt",
    "server-key.pem": "tls.key",
    "client-cert.pem": "tls.crt",
    "client-key.pem": "tls.key",
}

# What Octavia's pods mount for its amphorae, by OpenStack-Helm's names (octavia: conf.octavia), and the
# passphrase of the key among them, which no name of the chart's is for.
AMPHORA_FILES = (
    "server_ca.cert.pem",
    "server_ca-chain.cert.pem",
    "server_ca.key.pem",
    "client_ca.cert.pem",
    "client.cert-and-key.pem",
)
AMPHORA_KEYS = (*AMPHORA_FILES, "passphrase", "passphrase.conf")

NODE_FORM_CONF = "conf"
NODE_FORM_VALUES = "values"


@dataclass(frozen=True)
class ChartEntry:
    """One chart of a service: who offers it, and which of its DaemonSets can differ by node.

    An `optional` chart is used only with some features, and not counted when sources are compared.
    `node_form` is the way in which the chart wants that said (controller.domain.region.node_overrides).
    `files` are those that it writes, and `options` what it makes of names of options.
    `publishes` are the public endpoints of the service that it serves, None: all of them that it has.
    `serves` are the Services of its APIs, which its certificate has to stand for; `clients` says to which
    servers it can show one (`database`, `messaging`).
    """

    sources: tuple[str, ...]
    optional: bool = False
    daemonsets: tuple[str, ...] = ()
    node_form: str = NODE_FORM_CONF
    publishes: tuple[str, ...] | None = None
    serves: tuple[str, ...] = ()
    clients: tuple[str, ...] = ()
    files: ChartFiles = NO_FILES
    options: ChartOptions = NO_OPTIONS

    @property
    def option_maps(self) -> Mapping[str, tuple[str, ...]]:
        """Paths of values below which the chart takes any option, by the reason."""
        files = (f"conf.{name}.*" for name in sorted(self.files.options))
        folders = (f"conf.{name}.*.*" for name in sorted(self.files.folders))
        return {"sections of a file that oslo.config reads": (*files, *folders)}

    def offered_by(self, source: str) -> bool:
        """Whether this chart can be had when the region's charts come from the source."""
        return source in self.sources or OWN in self.sources


@dataclass(frozen=True)
class ServiceEntry:
    """One service. `name` is the OpenStack service type, or what an infrastructure service is called.

    `charts` are those it may use. `requires` are services without which it cannot work; `credentials`
    maps names to kinds (controller.domain.credentials.generate), `public_endpoints` keys under `endpoints`
    of chart values to names below the public domain. `order` is the place in lists of services. `rules`
    are those that its template may say are broken, by id.
    """

    name: str
    description: str
    group: str
    charts: Mapping[str, ChartEntry]
    requires: tuple[str, ...] = ()
    credentials: Mapping[str, str] = field(default_factory=dict)
    public_endpoints: Mapping[str, str] = field(default_factory=dict)
    order: int = LAST
    rules: Mapping[str, Rule] = field(default_factory=dict)
    upgrade: tuple[UpgradePart, ...] = ()
    upgrade_checks: tuple[UpgradeCheck, ...] = ()

    def offered_by(self, source: str) -> bool:
        """Whether every chart of the service is in this chart source."""
        return all(chart.offered_by(source) or chart.optional for chart in self.charts.values())

    def published_by(self, chart: str) -> tuple[str, ...]:
        """The public endpoints that a chart of the service may serve."""
        named = self.charts[chart].publishes
        return tuple(self.public_endpoints) if named is None else named

    @property
    def secret_name(self) -> str:
        """The Secret that holds the credentials of the service."""
        return f"{self.name}-credentials"


@dataclass(frozen=True)
class CredentialSecret:
    """A Secret that must exist before the region can start: credential name → kind.

    `releases` are those that the service may have."""

    name: str
    service: str
    credentials: Mapping[str, str]
    releases: tuple[str, ...] = ()


@dataclass(frozen=True)
class CertificateRequest:
    """A Secret with a certificate of the region's authority, for a release of a service.

    It stands for `names` and `addresses`; with `hypervisors` for the nodes that run servers, too, and then
    has the file names that libvirt and QEMU read beside those of Kubernetes.

    `amphorae`: it is for Octavia and its amphorae, of authorities that are for nothing else.
    """

    name: str
    service: str
    names: tuple[str, ...] = ()
    addresses: tuple[str, ...] = ()
    hypervisors: bool = False
    amphorae: bool = False

    @property
    def keys(self) -> frozenset[str]:
        """The keys of the Secret."""
        if self.amphorae:
            return frozenset(AMPHORA_KEYS)
        return frozenset((*CERTIFICATE_KEYS, *(HYPERVISOR_FILES if self.hypervisors else ())))


@dataclass(frozen=True)
class Catalogue:
    """All services, in the order in which people list them (infrastructure first)."""

    services: Mapping[str, ServiceEntry]

    def __getitem__(self, service: str) -> ServiceEntry:
        return self.services[service]

    def __contains__(self, service: object) -> bool:
        return service in self.services

    @cached_property
    def option_files(self) -> OptionFiles:
        """The files that charts of all services write."""
        return OptionFiles({name: chart.files for name, chart in self._charts()})

    @cached_property
    def chart_options(self) -> Mapping[str, ChartOptions]:
        """What each chart makes of names of options."""
        return {name: chart.options for name, chart in self._charts()}

    def _charts(self) -> Iterator[tuple[str, ChartEntry]]:
        for entry in self.services.values():
            yield from entry.charts.items()

    def needed_by(self, service: str) -> frozenset[str]:
        """The service and all that it requires, directly or through others."""
        found: set[str] = set()
        waiting = [service]
        while waiting:
            name = waiting.pop()
            if name not in found:
                found.add(name)
                waiting += self.services[name].requires
        return frozenset(found)

    def is_own(self, chart: str) -> bool:
        """Whether the chart is always the one shipped with the controller."""
        return any(
            OWN in entry.charts[chart].sources for entry in self.services.values() if chart in entry.charts
        )


def parse_service(
    name: str, body: Mapping[str, Any], source: str, credential_kinds: Collection[str]
) -> ServiceEntry:
    """The entry of a service from its service.yaml, which matches values/service.schema.yaml.

    Raises CatalogueInvalid on a credential of another kind than those given, and on an endpoint that no
    chart publishes.
    """
    entry = ServiceEntry(
        name=name,
        description=body["description"],
        group=body["group"],
        charts={chart: _chart(about) for chart, about in body["charts"].items()},
        requires=tuple(body.get("requires", ())),
        credentials=dict(body.get("credentials", {})),
        public_endpoints=dict(body.get("publicEndpoints", {})),
        order=body.get("order", LAST),
        rules={one["id"]: parse_rule(name, one) for one in body.get("rules", ())},
        upgrade=parse_upgrade_parts(body, body.get("order", LAST)),
        upgrade_checks=parse_upgrade_checks(body),
    )
    for credential, kind in entry.credentials.items():
        if kind not in credential_kinds:
            known = ", ".join(sorted(credential_kinds))
            raise CatalogueInvalid(f"{source}: credentials.{credential}: {kind!r} is not one of {known}")
    for chart, about in entry.charts.items():
        for endpoint in about.publishes or ():
            if endpoint not in entry.public_endpoints:
                raise CatalogueInvalid(f"{source}: charts.{chart}.publishes: no public endpoint {endpoint!r}")
    return entry


def _chart(about: Mapping[str, Any]) -> ChartEntry:
    return ChartEntry(
        sources=tuple(about["sources"]),
        optional=about.get("optional", False),
        daemonsets=tuple(about.get("daemonsets", ())),
        node_form=about.get("nodeForm", NODE_FORM_CONF),
        publishes=tuple(about["publishes"]) if "publishes" in about else None,
        serves=tuple(about.get("serves", ())),
        clients=tuple(about.get("clientOf", ())),
        files=parse_chart_files(about),
        options=parse_chart_options(about.get("optionNames", {})),
    )


def public_hosts(services: Iterable[ServiceEntry], domain: str) -> dict[str, str]:
    """The names of the public endpoints of these services below the domain, by key under `endpoints` of chart
    values; none without a domain."""
    if not domain:
        return {}
    return {
        endpoint: f"{name}.{domain}"
        for service in services
        for endpoint, name in service.public_endpoints.items()
    }


def meant_service(name: str, entries: Mapping[str, ServiceEntry]) -> str:
    """A remedy for a service that is unknown: that of the chart where it is the name of one, such as nova."""
    owner = next((service for service, entry in entries.items() if name in entry.charts), "")
    return f'{name} is a chart of service "{owner}"' if owner else suggestion(name, entries)
