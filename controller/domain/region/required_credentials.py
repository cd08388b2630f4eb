"""Which credentials a region needs, and what of Ceph: by the services that it has."""

from __future__ import annotations

from collections.abc import Iterable

from controller.domain.api.spec_rules import charts_and_services as rules
from controller.domain.region.deployment import DeploymentSpec
from controller.domain.values.catalogue import CredentialSecret, ServiceEntry
from controller.domain.values.ceph_needs import CephNeeds, ceph_needs
from controller.domain.values.chosen_services import decide_services
from controller.domain.values.shipped_values import Library
from controller.domain.values.suggestion import suggestion
from controller.domain.values.templates.template_input import filled_features
from controller.errors import SpecInvalid


def region_credentials(
    spec: DeploymentSpec, services: Iterable[ServiceEntry]
) -> tuple[CredentialSecret, ...]:
    """The Secrets to generate for the services of the region, in their order; the same as a full rendering
    finds.

    Looks at the services and at spec.features.credentials only, so that a mistake in the values of one
    release keeps no other from its password.
    """
    desired = []
    own = {(one.service, one.credential) for one in spec.features.credentials}
    for entry in services:
        ours = {key: kind for key, kind in entry.credentials.items() if (entry.name, key) not in own}
        if ours:
            desired.append(CredentialSecret(entry.secret_name, entry.name, ours, tuple(entry.charts)))
    return tuple(desired)


def region_ceph(spec: DeploymentSpec, services: Iterable[ServiceEntry], library: Library) -> CephNeeds | None:
    """What the services of the region need of Ceph; None without an exchange."""
    size, preset = library.sizes[spec.size], library.presets[spec.preset]
    features = filled_features(spec.features.tree, size.features, preset.features)
    return ceph_needs(features, frozenset(entry.name for entry in services))


def region_services(spec: DeploymentSpec, library: Library) -> tuple[ServiceEntry, ...]:
    """The services of the region, in the order of the catalogue. Raises SpecInvalid."""
    preset = library.presets.get(spec.preset)
    if preset is None:
        remedy = suggestion(spec.preset, library.presets)
        raise SpecInvalid([rules.PRESET_UNKNOWN.at("spec.preset", preset=spec.preset, suggestion=remedy)])
    chosen = spec.features.tree["services"]
    services, problems = decide_services(
        library.catalogue,
        preset=spec.preset,
        preset_services=preset.services,
        enabled=chosen["enabled"],
        disabled=chosen["disabled"],
        source=spec.charts.source,
    )
    if problems:
        raise SpecInvalid(problems)
    return services
