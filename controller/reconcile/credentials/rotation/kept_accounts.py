"""The passwords of accounts that keep their names: administrators, and those of Keystone that others name by
their id. The Secret holds the next password before a server gets it.

Charts set them, too: Keystone's Jobs at each upgrade (`keystone-manage bootstrap`, `ks-user`), the broker at
each start of a pod. So what is lost between two of our writes is put right by the next upgrade of a release.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, replace
from functools import partial

from controller.domain.api.names import ROTATION_ANNOTATION
from controller.domain.credentials.clouds_yaml import KeyOfSecret
from controller.domain.credentials.rotation.accounts import Release
from controller.domain.credentials.rotation.in_place import coming_name, coming_passwords
from controller.domain.credentials.rotation.record import (
    Phase,
    RotationRecord,
    RotationView,
    record_text,
)
from controller.domain.credentials.rotation.servers import KeptAccount, kept_accounts
from controller.domain.values.templates.template_functions import ACCOUNT_SUFFIX
from controller.errors import PasswordRefused, ServerUnavailable
from controller.ports.accounts import RegionAccounts, ServerLogin
from controller.ports.kubernetes import Kube
from controller.reconcile.credentials.refused_writes import refusal_of
from controller.reconcile.credentials.rotation.rotation_records import rotation_of
from controller.reconcile.credentials.store import CredentialStore
from controller.reconcile.shared.action_log import log_action
from controller.reconcile.shared.secret_values import AccountLogins


@dataclass(frozen=True)
class KeptPasswords:
    """Of one pass. `logins` have read the passwords that the Secrets say in it."""

    servers: RegionAccounts
    store: CredentialStore
    logins: AccountLogins
    releases: tuple[Release, ...]
    namespace: str

    def prepare(self, name: str, keys: Collection[str], make: Callable[[str], str]) -> None:
        """Writes the next passwords down, where there are none. Raises Conflict, KubeError."""
        texts = self.store.texts(name)
        new: dict[str, str | None] = {
            coming_name(key): make(key) for key in keys if not texts.get(coming_name(key))
        }
        if new:
            self.store.rewrite(name, {}, new, done=f"{', '.join(sorted(new))} for accounts to change")

    def tell(self, name: str, keys: Collection[str]) -> None:
        """Sets the next passwords of the accounts in the servers. Raises ServerUnavailable, and
        PasswordRefused only if no server accepted its password."""
        told = False
        for key, one, login in self._logins(name, keys):
            try:
                self._add_password(one, login, self.store.text(name, coming_name(key)))
            except PasswordRefused as error:
                raise ServerUnavailable(str(error)) if told else error from None
            told = True
            text = f"{one.shown} has the next password of Secret {name}"
            log_action("change-password", f"{one.place.server}/{one.place.shown}", text)

    def forget(self, name: str, keys: Collection[str]) -> None:
        """Deletes the next passwords, which no server has. Raises Conflict, KubeError."""
        there = [coming_name(key) for key in keys if coming_name(key) in self.store.texts(name)]
        if there:
            self.store.rewrite(name, {}, dict.fromkeys(there), done=f"{', '.join(there)} is not used")

    def drop_other_passwords(self, name: str, keys: Collection[str]) -> None:
        """The servers accept only the Secret's present passwords of the accounts. Raises
        ServerUnavailable."""
        for key, one, login in self._logins(name, keys):
            if one.account is None:
                self.servers.drop_other_passwords(login)
                continue
            # A Job of an upgrade that began before may have set the former one again.
            self.servers.give_password(login, one.account, self.store.text(name, key))
            self.servers.restore_lockout(login, one.account)

    def told(self, name: str, keys: Collection[str]) -> tuple[str, ...]:
        """The keys for which a server has the next password, and not the Secret's present password. Nothing
        is changed. If a server did not get the next password, no login with it is tried. Raises
        ServerUnavailable."""
        found = dict.fromkeys(
            key
            for key, one, login in self._logins(name, keys)
            if not self._lets_in(one, login, self.store.text(name, key))
            and self._lets_in(one, login, self.store.text(name, coming_name(key)))
        )
        return tuple(found)

    def _lets_in(self, one: KeptAccount, login: ServerLogin, password: str) -> bool:
        if one.account is None:
            return self.servers.accepts(replace(login, password=password))
        return self.servers.has_password(login, one.account, password)

    def _add_password(self, one: KeptAccount, login: ServerLogin, password: str) -> None:
        if one.account is None:
            self.servers.add_password(login, password)
        else:
            self.servers.give_password(login, one.account, password)

    def _logins(self, name: str, keys: Collection[str]) -> Iterator[tuple[str, KeptAccount, ServerLogin]]:
        for key in keys:
            for one in kept_accounts(KeyOfSecret(name, key), self.releases, self.namespace):
                yield key, one, self.logins.at(one.place)


@dataclass(frozen=True)
class InterruptedPasswords:
    """Passwords that a kill left in the server and not yet in the Secret. Until the Secret has them, no
    client can log in. This change has begun, so it is completed even if no new change is allowed. For one
    pass."""

    kube: Kube
    servers: RegionAccounts
    store: CredentialStore
    releases: tuple[Release, ...]
    namespace: str

    def finish(self, now: float, held: str, left: Collection[str] = ()) -> dict[str, RotationView]:
        """Completes such a change as a rotation of that account only. Gives the rotations that cannot
        continue yet. `held`: why no change is allowed now. Then no server gets a password, and only the
        Secret follows the server. `left`: Secrets with an unknown progress. Raises Conflict, KubeError."""
        waiting = {}
        for name in sorted(self.store.rotatable() - {*left}):
            texts = self.store.texts(name)
            keys = coming_passwords([key for key in texts if texts[key]])
            if not keys or rotation_of(self.store, name) is not None:
                continue
            finish = partial(self._end_one if held else self._finish_one, name, keys, now)
            try:
                why = refusal_of(finish)
                if held and not why and rotation_of(self.store, name) is None:
                    why = held
            except ServerUnavailable as error:
                why = str(error)
            if why:
                waiting[name] = RotationView(Phase.WAITING, why)
        return waiting

    def _finish_one(self, name: str, keys: tuple[str, ...], now: float) -> None:
        passwords = self._passwords()
        try:
            passwords.tell(name, keys)
        except PasswordRefused:
            passwords.forget(name, keys)
            return
        self._write(name, keys, now)

    def _end_one(self, name: str, keys: tuple[str, ...], now: float) -> None:
        told = self._passwords().told(name, keys)
        if told:
            self._write(name, told, now)

    def _passwords(self) -> KeptPasswords:
        logins = AccountLogins(self.kube, self.namespace)
        return KeptPasswords(self.servers, self.store, logins, self.releases, self.namespace)

    def _write(self, name: str, keys: tuple[str, ...], now: float) -> None:
        record = RotationRecord(now, self.store.text(name, ACCOUNT_SUFFIX), (), kept_accounts=keys)
        new = {key: self.store.text(name, coming_name(key)) for key in keys}
        done = f"new {', '.join(keys)}, which the server already accepts"
        self.store.rewrite(name, {ROTATION_ANNOTATION: record_text(record)}, new, done=done)
