"""Secrets that no server has an account for: pods share them, under the same name before and after. Pure.

Most are replaced in one write: what cannot be done until the last pod has the next one is their gap. A pair
of keys for SSH goes in three, each after all pods have taken up the one before: first all let in the next
key, then all use it, then none lets in the former.

The password of an account that keeps its name (an administrator, or one that others name by its id) is
written down beside the one in use before its server is told of it, and takes its place after that: whenever
we are killed, the Secret has the one that the server knows.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field

from controller.domain.credentials.generate import SSH_PRIVATE_KEY, SSH_PUBLIC_KEY, public_key_of
from controller.domain.credentials.rotation.accounts import SecretUse, Server
from controller.domain.credentials.rotation.wrapping import KEYS, is_kept, wraps

SSH_STAGES = 3
_COMING = "-next"
# Whole texts for keys of the Secret; None: the key goes.
Texts = Mapping[str, str | None]

# By service and key, who knows the account: administrators, and those that trusts, access lists of Barbican's
# secrets or rights in a domain name by their id.
_KEPT_ACCOUNTS = {
    ("identity", "admin-password"): Server.KEYSTONE,
    ("messaging", "admin-password"): Server.BROKER,
    ("database", "root-password"): Server.DATABASE,
    ("load-balancer", "octavia-password"): Server.KEYSTONE,
    ("orchestration", "heat-trustee-password"): Server.KEYSTONE,
    ("orchestration", "heat-stack-user-password"): Server.KEYSTONE,
    ("metering", "aodh-password"): Server.KEYSTONE,
}
_PASSWORDS = tuple({key for _, key in _KEPT_ACCOUNTS})
# Their pods are replaced for the password of their administrator.
_RESTARTED = (Server.BROKER, Server.DATABASE)
_JOBS = "Jobs of releases that are not upgraded yet fail, and are tried again"

_GAPS: Mapping[tuple[str, str], str] = {
    ("cache", "memcache-secret-key"): (
        "no interruption: what the cache has by the former key is not found, tokens are validated again"
    ),
    ("networking", "metadata-secret"): (
        "from the first new pod of Nova's metadata API or Neutron's agents to the last one, servers whose"
        " request meets one of each are refused their metadata; cloud-init asks again"
    ),
    ("dashboard", "secret-key"): (
        "who is logged in to the dashboard has to log in again, while its pods are replaced several times"
    ),
    ("identity", "admin-password"): (
        "the password before is refused at once: who works as the administrator logs in again, with what"
        f" Secret openstack-clouds says; {_JOBS}; Octavia changes nothing until its pods are replaced"
    ),
    ("messaging", "admin-password"): (
        f"no account of a service is interrupted; {_JOBS}; brokers start again, one pod after the other"
    ),
    ("load-balancer", "octavia-password"): (
        "Octavia refuses requests until its pods are replaced; load balancers go on"
    ),
    ("orchestration", "heat-trustee-password"): (
        "what Heat does for a user later, such as scaling, fails until its pods are replaced; ask again"
    ),
    ("orchestration", "heat-stack-user-password"): (
        "stacks with users of their own cannot be made or deleted until Heat's pods are replaced"
    ),
    ("metering", "aodh-password"): "alarms are not evaluated until Aodh's pods are replaced",
    ("database", "root-password"): (
        "no account is interrupted: the database lets in root with both until everything has the next one;"
        " its pods start again, one after the other"
    ),
}


@dataclass(frozen=True)
class InPlace:
    """What of a Secret is replaced under its own name: `gaps` by key, and the private keys of `pairs`.
    `wraps`: the keys of `rotation.wrapping`, too. `kept_accounts`: those of the gaps that are passwords of
    accounts that keep their names. `restarted`: whose pods are replaced for it; no schedule asks for that."""

    gaps: Mapping[str, str] = field(default_factory=dict)
    pairs: tuple[str, ...] = ()
    wraps: bool = False
    kept_accounts: tuple[str, ...] = ()
    restarted: Server | None = None

    @property
    def shared(self) -> tuple[str, ...]:
        """What is replaced in one write, and no server is told."""
        return tuple(key for key in self.gaps if key not in self.kept_accounts)

    @property
    def keys(self) -> frozenset[str]:
        """All keys that get another text."""
        wrapping = KEYS if self.wraps else ()
        return frozenset((*self.gaps, *self.pairs, *map(public_name, self.pairs), *wrapping))

    def __bool__(self) -> bool:
        return bool(self.gaps or self.pairs or self.wraps)


def in_place(service: str, keys: Collection[str], use: SecretUse) -> InPlace:
    """What of the generated keys of a service's Secret is replaced under its own name, of those in use."""
    used = [key for key in keys if key in use.fixed]
    gaps = {key: _GAPS[service, key] for key in sorted(used) if (service, key) in _GAPS}
    pairs = [key for key in sorted(used) if key.endswith(SSH_PRIVATE_KEY) and public_name(key) in used]
    kept = tuple(key for key in gaps if (service, key) in _KEPT_ACCOUNTS)
    servers = [_KEPT_ACCOUNTS[service, key] for key in kept]
    restarted = next((one for one in servers if one in _RESTARTED), None)
    return InPlace(gaps, tuple(pairs), wraps(service, used), kept, restarted)


def public_name(private: str) -> str:
    """`ssh-public-key` for `ssh-private-key`."""
    return private.removesuffix(SSH_PRIVATE_KEY) + SSH_PUBLIC_KEY


def coming_name(key: str) -> str:
    """Where the next private key lies until all let it in, and the next password of an account."""
    return f"{key}{_COMING}"


def coming_passwords(keys: Collection[str]) -> tuple[str, ...]:
    """The passwords of accounts that keep their names, and have a next one beside them."""
    return tuple(sorted(key for key in _PASSWORDS if key in keys and coming_name(key) in keys))


def is_temporary(key: str) -> bool:
    """Whether a key of a Secret is there for the time of a rotation only."""
    coming = key in map(coming_name, _PASSWORDS) or key.endswith(SSH_PRIVATE_KEY + _COMING)
    return coming or is_kept(key)


def pair_texts(stage: int, private: str, texts: Mapping[str, str], make: Callable[[], str]) -> Texts:
    """What the Secret says of a pair from this stage on (1 to SSH_STAGES). `texts`: what it says now; `make`
    gives a new private key. Raises CredentialUnusable where a key is none.

    What is let in is always taken from the private keys that are there, whatever the Secret says of it.
    """
    public, coming = public_name(private), coming_name(private)
    used = texts[private]
    if stage == 1:
        following = texts.get(coming) or make()
        return {coming: following, public: _lines(public_key_of(used), public_key_of(following))}
    if stage == SSH_STAGES:
        return {public: public_key_of(used)}
    following = texts[coming]
    both = _lines(public_key_of(following), public_key_of(used))
    return {private: following, public: both, coming: None}


def _lines(*keys: str) -> str:
    """Several public keys. With the last line ended, too: only so OpenStack-Helm writes them as they are
    (helm-toolkit, snippets/_values_template_renderer.tpl)."""
    return "".join(f"{key}\n" for key in keys)


def lets_in_next(private: str, texts: Mapping[str, str]) -> bool:
    """Whether what the Secret says now lets in the next key of a pair, and the one in use. Raises
    CredentialUnusable."""
    following = texts.get(coming_name(private))
    if not following:
        return False
    published = texts.get(public_name(private), "").splitlines()
    return {public_key_of(following), public_key_of(texts[private])} <= set(published)
