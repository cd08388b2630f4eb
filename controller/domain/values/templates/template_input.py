"""What service templates see: the listed inputs, and nothing else.

    main        main fields of the spec, defaults filled in: main.openstackVersion, preset, size, region,
                publicDomainName and internalDomainName
    features    spec.features with every known field; what is not set is as size and preset say, else none
    public_hosts  names of the public endpoints of this region, by key under `endpoints` of chart values
    enabled(s)  whether the region has the service s of the catalogue
    credential(name, service=…)  the reference to a generated (or the operator's own) secret
    storage_class(service=…)     the StorageClass for a service's volumes, "default": the cluster's own
    knows(chart, path)             whether the chart has this key: not every source's chart has every part;
                                   with a_map=true, whether it has a map there: builds differ in extraObjects
    value_of(release, path)      the final value of a release of a service that this one requires, directly
                             or through others; None where the release has no such value
    region_namespace  namespace of the region
    image(name)    the image, in the registry of spec.images
    source         "embedded" or "upstream": where the charts come from
    applications   values of the label `application` that pods of the region have
    warn(id, …)     says what is allowed and probably not enough, by a rule of service.yaml, and goes on
    refuse(id, …)   ends the rendering with a problem of the input, by such a rule

and the functions of template_functions.py. The template of every release also sees `service`, `release`,
`chart`, `published` (public endpoints that it may serve) and `defaults(path)`: what the chart's values.yaml
has there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Protocol

from controller.domain.api.region_spec import OwnSecret, RegionSpec
from controller.domain.api.spec_rules.charts_and_services import SERVICE_UNKNOWN
from controller.domain.values.catalogue import (
    UPSTREAM,
    Catalogue,
    CatalogueInvalid,
    CredentialSecret,
    ServiceEntry,
    meant_service,
    public_hosts,
)
from controller.domain.values.chart_values import (
    DocumentPath,
    Values,
    format_path,
    lookup,
    parse_path,
    secret_ref,
)
from controller.domain.values.images import mirrored
from controller.domain.values.rules.service_rules import rule_functions
from controller.domain.values.shipped_values import Library
from controller.domain.values.suggestion import suggestion, unknown_key
from controller.domain.values.templates.template_functions import TEMPLATE_FUNCTIONS
from controller.errors import Problem

ValueOf = Callable[[str, DocumentPath], Any]


class Knows(Protocol):
    """Whether the values.yaml of a chart has a key, and a map there, if that is asked."""

    def __call__(self, chart: str, path: DocumentPath, /, *, a_map: bool = False) -> bool: ...


@dataclass
class RegionInput:
    """The inputs of all templates of one region. `claiming`: services that asked for a StorageClass;
    `owners`: the service of each release that is known so far, to be added to by whoever renders."""

    spec: RegionSpec
    registry: str
    features: Mapping[str, Any]
    services: tuple[ServiceEntry, ...]
    catalogue: Catalogue
    value_of: ValueOf
    owners: Mapping[str, str]
    knows: Knows
    warn: Callable[[Problem], None]
    source: str
    namespace: str
    problems: list[Problem] = field(default_factory=list)
    claiming: set[str] = field(default_factory=set)

    @cached_property
    def _own(self) -> Mapping[tuple[str, str], OwnSecret]:
        return {(one.service, one.credential): one for one in self.spec.features.credentials}

    @classmethod
    def of(
        cls,
        *,
        spec: RegionSpec,
        registry: str,
        source: str,
        library: Library,
        services: tuple[ServiceEntry, ...],
        value_of: ValueOf,
        owners: Mapping[str, str],
        knows: Knows,
        warn: Callable[[Problem], None],
        namespace: str,
    ) -> RegionInput:
        """Gathers the inputs from the spec and the library. Problems are collected in `problems`.

        The features of `spec` are the completed ones: every known field is there, None where it is not set.
        `registry` is that of all images, empty where each stays in its own.
        """
        size, preset = library.sizes[spec.size], library.presets[spec.preset]
        region_input = cls(
            spec=spec,
            registry=registry,
            features=filled_features(spec.features.tree, size.features, preset.features),
            services=services,
            catalogue=library.catalogue,
            value_of=value_of,
            owners=owners,
            knows=knows,
            warn=warn,
            source=source,
            namespace=namespace,
        )
        region_input.problems += _check_own_secrets(spec.features.tree["credentials"], services, library)
        return region_input

    def context(self, entry: ServiceEntry) -> dict[str, Any]:
        """What the template of one service sees."""
        by_name = {service.name: service for service in self.services}
        needed = self.catalogue.needed_by(entry.name)

        def enabled(service: str) -> bool:
            if service not in self.catalogue:
                raise LookupError(_no_service("enabled", service, self.catalogue.services))
            return service in by_name

        def value_of(release: str, path: str) -> Any:
            if self.owners.get(release) not in needed:
                known = [name for name, owner in self.owners.items() if owner in needed]
                raise LookupError(
                    f'value_of("{release}"): no release of a service that {entry.name} requires; '
                    + suggestion(release, known)
                )
            return self.value_of(release, parse_path(path))

        def credential(name: str, service: str = entry.name) -> dict[str, Any]:
            return self._reference(by_name, service, name)

        def storage_class(service: str = entry.name, *, as_written: bool = False) -> str | None:
            """The class that is named for the service; where none is, the word by which charts leave the
            choice to the cluster, or, for those of OpenStack-Helm's that write any class as it is, none."""
            self.claiming.add(service)
            named = self.spec.storage_classes.get(service) or self.spec.storage_class
            return named or (None if as_written and self.source == UPSTREAM else "default")

        return {
            **TEMPLATE_FUNCTIONS,
            "main": self._main(),
            "source": self.source,
            "region_namespace": self.namespace,
            "image": self._image,
            "applications": sorted(chart for service in self.services for chart in service.charts),
            "public_hosts": self._public_hosts(),
            "storage_class": storage_class,
            "features": self.features,
            "enabled": enabled,
            "credential": credential,
            **rule_functions(entry.rules, self.warn),
            "knows": lambda chart, path, a_map=False: self.knows(chart, parse_path(path), a_map=a_map),
            "value_of": value_of,
        }

    def release_context(
        self, entry: ServiceEntry, release: str, chart: str, defaults: Values
    ) -> dict[str, Any]:
        """What the template of every release sees."""
        return {
            **self.context(entry),
            "service": entry.name,
            "release": release,
            "chart": chart,
            "published": [name for name in entry.published_by(chart) if self.spec.public_domain_name],
            "defaults": lambda path: lookup(defaults, parse_path(path), {}),
        }

    def _main(self) -> dict[str, str]:
        spec = self.spec
        return {
            "openstackVersion": spec.openstack_version,
            "preset": spec.preset,
            "size": spec.size,
            "region": spec.region,
            "publicDomainName": spec.public_domain_name,
            "internalDomainName": spec.internal_domain_name,
        }

    def _public_hosts(self) -> Mapping[str, str]:
        return public_hosts(self.services, self.spec.public_domain_name)

    def credentials(self) -> tuple[CredentialSecret, ...]:
        """The Secrets to generate for this region, in the order of the catalogue."""
        desired = []
        for entry in self.services:
            ours = {n: kind for n, kind in entry.credentials.items() if (entry.name, n) not in self._own}
            if ours:
                desired.append(CredentialSecret(entry.secret_name, entry.name, ours, tuple(entry.charts)))
        return tuple(desired)

    def _image(self, name: str) -> str:
        return mirrored(name, self.registry) if self.registry else name

    def _reference(self, by_name: Mapping[str, ServiceEntry], service: str, name: str) -> dict[str, Any]:
        entry = by_name.get(service)
        if entry is None or name not in entry.credentials:
            raise CatalogueInvalid(
                f'a template uses the credential "{name}" of {service}, unknown to the catalogue'
            )
        own = self._own.get((service, name))
        if own is not None:
            return secret_ref(own.name, own.key)
        return secret_ref(entry.secret_name, name)


def _no_service(function: str, service: str, known: Mapping[str, ServiceEntry]) -> str:
    return f'{function}("{service}"): no such service in the catalogue; {suggestion(service, known)}'


def filled_features(features: Any, *defaults: Any) -> Any:
    """Features in which what is not set (None) has the value of the first of `defaults` that has one."""
    if isinstance(features, Mapping):
        return {
            key: filled_features(value, *(d[key] for d in defaults if isinstance(d, Mapping) and key in d))
            for key, value in features.items()
        }
    if features is None:
        return next((default for default in defaults if default is not None), None)
    return features


def _check_own_secrets(own: Any, services: Sequence[ServiceEntry], library: Library) -> list[Problem]:
    base: DocumentPath = ("spec", "features", "credentials")
    problems = []
    for service, credentials in own.items():
        if service not in library.catalogue:
            meant = meant_service(service, {entry.name: entry for entry in services})
            path = format_path((*base, service))
            problems.append(SERVICE_UNKNOWN.at(path, service=service, suggestion=meant))
            continue
        known = library.catalogue[service].credentials
        problems += [
            unknown_key((*base, service), f'credential "%" in service {service}', name, known)
            for name in credentials
            if name not in known
        ]
    return problems
