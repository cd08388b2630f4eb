"""An OpenStackDeployment of rockoon as one of this controller. Pure.

What is taken is taken by its path. Each field that nothing takes is reported, so that none is lost silently.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from controller.domain.adoption.rockoon_services import OF_SERVICES, PRESETS, VERSIONS
from controller.domain.api.names import API_VERSION
from controller.errors import Problem

API = "lcm.mirantis.com/v1alpha1"
KIND = "OpenStackDeployment"
_NO_COUNTERPART = "has no counterpart"
Path = tuple[str, ...]
# The oldest version of OpenStack that is run.
_OLDEST = "2025.1"

# Why a part has no counterpart, or what to do instead; the longest path that begins a field's path holds.
_INSTEAD: Mapping[str, str] = {
    "artifacts": "name your registry in images.registry, and your charts in charts.repository",
    "common.charts": "write values for all charts under common.charts.values, after a look at their charts",
    "common.infra": "the charts of rockoon are not used; write values under common.infra.values",
    "common.openstack": "the charts of rockoon are not used; write values under common.openstack.values",
    "features.cinder": "write backends and backup of features.blockStorage (docs/storage.md)",
    "features.cloudprober": "probes of the controller ask the services (docs/metrics.md)",
    "features.database.backup": "write features.backup, which also restores its backups (docs/backup.md)",
    "features.database.local_volumes": "write storageClass: the database uses it for its volumes",
    "features.glance": "write features.image.backends (docs/storage.md)",
    "features.horizon": "write values of services.dashboard.horizon",
    "features.ironic.agent_images": "write conf.ironic.conductor of services.baremetal.ironic.values",
    "features.keystone.federation": "write features.identity.federation (docs/sign-in.md)",
    "features.keystone.keycloak": "write features.identity.federation (docs/sign-in.md)",
    "features.manila": "write values of services.shared-file-system.manila",
    "features.neutron.baremetal": "write ml2_conf of services.networking.neutron.values",
    "features.neutron.bgpvpn": "write values of services.networking.neutron, if your images have the plugin",
    "features.neutron.extensions.portprober": "probes of the controller ask the services (docs/metrics.md)",
    "features.database.cleanup": "cleanup is for compute, block storage, orchestration and shares",
    "features.nova.console": "write values of services.compute.nova",
    "features.nova.images.encryption": "write values of services.compute.nova",
    "features.octavia.lb_network": "set features.loadBalancer.makeNetwork (docs/load-balancers.md)",
    "features.policies": "rules are given by service type: features.policies",
    "features.ssl.public_endpoints.ca_cert": "put it into the Secret of features.tls.public.caSecret",
    "features.stacklight": "metrics, alerts and the dashboard need no account (docs/metrics.md)",
    "features.telemetry": "enable the service metering (docs/telemetry.md)",
    "local_volume_storage_class": "write storageClass: the database uses it for its volumes",
    "migration": "releases are taken over with osctl adopt (docs/adoption.md)",
    "nodes": "values for labelled nodes are those of a DaemonSet: nodes.<label>::<value> (docs/values.md)",
    "services": "values are of OpenStack-Helm's charts, whose keys may differ: copy them by hand",
}


@dataclass(frozen=True)
class Secret:
    """A Secret to bring: its name, its keys, and the fields whose values belong into it."""

    name: str
    keys: Mapping[str, str]


@dataclass(frozen=True)
class ConvertedRegion:
    """The region, what to bring beside it, and a note for each field that the region does not have."""

    document: Mapping[str, Any]
    secrets: tuple[Secret, ...]
    notes: tuple[Problem, ...]


@dataclass
class _Source:
    """The spec, and the paths that were taken from it."""

    spec: Mapping[str, Any]
    taken: set[Path] = field(default_factory=set)

    def take(self, path: str, default: Any = None) -> Any:
        """The value at a path, or the default; it and everything below it counts as taken."""
        keys = tuple(path.split("."))
        value: Any = self.spec
        for key in keys:
            if not isinstance(value, Mapping) or key not in value:
                return default
            value = value[key]
        self.taken.add(keys)
        return default if value is None else value

    def left(self) -> Iterator[Path]:
        """The first path of each part that was not taken."""
        yield from self._left((), self.spec)

    def _left(self, path: Path, value: Any) -> Iterator[Path]:
        if path in self.taken:
            return
        if isinstance(value, Mapping) and value and self._is_divided(path):
            for key, item in value.items():
                yield from self._left((*path, str(key)), item)
        elif value is not None and value not in ({}, []):
            yield path

    def _is_divided(self, path: Path) -> bool:
        """Whether parts below the path were taken, or have an own line of what to do."""
        whole = ".".join(path)
        known = not whole or any(one.startswith(f"{whole}.") for one in _INSTEAD)
        return known or any(taken[: len(path)] == path for taken in self.taken)


@dataclass
class _Draft:
    """The spec as far as it is written."""

    source: _Source
    spec: dict[str, Any] = field(default_factory=dict)
    secrets: list[Secret] = field(default_factory=list)
    notes: list[Problem] = field(default_factory=list)

    def set(self, path: str, value: Any) -> None:
        """Sets a field, unless it is empty."""
        if value in (None, {}, []):
            return
        keys = path.split(".")
        place = self.spec
        for key in keys[:-1]:
            place = place.setdefault(key, {})
        place[keys[-1]] = value

    def move(self, source: str, target: str) -> None:
        """A field that is the same here."""
        self.set(target, self.source.take(source))

    def note(self, path: str, message: str, remedy: str = "") -> None:
        self.notes.append(Problem(f"spec.{path}", message, remedy))

    def secret(self, name: str, keys: Mapping[str, str]) -> None:
        """Its values are not printed: the note names the fields that have them."""
        self.secrets.append(Secret(name, keys))
        for key, path in keys.items():
            self.note(path, f"belongs into key {key} of Secret {name}", "create the Secret before the region")


def convert_rockoon(
    obj: Mapping[str, Any], preset_services: Mapping[str, Collection[str]]
) -> ConvertedRegion:
    """The region of a rockoon's. `preset_services` are the services of each preset of this controller."""
    meta = obj.get("metadata") or {}
    draft = _Draft(_Source(obj.get("spec") or {}))
    _main(draft)
    _services(draft, preset_services)
    _networking(draft)
    _compute(draft)
    _others(draft)
    for path in draft.source.left():
        draft.note(".".join(path), _NO_COUNTERPART, _instead(path))
    document = {
        "apiVersion": API_VERSION,
        "kind": KIND,
        "metadata": {
            "name": str(meta.get("name") or "region"),
            "namespace": str(meta.get("namespace") or "openstack"),
        },
        "spec": draft.spec,
    }
    notes = tuple(sorted(draft.notes, key=lambda one: one.path))
    return ConvertedRegion(document, tuple(draft.secrets), notes)


