"""`networks` and `ports` of a provider spec as the ports of an OpenStackMachine.

The machine API connects networks before ports, and the first port identifies a machine, so the order is kept.
A network becomes one port with an address of each of its subnets. An entry with subnets and no network
becomes one port for each subnet.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from controller.domain.machines.fields import Fields, filled, unique
from controller.domain.machines.neutron import network_param, subnet_param

SWITCHDEV = "switchdev"


def ports_of_network(network: Fields, virtual_addresses: Iterable[str]) -> list[dict[str, Any]]:
    """The ports of one entry of `networks`.

    `virtual_addresses` are those of the cluster, which the machine API allows on each of these ports unless
    `noAllowedAddressPairs` is set.
    """
    param = network_param(network)
    network.ignored("fixedIp")
    pairs: list[dict[str, Any]] | None = [{"ipAddress": address} for address in virtual_addresses] or None
    if network.flag("noAllowedAddressPairs"):
        pairs = []
    common: dict[str, Any] = {
        **_settings(network),
        **({} if pairs is None else {"allowedAddressPairs": pairs}),
    }
    own_tags = network.texts("portTags")
    subnets = [_subnet(subnet) for subnet in network.each("subnets")]
    network.finish()
    if param:
        tags = [*own_tags, *(tag for _, tags in subnets for tag in tags)]
        fixed = [{"subnet": subnet} for subnet, _ in subnets]
        return [filled_port(network=param, fixedIPs=fixed, tags=tags, settings=common)]
    if not subnets:
        message = "names neither a network nor a subnet, so it creates no port"
        network.findings.refuse(network.path, message, "give a uuid, a filter or subnets, or remove it")
    return [
        filled_port(fixedIPs=[{"subnet": subnet}], tags=[*own_tags, *tags], settings=common)
        for subnet, tags in subnets
    ]


def _subnet(subnet: Fields) -> tuple[dict[str, Any], list[str]]:
    param, tags = subnet_param(subnet), subnet.texts("portTags")
    subnet.ignored("portSecurity", why="the machine API uses only that of the network")
    if not param:
        subnet.findings.refuse(subnet.path, "names no subnet", "give a uuid or a filter")
    subnet.finish()
    return param, tags


def port_of_port(port: Fields) -> dict[str, Any]:
    """The port of one entry of `ports`. Without a suffix its name ends with its index, as before."""
    network = port.uuid("networkID")
    if not network and not port.text("networkID"):
        port.refuse("networkID", "is missing: the id of the network of the port")
    port.ignored("tenantID", "projectID", "hostID")
    pairs = [_address_pair(pair) for pair in port.each("allowedAddressPairs")]
    settings = {
        **filled(
            adminStateUp=port.flag("adminStateUp"),
            macAddress=port.text("macAddress"),
            trunk=port.flag("trunk"),
        ),
        **_settings(port),
        **filled(allowedAddressPairs=pairs),
    }
    made = filled_port(
        network=filled(id=network),
        nameSuffix=port.text("nameSuffix"),
        description=port.text("description"),
        fixedIPs=[_fixed_ip(fixed) for fixed in port.each("fixedIPs")],
        # None means the groups of the machine, in both APIs.
        securityGroups=[{"id": group} for group in port.uuids("securityGroups")],
        tags=port.texts("tags"),
        settings=settings,
    )
    port.finish()
    return made


def filled_port(*, tags: list[str], settings: Mapping[str, Any], **parts: Any) -> dict[str, Any]:
    """One port, without empty fields; an empty list of address pairs has a meaning."""
    return {**filled(**parts, tags=unique(tags)), **settings}


def _settings(given: Fields) -> dict[str, Any]:
    """The common fields of networks and ports. Port security has the opposite sense."""
    security = given.flag("portSecurity")
    return filled(
        vnicType=given.text("vnicType"),
        profile=_profile(given),
        disablePortSecurity=None if security is None else not security,
    )


def _profile(given: Fields) -> dict[str, bool]:
    """Cluster API knows only two fields of a binding profile."""
    profile, path = given.text_map("profile"), (*given.path, "profile")
    found = {}
    for key, value in profile.items():
        if key == "capabilities" and SWITCHDEV in value:
            found["ovsHWOffload"] = True
            if value.strip('[]"') != SWITCHDEV:
                given.findings.warn((*path, key), f"only {SWITCHDEV} is converted")
        elif key == "capabilities":
            message = f"is not {SWITCHDEV}, the one capability that Cluster API knows"
            given.findings.refuse((*path, key), message, "remove it")
        elif key == "trusted" and value in ("true", "false"):
            found["trustedVF"] = value == "true"
        elif key == "trusted":
            given.findings.refuse((*path, key), 'must be "true" or "false"')
        else:
            message = "is not a key of a binding profile that Cluster API knows"
            given.findings.refuse((*path, key), message, "known keys are capabilities and trusted")
    return found


def _address_pair(pair: Fields) -> dict[str, Any]:
    address = pair.text("ipAddress", required="the allowed address")
    found = filled(ipAddress=address, macAddress=pair.text("macAddress"))
    pair.finish()
    return found


def _fixed_ip(fixed: Fields) -> dict[str, Any]:
    subnet, address = fixed.uuid("subnetID"), fixed.text("ipAddress")
    if not subnet and not fixed.text("subnetID"):
        fixed.refuse("subnetID", "is missing: the id of the subnet of the address")
    fixed.finish()
    return filled(subnet=filled(id=subnet), ipAddress=address)
