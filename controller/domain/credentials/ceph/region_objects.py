"""The usable part of an offer, and the objects for the region's pods.

Pure. A Secret is written only if all its content is known. Otherwise the existing one stays, so that no pod
starts with incomplete data.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from controller.domain.credentials.ceph.capabilities import is_administrator, lacking
from controller.domain.credentials.ceph.offer import CephOffer, Place
from controller.domain.values.ceph_needs import (
    ADMINISTRATOR,
    CEPH_CONF,
    CONSUMERS_SECRET,
    ROLE_SECRETS,
    SHARES,
    VOLUMES,
    CephNeeds,
    ClientNeed,
)

# As created by helm-toolkit's Jobs.
KEY_TYPE = "kubernetes.io/rbd"
KEY, KEYRING = "key", "keyring"
CONF_FILE = "ceph.conf"

Digest = Callable[[Mapping[str, str]], str]


@dataclass(frozen=True)
class CephGap:
    """A missing part of the offer. `secrets`: the region's Secrets that cannot be created without it."""

    place: Place
    message: str
    secrets: frozenset[str]


@dataclass(frozen=True)
class CephObjects:
    """The desired objects of the region's namespace.

    `conf` is None if the cluster is unknown; `keys`: the texts of each Secret; `digests`: the digest of each
    consumer's input.
    """

    conf: str | None
    keys: Mapping[str, Mapping[str, str]] = field(repr=False)
    digests: Mapping[str, str]
    gaps: tuple[CephGap, ...]


def plan_objects(needs: CephNeeds, offer: CephOffer, source: Place, digest: Digest) -> CephObjects:
    """The objects from the offer.

    `source` is the object to name if no other is at fault; `digest` returns a keyed digest of texts.
    """
    gaps = tuple(_gaps(needs, offer, source))
    if not offer.monitors:
        return CephObjects(None, {}, {}, gaps)
    conf = ceph_conf(offer)
    waiting = frozenset[str]().union(*(gap.secrets for gap in gaps))
    keys = {
        secret: _texts(user, offer.clients[user].key)
        for secret, user in needs.key_secrets.items()
        if secret not in waiting
    }
    digests = {
        consumer: digest({CONF_FILE: conf, **{secret: keys[secret][KEYRING] for secret in secrets}})
        for consumer, secrets in needs.consumers.items()
        if not waiting & set(secrets)
    }
    return CephObjects(conf, keys, digests, gaps)


def wider_clients(needs: CephNeeds, offer: CephOffer) -> tuple[str, ...]:
    """Used clients with more capabilities than needed, according to the offer, each with its needs."""
    return tuple(
        f"client {client.name} has more capabilities than necessary; the client needs "
        f"{_shown(client.capabilities)}"
        for client in needs.clients
        if client.name in offer.clients and not _lacks(client, offer)
        if lacking(offer.clients[client.name].capabilities, client.capabilities)
    )


def ceph_conf(offer: CephOffer) -> str:
    """The file by which clients find the cluster."""
    hosts = ",".join(map(str, offer.monitors))
    return f"[global]\nfsid = {offer.fsid}\nmon_host = {hosts}\n"


def _texts(user: str, key: str) -> dict[str, str]:
    return {KEY: key, KEYRING: f"[client.{user}]\n    key = {key}\n"}


def _gaps(needs: CephNeeds, offer: CephOffer, source: Place) -> Iterator[CephGap]:
    every = frozenset((CEPH_CONF, *needs.key_secrets, CONSUMERS_SECRET))
    told: set[str] = set()
    for problem in offer.problems:
        secrets = _secrets_of(needs, problem.client) if problem.client else every
        if secrets:
            yield CephGap(problem.place, problem.message, secrets)
            told.add(problem.client)
    if not offer.monitors:
        return
    for client in needs.clients:
        missing = _lacks(client, offer)
        if missing and client.name not in told:
            yield CephGap(source, missing, _secrets_of(needs, client.name))
    yield from _pool_gaps(needs, offer, source)


def _lacks(client: ClientNeed, offer: CephOffer) -> str:
    """The problem with an offered client, or empty."""
    if client.name == ADMINISTRATOR:
        return f"client {client.name} is Ceph's administrator; name another client in the spec"
    offered = offer.clients.get(client.name)
    if offered is None:
        prefixed = f"client.{client.name}" in offer.clients
        return f"the offer has no client {client.name}" + (
            "; leave out client. before its name" if prefixed else ""
        )
    if is_administrator(offered.capabilities):
        return f"client {client.name} is an administrator; give it {_shown(client.capabilities)} only"
    if offered.capabilities and lacking(client.capabilities, offered.capabilities):
        return f"client {client.name} lacks capabilities; the client needs {_shown(client.capabilities)}"
    return ""


def _pool_gaps(needs: CephNeeds, offer: CephOffer, source: Place) -> Iterator[CephGap]:
    """Checks that the pools of the offer match the spec, which configures the services."""
    if offer.pools is None:
        return
    by_name = {pool.name: pool for pool in offer.pools if pool.role != SHARES}
    for pool in needs.pools:
        secrets = frozenset(ROLE_SECRETS[pool.role]) & needs.key_secrets.keys()
        there = by_name.get(pool.name)
        if there is None:
            text = f"the spec names pool {pool.name} for {pool.role}, which the offer lacks"
        elif there.role != pool.role:
            text = f"pool {pool.name} is for {there.role}, and the spec uses it for {pool.role}"
        elif pool.role == VOLUMES and there.volume_type not in ("", pool.volume_type):
            text = f"pool {pool.name} is not for the volume type {pool.volume_type}"
        else:
            continue
        yield CephGap(source, text, secrets)


def _secrets_of(needs: CephNeeds, user: str) -> frozenset[str]:
    return frozenset(secret for secret, owner in needs.key_secrets.items() if owner == user)


def _shown(capabilities: Mapping[str, str]) -> str:
    return ", ".join(f"{kind} '{text}'" for kind, text in capabilities.items())
