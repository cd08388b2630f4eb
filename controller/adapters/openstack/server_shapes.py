"""Parses answers of Nova, Neutron and Cinder into our types, and builds queries for references."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from controller.domain.servers.cloud_resources import METADATA_KEY, REQUEST_KEY, CloudResource, Kind, mark_of
from controller.domain.servers.server_spec import Reference

# The words of a definition in those of Neutron's API; lists become one text with commas.
_WORDS = {
    "name": "name",
    "description": "description",
    "projectID": "project_id",
    "tags": "tags",
    "tagsAny": "tags-any",
    "notTags": "not-tags",
    "notTagsAny": "not-tags-any",
    "cidr": "cidr",
    "gatewayIP": "gateway_ip",
    "ipVersion": "ip_version",
    "ipv6AddressMode": "ipv6_address_mode",
    "ipv6RAMode": "ipv6_ra_mode",
}
# Address types as the Kubernetes API has them for machines (core/v1, NodeAddressType).
_ADDRESS_TYPES = {"fixed": "InternalIP", "floating": "ExternalIP"}


def network_query(reference: Reference) -> dict[str, str]:
    """A reference as a query of Neutron."""
    if reference.id:
        return {"id": reference.id}
    return {
        _WORDS[key]: ",".join(map(str, value)) if isinstance(value, list) else str(value)
        for key, value in reference.query.items()
        if key in _WORDS
    }


def read_resource(kind: Kind, one: Mapping[str, Any], project: str) -> CloudResource:
    """One object as its service reports it, with a login of this project.

    Raises KeyError, TypeError, AttributeError for another shape.
    """
    if kind == Kind.SERVER:
        return _server(one)
    if kind == Kind.VOLUME:
        return _volume(one, project)
    return _of_neutron(kind, one)


def _server(one: Mapping[str, Any]) -> CloudResource:
    tags = frozenset(map(str, one.get("tags") or ()))
    owner = (one.get("metadata") or {}).get(METADATA_KEY)
    listed = one.get("addresses") or {}
    addresses = tuple(
        (_ADDRESS_TYPES.get(str(address.get("OS-EXT-IPS:type")), "InternalIP"), str(address["addr"]))
        for network in sorted(listed)
        for address in listed[network]
    )
    return CloudResource(
        kind=Kind.SERVER,
        id=str(one["id"]),
        name=str(one.get("name") or ""),
        status=str(one.get("status") or ""),
        task=str(one.get("OS-EXT-STS:task_state") or ""),
        fault=str((one.get("fault") or {}).get("message") or "")[:500],
        marks=tags | ({mark_of(str(owner))} if owner else set()),
        tags=tags,
        addresses=addresses,
        created=str(one.get("created") or ""),
        project=str(one["tenant_id"]),
    )


def _volume(one: Mapping[str, Any], project: str) -> CloudResource:
    metadata = one.get("metadata") or {}
    owner = metadata.get(METADATA_KEY)
    used_by = next((str(at.get("server_id") or "") for at in one.get("attachments") or ()), "")
    return CloudResource(
        kind=Kind.VOLUME,
        id=str(one["id"]),
        name=str(one.get("name") or ""),
        status=str(one["status"]),
        used_by=used_by,
        marks=frozenset((mark_of(str(owner)),)) if owner else frozenset(),
        created=str(one.get("created_at") or ""),
        request=str(metadata.get(REQUEST_KEY) or ""),
        # A policy of Cinder may hide this, also from administrators, who alone see volumes of other projects
        # (cinder/policies/volumes.py).
        project=str(one.get("os-vol-tenant-attr:tenant_id") or project),
    )


def _of_neutron(kind: Kind, one: Mapping[str, Any]) -> CloudResource:
    tags = frozenset(map(str, one.get("tags") or ()))
    user = one.get("device_id") if kind == Kind.PORT else one.get("port_id")
    address = one.get("floating_ip_address")
    return CloudResource(
        kind=kind,
        id=str(one["id"]),
        name=str(one.get("name") or ""),
        status=str(one.get("status") or ""),
        used_by=str(user or ""),
        marks=tags | {str(one.get("description") or "")},
        tags=tags,
        addresses=(("ExternalIP", str(address)),) if address else (),
        created=str(one.get("created_at") or ""),
        project=str(one["project_id"]),
    )
