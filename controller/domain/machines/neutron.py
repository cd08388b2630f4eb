"""References to networks, subnets and security groups in the two APIs: by id, or by a filter.

Machine API: OpenstackProviderSpec in openshift/api, machine/v1alpha1. An id has precedence over the filter
beside it, `projectId` over `tenantId`, and tags are one text with commas. Cluster API: NetworkParam,
SubnetParam and SecurityGroupParam of cluster-api-provider-openstack, api/v1beta1: an id or a filter, exactly
one of them, and tags are sets.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from controller.domain.machines.fields import Fields, filled, unique

_TAGS = ("tags", "tagsAny", "notTags", "notTagsAny")
_LISTING = ("limit", "marker", "sortKey", "sortDir")


def network_param(network: Fields) -> dict[str, Any]:
    """The network of an entry of `networks`; or empty."""
    given = network.below("filter")
    found = _common(given)
    given.ignored("status", "adminStateUp", "shared", *_LISTING)
    return _id_or_filter(network, given, found)


def subnet_param(subnet: Fields) -> dict[str, Any]:
    """The subnet of an entry of `networks[].subnets`; or empty."""
    given = subnet.below("filter")
    common = _common(given)
    version = given.whole("ipVersion")
    if version not in (None, 0, 4, 6):
        given.refuse("ipVersion", "must be 4 or 6")
    found = filled(
        **{key: value for key, value in common.items() if key not in _TAGS},
        ipVersion=version or None,
        gatewayIP=given.text("gateway_ip"),
        cidr=given.text("cidr"),
        ipv6AddressMode=given.text("ipv6AddressMode"),
        ipv6RAMode=given.text("ipv6RaMode"),
        **{key: value for key, value in common.items() if key in _TAGS},
    )
    given.ignored("networkId", "subnetpoolId", "enableDhcp", *_LISTING)
    return _id_or_filter(subnet, given, found)


def security_group_param(group: Fields) -> dict[str, Any]:
    """An entry of `securityGroups`; empty, with an error, if it names none."""
    given, name = group.below("filter"), group.text("name")
    found = _common(given)
    if name and found.get("name", name) != name:
        group.warn("name", "has precedence over the name in the filter, which is not converted")
    found |= filled(name=name)
    given.ignored(*_LISTING)
    param = _id_or_filter(group, given, found)
    if not param:
        group.findings.refuse(group.path, "names no security group", "give a uuid or a name")
    group.finish()
    return param


def _common(given: Fields) -> dict[str, Any]:
    name, description = given.text("name"), given.text("description")
    project, tenant = given.text("projectId"), given.text("tenantId")
    if project and tenant and project != tenant:
        given.warn("tenantId", "is not converted: projectId has precedence over it")
    tags = {key: unique([tag for tag in given.text(key).split(",") if tag]) for key in _TAGS}
    return filled(name=name, description=description, projectID=project or tenant, **tags)


def _id_or_filter(outer: Fields, given: Fields, found: dict[str, Any]) -> dict[str, Any]:
    outer_id, inner_id = outer.uuid("uuid"), given.uuid("id")
    given.finish()
    if outer_id and inner_id and outer_id != inner_id:
        given.warn("id", "is not converted: the uuid beside the filter has precedence over it")
    if found_id := outer_id or inner_id:
        if found:
            fields = ", ".join(sorted(found))
            outer.warn("filter", f"these fields are not converted: {fields}; the id has precedence")
        return {"id": found_id}
    return {"filter": found} if found else {}


# -- and back


def restored_network(param: Mapping[str, Any]) -> dict[str, Any]:
    """The part of an entry of `networks` that names the network."""
    found = filled(uuid=param.get("id"))
    if given := _restored_common(param.get("filter") or {}):
        found["filter"] = given
    return found


def restored_subnet(param: Mapping[str, Any]) -> dict[str, Any]:
    """The part of an entry of `networks[].subnets` that names the subnet."""
    found = filled(uuid=param.get("id"))
    given = param.get("filter") or {}
    restored = {
        **_restored_common(given),
        **filled(
            ipVersion=given.get("ipVersion"),
            gateway_ip=given.get("gatewayIP"),
            cidr=given.get("cidr"),
            ipv6AddressMode=given.get("ipv6AddressMode"),
            ipv6RaMode=given.get("ipv6RAMode"),
        ),
    }
    return {**found, "filter": restored} if restored else found


def restored_security_group(param: Mapping[str, Any]) -> dict[str, Any]:
    """An entry of `securityGroups`."""
    given = _restored_common(param.get("filter") or {})
    return filled(uuid=param.get("id"), name=given.pop("name", None), filter=given)


def _restored_common(given: Mapping[str, Any]) -> dict[str, Any]:
    tags = {key: ",".join(given.get(key) or ()) for key in _TAGS}
    return filled(
        name=given.get("name"),
        description=given.get("description"),
        projectId=given.get("projectID"),
        **tags,
    )
