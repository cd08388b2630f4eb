"""Ports of an OpenStackMachine as `networks` and `ports` of a provider spec."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from controller.domain.machines.fields import filled
from controller.domain.machines.neutron import restored_network, restored_subnet

#: Fields that only an entry of `ports` has.
_OF_PORTS = ("nameSuffix", "description", "adminStateUp", "macAddress", "securityGroups", "trunk")
_CAPABILITIES = '["switchdev"]'


def restored_ports(ports: Sequence[Mapping[str, Any]], counts: Sequence[int] | None) -> dict[str, Any]:
    """`networks` and `ports`.

    `counts` is the number of ports of each entry of `networks`. Without it, as in a template of another
    writer, the ports before the first one that only `ports` can describe become `networks`, one each.
    """
    if counts is None or sum(counts) > len(ports) or min(counts, default=1) < 1:
        counts = [1] * _of_networks(ports)
    border = sum(counts)
    return filled(
        networks=list(_networks(ports[:border], counts)),
        ports=[_port(port) for port in ports[border:]],
    )


def _of_networks(ports: Sequence[Mapping[str, Any]]) -> int:
    for index, port in enumerate(ports):
        fixed = any(address.get("ipAddress") for address in port.get("fixedIPs") or ())
        if fixed or port.get("allowedAddressPairs") or any(port.get(key) is not None for key in _OF_PORTS):
            return index
    return len(ports)


def _networks(ports: Sequence[Mapping[str, Any]], counts: Sequence[int]) -> Iterator[dict[str, Any]]:
    start = 0
    for count in counts:
        own = ports[start : start + count]
        start += count
        subnets = [
            restored_subnet(address.get("subnet") or {})
            for port in own
            for address in port.get("fixedIPs") or ()
        ]
        tags = _tags_of(own, subnets)
        yield {
            **restored_network(own[0].get("network") or {}),
            **filled(subnets=subnets, portTags=tags),
            **_settings(own[0]),
            **({"noAllowedAddressPairs": True} if own[0].get("allowedAddressPairs") == [] else {}),
        }


def _tags_of(ports: Sequence[Mapping[str, Any]], subnets: list[dict[str, Any]]) -> list[str]:
    """The tags of the entry; tags of only some of its ports go to the subnets of these."""
    tags = [list(port.get("tags") or ()) for port in ports]
    common = [tag for tag in tags[0] if all(tag in others for others in tags)]
    if len(ports) > 1:
        for subnet, own in zip(subnets, tags, strict=False):
            subnet.update(filled(portTags=[tag for tag in own if tag not in common]))
    return common


def _port(port: Mapping[str, Any]) -> dict[str, Any]:
    pairs = [
        filled(ipAddress=pair.get("ipAddress"), macAddress=pair.get("macAddress"))
        for pair in port.get("allowedAddressPairs") or ()
    ]
    addresses = [
        filled(subnetID=(address.get("subnet") or {}).get("id"), ipAddress=address.get("ipAddress"))
        for address in port.get("fixedIPs") or ()
    ]
    return {
        **filled(
            networkID=(port.get("network") or {}).get("id"),
            nameSuffix=port.get("nameSuffix"),
            description=port.get("description"),
            adminStateUp=port.get("adminStateUp"),
            macAddress=port.get("macAddress"),
            fixedIPs=addresses,
            securityGroups=[group.get("id") for group in port.get("securityGroups") or ()],
            allowedAddressPairs=pairs,
            tags=port.get("tags"),
            trunk=port.get("trunk"),
        ),
        **_settings(port),
    }


def _settings(port: Mapping[str, Any]) -> dict[str, Any]:
    disabled, given = port.get("disablePortSecurity"), port.get("profile") or {}
    profile = filled(
        capabilities=_CAPABILITIES if given.get("ovsHWOffload") else None,
        trusted=str(given["trustedVF"]).lower() if isinstance(given.get("trustedVF"), bool) else None,
    )
    return filled(
        vnicType=port.get("vnicType"),
        profile=profile,
        portSecurity=None if disabled is None else not disabled,
    )
