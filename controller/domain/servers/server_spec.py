"""The spec of an OpenStackServer, with its defaults. Pure.

Field names are those of Cluster API Provider OpenStack, so that what people have written for it moves over.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

# The longest name of a port: Neutron takes 255 characters, Kubernetes 253 and a suffix.
NAME_LIMIT = 255
# Fields that may change whatever `update` says.
ALWAYS_MUTABLE = ("identityRef", "enabled")


class Update(StrEnum):
    """What an edit does."""

    FROZEN = "Frozen"
    REPLACE = "Replace"


class OnExternalDeletion(StrEnum):
    """What is done about a server that others have deleted."""

    REPORT = "Report"
    RECREATE = "Recreate"


@dataclass(frozen=True, slots=True)
class Identity:
    """Whose cloud: a Secret with a clouds.yaml in the object's own namespace. Empty: the default."""

    secret: str = ""
    cloud: str = ""
    region: str = ""


@dataclass(frozen=True, slots=True)
class Reference:
    """Something that is there already, by id or by what a search for it is to find exactly once.

    `query` is in the words of the definition (`name`, `projectID`, `tagsAny` …).
    """

    id: str = ""
    query: Mapping[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        return f"id {self.id}" if self.id else f"filter {json.dumps(dict(self.query), sort_keys=True)}"


@dataclass(frozen=True, slots=True)
class FixedIP:
    """One address of a port: of a subnet, or that very one, or both."""

    subnet: Reference | None = None
    address: str = ""


@dataclass(frozen=True, slots=True)
class PortSpec:
    """One of `ports`. `network` None: that of its first subnet; `security_groups` None: those of the server;
    `trunk` None: as the server says."""

    network: Reference | None
    name_suffix: str = ""
    fixed_ips: tuple[FixedIP, ...] = ()
    security_groups: tuple[Reference, ...] | None = None
    tags: tuple[str, ...] = ()
    trunk: bool | None = None
    address_pairs: tuple[Mapping[str, str], ...] = ()
    vnic_type: str = ""
    port_security: bool = True
    profile: Mapping[str, bool] = field(default_factory=dict)
    mac: str = ""
    host: str = ""
    propagate_uplink_status: bool | None = None
    admin_state_up: bool | None = None
    value_specs: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class VolumeSpec:
    """A disk. `local`: on the host, and not a volume. Zone: its name; `zone_of_server`: as the server's."""

    name: str
    size: int
    local: bool = False
    type: str = ""
    zone: str = ""
    zone_of_server: bool = False


@dataclass(frozen=True, slots=True)
class FloatingIPSpec:
    """`keep`: it stays allocated when the object goes."""

    network: Reference
    keep: bool = False


@dataclass(frozen=True, slots=True)
class ServerSpec:
    """`spec`, with its defaults."""

    identity: Identity
    image: Reference
    ports: tuple[PortSpec, ...]
    flavor: str = ""
    flavor_id: str = ""
    key: str = ""
    security_groups: tuple[Reference, ...] = ()
    trunk: bool = False
    root: VolumeSpec | None = None
    devices: tuple[VolumeSpec, ...] = ()
    group: Reference | None = None
    metadata: Mapping[str, str] = field(default_factory=dict)
    tags: tuple[str, ...] = ()
    zone: str = ""
    user_data: str = ""
    floating_ip: FloatingIPSpec | None = None
    config_drive: bool | None = None
    hints: Mapping[str, str] = field(default_factory=dict)
    on_external_deletion: OnExternalDeletion = OnExternalDeletion.REPORT
    update: Update = Update.FROZEN
    enabled: bool = True

    @property
    def volumes(self) -> tuple[VolumeSpec, ...]:
        """Those that Cinder has to make."""
        root = (self.root,) if self.root is not None else ()
        return (*root, *(one for one in self.devices if not one.local))


def parse_server_spec(obj: Mapping[str, Any]) -> ServerSpec:
    """The spec of an OpenStackServer that the API server has accepted. Raises ValueError on any other."""
    try:
        return _parse(obj["spec"])
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"the spec cannot be read: {type(error).__name__}: {error}") from None


