"""Keeps the account that may only read: in Keystone, in its Secret, and as what others get of it.

The Secret says first what is to be; Keystone and the export follow. So each pass finds again what is next,
whenever the one before was killed. Accounts of ours that the Secret does not name go, whatever they are of.
"""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import dataclass, field, replace
from enum import StrEnum

from controller.domain.api.names import READER_SECRET, RECONCILE_ANNOTATION
from controller.domain.api.region_spec import ReadOnlyAccountFeature
from controller.domain.credentials.clouds_yaml import Administrator
from controller.domain.credentials.credential_plan import CredentialProblem, plan_credentials
from controller.domain.credentials.readers import (
    READER_CREDENTIALS,
    READER_PASSWORD,
    READER_PREFIX,
    reader_account,
    reader_credentials,
    reader_mark,
)
from controller.domain.credentials.rotation.accounts import Account, Server, next_suffix
from controller.domain.credentials.rotation.record import Phase, RotationView
from controller.domain.credentials.rotation.servers import ServerPlace
from controller.domain.credentials.secret_status import SecretView, messages_of
from controller.domain.values.templates.template_functions import ACCOUNT_SUFFIX
from controller.errors import KubeError, ServerUnavailable, is_refusal
from controller.ports.accounts import ReaderAccounts, ReaderFound, ServerLogin
from controller.ports.kubernetes import Events, Kube
from controller.ports.system import Clock, Randomness
from controller.reconcile.credentials.exchange.clouds_export import administrator_of, with_public_authority
from controller.reconcile.credentials.readers.reader_export import ReaderExport
from controller.reconcile.credentials.readers.reader_rotation import ReaderRotation, rotation_times_of
from controller.reconcile.credentials.refused_writes import REFUSED, refusal_of
from controller.reconcile.credentials.region_pass import HELD, RegionPass
from controller.reconcile.credentials.rotation.rotation import ROTATION_SECONDS
from controller.reconcile.credentials.rotation.rotation_recall import RecalledRotations
from controller.reconcile.credentials.rotation.rotation_records import rotation_of
from controller.reconcile.credentials.steps import CredentialStep, Published
from controller.reconcile.credentials.store import CredentialStore, made_changes
from controller.reconcile.shared.action_log import log_action
from controller.reconcile.shared.secret_values import AccountLogins

# The largest number of name endings in one pass: accounts of others may have all names before it.
MOST_SUFFIXES = 50
# Seconds for which Keystone is not asked again, where it has said that all is well, and where it has not.
WELL_SECONDS, ILL_SECONDS = 240.0, 10.0
# Nor for so long, where an account is to be deleted and it does not answer: each time is a wait.
AWAY_SECONDS = 60.0


@dataclass(frozen=True)
class _Pass:
    """What one pass works on. `recalled`: it is not known how far the rotation of the account is."""

    work: RegionPass
    export: ReaderExport
    recalled: bool = False

    @property
    def feature(self) -> ReadOnlyAccountFeature:
        return self.work.features.read_only_account

    @property
    def mark(self) -> str:
        return reader_mark(self.work.namespace, str(self.work.osdpl["metadata"]["name"]))

    @property
    def administrator(self) -> Administrator | None:
        admin = administrator_of(self.work.bundles, self.work.namespace)
        return with_public_authority(self.export.kube, self.work, admin) if admin is not None else None

    @property
    def has_credentials(self) -> bool:
        """Whether the Secret is there, and ours."""
        there = self.work.store.stored().get(READER_CREDENTIALS)
        return there is not None and there.ours and not there.foreign


@dataclass(frozen=True)
class _Look:
    """What Keystone has said of an account, asked with these facts, and until when that counts."""

    facts: tuple[object, ...]
    until: float
    found: ReaderFound = field(default_factory=ReaderFound)
    waits: str = ""


class _Way(StrEnum):
    """What becomes of the account in a pass."""

    HELD = "Held"
    KEPT = "Kept"
    GONE = "Gone"


