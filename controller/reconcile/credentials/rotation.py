"""Rotates the credentials of services, when somebody asks for it or the schedule of the region says so: the
next accounts, everything that uses them, an end of those before.

Each pass looks at how everything is, and does the one thing that is next; what has to be remembered is in the
Secret itself (`domain.credentials.rotation.record`). One Secret is rotated at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial

from controller.domain.api.conditions import timestamp
from controller.domain.api.names import (
    RECONCILE_ANNOTATION,
    ROTATE_ANNOTATION,
    ROTATED_ANNOTATION,
    ROTATION_ANNOTATION,
)
from controller.domain.api.reasons import Reason
from controller.domain.credentials.generate import (
    CredentialUnusable,
)
from controller.domain.credentials.rotation.accounts import (
    Account,
    Release,
    SecretUse,
    names_in_use,
    next_suffix,
    references_to,
    releases_of,
    use_of,
)
from controller.domain.credentials.rotation.in_place import (
    SSH_STAGES,
    in_place,
    lets_in_next,
)
from controller.domain.credentials.rotation.not_rotated import why_refused
from controller.domain.credentials.rotation.record import (
    Phase,
    RotationRecord,
    RotationView,
    parse_rotation,
    record_text,
)
from controller.domain.credentials.rotation.wrapping import ended_texts
from controller.domain.values.catalogue import CredentialSecret
from controller.domain.values.secret_refs import find_references
from controller.domain.values.template_functions import ACCOUNT_SUFFIX
from controller.errors import KubeError, ServerUnavailable, SpecInvalid, is_refusal
from controller.ports.accounts import AccountServers, WrappedKeys
from controller.ports.helm import ReleaseRecords
from controller.ports.kubernetes import HELMBUNDLE, Events, Kube, KubeObject, KubeObjects
from controller.ports.system import Clock, Randomness
from controller.reconcile.credentials.account_logins import AccountLogins
from controller.reconcile.credentials.credential_uptake import CredentialUptake
from controller.reconcile.credentials.refused_writes import REFUSED
from controller.reconcile.credentials.rewrapping import Rewrapping
from controller.reconcile.credentials.rotation_texts import RotationTexts
from controller.reconcile.credentials.rotation_times import RotationTimes, rotation_times
from controller.reconcile.credentials.store import CredentialStore
from controller.reconcile.shared.action_log import log_action
from controller.reconcile.shared.preconditioned_writes import patch_seen
from controller.reconcile.shared.secret_values import SecretValues

# Seconds from one look at a rotation to the next.
ROTATION_SECONDS = 10.0
# Endings of names that are tried in one pass.
MOST_SUFFIXES = 50
HELD = "the region is paused, or its plan is not approved"


@dataclass(frozen=True)
class _Region:
    """What one pass works on."""

    osdpl: KubeObject
    store: CredentialStore
    bundles: KubeObjects
    releases: tuple[Release, ...]
    logins: AccountLogins

    @property
    def namespace(self) -> str:
        return str(self.osdpl["metadata"]["namespace"])


@dataclass(frozen=True)
class Rotations:
    """How far each rotation is that was asked for or is under way, and when Secrets were and will be rotated;
    by the name of the Secret."""

    views: Mapping[str, RotationView] = field(default_factory=dict)
    times: Mapping[str, RotationTimes] = field(default_factory=dict)


class CredentialRotation:
    """Of one region."""

    def __init__(
        self,
        *,
        kube: Kube,
        clock: Clock,
        randomness: Randomness,
        events: Events,
        records: ReleaseRecords,
        servers: AccountServers,
        keys: WrappedKeys,
    ) -> None:
        self._kube = kube
        self._clock = clock
        self._texts = RotationTexts(randomness)
        self._events = events
        self._servers = servers
        self._rewrapping = Rewrapping(keys)
        self._uptake = CredentialUptake(kube, records)
        self._unfinished = False

    @property
    def unfinished(self) -> bool:
        """Whether the last pass has left a rotation to the next."""
        return self._unfinished

    def ensure(
        self,
        osdpl: KubeObject,
        store: CredentialStore,
        bundles: KubeObjects,
        desired: Collection[CredentialSecret],
        *,
        read_only: bool,
    ) -> Rotations:
        """Does what is next, and tells how far each rotation is.

        `store` has observed; `read_only`: nothing may be changed now. Raises Conflict, KubeError.
        """
        held = HELD if read_only else ""
        namespace = str(osdpl["metadata"]["namespace"])
        logins = AccountLogins(self._kube, namespace)
        region = _Region(osdpl, store, bundles, releases_of(bundles), logins)
        views: dict[str, RotationView] = {}
        busy = ""
        kinds = {secret.name: secret.credentials for secret in desired}
        for name, record in _under_way(store):
            phase = Phase.ROLLING if record.has_stages else Phase.REMOVING
            proceed = partial(self._proceed, region, name, record, held, kinds.get(name, {}))
            view = _unless_refused(proceed, RotationView(phase, REFUSED, record.since))
            if view is not None:
                views[name], busy = view, name
        # Looked at only now: what has just come to its end is not due any more.
        times = rotation_times(osdpl, store, region.releases, desired, self._clock.now())
        for secret in desired:
            asked = ROTATE_ANNOTATION in store.notes(secret.name)
            if secret.name in views or secret.name not in store.rotatable():
                continue
            if not asked and (held or not times[secret.name].is_due):
                continue
            waits = held or (f"Secret {busy} is rotated first" if busy else "")
            view = RotationView(Phase.WAITING, waits or REFUSED)
            view = view if waits else _unless_refused(partial(self._begin, region, secret), view)
            if view is not None:
                views[secret.name] = view
                busy = busy or (secret.name if view.since is not None else "")
        self._unfinished = bool(views) and not read_only
        return Rotations(views, times)

    def _begin(self, region: _Region, secret: CredentialSecret) -> RotationView | None:
        """The first write, if nothing is in its way; None where it is refused for good."""
        store, name = region.store, secret.name
        try:
            use = use_of(name, region.releases)
            shared = in_place(secret.service, secret.credentials, use)
            refused = why_refused(use, shared, secret.credentials, region.releases)
            if refused:
                store.rewrite(name, {ROTATE_ANNOTATION: None}, done="not rotated")
                self._tell(region, Reason.ROTATION_REFUSED, f"Secret {name} is not rotated: {refused}")
                return None
            suffix = store.text(name, ACCOUNT_SUFFIX)
            moving = use.accounts if use.keys & secret.credentials.keys() else ()
            before = tuple(dict.fromkeys(one.named(suffix) for one in moving))
            waits = self._uptake.waits(region.namespace, name, region.releases, 0.0)
            waits = waits or self._in_the_way(region, before)
            if shared.wraps and not waits:
                waits = self._rewrapping.waits(name, store, region.releases, region.logins)
            record = RotationRecord(
                self._now(), suffix, before, tuple(shared.gaps), shared.pairs, wraps=shared.wraps
            )
            following = partial(self._free_suffix, region, use, suffix)
            new = {} if waits else self._texts.first(store, secret, use, record, following)
        except (SpecInvalid, ServerUnavailable, CredentialUnusable) as error:
            waits, new = (str(error),), {}
        if waits:
            return RotationView(Phase.WAITING, "; ".join(waits))
        notes = {ROTATION_ANNOTATION: record_text(record), ROTATE_ANNOTATION: None}
        names = sorted(key for key in new if key in secret.credentials)
        done = f"new {', '.join(names)}" + (", for accounts with other names" if before else "")
        store.rewrite(name, notes, new, done=done)
        replaced = sorted({one.name for one in before} | shared.keys)
        self._tell(
            region, Reason.CREDENTIALS_ROTATING, f"Secret {name}: these are replaced: {', '.join(replaced)}"
        )
        return RotationView(Phase.ROLLING, "begun just now", record.since)

    def _free_suffix(self, region: _Region, use: SecretUse, suffix: str) -> str:
        """The next ending with which no server knows an account: one that a restored Secret does not tell of
        has another password, which no Job would change. Raises ServerUnavailable."""
        for _ in range(MOST_SUFFIXES):
            suffix = next_suffix(suffix)
            accounts = dict.fromkeys(one.named(suffix) for one in use.accounts)
            if not any(self._servers.has(region.logins.of(one, region.releases), one) for one in accounts):
                return suffix
        names = ", ".join(sorted({one.name for one in accounts}))
        raise ServerUnavailable(
            f"up to {names} the names of the next accounts are taken; delete what is unused"
        )

    def _now(self) -> float:
        return float(int(self._clock.now()))

    def _again(
        self, region: _Region, name: str, record: RotationRecord, kinds: Mapping[str, str]
    ) -> RotationView | None:
        """Makes again what was lost of keys that are being replaced: releases that have taken up the next one
        and those that have not do not agree on it, and only pods know either. None where all are there."""
        new = self._texts.lost(region.store.texts(name), record, kinds)
        if not new:
            return None
        following = replace(record, rewritten=self._now())
        notes = {ROTATION_ANNOTATION: record_text(following)}
        done = f"{', '.join(sorted(new))} was lost while it was replaced, and is there again"
        region.store.rewrite(name, notes, new, done=done)
        return RotationView(Phase.ROLLING, done, record.since)

    def _proceed(
        self, region: _Region, name: str, record: RotationRecord, held: str, kinds: Mapping[str, str]
    ) -> RotationView | None:
        """What is next of a rotation under way; None once it is complete. `kinds`: of the Secret's keys."""
        if held:
            return RotationView(Phase.ROLLING, held, record.since)
        again = self._again(region, name, record, kinds)
        if again is not None:
            return again
        try:
            use = use_of(name, region.releases)
            going = self._going(region, name, record, use)
            waits = self._uptake.waits(region.namespace, name, region.releases, record.written)
            if waits:
                self._wake(region, name, record)
                self._pass_on(region, going, ignored=(ServerUnavailable,))
                return RotationView(Phase.ROLLING, "; ".join(waits), record.since)
            if record.has_stages:
                return self._next_stage(region.store, name, record)
            self._pass_on(region, going)
            waits = (*self._in_the_way(region, going), *self._connected(region, going))
            if record.wraps:
                waits += self._rewrapping.waits(name, region.store, region.releases, region.logins)
            if waits:
                return RotationView(Phase.REMOVING, "; ".join(waits), record.since)
            for account in going:
                self._drop(region, account)
        except (SpecInvalid, ServerUnavailable, CredentialUnusable) as error:
            return RotationView(Phase.REMOVING, str(error), record.since)
        notes = {ROTATION_ANNOTATION: None, ROTATED_ANNOTATION: timestamp(self._clock.now())}
        ended = ended_texts() if record.wraps else {}
        region.store.rewrite(name, notes, ended, done="rotated, what was before is not used any more")
        self._tell(region, Reason.CREDENTIALS_ROTATED, f"Secret {name}: everything uses what it says now")
        return None

    def _next_stage(self, store: CredentialStore, name: str, record: RotationRecord) -> RotationView:
        """The write after which pods take up the next stage of pairs of keys; of the first one again where
        somebody has taken the next key out of the Secret."""
        texts = store.texts(name)
        try:
            ready = record.stage > 1 or all(lets_in_next(one, texts) for one in record.pairs)
            stage = record.stage + 1 if ready else 1
            following = replace(record, stage=stage, rewritten=self._now())
            new = self._texts.pairs(store.texts(name), following)
            notes = {ROTATION_ANNOTATION: record_text(following)}
            store.rewrite(
                name, notes, new, done=f"stage {stage} of {SSH_STAGES} of {', '.join(record.pairs)}"
            )
        except (CredentialUnusable, LookupError) as error:
            return RotationView(Phase.ROLLING, str(error), record.since)
        return RotationView(Phase.ROLLING, f"stage {stage} of {SSH_STAGES} of SSH keys", record.since)

    def _going(
        self, region: _Region, name: str, record: RotationRecord, use: SecretUse
    ) -> dict[Account, Account]:
        """The accounts that are to go, each with the one in its place. What the values name again, or name
        otherwise by now, stays."""
        suffix = region.store.text(name, ACCOUNT_SUFFIX)
        used = names_in_use(region.releases, self._suffixes(region))
        found: dict[Account, Account] = {}
        for account in record.accounts:
            successor = use.successor(account, record.suffix_before)
            if successor is not None and (account.server, account.name) not in used:
                found[account] = successor.named(suffix)
        return found

    def _suffixes(self, region: _Region) -> dict[str, str]:
        values = SecretValues(self._kube, region.namespace)
        names = {
            one.name
            for release in region.releases
            for one in find_references(release.values)
            if one.prefix is not None
        }
        return {name: values.lookup(name, ACCOUNT_SUFFIX) or "" for name in names}

    def _in_the_way(self, region: _Region, accounts: Iterable[Account]) -> tuple[str, ...]:
        """What would be lost with the accounts. Also finds out whether their servers can be reached."""
        found = []
        for account in accounts:
            login = region.logins.of(account, region.releases)
            belongings = self._servers.belongings(login, account)
            if belongings:
                found.append(f"account {account.name} has what would end with it: {', '.join(belongings)}")
        return tuple(dict.fromkeys(found))

    def _connected(self, region: _Region, accounts: Iterable[Account]) -> tuple[str, ...]:
        found = []
        for account in accounts:
            login = region.logins.of(account, region.releases)
            sessions = self._servers.sessions(login, account)
            if sessions:
                place = login.place.shown
                found.append(f"account {account.name} still has {sessions} connections at {place}")
        return tuple(dict.fromkeys(found))

    def _pass_on(
        self,
        region: _Region,
        accounts: Mapping[Account, Account],
        ignored: tuple[type[Exception], ...] = (),
    ) -> None:
        for before, after in accounts.items():
            try:
                self._servers.pass_on(region.logins.of(before, region.releases), before, after)
            except ignored:
                continue

    def _drop(self, region: _Region, account: Account) -> None:
        login = region.logins.of(account, region.releases)
        self._servers.drop(login, account)
        text = f"account {account.name} at {login.place.shown}: deleted, another one has its place"
        log_action("delete", f"{account.server}/{account.name}", text, release=account.release)

    def _wake(self, region: _Region, name: str, record: RotationRecord) -> None:
        """Has bundles looked at now: nothing tells them that a Secret has changed."""
        asked = timestamp(record.written)
        for bundle in region.bundles:
            if not any(references_to(name, one) for one in releases_of([bundle])):
                continue
            meta = bundle["metadata"]
            if str((meta.get("annotations") or {}).get(RECONCILE_ANNOTATION) or "") < asked:
                patch = {"metadata": {"annotations": {RECONCILE_ANNOTATION: asked}}}
                patch_seen(self._kube, HELMBUNDLE, bundle, patch)
                place = f"{region.namespace}/{meta['name']}"
                log_action("request-reconcile", place, f"HelmBundle {place}: Secret {name} has changed")

    def _tell(self, region: _Region, reason: Reason, text: str) -> None:
        self._events.emit(region.osdpl, type_=reason.event, reason=reason, message=text)


def _unless_refused(step: Callable[[], RotationView | None], otherwise: RotationView) -> RotationView | None:
    """What a step gives; `otherwise` where the API server refuses a write of it."""
    try:
        return step()
    except KubeError as error:
        if not is_refusal(error):
            raise
        return otherwise


def _under_way(store: CredentialStore) -> Iterator[tuple[str, RotationRecord]]:
    for name in sorted(store.rotatable()):
        record = parse_rotation(store.notes(name).get(ROTATION_ANNOTATION, ""))
        if record is not None:
            yield name, record
