"""Secrets without an account on a server: pods share them, and their name stays the same.

Pure. Most are replaced in one write; the operations that fail until the last pod has the next one are their
gap. A pair of SSH keys needs three writes, each after all pods have the previous one: first all accept the
next key, then all use it, then none accepts the former one. The next password of an account that keeps its
name (an administrator, or one that others name by its id) is stored with the present one before its server
gets it, and replaces it after that. So the Secret always has the password of the server, also if we are
killed.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field

from controller.domain.credentials.generate import SSH_PRIVATE_KEY, SSH_PUBLIC_KEY, public_key_of
from controller.domain.credentials.rotation.accounts import SecretUse, Server
from controller.domain.credentials.rotation.barbican_key import KEYS, is_kept, wraps

SSH_STAGES = 3
_COMING = "-next"
# Complete texts for keys of the Secret; None removes the key.
Texts = Mapping[str, str | None]

# By service and key: administrators, and accounts whose id is in trusts, access lists of Barbican's secrets
# or rights in a domain.
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
# Their pods restart for a new password of their administrator.
_RESTARTED = (Server.BROKER, Server.DATABASE)
_JOBS = "Jobs of releases that are not upgraded yet fail, and are retried"

_GAPS: Mapping[tuple[str, str], str] = {
    ("cache", "memcache-secret-key"): (
        "no interruption: cached entries under the former key are not found, and tokens are validated again"
    ),
    ("networking", "metadata-secret"): (
        "while pods of Nova's metadata API and Neutron's agents are replaced, some requests of "
        "servers for metadata are refused; cloud-init retries"
    ),
    ("dashboard", "secret-key"): (
        "users of the dashboard must log in again; Kubernetes replaces the dashboard's pods several times"
    ),
    ("identity", "admin-password"): (
        "the former password is refused at once: administrators must log in again, with the "
        f"clouds.yaml in Secret openstack-clouds; {_JOBS}; Octavia changes nothing until its pods "
        "are replaced"
    ),
    ("messaging", "admin-password"): (
        f"service accounts are not interrupted; {_JOBS}; brokers restart, one pod after the other"
    ),
    ("load-balancer", "octavia-password"): (
        "Octavia refuses requests until its pods are replaced; load balancers keep working"
    ),
    ("orchestration", "heat-trustee-password"): (
        "deferred actions of Heat, such as scaling, fail until its pods are replaced; repeat them"
    ),
    ("orchestration", "heat-stack-user-password"): (
        "stacks that contain users cannot be created or deleted until Heat's pods are replaced"
    ),
    ("metering", "aodh-password"): "alarms are not evaluated until Aodh's pods are replaced",
    ("database", "root-password"): (
        "no account is interrupted: the database accepts both passwords of root until everything has "
        "the next one; its pods restart, one after the other"
    ),
}


@dataclass(frozen=True)
class InPlace:
    """The part of a Secret that is replaced under its own name: `gaps` by key, and the private keys of
    `pairs`. `wraps`: also the keys of `rotation.wrapping`. `kept_accounts`: gaps that are passwords of
    accounts that keep their names. `restarted`: the server whose pods restart; a schedule never rotates
    these.
    """

    gaps: Mapping[str, str] = field(default_factory=dict)
    pairs: tuple[str, ...] = ()
    wraps: bool = False
    kept_accounts: tuple[str, ...] = ()
    restarted: Server | None = None

    @property
    def shared(self) -> tuple[str, ...]:
        """Keys that are replaced in one write, without a change on a server."""
        return tuple(key for key in self.gaps if key not in self.kept_accounts)

    @property
    def keys(self) -> frozenset[str]:
        """All keys with a new text."""
        wrapping = KEYS if self.wraps else ()
        return frozenset((*self.gaps, *self.pairs, *map(public_name, self.pairs), *wrapping))

    def __bool__(self) -> bool:
        return bool(self.gaps or self.pairs or self.wraps)


def in_place(service: str, keys: Collection[str], use: SecretUse) -> InPlace:
    """The used generated keys of a service's Secret that are replaced under their own name."""
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
    """The key for the next private key until all accept it, and for the next password of an account."""
    return f"{key}{_COMING}"


def coming_passwords(keys: Collection[str]) -> tuple[str, ...]:
    """The passwords of accounts that keep their names and have a next password."""
    return tuple(sorted(key for key in _PASSWORDS if key in keys and coming_name(key) in keys))


def is_temporary(key: str) -> bool:
    """Whether a key of a Secret exists only during a rotation."""
    coming = key in map(coming_name, _PASSWORDS) or key.endswith(SSH_PRIVATE_KEY + _COMING)
    return coming or is_kept(key)


def pair_texts(stage: int, private: str, texts: Mapping[str, str], make: Callable[[], str]) -> Texts:
    """The content of the Secret for a pair from this stage on (1 to SSH_STAGES).

    `texts`: its present content; `make` returns a new private key. Raises CredentialUnusable for an invalid
    key. Accepted keys always come from the existing private keys, whatever the Secret says.
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
    """Several public keys, with a newline at the end, because only then OpenStack-Helm writes them
    unchanged (helm-toolkit, snippets/_values_template_renderer.tpl).
    """
    return "".join(f"{key}\n" for key in keys)


def lets_in_next(private: str, texts: Mapping[str, str]) -> bool:
    """Whether the present Secret accepts the next key of a pair, and the one in use.

    Raises CredentialUnusable.
    """
    following = texts.get(coming_name(private))
    if not following:
        return False
    published = texts.get(public_name(private), "").splitlines()
    return {public_key_of(following), public_key_of(texts[private])} <= set(published)
