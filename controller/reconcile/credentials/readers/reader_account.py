"""Keeps the account that may only read: in Keystone, in its Secret, and as what others get of it.

The Secret says first what is to be; Keystone and the export follow. So each pass finds again what is next,
whenever the one before was killed. Accounts of ours that the Secret does not name go, whatever they are of.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace

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
from controller.domain.credentials.rotation.schedule import RotationTimes
from controller.domain.credentials.rotation.servers import ServerPlace
from controller.domain.credentials.secret_status import SecretView
from controller.domain.values.template_functions import ACCOUNT_SUFFIX
from controller.errors import KubeError, ServerUnavailable, is_refusal
from controller.ports.accounts import ReaderAccounts, ReaderFound, ServerLogin
from controller.ports.kubernetes import Events, Kube, KubeObject, KubeObjects
from controller.ports.system import Clock, Randomness
from controller.reconcile.credentials.exchange.clouds_export import (
    administrator_of,
    with_public_authority,
)
from controller.reconcile.credentials.readers.reader_export import ReaderExport
from controller.reconcile.credentials.readers.reader_rotation import ReaderRotation, rotation_times_of
from controller.reconcile.credentials.refused_writes import REFUSED, refusal_of
from controller.reconcile.credentials.region_facts import features_of
from controller.reconcile.credentials.rotation.account_logins import AccountLogins
from controller.reconcile.credentials.rotation.rotation import HELD
from controller.reconcile.credentials.rotation.rotation_records import rotation_of
from controller.reconcile.credentials.store import CredentialStore, made_changes
from controller.reconcile.shared.action_log import log_action

# Endings of names that are tried in one pass: the others belong to somebody else.
MOST_SUFFIXES = 50
# Seconds for which Keystone is not asked again, where it has said that all is well, and where it has not.
WELL_SECONDS, ILL_SECONDS = 240.0, 10.0
# Nor for so long, where an account is to be deleted and it does not answer: each time is a wait.
AWAY_SECONDS = 60.0


@dataclass(frozen=True)
class ReaderState:
    """What one pass comes to. `problems`: why others cannot have it; `notes`: what else is to be told."""

    problems: tuple[CredentialProblem, ...] = ()
    notes: tuple[str, ...] = ()
    views: Mapping[str, SecretView] = field(default_factory=dict)
    rotations: Mapping[str, RotationView] = field(default_factory=dict)
    times: Mapping[str, RotationTimes] = field(default_factory=dict)


@dataclass(frozen=True)
class _Pass:
    """What one pass works on."""

    osdpl: KubeObject
    store: CredentialStore
    bundles: KubeObjects
    export: ReaderExport
    feature: ReadOnlyAccountFeature

    @property
    def namespace(self) -> str:
        return str(self.osdpl["metadata"]["namespace"])

    @property
    def mark(self) -> str:
        return reader_mark(self.namespace, str(self.osdpl["metadata"]["name"]))

    @property
    def administrator(self) -> Administrator | None:
        admin = administrator_of(self.bundles, self.namespace)
        return with_public_authority(self.export.kube, self.osdpl, admin) if admin is not None else None

    @property
    def has_credentials(self) -> bool:
        """Whether the Secret is there, and ours."""
        there = self.store.stored().get(READER_CREDENTIALS)
        return there is not None and there.ours and not there.foreign


@dataclass(frozen=True)
class _Look:
    """What Keystone has said of an account, asked with these facts, and until when that counts."""

    facts: tuple[object, ...]
    until: float
    found: ReaderFound = field(default_factory=ReaderFound)
    waits: str = ""


class ReadOnlyAccount:
    """Of one region. Without `accounts` nothing is done."""

    def __init__(
        self,
        kube: Kube,
        clock: Clock,
        randomness: Randomness,
        events: Events,
        accounts: ReaderAccounts | None,
    ) -> None:
        self._kube = kube
        self._clock = clock
        self._accounts = accounts
        self._rotation = ReaderRotation(kube, clock, randomness, events)
        self._look: _Look | None = None
        self._away, self._away_until = "", 0.0
        self._unfinished = False

    @property
    def unfinished(self) -> bool:
        """Whether the last pass has left something to the next."""
        return self._unfinished

    def names(self, osdpl: KubeObject) -> tuple[str, ...]:
        """The Secrets with credentials that are to be looked at, whoever made them."""
        wanted = self._accounts is not None and features_of(osdpl).read_only_account.enabled
        return (READER_CREDENTIALS,) if wanted else ()

    def ensure(
        self,
        osdpl: KubeObject,
        store: CredentialStore,
        bundles: KubeObjects,
        *,
        digest_key: Callable[[], bytes],
        recalled: Collection[str],
        read_only: bool,
    ) -> ReaderState:
        """Brings everything to what the spec says. `store` has observed; `recalled`: Secrets of which it is
        not known how far their rotation is; `read_only`: nothing may be changed now. Raises Conflict,
        KubeError.
        """
        self._unfinished = False
        if self._accounts is None:
            return ReaderState()
        feature = features_of(osdpl).read_only_account
        at_work = _Pass(osdpl, store, bundles, ReaderExport(self._kube, osdpl), feature)
        if read_only or READER_CREDENTIALS in recalled:
            state = self._held(at_work)
        elif feature.enabled:
            state = self._kept(at_work, self._accounts)
        else:
            was_there = at_work.export.ours
            note = self._gone(at_work, "it is switched off")
            state = ReaderState(notes=(note,) if note else ())
            self._unfinished = bool(note) or was_there  # copies are emptied by the next pass
        return self._published(at_work, state, digest_key)

    def remove(self, osdpl: KubeObject, store: CredentialStore, bundles: KubeObjects) -> None:
        """With the region: while its Keystone can still be asked the account, and all that was made of it.
        Where it could not, the credentials stay with the database that may know them. Raises Conflict,
        KubeError."""
        if self._accounts is None:
            return
        feature = features_of(osdpl).read_only_account
        at_work = _Pass(osdpl, store, bundles, ReaderExport(self._kube, osdpl), feature)
        if at_work.has_credentials and at_work.administrator is not None:
            self._gone(at_work, "its region goes")
        elif not bundles:
            at_work.export.remove("its region has gone")

    # -- what is done

    def _kept(self, at_work: _Pass, accounts: ReaderAccounts) -> ReaderState:
        problems = self._made(at_work.store)
        if problems:
            self._unfinished = True
            return ReaderState(problems=tuple(problems))
        admin = at_work.administrator
        if admin is None:
            return self._waits(at_work, "it waits for the release of Keystone")
        try:
            look, account = self._looked(at_work, accounts, admin)
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
        password = at_work.store.text(READER_CREDENTIALS, READER_PASSWORD)
        refused = at_work.export.ensure(admin, account, password, at_work.feature)
        if refused:
            self._unfinished = True
            return ReaderState(problems=(CredentialProblem(READER_SECRET, refused),))
        notes = []
        if look.found.others:
            notes.append(
                f"account {account.name}, which is to read only, was given {look.found.others} roles or "
                "groups beside; take them back in Keystone"
            )
        view = self._rotated(at_work, accounts, admin, account)
        self._unfinished = view is not None
        return ReaderState(notes=tuple(notes), rotations={READER_CREDENTIALS: view} if view else {})

    def _made(self, store: CredentialStore) -> list[CredentialProblem]:
        """The Secret with the password; a lost one is made anew, since everybody has it from us."""
        stored = store.stored()
        there = {name: one for name, one in stored.items() if name == READER_CREDENTIALS}
        plan = plan_credentials((reader_credentials(),), there, recorded={})
        problems = [*plan.problems, *made_changes(store, plan.changes)]
        if not problems and (obstacle := store.write_obstacle(READER_CREDENTIALS)):
            problems.append(CredentialProblem(READER_CREDENTIALS, obstacle))
        return problems

    def _looked(
        self, at_work: _Pass, accounts: ReaderAccounts, admin: Administrator
    ) -> tuple[_Look, Account]:
        """What Keystone says of the account that the Secret names, made where it was not there."""
        store, now = at_work.store, self._clock.monotonic()
        account = reader_account(admin, store.text(READER_CREDENTIALS, ACCOUNT_SUFFIX))
        if self._look and self._look.facts == self._facts(at_work, admin) and now < self._look.until:
            return self._look, account
        found, waits = ReaderFound(), ""
        try:
            login = self._login(at_work, admin)
            account, found = self._ensured(at_work, accounts, admin, login)
            record = rotation_of(store, READER_CREDENTIALS)
            keep = {account.name, *(one.name for one in (record.accounts if record else ()))}
            self._drop(accounts, login, account, at_work, keep)
        except ServerUnavailable as error:
            waits = str(error)
        until = self._clock.monotonic() + (ILL_SECONDS if waits or found.disabled else WELL_SECONDS)
        self._look = _Look(self._facts(at_work, admin), until, replace(found, made=False), waits)
        return self._look, account

    def _ensured(
        self, at_work: _Pass, accounts: ReaderAccounts, admin: Administrator, login: ServerLogin
    ) -> tuple[Account, ReaderFound]:
        store = at_work.store
        password = store.text(READER_CREDENTIALS, READER_PASSWORD)
        for _ in range(MOST_SUFFIXES):
            suffix = store.text(READER_CREDENTIALS, ACCOUNT_SUFFIX)
            account = reader_account(admin, suffix)
            found = accounts.ensure_reader(
                login, account, password, at_work.mark, project=at_work.feature.project
            )
            if not found.foreign:
                if found.made:
                    place = f"{account.server}/{account.name}"
                    log_action(
                        "create", place, f"account {account.name} at {login.place.shown}: may only read"
                    )
                return account, found
            done = f"account {account.name} at {login.place.shown} is somebody else's, another name is taken"
            store.rewrite(READER_CREDENTIALS, {}, {ACCOUNT_SUFFIX: next_suffix(suffix)}, done=done)
        raise ServerUnavailable(
            f"up to {account.name} the names are taken in Keystone; delete what is unused"
        )

    def _rotated(
        self, at_work: _Pass, accounts: ReaderAccounts, admin: Administrator, account: Account
    ) -> RotationView | None:
        """What is next of a rotation, which may begin with it; None where there is none."""

        def drop_others() -> None:
            self._drop(accounts, self._login(at_work, admin), account, at_work, {account.name})

        try:
            return self._rotation.proceed(at_work.osdpl, at_work.store, account, drop_others)
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
        if self._accounts is None or not at_work.has_credentials or admin is None:
            return ""
        if self._clock.monotonic() < self._away_until:
            return self._away
        self._look = None
        try:
            account = reader_account(admin, "")
            self._drop(self._accounts, self._login(at_work, admin), account, at_work, ())
        except ServerUnavailable as error:
            self._away = f'Secret "{READER_CREDENTIALS}" stays until its account is deleted: {error}'
            self._away_until = self._clock.monotonic() + AWAY_SECONDS
            return self._away
        secret = at_work.store.stored()[READER_CREDENTIALS]
        refused = refusal_of(lambda: at_work.store.remove(secret, f"{why}, and its account is deleted"))
        return refused and f'Secret "{READER_CREDENTIALS}": {refused}'

    def _drop(
        self,
        accounts: ReaderAccounts,
        login: ServerLogin,
        account: Account,
        at_work: _Pass,
        keep: Collection[str],
    ) -> None:
        """Of the accounts of ours, those that are not to be kept."""
        for name in accounts.drop_readers(login, account.domain, READER_PREFIX, at_work.mark, keep):
            text = f"account {name} at {login.place.shown}: deleted, nothing names it any more"
            log_action("delete", f"{account.server}/{name}", text)

    # -- what is asked, and told

    def _login(self, at_work: _Pass, admin: Administrator) -> ServerLogin:
        place = ServerPlace(Server.KEYSTONE, password=admin.password, keystone=admin)
        return AccountLogins(self._kube, at_work.namespace).at(place)

    def _facts(self, at_work: _Pass, admin: Administrator) -> tuple[object, ...]:
        """With which Keystone was asked: with others it is asked again."""
        asked = (at_work.osdpl["metadata"].get("annotations") or {}).get(RECONCILE_ANNOTATION)
        return (
            at_work.mark,
            at_work.feature.project,
            at_work.store.stored()[READER_CREDENTIALS].version,
            admin,
            asked,
        )

    def _waits(self, at_work: _Pass, text: str) -> ReaderState:
        """A problem for as long as nobody has anything; what was exported may well be let in."""
        self._unfinished = True
        rotations = self._rotation.waiting(at_work.store, text)
        if at_work.export.ours:
            return ReaderState(notes=(f'Secret "{READER_SECRET}": {text}',), rotations=rotations)
        return ReaderState(problems=(CredentialProblem(READER_SECRET, text),), rotations=rotations)

    def _held(self, at_work: _Pass) -> ReaderState:
        if not at_work.has_credentials:
            return ReaderState()
        return ReaderState(rotations=self._rotation.waiting(at_work.store, HELD))

    def _published(self, at_work: _Pass, state: ReaderState, digest_key: Callable[[], bytes]) -> ReaderState:
        export, store = at_work.export, at_work.store
        messages = _messages(state.problems)
        views = {}
        if export.ours or messages:
            digest = store.digest(READER_SECRET, digest_key()) if export.ours else ""
            views[READER_SECRET] = SecretView(READER_SECRET, export.keys, digest, messages)
        times = {}
        if at_work.has_credentials:
            times[READER_CREDENTIALS] = rotation_times_of(at_work.osdpl, store, self._clock.now())
        return replace(state, views=views, times=times)


def _messages(problems: Iterable[CredentialProblem]) -> tuple[str, ...]:
    return tuple(one.message for one in problems if one.secret == READER_SECRET)
