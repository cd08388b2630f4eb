"""Why a credential is not rotated, in words. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from controller.domain.credentials.rotation.accounts import SecretUse

_TRUSTS = "trusts name its account by an id, and end with it"
_KEY_OF_DATA = "data in databases are encrypted with it"
_BY_HAND = "the account is the administrator's, which everything else is made with"
_AT_ONCE = "both sides must change at the same moment"

_REASONS: Mapping[str, Mapping[str, str]] = {
    "database": {
        "root-password": _BY_HAND,
        "sst-password": _AT_ONCE,
        "mariadb-password": "the database would start again for it",
    },
    "messaging": {"admin-password": _BY_HAND, "erlang-cookie": _AT_ONCE},
    "cache": {"memcache-secret-key": "all services share it, and have only one"},
    "identity": {"admin-password": _BY_HAND},
    "networking": {"metadata-secret": _AT_ONCE},
    "compute": {"ceph-secret-uuid": "it is a name, not a secret"},
    "orchestration": {
        "heat-trustee-password": _TRUSTS,
        "heat-stack-user-password": "it administers the domain of the users of stacks",
        "auth-encryption-key": _KEY_OF_DATA,
    },
    "key-manager": {"simple-crypto-key": _KEY_OF_DATA},
    "load-balancer": {
        "octavia-password": "access lists of secrets name its account by an id",
        "heartbeat-key": "load balancers that run have it",
        "ca-passphrase": "the key of an authority is encrypted with it",
    },
    "dashboard": {"secret-key": "everybody would be logged out"},
    "object-storage": {"swift-password": "the Ceph cluster has it, too"},
    "metering": {"aodh-password": _TRUSTS},
}


def not_rotated(service: str, key: str, use: SecretUse) -> str:
    """Why a key of the Secret of a service is not rotated; empty where it is."""
    if key in use.keys:
        return ""
    known = _REASONS.get(service, {}).get(key)
    if known:
        return known
    if key == "test-password":
        return "only `helm test` uses it, which sets it each time"
    return use.fixed.get(key) or "no release uses it for an account of its own"