def _parse(spec: Mapping[str, Any]) -> ServerSpec:
    identity = spec.get("identityRef") or {}
    return ServerSpec(
        identity=Identity(
            str(identity.get("name") or ""),
            str(identity.get("cloudName") or ""),
            str(identity.get("region") or ""),
        ),
        image=_reference(spec["image"]),
        ports=tuple(_port(one) for one in spec["ports"]),
        flavor=str(spec.get("flavor") or ""),
        flavor_id=str(spec.get("flavorID") or ""),
        key=str(spec.get("sshKeyName") or ""),
        security_groups=_references(spec.get("securityGroups")),
        trunk=bool(spec.get("trunk")),
        root=_root(spec.get("rootVolume")),
        devices=tuple(_device(one) for one in spec.get("additionalBlockDevices") or ()),
        group=_reference(spec["serverGroup"]) if spec.get("serverGroup") else None,
        metadata={str(one["key"]): str(one["value"]) for one in spec.get("serverMetadata") or ()},
        tags=tuple(map(str, spec.get("tags") or ())),
        zone=str(spec.get("availabilityZone") or ""),
        user_data=str((spec.get("userDataRef") or {}).get("name") or ""),
        floating_ip=_floating_ip(spec.get("floatingIP")),
        config_drive=spec.get("configDrive"),
        hints={str(key): str(value) for key, value in (spec.get("schedulerHints") or {}).items()},
        on_external_deletion=OnExternalDeletion(spec.get("onExternalDeletion") or OnExternalDeletion.REPORT),
        update=Update(spec.get("update") or Update.FROZEN),
        enabled=spec.get("enabled") is not False,
    )


def spec_digest(obj: Mapping[str, Any]) -> str:
    """Of what a server is made from: where it differs, the server is another one."""
    made_from = {key: value for key, value in obj["spec"].items() if key not in ALWAYS_MUTABLE}
    for key in ("update", "onExternalDeletion", "floatingIP"):
        made_from.pop(key, None)
    return hashlib.sha256(json.dumps(made_from, sort_keys=True).encode()).hexdigest()[:16]


def _reference(given: Mapping[str, Any]) -> Reference:
    return Reference(str(given.get("id") or ""), dict(given.get("filter") or {}))


def _references(given: Sequence[Mapping[str, Any]] | None) -> tuple[Reference, ...]:
    return tuple(_reference(one) for one in given or ())


def _port(given: Mapping[str, Any]) -> PortSpec:
    groups, network = given.get("securityGroups"), given.get("network")
    if not network and not any(one.get("subnet") for one in given.get("fixedIPs") or ()):
        raise KeyError("network")
    return PortSpec(
        network=_reference(network) if network else None,
        name_suffix=str(given.get("nameSuffix") or ""),
        fixed_ips=tuple(
            FixedIP(_reference(one["subnet"]) if one.get("subnet") else None, str(one.get("ipAddress") or ""))
            for one in given.get("fixedIPs") or ()
        ),
        security_groups=None if groups is None else _references(groups),
        tags=tuple(map(str, given.get("tags") or ())),
        trunk=given.get("trunk"),
        address_pairs=tuple(dict(one) for one in given.get("allowedAddressPairs") or ()),
        vnic_type=str(given.get("vnicType") or ""),
        port_security=not given.get("disablePortSecurity"),
        profile={str(key): bool(value) for key, value in (given.get("profile") or {}).items()},
        mac=str(given.get("macAddress") or ""),
        host=str(given.get("hostID") or ""),
        propagate_uplink_status=given.get("propagateUplinkStatus"),
        admin_state_up=given.get("adminStateUp"),
        value_specs={str(one["key"]): str(one["value"]) for one in given.get("valueSpecs") or ()},
    )


def _root(given: Mapping[str, Any] | None) -> VolumeSpec | None:
    if not given:
        return None
    return _cinder("root", int(given["sizeGiB"]), given)


def _device(given: Mapping[str, Any]) -> VolumeSpec:
    name, size, storage = str(given["name"]), int(given["sizeGiB"]), given["storage"]
    if storage["type"] == "Local":
        return VolumeSpec(name, size, local=True)
    return _cinder(name, size, storage.get("volume") or {})


def _cinder(name: str, size: int, given: Mapping[str, Any]) -> VolumeSpec:
    zone = given.get("availabilityZone") or {}
    return VolumeSpec(
        name=name,
        size=size,
        type=str(given.get("type") or ""),
        zone=str(zone.get("name") or ""),
        zone_of_server=zone.get("from") == "Machine",
    )


def _floating_ip(given: Mapping[str, Any] | None) -> FloatingIPSpec | None:
    if not given:
        return None
    pool = given.get("pool")
    network = Reference(query={"name": str(pool)}) if pool else _reference(given["network"])
    return FloatingIPSpec(network, keep=given.get("reclaim") == "Retain")
