"""What is made for a server, and with which requests. Pure.

The bodies of requests are those of Neutron's, Cinder's and Nova's API references.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from controller.domain.api.conditions import timestamp
from controller.domain.servers.cloud_resources import METADATA_KEY, REQUEST_KEY, Kind, mark_of
from controller.domain.servers.server_spec import NAME_LIMIT, PortSpec, ServerSpec, VolumeSpec
from controller.domain.servers.server_status import Key, Resolved, ServerRecord

_LOCAL: Mapping[str, Any] = {"destination_type": "local", "delete_on_termination": True}
_OF_A_PROJECT = ("project_id", "tenant_id")
_PROFILE = {"ovsHWOffload": ("capabilities", ["switchdev"]), "trustedVF": ("trusted", "true")}


@dataclass(frozen=True, slots=True)
class PlannedThing:
    """One thing to be made. `tags`: those that Neutron is to show, the mark among them."""

    kind: Kind
    name: str
    tags: frozenset[str] = frozenset()

    @property
    def key(self) -> Key:
        return self.kind, self.name


@dataclass(frozen=True)
class ServerPlan:
    """All that one object asks for: `name` and `uid` are its own."""

    name: str
    uid: str
    spec: ServerSpec

    @property
    def mark(self) -> str:
        return mark_of(self.uid)

    def port_name(self, index: int) -> str:
        """Of one of its ports: by its suffix, or by its place in the list."""
        suffix = self.spec.ports[index].name_suffix or str(index)
        return f"{self.name[: NAME_LIMIT - len(suffix) - 1]}-{suffix}"

    def volume_name(self, volume: VolumeSpec) -> str:
        return f"{self.name[: NAME_LIMIT - len(volume.name) - 1]}-{volume.name}"

    def things(self) -> tuple[PlannedThing, ...]:
        """In the order in which they are made."""
        spec, mark = self.spec, self.mark
        ports = [(self.port_name(at), port) for at, port in enumerate(spec.ports)]
        return (
            *(PlannedThing(Kind.PORT, name, frozenset((mark, *port.tags))) for name, port in ports),
            *(
                PlannedThing(Kind.TRUNK, name, frozenset((mark, *port.tags)))
                for name, port in ports
                if self.has_trunk(port)
            ),
            *(PlannedThing(Kind.VOLUME, self.volume_name(one)) for one in spec.volumes),
            PlannedThing(Kind.SERVER, self.name),
            *(
                (PlannedThing(Kind.FLOATING_IP, self.name, frozenset((mark,))),)
                if spec.floating_ip is not None
                else ()
            ),
        )

    def of(self, kind: Kind) -> tuple[PlannedThing, ...]:
        return tuple(one for one in self.things() if one.kind == kind)

    def has_trunk(self, port: PortSpec) -> bool:
        return self.spec.trunk if port.trunk is None else port.trunk

    def body(self, thing: PlannedThing, resolved: Resolved, record: ServerRecord) -> dict[str, Any]:
        """The request that makes it, without a server's user data."""
        if thing.kind == Kind.PORT:
            index = self._index(thing.name)
            return self._port(thing.name, index, resolved)
        if thing.kind == Kind.TRUNK:
            port = record.id_of(Kind.PORT, thing.name)
            return {"trunk": {"name": thing.name, "port_id": port, "description": self.mark}}
        if thing.kind == Kind.VOLUME:
            volume = next(one for one in self.spec.volumes if self.volume_name(one) == thing.name)
            return self._volume(volume, resolved, record)
        if thing.kind == Kind.FLOATING_IP:
            network = resolved.floating_network
            return {"floatingip": {"floating_network_id": network, "description": self.mark}}
        return self._server(resolved, record)

    def _index(self, name: str) -> int:
        return next(at for at in range(len(self.spec.ports)) if self.port_name(at) == name)

    def _port(self, name: str, index: int, resolved: Resolved) -> dict[str, Any]:
        port, ids = self.spec.ports[index], resolved.ports[index]
        # It is always of the project of the credentials: nothing of another one is ever taken for ours.
        more = {key: value for key, value in port.value_specs.items() if key not in _OF_A_PROJECT}
        body: dict[str, Any] = {**more, "name": name, "network_id": ids.network}
        body["description"] = self.mark
        if port.fixed_ips:
            body["fixed_ips"] = [
                {
                    **({"subnet_id": subnet} if subnet else {}),
                    **({"ip_address": one.address} if one.address else {}),
                }
                for one, subnet in zip(port.fixed_ips, ids.subnets, strict=True)
            ]
        if not port.port_security:
            body |= {"port_security_enabled": False, "security_groups": []}
        elif port.security_groups is not None or self.spec.security_groups:
            body["security_groups"] = list(ids.security_groups)
        if port.address_pairs:
            body["allowed_address_pairs"] = [
                {
                    "ip_address": pair["ipAddress"],
                    **({"mac_address": pair["macAddress"]} if pair.get("macAddress") else {}),
                }
                for pair in port.address_pairs
            ]
        profile = dict(_PROFILE[key] for key, chosen in port.profile.items() if chosen and key in _PROFILE)
        given = {
            "binding:vnic_type": port.vnic_type,
            "binding:profile": profile,
            "binding:host_id": port.host,
            "mac_address": port.mac,
        }
        body |= {key: value for key, value in given.items() if value}
        switches = {
            "propagate_uplink_status": port.propagate_uplink_status,
            "admin_state_up": port.admin_state_up,
        }
        body |= {key: value for key, value in switches.items() if value is not None}
        return {"port": body}

    def _volume(self, volume: VolumeSpec, resolved: Resolved, record: ServerRecord) -> dict[str, Any]:
        name = self.volume_name(volume)
        asked = record.things.get((Kind.VOLUME, name))
        request = {REQUEST_KEY: timestamp(asked.requested)} if asked is not None and asked.requested else {}
        zone = self.spec.zone if volume.zone_of_server else volume.zone
        body = {
            "name": name,
            "size": volume.size,
            "description": self.mark,
            "metadata": {METADATA_KEY: self.uid, **request},
            **({"imageRef": resolved.image} if volume is self.spec.root else {}),
            **({"volume_type": volume.type} if volume.type else {}),
            # A host that is named with the zone (zone:host) is no zone of Cinder's.
            **({"availability_zone": zone.partition(":")[0]} if zone else {}),
        }
        return {"volume": body}

    def _server(self, resolved: Resolved, record: ServerRecord) -> dict[str, Any]:
        spec = self.spec
        body: dict[str, Any] = {
            "name": self.name,
            "flavorRef": resolved.flavor,
            "networks": [
                {"port": record.id_of(Kind.PORT, self.port_name(at))} for at in range(len(spec.ports))
            ],
            "tags": sorted({self.mark, *spec.tags}),
            "metadata": {**spec.metadata, METADATA_KEY: self.uid},
        }
        if spec.root is None:
            body["imageRef"] = resolved.image
        disks = self._disks(resolved, record)
        if disks:
            body["block_device_mapping_v2"] = disks
        given = {"key_name": spec.key, "availability_zone": spec.zone}
        body |= {key: value for key, value in given.items() if value}
        if spec.config_drive is not None:
            body["config_drive"] = spec.config_drive
        hints = {**spec.hints, **({"group": resolved.group} if resolved.group else {})}
        return {"server": body, **({"os:scheduler_hints": hints} if hints else {})}

    def _disks(self, resolved: Resolved, record: ServerRecord) -> list[dict[str, Any]]:
        spec = self.spec
        if spec.root is None and not spec.devices:
            return []
        if spec.root is None:
            first = {**_LOCAL, "source_type": "image", "uuid": resolved.image}
        else:
            first = self._from_volume(spec.root, record)
        disks = [{**first, "boot_index": 0}]
        for device in spec.devices:
            if device.local:
                disk = {**_LOCAL, "source_type": "blank", "volume_size": device.size}
            else:
                disk = self._from_volume(device, record)
            disks.append({**disk, "boot_index": -1, "tag": device.name})
        return disks

    def _from_volume(self, volume: VolumeSpec, record: ServerRecord) -> dict[str, Any]:
        return {
            "source_type": "volume",
            "destination_type": "volume",
            "uuid": record.id_of(Kind.VOLUME, self.volume_name(volume)),
            # It is ours to delete: Nova forgets it where its cell is down just then.
            "delete_on_termination": False,
        }


def with_user_data(body: Mapping[str, Any], content: bytes) -> dict[str, Any]:
    """The request for a server with its user data."""
    return {**body, "server": {**body["server"], "user_data": base64.b64encode(content).decode()}}
