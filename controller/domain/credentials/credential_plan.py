"""Plans the steps for the credentials of a region; other modules carry them out.

Three rules have precedence. A credential with a value keeps it. A credential that existed and is gone is not
generated again automatically, because databases on retained volumes still use the old one. Only our own
Secrets are ever removed, and only with the whole region, if the operator requested the deletion of volumes:
data of a service is in the database of another, which outlives its release. A Secret is marked before its
removal. A later pass removes it, if nothing was written to it since then. Marked Secrets are never used, so
no release can begin with one between the check and the removal, however long a process hangs.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from controller.domain.api.region_spec import OwnSecret, VolumePolicy
from controller.domain.credentials.generate import SSH_PUBLIC_KEY, private_name
from controller.domain.values.catalogue import CredentialSecret
from controller.domain.values.templates.template_functions import ACCOUNT_SUFFIX


@dataclass(frozen=True)
class StoredSecret:
    """A stored Secret.

    `filled`: keys with a value; `empty`: keys without. `owned`: by an osdpl, with which Kubernetes would
    delete it, also if the osdpl has returned under another uid. `ours`: it has our label. `foreign`: it has
    another one, such as Helm's. `unused`: it is marked for removal. `uid` and `version` (resourceVersion) are
    those of the read object.
    """

    name: str
    service: str = ""
    filled: frozenset[str] = frozenset()
    empty: frozenset[str] = frozenset()
    ours: bool = True
    foreign: bool = False
    owned: bool = False
    immutable: bool = False
    deleting: bool = False
    unused: bool = False
    uid: str = ""
    version: str = ""

    @property
    def keys(self) -> frozenset[str]:
        """With a value and without."""
        return self.filled | self.empty


@dataclass(frozen=True)
class SecretChange:
    """One Secret to create or to complete.

    `add` maps keys to the kinds to generate. `adopt`: it lacks our labels. `disown`: the owner reference of
    an osdpl is removed. `unused`: it gets the mark for removal, and otherwise loses it. A change applies only
    to the Secret as it was read (`stored`), so that no edit in between is lost.
    """

    name: str
    service: str
    stored: StoredSecret | None
    add: Mapping[str, str] = field(default_factory=dict)
    adopt: bool = False
    disown: bool = False
    unused: bool = False


@dataclass(frozen=True)
class EarlierLife:
    """Signs of credentials from before the osdpl: `used` are Secrets that installed releases refer to,
    `kept_of` the releases of kept claims.
    """

    used: frozenset[str] = frozenset()
    kept_of: frozenset[str] = frozenset()


@dataclass(frozen=True)
class CredentialProblem:
    """An error that an operator must correct.

    `secret` is the name of the object, `message` the remedy. `kind`: of the object, if it is not a Secret.
    `lost`: it existed, and only a person can restore it.
    """

    secret: str
    message: str
    kind: str = "Secret"
    lost: bool = False


@dataclass(frozen=True)
class CredentialPlan:
    """All steps towards the desired credentials.

    `remove` are Secrets that are removed with their region. `lost` are credentials that existed and are gone:
    a change for each Secret, with the keys to restore.
    """

    changes: tuple[SecretChange, ...] = ()
    remove: tuple[StoredSecret, ...] = ()
    problems: tuple[CredentialProblem, ...] = ()
    lost: tuple[SecretChange, ...] = ()


def keys_of(stored: Mapping[str, StoredSecret], name: str) -> frozenset[str]:
    """Those that a Secret has, with a value and without; none where it is not there."""
    return stored[name].keys if name in stored else frozenset()


def without_trace(
    desired: Iterable[CredentialSecret],
    stored: Mapping[str, StoredSecret],
    recorded: Mapping[str, Collection[str]],
) -> tuple[CredentialSecret, ...]:
    """Credentials without a Secret and without a record: they are new, or the record is also lost."""
    return tuple(
        secret
        for secret in desired
        if not recorded.get(secret.name) and keys_of(stored, secret.name).isdisjoint(secret.credentials)
    )


def with_earlier_life(
    recorded: Mapping[str, Collection[str]],
    desired: Iterable[CredentialSecret],
    unknown: Iterable[CredentialSecret],
    earlier: EarlierLife,
) -> dict[str, Collection[str]]:
    """The record, with those of the `unknown` that must have existed.

    A lost osdpl loses its status, and returns without it. A release is not installed before its credentials
    exist. So if none of the desired ones is recorded yet, those that an installed release refers to existed.
    Later it may refer to credentials of a new service. A kept claim contains data that need the credentials
    of its service.
    """
    begins = not any(recorded.get(secret.name) for secret in desired)
    lost = {
        secret.name: tuple(secret.credentials)
        for secret in unknown
        if (begins and secret.name in earlier.used) or earlier.kept_of.intersection(secret.releases)
    }
    return {**recorded, **lost}


def plan_credentials(
    desired: Iterable[CredentialSecret],
    stored: Mapping[str, StoredSecret],
    *,
    recorded: Mapping[str, Collection[str]],
) -> CredentialPlan:
    """Compares desired with stored credentials.

    Undesired ones stay, in case they are desired again. `stored` has every Secret with our labels, and all
    with the desired names. `recorded` are the keys that each Secret has had (`status.secrets`).
    """
    changes: list[SecretChange] = []
    lost: list[SecretChange] = []
    problems: list[CredentialProblem] = []
    desired = tuple(desired)
    for secret in desired:
        there = stored.get(secret.name)
        problem = _in_the_way(there)
        if problem:
            problems.append(CredentialProblem(secret.name, problem))
            continue
        add, gone, missing = _keys_to_add(secret, there, recorded.get(secret.name, ()))
        problems += missing
        if gone:
            lost.append(SecretChange(secret.name, secret.service, there, gone))
        if there is not None and there.immutable and add:
            names = ", ".join(sorted(add))
            text = f"the Secret is immutable and lacks {names}; delete it, and create it again with them"
            problems.append(CredentialProblem(secret.name, text))
            add = {}
        adopt, disown = (not there.ours, there.owned) if there else (False, False)
        if add or adopt or disown or (there is not None and there.unused):
            changes.append(SecretChange(secret.name, secret.service, there, add, adopt, disown))
    kept = {secret.name for secret in desired}
    rest = [there for name, there in sorted(stored.items()) if name not in kept and there.ours]
    changes += _leaving(rest, removable=False).changes if rest else ()
    return CredentialPlan(tuple(changes), (), tuple(problems), tuple(lost))


def lost_problem(lost: SecretChange, namespace: str, why: str, older: str = "") -> CredentialProblem:
    """The message for credentials that only a person can restore, with the commands.

    `why`: why they could not be restored from Helm's records. `older`: it is unknown whether they existed,
    and this object is from before the osdpl.
    """
    keys = sorted(lost.add)
    if lost.stored is None:
        emptied = " ".join(f"--from-literal={key}=" for key in keys)
        again = f"kubectl -n {namespace} create secret generic {lost.name} {emptied}"
    else:
        emptied = ",".join(f'"{key}":""' for key in keys)
        again = f"kubectl -n {namespace} patch secret {lost.name} -p '{{\"stringData\":{{{emptied}}}}}'"
    what = "existed and is gone"
    if older:
        what = (
            f"may have existed: {older} is older than this OpenStackDeployment, and there is no "
            "record of its credentials"
        )
    text = (
        f"{', '.join(keys)} {what}, and {why}; restore it from a backup: osctl credentials restore "
        f"FILE -n {namespace} --secret {lost.name}; or, only if no data and no server uses it any "
        f"more, request a new one: {again}"
    )
    return CredentialProblem(lost.name, text, lost=True)


def plan_retention(
    stored: Iterable[StoredSecret], volumes: VolumePolicy, bundles: Collection[str]
) -> CredentialPlan:
    """The steps once the osdpl is being deleted.

    Secrets are removed after the last of its `bundles`, because a database or a broker of any bundle may
    still use them.
    """
    return _leaving([one for one in stored if one.ours], removable=volumes == "Delete" and not bundles)


def plan_disowning(stored: Iterable[StoredSecret]) -> tuple[SecretChange, ...]:
    """The only steps if everything else stays: no osdpl may own credentials."""
    return tuple(
        SecretChange(there.name, there.service, there, disown=True)
        for there in stored
        if there.owned and not (there.foreign or there.deleting)
    )


def own_missing(secret: OwnSecret, *, filled: bool = False) -> CredentialProblem:
    """The message if a Secret that the spec names lacks its key, or has binary content there."""
    path = f"spec.features.credentials.{secret.service}.{secret.credential}"
    if filled:
        text = f'key "{secret.key}", which {path} names, is not UTF-8 text; replace it by text'
        return CredentialProblem(secret.name, text)
    return CredentialProblem(
        secret.name, f'the Secret has no key "{secret.key}", which {path} names; create it'
    )


def _in_the_way(there: StoredSecret | None) -> str:
    if there is not None and there.foreign:
        return (
            "another program owns a Secret of this name; rename that Secret, or name your own "
            "Secrets in spec.features.credentials"
        )
    if there is not None and there.deleting:
        return "the Secret is being deleted, and waits for a finalizer"
    return ""


def _keys_to_add(
    secret: CredentialSecret, there: StoredSecret | None, recorded: Collection[str]
) -> tuple[dict[str, str], dict[str, str], list[CredentialProblem]]:
    """The keys to generate and the lost ones, each with its kind, and the problems."""
    filled = there.filled if there else frozenset[str]()
    empty = there.empty if there else frozenset[str]()
    add: dict[str, str] = {}
    lost: dict[str, str] = {}
    problems: list[CredentialProblem] = []
    for key, kind in secret.credentials.items():
        if key in filled:
            continue
        if kind == SSH_PUBLIC_KEY:
            if private_name(key) in secret.credentials:
                add[key] = kind
            else:
                text = f"{key} cannot be derived without its private key; name both keys or none"
                problems.append(CredentialProblem(secret.name, text))
        elif key in recorded and key not in empty:
            lost[key] = kind
        else:
            add[key] = kind
    # Passwords belong to accounts whose names end with it.
    if ACCOUNT_SUFFIX in recorded and ACCOUNT_SUFFIX not in filled | empty:
        lost[ACCOUNT_SUFFIX] = ACCOUNT_SUFFIX
    for key in [key for key, kind in add.items() if kind == SSH_PUBLIC_KEY and private_name(key) in lost]:
        del add[key]
    return add, lost, problems


def _leaving(rest: Sequence[StoredSecret], *, removable: bool) -> CredentialPlan:
    """The steps for undesired Secrets: mark, remove if marked, or keep."""
    changes, remove = [], []
    for there in rest:
        goes = removable and not there.deleting and bool(there.service)
        if goes and there.unused:
            remove.append(there)
        elif not there.deleting and (goes or there.unused or there.owned):
            change = SecretChange(there.name, there.service, there, disown=there.owned, unused=goes)
            changes.append(change)
    return CredentialPlan(tuple(changes), tuple(remove))
