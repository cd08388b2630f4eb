"""Reasons why a credential is not rotated. Pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from controller.domain.credentials.rotation.accounts import Account, Release, SecretUse, Server
from controller.domain.credentials.rotation.in_place import InPlace, in_place
from controller.domain.credentials.rotation.servers import is_closed

_KEY_OF_DATA = "data in databases are encrypted with it"
_AT_ONCE = "both sides must change at the same moment"

_REASONS: Mapping[str, Mapping[str, str]] = {
    "database": {
        "sst-password": _AT_ONCE,
        "mariadb-password": "the database would restart",
    },
    "messaging": {"erlang-cookie": _AT_ONCE},
    "compute": {"ceph-secret-uuid": "a name, not a secret"},
    "orchestration": {
        "auth-encryption-key": _KEY_OF_DATA,
    },
    "load-balancer": {
        "heartbeat-key": "running load balancers use it, and would be considered dead and be replaced",
        "ca-passphrase": "the key of an authority is encrypted with it",
        "certs-passphrase": "running operations of Octavia's pods are encrypted with it",
    },
    "object-storage": {"swift-password": "the Ceph cluster also has it"},
}


def not_rotated(service: str, key: str, use: SecretUse) -> str:
    """Why a key of the Secret of a service is not rotated, or empty."""
    if key in use.keys or key in in_place(service, use.fixed, use).keys:
        return ""
    known = _REASONS.get(service, {}).get(key)
    if known:
        return known
    if key == "test-password":
        return "only `helm test` uses it, and sets it each time"
    return use.fixed.get(key) or "no release uses it for an account of its own"


def why_refused(use: SecretUse, shared: InPlace, keys: Collection[str], releases: Collection[Release]) -> str:
    """Why no key of a Secret with these generated keys is rotated, or empty."""
    if shared.restarted and any(_lets_in_certificates(shared.restarted, one) for one in releases):
        return f"the {shared.restarted.lower()} accepts only clients with a certificate"
    if not use.accounts or use.keys.isdisjoint(keys):
        nothing = (
            "the Secret holds neither an account of a release, with name and password, nor a replaceable key"
        )
        return "" if shared else nothing
    by_name = {one.name: one for one in releases}
    for one in use.accounts:
        if is_closed(one.account, by_name[one.account.release]):
            what = one.account.server.lower()
            return f"the {what} of {one.account.release} accepts only clients with a certificate"
    return ""


def _lets_in_certificates(server: Server, release: Release) -> bool:
    return is_closed(Account(server, "", release.name, ""), release)