def _instead(path: Path) -> str:
    whole = ".".join(path)
    known = [prefix for prefix in _INSTEAD if whole == prefix or whole.startswith(f"{prefix}.")]
    return _INSTEAD[max(known, key=len)] if known else ""


def _main(draft: _Draft) -> None:
    word = str(draft.source.take("openstack_version", ""))
    version = VERSIONS.get(word, word)
    draft.set("openstackVersion", version)
    if not version.startswith("20") or version < _OLDEST:
        text = f"{word} is a version that this controller does not run"
        draft.note("openstack_version", text, f"upgrade to {_OLDEST} or newer there first")
    preset = str(draft.source.take("preset", "compute"))
    draft.set("preset", PRESETS.get(preset, "compute"))
    if preset not in PRESETS:
        draft.note(
            "preset", f"{preset} has no counterpart", "the region has preset compute: compare its services"
        )
    draft.set("size", draft.source.take("size", "small"))
    draft.move("region_name", "region")
    draft.move("public_domain_name", "publicDomainName")
    draft.move("internal_domain_name", "internalDomainName")
    draft.move("persistent_volume_storage_class", "storageClass")


def _services(draft: _Draft, presets: Mapping[str, Collection[str]]) -> None:
    desired: set[str] = set()
    for word in draft.source.take("features.services", ()) or ():
        service, remedy = OF_SERVICES.get(str(word), ("", "run its chart as a HelmBundle of its own"))
        if service:
            desired.add(service)
        elif remedy:
            draft.note("features.services", f'the service "{word}" {_NO_COUNTERPART}', remedy)
    given = frozenset(presets.get(draft.spec["preset"], ()))
    draft.set("features.services.enabled", sorted(desired - given))


