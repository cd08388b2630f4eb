"""What a region needs of a Ceph cluster: pools, and clients with the least capabilities that serve. Pure.

The capabilities of Glance, Cinder and hypervisors are those of Ceph's guide for OpenStack
(docs.ceph.com, rbd/rbd-openstack), those of Manila of its guide for CephFS (docs.openstack.org, manila,
cephfs_driver), those of Gnocchi of gnocchi.osci.io, intro/install.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

# Roles of pools, as both sides name them.
IMAGES, VOLUMES, VMS, BACKUP, METRICS, SHARES = "images", "volumes", "vms", "backup", "metrics", "shares"
ROLES = (IMAGES, VOLUMES, VMS, BACKUP, METRICS, SHARES)

ROOK, SECRET = "Rook", "Secret"
OFFER_SECRET = "openstack-ceph"  # noqa: S105 - a name

# The names by which OpenStack-Helm's charts mount what they need of Ceph.
CEPH_CONF = "ceph-etc"
_IMAGES_KEY, _VOLUMES_KEY = "images-rbd-keyring", "cinder-volume-rbd-keyring"
_BACKUP_KEY, _METRICS_KEY = "cinder-backup-rbd-keyring", "gnocchi-rbd-keyring"
_SHARES_KEY, _HYPERVISOR_KEY = "manila-keyring", "pvc-ceph-client-key"
# Of which of them the pods of each consumer are made.
CONSUMERS: Mapping[str, tuple[str, ...]] = {
    "glance": (_IMAGES_KEY,),
    "cinder-volume": (_VOLUMES_KEY,),
    # It reads what it backs up as the user of the volumes.
    "cinder-backup": (_VOLUMES_KEY, _BACKUP_KEY),
    "libvirt": (_HYPERVISOR_KEY,),
    "nova-compute": (_HYPERVISOR_KEY,),
    "gnocchi": (_METRICS_KEY,),
    "manila-share": (_SHARES_KEY,),
}
# Whose pods a pool of each role is used by.
ROLE_SECRETS: Mapping[str, tuple[str, ...]] = {
    IMAGES: (_IMAGES_KEY,),
    VOLUMES: (_VOLUMES_KEY, _HYPERVISOR_KEY),
    VMS: (_HYPERVISOR_KEY,),
    BACKUP: (_BACKUP_KEY,),
    METRICS: (_METRICS_KEY,),
    SHARES: (_SHARES_KEY,),
}
# One digest for each consumer: what its pods are made from. Templates refer to it.
CONSUMERS_SECRET = "ceph-consumers"  # noqa: S105 - a name

# Ceph's own user, who may do everything.
ADMINISTRATOR = "admin"
_HYPERVISOR_USER = "cinder"
_READS = "profile rbd"
# Of capabilities: either may stand between two clauses.
_CLAUSE_ENDS = re.compile(r"[,;]")


@dataclass(frozen=True)
class PoolNeed:
    """A pool. `volume_type`: of a pool for volumes, the store that keeps its volumes there."""

    name: str
    role: str
    volume_type: str = ""


@dataclass(frozen=True)
class ClientNeed:
    """A user of Ceph (`client.<name>`), and what it has to be allowed, by the kind of daemon."""

    name: str
    capabilities: Mapping[str, str]


@dataclass(frozen=True)
class CephNeeds:
    """All that the region needs, and of whom.

    `key_secrets`: for each Secret of the region, the client whose key it holds. `consumers`: for each
    consumer, the Secrets that its pods use. `request`: with ROOK the controller creates Rook's objects for
    the needs, with SECRET it writes the needs into a Secret. `gateway`: whether a RADOS gateway needs a user
    of Keystone.
    """

    source: str
    namespace: str
    secret_name: str
    request: str
    pools: tuple[PoolNeed, ...]
    clients: tuple[ClientNeed, ...]
    key_secrets: Mapping[str, str]
    consumers: Mapping[str, tuple[str, ...]]
    pool_settings: Mapping[str, Any]
    filesystem: str = ""
    gateway: bool = False
    gateway_url: str = ""


def ceph_needs(features: Mapping[str, Any], services: Collection[str]) -> CephNeeds | None:
    """The needs of a region with these features (completed) and services; None without an exchange."""
    ceph = features["ceph"]
    if not ceph["source"]:
        return None
    pools = tuple(dict.fromkeys(_pools(features, services)))
    users = {
        _IMAGES_KEY: _glance_user(pools),
        _VOLUMES_KEY: hypervisor_user(features) if _of(pools, VOLUMES) else "",
        _HYPERVISOR_KEY: hypervisor_user(features) if _serves_hypervisors(pools, services) else "",
        _BACKUP_KEY: backup_user(features) if _of(pools, BACKUP) else "",
        _METRICS_KEY: features["metering"]["gnocchi"]["user"] if _of(pools, METRICS) else "",
        _SHARES_KEY: "manila" if _of(pools, SHARES) else "",
    }
    key_secrets = {name: user for name, user in users.items() if user}
    gateway = "object-storage" in services
    return CephNeeds(
        source=ceph["source"],
        namespace=ceph["namespace"] or "",
        secret_name=ceph["secretName"] or OFFER_SECRET,
        request=ceph["request"] or SECRET,
        pools=tuple(pool for pool in pools if pool.role != SHARES),
        clients=tuple(_clients(pools, key_secrets)),
        key_secrets=key_secrets,
        consumers=dict(_consumers(key_secrets)),
        pool_settings=ceph["pools"],
        filesystem=next(iter(_of(pools, SHARES)), ""),
        gateway=gateway,
        gateway_url=(ceph["objectStorage"]["url"] or "") if gateway else "",
    )


def hypervisor_user(features: Mapping[str, Any]) -> str:
    """The one client of volumes and hypervisors: a hypervisor attaches volumes as Cinder's own user."""
    return next((store["ceph"]["user"] for store in _stores(features)), _HYPERVISOR_USER)


