"""The requests of a region to a Ceph cluster: as objects of Rook, or as a document.

Pure. It never requests a deletion, because pools hold data, and others may use a client. It also never
reduces capabilities of a client, because running servers keep using them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import yaml

from controller.domain.credentials.ceph.capabilities import is_administrator
from controller.domain.credentials.ceph.offer import Place
from controller.domain.values.ceph_needs import (
    METRICS,
    CephNeeds,
    PoolNeed,
    capability_clauses,
    joined_capabilities,
)
from controller.domain.values.yaml_reader import read_documents
from controller.errors import SpecInvalid

REQUEST_SECRET = "openstack-ceph-request"  # noqa: S105 - a name
REQUEST = "request.yaml"
# The user of Keystone in the form that a CephObjectStore takes (auth.keystone.serviceUserSecretName).
GATEWAY_SECRET = "openstack-rgw-keystone"  # noqa: S105 - a name
POOL_KIND, CLIENT_KIND = "CephBlockPool", "CephClient"
_ACCEPTED_ROLES = ("admin", "member")
_HEAD = "# Written by the OpenStack Controller: what {0} needs of this Ceph cluster (docs/ceph.md).\n"


@dataclass(frozen=True)
class GatewayUser:
    """The user of Keystone with which a RADOS gateway validates tokens."""

    url: str
    name: str
    password: str = field(repr=False)
    project: str
    domain: str


@dataclass(frozen=True)
class RookObject:
    """An object of Rook, with the fields that the region sets."""

    place: Place
    spec: Mapping[str, Any]


def rook_objects(needs: CephNeeds) -> tuple[RookObject, ...]:
    """The pools and clients, each once, pools first."""
    pools = {pool.name: pool for pool in needs.pools}
    return (
        *(RookObject(Place(POOL_KIND, name), _pool_spec(needs)) for name in pools),
        *(
            RookObject(Place(CLIENT_KIND, one.name), {"caps": dict(one.capabilities)})
            for one in needs.clients
        ),
    )


def request_document(
    needs: CephNeeds,
    region: str,
    gateway: GatewayUser | None,
    before: Mapping[str, Mapping[str, str]] | None = None,
) -> str:
    """The needs as YAML.

    It contains the password of the gateway's user, if there is one. `before`: earlier requests for clients,
    which stay in it.
    """
    clients = {user: dict(caps) for user, caps in (before or {}).items()}
    for one in needs.clients:
        clients[one.name] = joined_capabilities(clients.get(one.name, {}), one.capabilities)
    document: dict[str, Any] = {
        "pools": {pool.name: _pool_entry(pool, needs) for pool in needs.pools},
        "clients": {user: {"caps": clients[user]} for user in sorted(clients)},
    }
    if needs.filesystem:
        document["filesystems"] = {needs.filesystem: {"role": "shares"}}
    if gateway is not None:
        user = {"url": gateway.url, "user": gateway.name, "password": gateway.password}
        user |= {"project": gateway.project, "domain": gateway.domain}
        document["rgw"] = {
            "url": needs.gateway_url,
            "keystone": {**user, "acceptedRoles": [*_ACCEPTED_ROLES]},
        }
    return _HEAD.format(region) + yaml.safe_dump(document, sort_keys=False, allow_unicode=True)


def requested_clients(text: str) -> dict[str, dict[str, str]]:
    """The capabilities by user in a document, without malformed entries."""
    try:
        documents = read_documents(text, REQUEST)
    except SpecInvalid:
        return {}
    values = [one.value for one in documents if isinstance(one.value, Mapping)]
    found = values[0].get("clients") if values else None
    clients = {}
    for user, entry in found.items() if isinstance(found, Mapping) else ():
        caps = entry.get("caps") if isinstance(entry, Mapping) else None
        usable = isinstance(caps, Mapping) and all(
            isinstance(one, str) for pair in caps.items() for one in pair
        )
        if isinstance(user, str) and caps and usable and not is_administrator(caps):
            clients[user] = dict(caps)
    return clients


def unneeded(there: Mapping[str, str], needed: Mapping[str, str]) -> dict[str, str]:
    """The clauses that are not needed, by the kind of daemon."""
    left = {
        kind: [one for one in capability_clauses(text) if one not in capability_clauses(needed.get(kind, ""))]
        for kind, text in there.items()
    }
    return {kind: ", ".join(clauses) for kind, clauses in left.items() if clauses}


def gateway_texts(gateway: GatewayUser) -> dict[str, str]:
    """The user under the names that Rook reads (rook: pkg/operator/ceph/object/config.go)."""
    return {
        "OS_AUTH_TYPE": "password",
        "OS_IDENTITY_API_VERSION": "3",
        "OS_USERNAME": gateway.name,
        "OS_PASSWORD": gateway.password,
        "OS_PROJECT_NAME": gateway.project,
        "OS_PROJECT_DOMAIN_NAME": gateway.domain,
        "OS_USER_DOMAIN_NAME": gateway.domain,
    }


def _pool_spec(needs: CephNeeds) -> dict[str, Any]:
    settings = needs.pool_settings
    spec: dict[str, Any] = {
        "failureDomain": settings["failureDomain"],
        "replicated": {"size": settings["replicas"]},
    }
    if settings["replicas"] == 1:
        # Rook refuses a single copy without this explicit setting.
        spec["replicated"]["requireSafeReplicaSize"] = False
    if settings["deviceClass"]:
        spec["deviceClass"] = settings["deviceClass"]
    return spec


def _pool_entry(pool: PoolNeed, needs: CephNeeds) -> dict[str, Any]:
    settings = needs.pool_settings
    entry = {"role": pool.role, "volumeType": pool.volume_type}
    entry |= {"application": "gnocchi" if pool.role == METRICS else "rbd"}
    entry |= {name: settings[name] for name in ("replicas", "failureDomain", "deviceClass")}
    return {name: value for name, value in entry.items() if value}