def _networking(draft: _Draft) -> None:
    source = draft.source
    backend = str(source.take("features.neutron.backend", "ml2"))
    backends = {"ml2": "ml2/ovs", "ml2/ovs": "ml2/ovs", "ml2/ovn": "ml2/ovn"}
    draft.set("features.networking.backend", backends.get(backend))
    if backend not in backends:
        draft.note("features.neutron.backend", f"{backend} {_NO_COUNTERPART}", "choose ml2/ovs or ml2/ovn")
    draft.move("features.neutron.tunnel_interface", "features.networking.tunnelInterface")
    draft.move("features.neutron.dns_servers", "features.networking.dnsServers")
    draft.move("features.neutron.tenant_network_types", "features.networking.tenantNetworkTypes")
    if source.take("features.neutron.dvr.enabled", False):
        draft.set("features.networking.dvr", True)
    draft.set(
        "features.networking.externalNetworks",
        [_external(one) for one in source.take("features.neutron.external_networks", ())],
    )
    if source.take("features.neutron.extensions.vpnaas.enabled", False):
        draft.set("features.networking.extensions", ["vpnaas"])
    floating = "features.networking.floatingNetwork"
    path = "features.neutron.floating_network"
    enabled = source.take(f"{path}.enabled", False)
    if enabled and not source.take(f"{path}.physnet"):
        draft.note(path, "names no physical network", "write features.networking.floatingNetwork by hand")
        source.take(path)
    elif enabled:
        draft.set(f"{floating}.enabled", True)
        draft.move(f"{path}.physnet", f"{floating}.physicalNetwork")
        for key, target in _SUBNET.items():
            draft.move(f"{path}.subnet.{key}", f"{floating}.subnet.{target}")
    else:
        source.take(path)


_SUBNET = {"range": "range", "gateway": "gateway", "pool_start": "poolStart", "pool_end": "poolEnd"}


def _external(given: Mapping[str, Any]) -> dict[str, Any]:
    ranges = given.get("vlan_ranges")
    found = {
        "name": given.get("physnet"),
        "bridge": given.get("bridge"),
        "interface": given.get("interface"),
        "mtu": given.get("mtu"),
        "vlanRanges": ranges.split(",") if isinstance(ranges, str) else ranges,
    }
    return {key: value for key, value in found.items() if value}


def _compute(draft: _Draft) -> None:
    source = draft.source
    backend = str(source.take("features.nova.images.backend", "local"))
    known = {"local": "local", "qcow2": "local", "raw": "local", "lvm": "lvm", "ceph": "ceph"}
    draft.set("features.compute.images.backend", known.get(backend, "local"))
    if known.get(backend) != backend:
        draft.note("features.nova.images.backend", f"{backend} is local here", "see use_cow_images of Nova")
    draft.move("features.nova.images.lvm.volume_group", "features.compute.images.lvm.volumeGroup")
    draft.move("features.nova.live_migration_interface", "features.compute.liveMigration.interface")
    draft.move("features.nova.vcpu_type", "features.compute.vcpuType")
    if source.take("features.nova.console.spice.enabled", False):
        draft.set("features.compute.console.type", "spice")
    source.take("features.nova.console.novnc.enabled")
    if source.take("features.nova.libvirt.tls.enabled", False):
        draft.set("features.compute.libvirtTLS.enabled", True)