def backup_user(features: Mapping[str, Any]) -> str:
    """The client of cinder-backup: the chart's own, unless its options name another."""
    conf = features["blockStorage"]["backup"]["conf"] or {}
    return str(conf.get("backup_ceph_user") or "cinderbackup")


def _stores(features: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The stores of volumes in Ceph, with the settings that they do not name."""
    return [
        {**store, "ceph": {"pool": "volumes", "user": _HYPERVISOR_USER, **(store["ceph"] or {})}}
        for store in features["blockStorage"]["backends"]
        if store["type"] == "ceph"
    ]


def _pools(features: Mapping[str, Any], services: Collection[str]) -> Iterator[PoolNeed]:
    if "image" in services:
        for store in features["image"]["backends"] or ():
            if store["type"] == "ceph":
                yield PoolNeed(store["pool"] or "images", IMAGES)
    if "block-storage" in services:
        for store in _stores(features):
            yield PoolNeed(store["ceph"]["pool"], VOLUMES, store["name"])
        backup = features["blockStorage"]["backup"]
        if backup["enabled"] and backup["driver"] == "ceph":
            yield PoolNeed(backup["pool"] or "backups", BACKUP)
    if "compute" in services and features["compute"]["images"]["backend"] == "ceph":
        yield PoolNeed(features["compute"]["images"]["ceph"]["pool"], VMS)
    if "metering" in services and features["metering"]["gnocchi"]["enabled"]:
        yield PoolNeed(features["metering"]["gnocchi"]["pool"], METRICS)
    filesystem = features["ceph"]["shares"]["filesystem"]
    if "shared-file-system" in services and filesystem:
        yield PoolNeed(filesystem, SHARES)


def _clients(pools: tuple[PoolNeed, ...], key_secrets: Mapping[str, str]) -> Iterator[ClientNeed]:
    images, volumes, vms = _of(pools, IMAGES), _of(pools, VOLUMES), _of(pools, VMS)
    needed: dict[str, dict[str, str]] = {}
    for secret, user in key_secrets.items():
        if secret == _IMAGES_KEY:
            role = _block_devices(images)
        elif secret in (_VOLUMES_KEY, _HYPERVISOR_KEY):
            role = _block_devices([*volumes, *vms], read=images)
        elif secret == _BACKUP_KEY:
            role = _block_devices(_of(pools, BACKUP))
        elif secret == _METRICS_KEY:
            osd = ", ".join(f"allow rwx pool={pool}" for pool in _of(pools, METRICS))
            role = {"mon": "allow r", "osd": osd}
        else:
            role = {"mon": "allow r", "mgr": "allow rw"}
        # One user may have several roles: none of them may lose what another needs.
        needed[user] = joined_capabilities(needed.get(user, {}), role)
    for user in sorted(needed):
        yield ClientNeed(user, needed[user])


def joined_capabilities(there: Mapping[str, str], more: Mapping[str, str]) -> dict[str, str]:
    """What both allow, by the kind of daemon: the texts that are there, and the clauses that they lack."""
    joined = dict(there)
    for kind, text in more.items():
        known = set(capability_clauses(joined.get(kind, "")))
        added = [clause for clause in capability_clauses(text) if clause not in known]
        joined[kind] = ", ".join([*filter(None, [joined.get(kind, "").strip(" ,;")]), *added])
    return joined


def capability_clauses(text: str) -> list[str]:
    """The clauses of one daemon's capabilities, with single spaces."""
    return [" ".join(clause.split()) for clause in _CLAUSE_ENDS.split(text) if clause.strip()]


def _block_devices(pools: Collection[str], read: Collection[str] = ()) -> dict[str, str]:
    write = [f"{_READS} pool={pool}" for pool in pools]
    osd = [*write, *(f"profile rbd-read-only pool={pool}" for pool in read if pool not in pools)]
    return {"mon": _READS, "osd": ", ".join(osd), "mgr": ", ".join(write)}


def _consumers(key_secrets: Mapping[str, str]) -> Iterator[tuple[str, tuple[str, ...]]]:
    for consumer, secrets in CONSUMERS.items():
        used = tuple(secret for secret in secrets if secret in key_secrets)
        if used and (consumer != "cinder-backup" or _BACKUP_KEY in used):
            yield consumer, used


def _of(pools: tuple[PoolNeed, ...], role: str) -> list[str]:
    """Names of the pools of a role, each once."""
    return list(dict.fromkeys(pool.name for pool in pools if pool.role == role))


def _glance_user(pools: tuple[PoolNeed, ...]) -> str:
    return "glance" if _of(pools, IMAGES) else ""


def _serves_hypervisors(pools: tuple[PoolNeed, ...], services: Collection[str]) -> bool:
    return "compute" in services and bool(_of(pools, VOLUMES) or _of(pools, VMS))
