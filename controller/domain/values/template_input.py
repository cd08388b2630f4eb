"""What service templates see: the listed inputs, and nothing else.

    main        the main fields of the spec, defaults filled in (main.region, main.publicDomainName …)
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
    warn(path, message, remedy)    says what is allowed and probably not enough, and goes on
    refuse(path, message, remedy)  ends the rendering with a problem of the input

and the functions of controller.domain.values.template_functions. The template of every release also sees
`service`, `release`, `chart`, `published` (public endpoints that it may serve) and `defaults(path)`: what
the chart's values.yaml has there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from controller.domain.values.catalogue import (
    Catalogue,
    CatalogueInvalid,
    CredentialSecret,
    ServiceEntry,
)
from controller.domain.values.chart_values import DocumentPath, Values, lookup, parse_path, secret_ref
from controller.domain.values.images import mirrored
from controller.domain.values.shipped_values import Library
from controller.domain.values.template_functions import TEMPLATE_FUNCTIONS
from controller.domain.values.typos import suggestion, unknown_key
from controller.errors import Problem

ValueOf = Callable[[str, DocumentPath], Any]


class Knows(Protocol):
    """Whether the values.yaml of a chart has a key, and a map there, if that is asked."""

    def __call__(self, chart: str, path: DocumentPath, /, *, a_map: bool = False) -> bool: ...


MAIN_DEFAULTS: Mapping[str, Any] = {
    "region": "RegionOne",
    "publicDomainName": "",
    "internalDomainName": "cluster.local",
    "storageClass": "",
}


@dataclass
class RegionInput:
    """The inputs of all templates of one region. `claiming`: services that asked for a StorageClass;
    `owners`: the service of each release that is known so far, to be added to by whoever renders."""

    main: Mapping[str, Any]
    features: Mapping[str, Any]
    services: tuple[ServiceEntry, ...]
    catalogue: Catalogue
    own_secrets: Mapping[str, Mapping[str, Mapping[str, str]]]
    value_of: ValueOf
    owners: Mapping[str, str]
    knows: Knows
    warn: Callable[[Problem], None]
    source: str
    namespace: str
    problems: list[Problem] = field(default_factory=list)
    claiming: set[str] = field(default_factory=set)

    @classmethod
    def of(
        cls,
        *,
        spec: Mapping[str, Any],
        features: Mapping[str, Any],
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

        `features` are the completed ones: every known field is there, None where it is not set.
        """
        main = {**MAIN_DEFAULTS, **{k: v for k, v in spec.items() if k not in _NOT_MAIN and v is not None}}
        own = features["credentials"]
        size, preset = library.sizes[spec["size"]], library.presets[spec["preset"]]
        region_input = cls(
            main=main,
            features=filled_features(features, size.features, preset.features),
            services=services,
            catalogue=library.catalogue,
            own_secrets=own,
            value_of=value_of,
            owners=owners,
            knows=knows,
            warn=warn,
            source=source,
            namespace=namespace,
        )
        region_input.problems += _check_own_secrets(own, services, library)
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

        def storage_class(service: str = entry.name) -> str:
            self.claiming.add(service)
            classes = self.main.get("storageClasses") or {}
            return classes.get(service) or self.main["storageClass"] or "default"

        return {
            **TEMPLATE_FUNCTIONS,
            "main": self.main,
            "source": self.source,
            "region_namespace": self.namespace,
            "image": self._image,
            "applications": sorted(chart for service in self.services for chart in service.charts),
            "public_hosts": self._public_hosts(),
            "storage_class": storage_class,
            "features": self.features,
            "enabled": enabled,
            "credential": credential,
            "warn": lambda path, message, remedy="": self.warn(Problem(path, message, remedy)),
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
            "published": [name for name in entry.published_by(chart) if self.main["publicDomainName"]],
            "defaults": lambda path: lookup(defaults, parse_path(path), {}),
        }

    def _public_hosts(self) -> Mapping[str, str]:
        domain = self.main["publicDomainName"]
        if not domain:
            return {}
        return {
            endpoint: f"{name}.{domain}"
            for service in self.services
            for endpoint, name in service.public_endpoints.items()
        }

    def credentials(self) -> tuple[CredentialSecret, ...]:
        """The Secrets to generate for this region, in the order of the catalogue."""
        desired = []
        for entry in self.services:
            own = self.own_secrets.get(entry.name, {})
            ours = {name: kind for name, kind in entry.credentials.items() if name not in own}
            if ours:
                desired.append(CredentialSecret(entry.secret_name, entry.name, ours, tuple(entry.charts)))
        return tuple(desired)

    def _image(self, name: str) -> str:
        registry = (self.main.get("images") or {}).get("registry")
        return mirrored(name, registry) if registry else name

    def _reference(self, by_name: Mapping[str, ServiceEntry], service: str, name: str) -> dict[str, Any]:
        entry = by_name.get(service)
        if entry is None or name not in entry.credentials:
            raise CatalogueInvalid(
                f'a template uses the credential "{name}" of {service}, unknown to the catalogue'
            )
        own = self.own_secrets.get(service, {}).get(name)
        if own is not None:
            return secret_ref(own["name"], own["key"])
        return secret_ref(entry.secret_name, name)


def _no_service(function: str, service: str, known: Mapping[str, ServiceEntry]) -> str:
    return f'{function}("{service}"): no such service in the catalogue; {suggestion(service, known)}'


_NOT_MAIN = frozenset(("features", "common", "services", "nodes"))


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
    enabled = {entry.name for entry in services}
    for service, credentials in own.items():
        if service not in library.catalogue:
            problems.append(unknown_key(base, 'service "%"', service, enabled))
            continue
        known = library.catalogue[service].credentials
        problems += [
            unknown_key((*base, service), f'credential "%" in service {service}', name, known)
            for name in credentials
            if name not in known
        ]
    return problems
