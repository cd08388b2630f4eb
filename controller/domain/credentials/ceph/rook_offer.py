"""Reads Rook's records of its cluster: ConfigMap rook-ceph-mon-endpoints, Secret rook-ceph-mon, and a Secret
for each CephClient (rook: pkg/operator/ceph/controller/cluster_info.go, pkg/operator/ceph/client). Pure.

Only the cluster's id is used from rook-ceph-mon. It also contains the keys of the administrator and the
monitors, and a client with one of these is refused.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from controller.domain.credentials.ceph.offer import (
    KEY_OF_SEVERAL,
    V2_PORT,
    CephMalformed,
    CephOffer,
    Monitor,
    OfferedClient,
    OfferProblem,
    Place,
    find_repeated,
    joined,
    keys_of_several,
    parse_address,
    parse_fsid,
    parse_key,
)
from controller.domain.values.ceph_needs import ADMINISTRATOR

CLUSTER = Place("Secret", "rook-ceph-mon")
MONITORS = Place("ConfigMap", "rook-ceph-mon-endpoints")
# In the Secret of the cluster (rook: pkg/operator/ceph/controller/cluster_info.go).
_RULING_KEYS = frozenset(("admin-secret", "ceph-secret", "mon-secret"))
MISSING = "the object does not exist"
_CLIENT_MISSING = (
    "the Secret does not exist; create CephClient {0}, or let the controller create "
    "it (spec.features.ceph.request)"
)


def client_place(user: str) -> Place:
    """The Secret of Rook for the CephClient of this name."""
    return Place("Secret", f"rook-ceph-client-{user}")


def parse_rook_offer(
    cluster: Mapping[str, str] | None,
    endpoints: Mapping[str, str] | None,
    clients: Mapping[str, Mapping[str, str] | None],
) -> CephOffer:
    """The offer in the texts of these objects by key, None for a missing one; `clients` by user."""
    problems: list[OfferProblem] = []
    fsid, monitors = "", tuple[Monitor, ...]()
    try:
        fsid = _fsid(cluster)
    except CephMalformed as error:
        problems.append(OfferProblem(CLUSTER, str(error)))
    try:
        monitors = _monitors(endpoints)
    except CephMalformed as error:
        problems.append(OfferProblem(MONITORS, str(error)))
    offered: dict[str, OfferedClient] = {}
    ruling = {text.strip() for key, text in (cluster or {}).items() if key in _RULING_KEYS}
    for user, texts in sorted(clients.items()):
        try:
            offered[user] = OfferedClient(_key(user, texts, ruling))
        except CephMalformed as error:
            problems.append(OfferProblem(client_place(user), str(error), user))
    for user in sorted(keys_of_several(offered)):
        del offered[user]
        problems.append(OfferProblem(client_place(user), f"it {KEY_OF_SEVERAL}", user))
    if not fsid or not monitors:
        fsid, monitors = "", ()
    return CephOffer(fsid, monitors, offered, problems=tuple(problems))


def _fsid(texts: Mapping[str, str] | None) -> str:
    if texts is None:
        raise CephMalformed(f"{MISSING}; check that this is the namespace of a CephCluster")
    if not texts.get("fsid"):
        raise CephMalformed('the Secret has no "fsid"')
    try:
        return parse_fsid(texts["fsid"])
    except CephMalformed as error:
        raise CephMalformed(f'its "fsid" {error}') from None


def _monitors(texts: Mapping[str, str] | None) -> tuple[Monitor, ...]:
    """Every monitor, by its name, also one out of quorum: clients skip it, and nothing restarts because a
    monitor restarts.
    """
    if texts is None:
        raise CephMalformed(f"{MISSING}; check that this is the namespace of a CephCluster")
    text = (texts.get("data") or "").strip()
    if not text:
        raise CephMalformed('its "data" names no monitor')
    named = list(_named(text.split(",")))
    repeated = find_repeated([monitor for _, monitor in named])
    if repeated is not None:
        raise CephMalformed(f'monitor {repeated + 1} in its "data" repeats an address')
    return tuple(monitor for _, monitor in sorted(named))


def _named(entries: Iterable[str]) -> Iterable[tuple[str, Monitor]]:
    seen: set[str] = set()
    for number, entry in enumerate(entries, 1):
        name, equals, place = entry.strip().partition("=")
        if not name or not equals:
            raise CephMalformed('its "data" does not have the form NAME=ADDRESS:PORT,…')
        if name in seen:
            raise CephMalformed(f'monitor {number} in its "data" repeats a name')
        seen.add(name)
        try:
            address, port = parse_address(place)
        except CephMalformed as error:
            raise CephMalformed(f'monitor {number} in its "data" {error}') from None
        # As in Rook's own ceph.conf: the port of the second protocol means that there is no first one.
        v1 = "" if port == V2_PORT else joined(address, port)
        yield name, Monitor(joined(address, V2_PORT), v1)


def _key(user: str, texts: Mapping[str, str] | None, ruling: Collection[str]) -> str:
    if texts is None:
        raise CephMalformed(_CLIENT_MISSING.format(user))
    found = {texts[key].strip() for key in (user, "userKey") if texts.get(key)}
    if not found:
        raise CephMalformed(f'the Secret has neither "{user}" nor "userKey"')
    if len(found) > 1:
        raise CephMalformed(f'its "{user}" and "userKey" differ')
    try:
        key = parse_key(found.pop())
    except CephMalformed as error:
        raise CephMalformed(f"its key for {user} {error}") from None
    if key in ruling and user != ADMINISTRATOR:
        raise CephMalformed(f"its key for {user} belongs to Ceph's administrator; create a CephClient")
    return key
