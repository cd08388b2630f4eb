"""What has to be done so that every credential of a region is there: decided here, done elsewhere.

Three rules come before everything else. A credential that has a value keeps it. A credential that was
there once and is gone is not made again by itself: databases on retained volumes still know the old
one. Only what we made is ever removed, and only with the whole region, where the operator asked for volumes
to be deleted: the data of a service lie in the database of another, which outlives its release.

What is to be removed is marked first, and removed by a pass that began after that, on the condition that
nothing was written to it since. Nobody reads what is marked; so no release can begin with it between the
moment at which it was seen to be unused and its end, however long a process stands still in between.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from controller.domain.api.region_spec import OwnSecret, VolumePolicy
from controller.domain.credentials.generate import SSH_PUBLIC_KEY, private_name
from controller.domain.values.catalogue import CredentialSecret
from controller.domain.values.template_functions import ACCOUNT_SUFFIX


@dataclass(frozen=True)
class StoredSecret:
    """What is there. `filled`: keys with a value; `empty`: keys without. `owned`: by an osdpl, with which
    Kubernetes would collect it, also where that one has only come back under another uid.

    `ours`: it carries our label. `foreign`: it carries another's, such as Helm's. `unused`: it is marked as
    what is to be removed. `uid` and `version` (resourceVersion) are those of the object that was read.
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
    """One Secret to create or to complete. `add` maps keys to the kinds to generate.

    `adopt`: it lacks our labels. `disown`: an osdpl owns it, which is taken back. `unused`: it gets the mark
    of what is to be removed, and else loses it.
    A change is made only on the Secret as it was read (`stored`), so that
    nobody's edit in between is lost.
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
    """What tells of credentials that were there before the osdpl was: `used` are Secrets that installed
    releases refer to, `kept_of` the releases that claims were kept of."""

    used: frozenset[str] = frozenset()
    kept_of: frozenset[str] = frozenset()


@dataclass(frozen=True)
class CredentialProblem:
    """An error that an operator has to correct. `secret` is the name of the object, `message` what to do.

    `kind`: of the object, where it is no Secret. `lost`: it was there, and only a person can bring it back.
    """

    secret: str
    message: str
    kind: str = "Secret"
    lost: bool = False


@dataclass(frozen=True)
class CredentialPlan:
    """All steps towards the desired credentials. `remove` are Secrets that go with their region; `lost` is
    what was there and is gone: a change for each Secret, with the keys to be brought back."""

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
    """Those of which nothing is there and nothing is recorded: they are new, or the record is gone too."""
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
    """What is recorded, with what must have been there of the `unknown`. An osdpl that is lost takes its
    status along, and comes back without it.

    A release is not installed before it has its credentials; so where none of the desired ones is recorded
    yet, whatever else is, those that it refers to were there. Later it may refer to what is to be made for a
    service that is new. A claim that was kept holds data that were made with those of its service.
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
    """Compares what is desired with what is stored. What is not desired stays, for the day it is again.

    `stored` has every Secret with our labels, and those of the wanted names whoever made them.
    `recorded` are the keys that each Secret is known to have had (`status.secrets`).
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
            text = f"it is immutable and lacks {names}; replace it by one that has them"
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
    """What is told of credentials that nobody but a person can bring back, with the commands. `why`: they
    could not be taken from what Helm has recorded. `older`: nobody knows whether they were there, and this is
    left of an earlier life."""
    keys = sorted(lost.add)
    if lost.stored is None:
        emptied = " ".join(f"--from-literal={key}=" for key in keys)
        again = f"kubectl -n {namespace} create secret generic {lost.name} {emptied}"
    else:
        emptied = ",".join(f'"{key}":""' for key in keys)
        again = f"kubectl -n {namespace} patch secret {lost.name} -p '{{\"stringData\":{{{emptied}}}}}'"
    what = "was there and is gone"
    if older:
        what = (
            f"may have been there: {older} is older than this OpenStackDeployment, nothing tells which "
            "credentials there were"
        )
    text = (
        f"{', '.join(keys)} {what}, and {why}; restore it from a backup: "
        f"osctl credentials restore FILE -n {namespace} --secret {lost.name}; or, only if no data and no "
        f"server knows it any more, have a new one made: {again}"
    )
    return CredentialProblem(lost.name, text, lost=True)


def plan_retention(
    stored: Iterable[StoredSecret], volumes: VolumePolicy, bundles: Collection[str]
) -> CredentialPlan:
    """What is left to do once the osdpl is being deleted. What goes with it goes after the last of its
    `bundles`: with any of them may stand what knows it, such as the database or the broker."""
    return _leaving([one for one in stored if one.ours], removable=volumes == "Delete" and not bundles)


def plan_disowning(stored: Iterable[StoredSecret]) -> tuple[SecretChange, ...]:
    """What has to be done even where everything else stays: no osdpl may own credentials."""
    return tuple(_disowned(there) for there in stored if not there.foreign and _is_to_be_disowned(there))


def own_missing(secret: OwnSecret, *, filled: bool = False) -> CredentialProblem:
    """What is said where a Secret that the spec names lacks its key, or has there what is no text."""
    path = f"spec.features.credentials.{secret.service}.{secret.credential}"
    if filled:
        text = f'what it has as "{secret.key}", which {path} names, is no UTF-8 text; put in text'
        return CredentialProblem(secret.name, text)
    return CredentialProblem(secret.name, f'it has no key "{secret.key}", which {path} names; create it')


def _in_the_way(there: StoredSecret | None) -> str:
    if there is not None and there.foreign:
        return (
            "a Secret of this name belongs to something else; "
            "rename that, or name Secrets of your own in spec.features.credentials"
        )
    if there is not None and there.deleting:
        return "it is being deleted, and something holds it by a finalizer"
    return ""


def _keys_to_add(
    secret: CredentialSecret, there: StoredSecret | None, recorded: Collection[str]
) -> tuple[dict[str, str], dict[str, str], list[CredentialProblem]]:
    """The keys to make and those that are lost, each with its kind, and what cannot be made."""
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
    # Passwords are for accounts whose names end in it.
    if ACCOUNT_SUFFIX in recorded and ACCOUNT_SUFFIX not in filled | empty:
        lost[ACCOUNT_SUFFIX] = ACCOUNT_SUFFIX
    for key in [key for key, kind in add.items() if kind == SSH_PUBLIC_KEY and private_name(key) in lost]:
        del add[key]
    return add, lost, problems


def _is_to_be_disowned(there: StoredSecret) -> bool:
    return there.owned and not there.deleting


def _disowned(there: StoredSecret) -> SecretChange:
    return SecretChange(there.name, there.service, there, disown=True)


def _leaving(rest: Sequence[StoredSecret], *, removable: bool) -> CredentialPlan:
    """What becomes of Secrets that are not desired: marked, removed once they are, or kept."""
    changes, remove = [], []
    for there in rest:
        goes = removable and not there.deleting and bool(there.service)
        if goes and there.unused:
            remove.append(there)
        elif not there.deleting and (goes or there.unused or there.owned):
            change = SecretChange(there.name, there.service, there, disown=there.owned, unused=goes)
            changes.append(change)
    return CredentialPlan(tuple(changes), tuple(remove))
