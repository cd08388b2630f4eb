"""Brings back credentials that were deleted, from what Helm has recorded of the releases that use them.

A database goes on knowing the password that it was given. So nothing is ever made in the place of what was
lost: it comes from the records of Helm, where these leave no doubt, or from a person.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from functools import partial

from controller.domain.api.names import ROTATION_ANNOTATION
from controller.domain.api.reasons import Reason
from controller.domain.credentials.credential_plan import (
    CredentialProblem,
    SecretChange,
    lost_problem,
    plan_credentials,
)
from controller.domain.credentials.recovery.credential_traces import KnownCredentials
from controller.domain.credentials.recovery.secrets_in_records import SecretKey, agreed_texts, recorded_texts
from controller.domain.credentials.rotation.record import (
    moved_by_rotation,
    parse_rotation,
    recorded_rotation,
    restored_by_rotation,
)
from controller.domain.values.chart_values import Values
from controller.domain.values.option_files import OptionFiles
from controller.domain.values.secret_refs import find_references
from controller.domain.values.templates.template_functions import ACCOUNT_SUFFIX
from controller.errors import HelmFailed, SpecInvalid
from controller.ports.helm import ReleaseRecords, Revision
from controller.ports.kubernetes import Events, KubeObject, KubeObjects
from controller.reconcile.credentials.refused_writes import refusal_of
from controller.reconcile.credentials.region_pass import RegionPass
from controller.reconcile.credentials.rotation.rotation_records import rotation_of
from controller.reconcile.credentials.steps import CredentialStep, Published
from controller.reconcile.credentials.store import CredentialStore

_NOT_USED = "no release uses it at present"
_NOT_RECORDED = "no release that uses it has a record of it for its current values"
_DOUBTFUL = "the records of releases differ"
_ON_HOLD = "nothing is written while the region is paused, or its plan awaits approval"


@dataclass(frozen=True)
class _Use:
    """A release that refers to something lost, by `keys`."""

    namespace: str
    release: str
    values: Values
    generation: int
    keys: frozenset[SecretKey]


@dataclass(frozen=True)
class _Lost:
    """What is gone, and what the records of releases have of it: `used` by some release, `recorded` by each
    that has something. `unsure` as of `KnownCredentials`."""

    changes: tuple[SecretChange, ...]
    used: Set[SecretKey]
    recorded: Sequence[Mapping[SecretKey, frozenset[str]]]
    unsure: Mapping[str, str]


@dataclass(frozen=True)
class _Return:
    """Of one Secret: what comes back of it, and what is lost for now, by the reason why."""

    change: SecretChange
    texts: Mapping[str, str]
    notes: Mapping[str, str]
    left: Mapping[str, Mapping[str, str]]
    unsure: str


class LostCredentials(CredentialStep[_Lost, Sequence[_Return]]):
    """`Step.RECOVERY`. It lives as long as the process: records are large, and those that do not help are
    read again only once something about them has changed."""

    def __init__(self, records: ReleaseRecords, events: Events, files: OptionFiles) -> None:
        self._records = records
        self._files = files
        self._events = events
        self._in_vain: dict[tuple[str, str], tuple[object, ...]] = {}

    def observe(self, work: RegionPass, before: Published) -> _Lost | None:
        """What existed and is gone, and what Helm has recorded of it."""
        known = before.fact(KnownCredentials)
        keys = known.keys if known is not None else {}
        lost = plan_credentials(work.needs.credentials, work.store.stored(), recorded=keys).lost
        unsure = known.unsure if known is not None else {}
        if not lost or work.read_only:
            return _Lost(lost, frozenset(), (), unsure) if lost else None
        changes = tuple(_without_rotating(work.store, change) for change in lost)
        gone = {(change.name, key) for change in changes for key in change.add}
        # What a rotation has put beside them belongs to them: the names that the passwords are for.
        gone |= {
            (one.name, ACCOUNT_SUFFIX) for one in changes if not work.store.text(one.name, ACCOUNT_SUFFIX)
        }
        gone |= {(one.name, key) for one in changes for key in _passwords_beside(one)}
        uses = tuple(_uses(work.bundles, gone))
        used = frozenset(key for use in uses for key in use.keys)
        return _Lost(changes, used, self._recorded(uses, gone), unsure)

    def decide(self, work: RegionPass, observed: _Lost) -> Sequence[_Return]:
        """What the records agree on comes back."""
        if work.read_only:
            return [_held_back(one, observed.unsure) for one in observed.changes]
        lost, store = observed.changes, work.store
        doubtful = {key for record in observed.recorded for key in record}
        agreed = agreed_texts(observed.recorded)
        agreed |= _endings(lost, store, agreed, doubtful)
        moved = {(change.name, key) for change in lost for key in _moved(work.osdpl, store, change.name)}
        agreed = {place: text for place, text in agreed.items() if place not in moved}
        return [_return(work.osdpl, change, agreed, doubtful | moved, observed) for change in lost]

    def apply(self, work: RegionPass, decided: Sequence[_Return]) -> Published:
        """Writes what comes back; what does not is a problem."""
        problems = []
        for one in decided:
            name = one.change.name
            if one.texts:
                refused = refusal_of(partial(work.store.apply, one.change, one.texts, one.notes))
                if refused:
                    problems.append(CredentialProblem(name, refused, lost=True))
                    continue
                keys = ", ".join(sorted(one.texts))
                message = f"Secret {name}: the controller has restored the lost {keys} from Helm's records"
                reason = Reason.CREDENTIALS_RESTORED
                self._events.emit(work.osdpl, type_=reason.event, reason=reason, message=message)
            for why, kinds in one.left.items():
                left = replace(one.change, add=kinds, stored=work.store.stored().get(name))
                problems.append(lost_problem(left, work.namespace, why, one.unsure))
        return Published(tuple(problems))

    def _recorded(
        self, uses: Iterable[_Use], lost: Set[SecretKey]
    ) -> list[Mapping[SecretKey, frozenset[str]]]:
        """What each release that refers to something lost has recorded of it."""
        found: list[Mapping[SecretKey, frozenset[str]]] = []
        for use in uses:
            place = (use.namespace, use.release)
            history = self._records.observe(use.namespace, releases=(use.release,)).get(use.release, ())
            seen = (use.generation, lost, tuple(one.version for one in history))
            if self._in_vain.get(place) == seen:
                continue
            texts = self._of_release(use, history) or {}
            useful = {key: these for key, these in texts.items() if key in lost}
            if useful:
                found.append(useful)
            else:
                self._in_vain[place] = seen
        return found

    def _of_release(
        self, use: _Use, history: Sequence[Revision]
    ) -> Mapping[SecretKey, frozenset[str]] | None:
        """By the newest revision that was made for the present values."""
        for revision in reversed(history):
            if not revision.ours:
                continue  # another Helm may have had other values
            try:
                given = self._records.given_values(use.release, use.namespace, revision.version)
            except HelmFailed:
                continue  # removed from the history since then, or unreadable
            texts = recorded_texts(use.values, given, self._files)
            if texts is not None:
                return texts
        return None


def _without_rotating(store: CredentialStore, lost: SecretChange) -> SecretChange:
    """The lost credentials, except for those that the rotation of their Secret restores."""
    record = rotation_of(store, lost.name)
    if record is None:
        return lost
    theirs = restored_by_rotation(record, store.texts(lost.name))
    return replace(lost, add={key: kind for key, kind in lost.add.items() if key not in theirs})


def _moved(osdpl: KubeObject, store: CredentialStore, name: str) -> frozenset[str]:
    record = rotation_of(store, name)
    if record is not None:
        return moved_by_rotation(record)
    # Of a Secret that is gone with all it had, the server of an administrator knows what no record may have.
    record = None if name in store.stored() else parse_rotation(recorded_rotation(osdpl, name))
    return frozenset(record.kept_accounts if record is not None else ())


def _held_back(lost: SecretChange, unsure: Mapping[str, str]) -> _Return:
    """What is published of lost credentials while nothing may be written."""
    return _Return(lost, {}, {}, {_ON_HOLD: lost.add}, unsure.get(lost.name, ""))


def _return(
    osdpl: KubeObject,
    change: SecretChange,
    agreed: Mapping[SecretKey, str],
    doubtful: Set[SecretKey],
    lost: _Lost,
) -> _Return:
    texts = {key: agreed[change.name, key] for key in change.add if (change.name, key) in agreed}
    found = replace(change, add={key: change.add[key] for key in texts})
    if texts and (change.name, ACCOUNT_SUFFIX) in agreed:
        texts[ACCOUNT_SUFFIX] = agreed[change.name, ACCOUNT_SUFFIX]
    notes = _rotation_notes(osdpl, change, texts.get(ACCOUNT_SUFFIX, "")) if texts else {}
    left: dict[str, dict[str, str]] = {}
    for key, kind in change.add.items():
        place = (change.name, key)
        if place not in agreed:
            why = _NOT_RECORDED if place in lost.used else _NOT_USED
            left.setdefault(_DOUBTFUL if place in doubtful else why, {})[key] = kind
    return _Return(found, texts, notes, left, lost.unsure.get(change.name, ""))


def _rotation_notes(osdpl: KubeObject, lost: SecretChange, suffix: str) -> dict[str, str]:
    """The annotation of a rotation that was under way, where the whole Secret was lost; none if what comes
    back is from before its first write."""
    text = "" if lost.stored else recorded_rotation(osdpl, lost.name)
    record = parse_rotation(text)
    if record is None or (record.accounts and suffix == record.suffix_before):
        return {}
    return {ROTATION_ANNOTATION: text}


def _passwords_beside(lost: SecretChange) -> Set[str]:
    """What the Secret has of which only the ending of the names that it is for was lost."""
    return lost.stored.filled if lost.stored and lost.add.keys() == {ACCOUNT_SUFFIX} else frozenset()


def _endings(
    lost: Iterable[SecretChange],
    store: CredentialStore,
    agreed: Mapping[SecretKey, str],
    doubtful: Set[SecretKey],
) -> dict[SecretKey, str]:
    """The endings of names that are none: by the records, or as the passwords beside are others than those
    that are recorded. They were restored, then, from before the first rotation."""
    found = {}
    for one in lost:
        ending = (one.name, ACCOUNT_SUFFIX)
        places = [(one.name, key) for key in _passwords_beside(one) if (one.name, key) in agreed]
        same = all(agreed[place] == store.text(*place) for place in places)
        if places and not (same and ending in doubtful):
            found[ending] = ""
    return found


def _uses(bundles: KubeObjects, lost: Set[SecretKey]) -> Iterator[_Use]:
    for bundle in bundles:
        for release in (bundle.get("spec") or {}).get("releases") or ():
            values = release.get("values") or {}
            try:
                references = find_references(values)
            except SpecInvalid:
                continue
            keys = lost & {(one.name, one.key) for one in references}
            if keys:
                meta = bundle["metadata"]
                namespace = str(release.get("namespace") or meta["namespace"])
                generation = int(meta.get("generation") or 0)
                yield _Use(namespace, str(release["name"]), values, generation, frozenset(keys))