def _others(draft: _Draft) -> None:
    source = draft.source
    if source.take("features.ssl.public_endpoints.enabled", False):
        draft.set("features.tls.public", {"enabled": True, "secretName": "api-cert"})
        fields = {"tls.crt": "api_cert", "tls.key": "api_key"}
        given = {key: f"features.ssl.public_endpoints.{name}" for key, name in fields.items()}
        for path in given.values():
            source.take(path)
        draft.secret("api-cert", given)
    _vault(draft)
    _ldap(draft)
    brokers = source.take("features.messaging.components_with_dedicated_messaging", ())
    named = (OF_SERVICES.get(str(one), (str(one), ""))[0] for one in brokers)
    draft.set("features.messaging.dedicatedBrokers", list(dict.fromkeys(name for name in named if name)))
    for name, service in _CLEANED.items():
        path = f"features.database.cleanup.{name}"
        target = f"features.database.cleanup.{service}"
        if source.take(f"{path}.enabled") is not None:
            draft.set(f"{target}.enabled", source.take(f"{path}.enabled"))
            draft.move(f"{path}.schedule", f"{target}.schedule")
            draft.move(f"{path}.age", f"{target}.olderThanDays")
    if source.take("features.network_policies.enabled", False):
        draft.set("features.networkPolicies.enabled", True)
    if source.take("features.logging.cadf.enabled", False):
        draft.set("features.audit.enabled", True)
    _baremetal(draft)
    provider = str(source.take("features.octavia.default_provider", ""))
    draft.set(
        "features.loadBalancer.provider", "ovn" if provider == "ovn" else "amphora" if provider else None
    )


_CLEANED = {
    "nova": "compute",
    "cinder": "block-storage",
    "heat": "orchestration",
    "manila": "shared-file-system",
}


def _vault(draft: _Draft) -> None:
    path = "features.barbican.backends.vault"
    if not draft.source.take(f"{path}.enabled", False):
        return
    draft.source.take(f"{path}.use_ssl")
    target = "features.keyManager"
    draft.set(f"{target}.backend", "vault")
    draft.move(f"{path}.vault_url", f"{target}.vault.url")
    keys = {"role-id": f"{path}.approle_role_id", "secret-id": f"{path}.approle_secret_id"}
    draft.set(f"{target}.vault.roleID", {"name": "vault", "key": "role-id"})
    draft.set(f"{target}.vault.secretID", {"name": "vault", "key": "secret-id"})
    for one in keys.values():
        draft.source.take(one)
    draft.secret("vault", keys)


def _ldap(draft: _Draft) -> None:
    path = "features.keystone.domain_specific_configuration"
    draft.source.take(f"{path}.enabled")
    given = draft.source.take(f"{path}.ks_domains", {})
    listed = [(str(one.get("name")), one) for one in draft.source.take(f"{path}.domains", ())]
    domains = [*given.items(), *listed]
    found = []
    for name, domain in domains:
        ldap = dict((domain.get("config") or {}).get("ldap") or {})
        if not domain.get("enabled", True) or not ldap:
            continue
        secret = f"ldap-{name}".replace("_", "-").lower()
        if ldap.pop("password", None) is not None:
            draft.secret(secret, {"password": path})
        entry = {"name": name, **{key: ldap.pop(key) for key in ("url", "suffix", "user") if key in ldap}}
        found.append({**entry, "password": {"name": secret, "key": "password"}, "conf": ldap})
    draft.set("features.identity.ldap.domains", found)


def _baremetal(draft: _Draft) -> None:
    draft.move("features.ironic.provisioning_interface", "features.baremetal.provisioningInterface")
    draft.source.take("features.ironic.baremetal_network_name")
    networks = draft.source.take("features.ironic.networks", {})
    draft.set("features.baremetal.networks", list(_baremetal_networks(networks.values())))


def _baremetal_networks(given: Iterable[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    for one in given:
        subnet: Mapping[str, Any] = next(iter(one.get("subnets") or ()), {})
        found = {
            "name": one.get("name"),
            "purpose": "provisioning",
            "physicalNetwork": one.get("physnet"),
            "vlan": one.get("segmentation_id"),
            **{target: subnet.get(key) for key, target in _SUBNET.items()},
        }
        yield {key: value for key, value in found.items() if value is not None}