class ReadOnlyAccount(CredentialStep[_Pass, tuple[_Way, _Pass]]):
    """`Step.READERS`. Of one region."""

    def __init__(
        self, kube: Kube, clock: Clock, randomness: Randomness, events: Events, accounts: ReaderAccounts
    ) -> None:
        self._kube = kube
        self._clock = clock
        self._accounts = accounts
        self._rotation = ReaderRotation(kube, clock, randomness, events)
        self._look: _Look | None = None
        self._away, self._away_until = "", 0.0

    def observe(self, work: RegionPass, before: Published) -> _Pass | None:
        """What others have of the account."""
        recalled = before.fact(RecalledRotations)
        known = recalled is None or READER_CREDENTIALS not in recalled.views
        return _Pass(work, ReaderExport(self._kube, work.osdpl), not known)

    def decide(self, work: RegionPass, observed: _Pass) -> tuple[_Way, _Pass]:
        """Whether it is kept, or goes."""
        if work.read_only or observed.recalled:
            return _Way.HELD, observed
        return (_Way.KEPT if observed.feature.enabled else _Way.GONE), observed

    def apply(self, work: RegionPass, decided: tuple[_Way, _Pass]) -> Published:
        """Brings the account and what others have of it to what the spec says."""
        way, at_work = decided
        if way is _Way.HELD:
            return self._published(at_work, self._held(at_work))
        if way is _Way.KEPT:
            return self._published(at_work, self._kept(at_work))
        was_there = at_work.export.ours
        note = self._gone(at_work, "the account is disabled")
        # Copies are emptied by the next pass.
        again = ROTATION_SECONDS if note or was_there else math.inf
        return self._published(at_work, Published(notes=(note,) if note else (), again=again))

    def remove(self, work: RegionPass) -> None:
        """While its Keystone can still be asked the account goes, and all that was made of it. Where it could
        not, the credentials stay with the database that may know them."""
        at_work = _Pass(work, ReaderExport(self._kube, work.osdpl))
        if at_work.has_credentials and at_work.administrator is not None:
            self._gone(at_work, "its region goes")
        elif not work.bundles:
            at_work.export.remove("its region is gone")

    # -- what is done

    def _kept(self, at_work: _Pass) -> Published:
        problems = self._made(at_work.work.store)
        if problems:
            return Published(tuple(problems), again=ROTATION_SECONDS)
        admin = at_work.administrator
        if admin is None:
            return self._waits(at_work, "the account waits for the release of Keystone")
        try:
            look, account = self._looked(at_work, admin)
        except KubeError as error:
            if not is_refusal(error):
                raise
            return self._waits(at_work, REFUSED)
        if look.waits:
            return self._waits(at_work, look.waits)
        if look.found.disabled:
            name = account.name
            text = f"account {name} is disabled in Keystone; enable it: openstack user set --enable {name}"
            return self._waits(at_work, text)
        password = at_work.work.store.text(READER_CREDENTIALS, READER_PASSWORD)
        refused = at_work.export.ensure(admin, account, password, at_work.feature)
        if refused:
            return Published((CredentialProblem(READER_SECRET, refused),), again=ROTATION_SECONDS)
        notes = []
        if look.found.others:
            notes.append(
                f"account {account.name}, which must be read-only, has {look.found.others} more "
                "roles or groups; remove them in Keystone"
            )
        view = self._rotated(at_work, admin, account)
        if view is None:
            return Published(notes=tuple(notes))
        return Published(notes=tuple(notes), rotations={READER_CREDENTIALS: view}, again=ROTATION_SECONDS)

    def _made(self, store: CredentialStore) -> list[CredentialProblem]:
        """The Secret with the password. A lost password is generated again, because all clients get it from
        us."""
        stored = store.stored()
        there = {name: one for name, one in stored.items() if name == READER_CREDENTIALS}
        plan = plan_credentials((reader_credentials(),), there, recorded={})
        problems = [*plan.problems, *made_changes(store, plan.changes)]
        if not problems and (obstacle := store.write_obstacle(READER_CREDENTIALS)):
            problems.append(CredentialProblem(READER_CREDENTIALS, obstacle))
        return problems

    def _looked(self, at_work: _Pass, admin: Administrator) -> tuple[_Look, Account]:
        """What Keystone says of the account that the Secret names, made where it was not there."""
        store, now = at_work.work.store, self._clock.monotonic()
        account = reader_account(admin, store.text(READER_CREDENTIALS, ACCOUNT_SUFFIX))
        if self._look and self._look.facts == self._facts(at_work, admin) and now < self._look.until:
            return self._look, account
        found, waits = ReaderFound(), ""
        try:
            login = self._login(at_work, admin)
            account, found = self._ensured(at_work, admin, login)
            record = rotation_of(store, READER_CREDENTIALS)
            keep = {account.name, *(one.name for one in (record.accounts if record else ()))}
            self._drop(login, account, at_work, keep)
        except ServerUnavailable as error:
            waits = str(error)
        until = self._clock.monotonic() + (ILL_SECONDS if waits or found.disabled else WELL_SECONDS)
        self._look = _Look(self._facts(at_work, admin), until, replace(found, made=False), waits)
        return self._look, account

    def _ensured(
        self, at_work: _Pass, admin: Administrator, login: ServerLogin
    ) -> tuple[Account, ReaderFound]:
        store = at_work.work.store
        password = store.text(READER_CREDENTIALS, READER_PASSWORD)
        for _ in range(MOST_SUFFIXES):
            suffix = store.text(READER_CREDENTIALS, ACCOUNT_SUFFIX)
            account = reader_account(admin, suffix)
            found = self._accounts.ensure_reader(
                login, account, password, at_work.mark, project=at_work.feature.project
            )
            if not found.foreign:
                if found.made:
                    place = f"{account.server}/{account.name}"
                    log_action(
                        "create",
                        place,
                        f"account {account.name} at {login.place.shown}: the account may only read",
                    )
                return account, found
            done = (
                f"account {account.name} at {login.place.shown} belongs to another party, so another "
                "name is used"
            )
            store.rewrite(READER_CREDENTIALS, {}, {ACCOUNT_SUFFIX: next_suffix(suffix)}, done=done)
        raise ServerUnavailable(
            f"all names up to {account.name} are taken in Keystone; delete unused accounts"
        )

    def _rotated(self, at_work: _Pass, admin: Administrator, account: Account) -> RotationView | None:
        """What is next of a rotation, which may begin with it; None where there is none."""

        def drop_others() -> None:
            self._drop(self._login(at_work, admin), account, at_work, {account.name})

        try:
            return self._rotation.proceed(at_work.work, account, drop_others)
        except ServerUnavailable as error:
            return RotationView(Phase.REMOVING, str(error))
        except KubeError as error:
            if not is_refusal(error):
                raise
            return RotationView(Phase.WAITING, REFUSED)

    def _gone(self, at_work: _Pass, why: str) -> str:
        """Takes everything away: what others have first, and the credentials once Keystone does not know them
        any more. What is waited for; empty for nothing."""
        refused = at_work.export.remove(why)
        if refused:
            return f'Secret "{READER_SECRET}": {refused}'
        admin = at_work.administrator
        if not at_work.has_credentials or admin is None:
            return ""
        if self._clock.monotonic() < self._away_until:
            return self._away
        self._look = None
        try:
            account = reader_account(admin, "")
            self._drop(self._login(at_work, admin), account, at_work, ())
        except ServerUnavailable as error:
            self._away = f'Secret "{READER_CREDENTIALS}" stays until its account is deleted: {error}'
            self._away_until = self._clock.monotonic() + AWAY_SECONDS
            return self._away
        secret = at_work.work.store.stored()[READER_CREDENTIALS]
        refused = refusal_of(lambda: at_work.work.store.remove(secret, f"{why}, and its account is deleted"))
        return refused and f'Secret "{READER_CREDENTIALS}": {refused}'

    def _drop(self, login: ServerLogin, account: Account, at_work: _Pass, keep: Collection[str]) -> None:
        """Of the accounts of ours, those that are not to be kept."""
        for name in self._accounts.drop_readers(login, account.domain, READER_PREFIX, at_work.mark, keep):
            text = f"account {name} at {login.place.shown}: deleted, because nothing refers to it any more"
            log_action("delete", f"{account.server}/{name}", text)

    # -- questions, and reports

    def _login(self, at_work: _Pass, admin: Administrator) -> ServerLogin:
        place = ServerPlace(Server.KEYSTONE, password=admin.password, keystone=admin)
        return AccountLogins(self._kube, at_work.work.namespace).at(place)

    def _facts(self, at_work: _Pass, admin: Administrator) -> tuple[object, ...]:
        """With which Keystone was asked: with others it is asked again."""
        asked = (at_work.work.osdpl["metadata"].get("annotations") or {}).get(RECONCILE_ANNOTATION)
        return (
            at_work.mark,
            at_work.feature.project,
            at_work.work.store.stored()[READER_CREDENTIALS].version,
            admin,
            asked,
        )

    def _waits(self, at_work: _Pass, text: str) -> Published:
        """A problem while there is no export. An existing export may still work."""
        rotations = self._rotation.waiting(at_work.work.store, text)
        found = Published(rotations=rotations, again=ROTATION_SECONDS)
        if at_work.export.ours:
            return replace(found, notes=(f'Secret "{READER_SECRET}": {text}',))
        return replace(found, problems=(CredentialProblem(READER_SECRET, text),))

    def _held(self, at_work: _Pass) -> Published:
        if not at_work.has_credentials:
            return Published()
        return Published(rotations=self._rotation.waiting(at_work.work.store, HELD))

    def _published(self, at_work: _Pass, found: Published) -> Published:
        export = at_work.export
        messages = messages_of(READER_SECRET, found.problems)
        views = {}
        if export.ours or messages:
            digest = at_work.work.digest(READER_SECRET) if export.ours else ""
            views[READER_SECRET] = SecretView(READER_SECRET, export.keys, digest, messages)
        times = {}
        if at_work.has_credentials:
            times[READER_CREDENTIALS] = rotation_times_of(at_work.work, self._clock.now())
        return replace(found, views=views, times=times)
