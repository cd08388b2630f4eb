"""The accounts that a rotation replaces, on their servers: what would be lost with them, and their end."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass

from controller.domain.credentials.rotation.accounts import (
    Account,
    Release,
    SecretUse,
    names_in_use,
    next_suffix,
)
from controller.domain.credentials.rotation.record import RotationRecord
from controller.errors import RightRefused, ServerUnavailable
from controller.ports.accounts import AccountServers
from controller.reconcile.shared.action_log import log_action
from controller.reconcile.shared.secret_values import AccountLogins

# Endings of names that are tried in one pass.
MOST_SUFFIXES = 50


@dataclass(frozen=True)
class AccountsToGo:
    """`replaced`: each with the one in its place. `left`: those of which the values do not say by now what
    has their place."""

    replaced: Mapping[Account, Account]
    left: tuple[Account, ...] = ()


def accounts_to_go(
    record: RotationRecord,
    use: SecretUse,
    releases: Iterable[Release],
    suffixes: Mapping[str, str],
    suffix: str,
) -> AccountsToGo:
    """Of the accounts of the record; those that the values name again stay. `suffixes`: what each Secret
    says, `suffix` what this one does."""
    used = names_in_use(releases, suffixes)
    replaced: dict[Account, Account] = {}
    left = []
    for account in record.accounts:
        if (account.server, account.name) in used:
            continue
        successor = use.successor(account, record.suffix_before)
        if successor is None:
            left.append(account)
        else:
            replaced[account] = successor.named(suffix)
    return AccountsToGo(replaced, tuple(left))


class ReplacedAccounts:
    """For one pass. Each method raises ServerUnavailable, KubeError."""

    def __init__(self, servers: AccountServers, logins: AccountLogins, releases: tuple[Release, ...]) -> None:
        self._servers = servers
        self._logins = logins
        self._releases = releases

    def free_suffix(self, use: SecretUse, suffix: str) -> str:
        """The next ending with which no server knows an account: one that a restored Secret does not tell of
        has another password, which no Job would change."""
        for _ in range(MOST_SUFFIXES):
            suffix = next_suffix(suffix)
            accounts = dict.fromkeys(one.named(suffix) for one in use.accounts)
            if not any(map(self._is_there, accounts)):
                return suffix
        names = ", ".join(sorted({one.name for one in accounts}))
        raise ServerUnavailable(
            f"all names for the next accounts up to {names} are taken; delete unused accounts"
        )

    def in_the_way(self, accounts: Iterable[Account]) -> tuple[str, ...]:
        """What would be lost with the accounts. Also finds out whether their servers can be reached."""
        found = []
        for account in accounts:
            belongings = self._servers.belongings(self._logins.of(account, self._releases), account)
            if belongings:
                found.append(
                    f"account {account.name} owns objects that would be deleted with it: "
                    f"{', '.join(belongings)}"
                )
        return tuple(dict.fromkeys(found))

    def connected(self, accounts: Iterable[Account]) -> tuple[str, ...]:
        """Who still works with the accounts."""
        found = []
        for account in accounts:
            login = self._logins.of(account, self._releases)
            sessions = self._servers.sessions(login, account)
            if sessions:
                place = login.place.shown
                found.append(f"account {account.name} still has {sessions} connections at {place}")
        return tuple(dict.fromkeys(found))

    def copy_grants(self, accounts: Mapping[Account, Account]) -> tuple[str, ...]:
        """Gives the next accounts what those before have; what they cannot have."""
        found = []
        for before, after in accounts.items():
            try:
                self._servers.copy_grants(self._logins.of(before, self._releases), before, after)
            except RightRefused as error:
                found.append(str(error))
        return tuple(dict.fromkeys(found))

    def pass_on_what_can_be(self, accounts: Mapping[Account, Account]) -> tuple[str, ...]:
        """As `copy_grants`, and ignores servers that do not answer."""
        found: list[str] = []
        for before, after in accounts.items():
            with suppress(ServerUnavailable):
                found += self.copy_grants({before: after})
        return tuple(dict.fromkeys(found))

    def drop(self, accounts: Iterable[Account]) -> None:
        """They are not there any more."""
        for account in accounts:
            if not self._is_there(account):
                continue
            login = self._logins.of(account, self._releases)
            self._servers.drop(login, account)
            text = (
                f"account {account.name} at {login.place.shown}: deleted, because another one has replaced it"
            )
            log_action("delete", f"{account.server}/{account.name}", text, release=account.release)

    def still_there(self, accounts: Iterable[Account]) -> tuple[str, ...]:
        """What a person must do about old accounts without a known replacement."""
        names = {one.name for one in self._releases}
        found = []
        for account in accounts:
            what = f"account {account.name} at the {account.server.lower()} of {account.release}"
            if account.release not in names:
                text = (
                    f"{what} is deleted once that release returns, because its values have the address "
                    "of the server"
                )
                found.append(text)
            elif self._is_there(account):
                found.append(
                    f"no values use {what} any more, and no account has replaced it; "
                    "delete the old account in that server"
                )
        return tuple(dict.fromkeys(found))

    def _is_there(self, account: Account) -> bool:
        return self._servers.has(self._logins.of(account, self._releases), account)
