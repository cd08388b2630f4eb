"""What the rotation of credentials needs of databases, brokers and Keystone, as a protocol."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Protocol

from controller.domain.credentials.rotation.accounts import Account
from controller.domain.credentials.rotation.servers import ServerPlace


@dataclass(frozen=True)
class ServerLogin:
    """A server, and the password of its administrator. `ca`: whom to trust, in PEM; empty for whom the system
    trusts. `certificate` and `key`: what to show the server, in PEM; empty for nothing."""

    place: ServerPlace
    password: str = field(repr=False)
    ca: str = ""
    certificate: str = ""
    key: str = field(default="", repr=False)


class WrappedKeys(Protocol):
    """What Barbican keeps in its database: the keys of projects, each wrapped. May be repeated."""

    def rewrap(self, login: ServerLogin, database: str, key: str, former: str) -> int:
        """Has what `former` unwraps wrapped with `key`; how much that was. What `key` unwraps, and what
        neither does, is left as it is. Raises ServerUnavailable; ValueError where a key is none."""
        ...


class NamedAccounts(Protocol):
    """Keystone's accounts that others name by their id, so that no other can take their place. Every call has
    a deadline and may be repeated. Raises ServerUnavailable."""

    def give_password(self, login: ServerLogin, account: Account, password: str) -> None:
        """The account has this password from now on, and failed logins do not lock it. Nothing changes where
        it has it already, nor where Keystone does not know the account. Raises PasswordRefused where
        Keystone takes no other one."""
        ...

    def has_password(self, login: ServerLogin, account: Account, password: str) -> bool:
        """Whether the account can log in with this password; a refusal counts as a failed login. False if
        Keystone does not have the account."""
        ...

    def restore_lockout(self, login: ServerLogin, account: Account) -> None:
        """Failed logins lock the account again, where they did before `give_password`."""
        ...


class AccountServers(Protocol):
    """Accounts of services on their servers. Every call has a deadline and may be repeated.

    Raises ServerUnavailable where the server does not answer, or refuses its administrator.
    """

    def has(self, login: ServerLogin, account: Account) -> bool:
        """Whether the server knows the account."""
        ...

    def belongings(self, login: ServerLogin, account: Account) -> tuple[str, ...]:
        """What would go with the account and cannot be moved to another, in words."""
        ...

    def sessions(self, login: ServerLogin, account: Account) -> int:
        """How many connections the account has; 0 where the server does not know."""
        ...

    def copy_grants(self, login: ServerLogin, before: Account, after: Account) -> None:
        """Gives the second account what the first one has, where both are there. Raises RightRefused for what
        it cannot have; the rest it has then."""
        ...

    def add_password(self, login: ServerLogin, password: str) -> None:
        """The administrator of the login has this password from now on, beside the one before where the
        server knows two; failed logins do not lock its account. Nothing changes where it has it already.
        Raises PasswordRefused where the server takes no other one."""
        ...

    def accepts(self, login: ServerLogin) -> bool:
        """Whether the administrator can log in with this login; a refusal counts as a failed login."""
        ...

    def drop_other_passwords(self, login: ServerLogin) -> None:
        """The administrator can log in with that password only, and failed logins count as before
        `add_password`."""
        ...

    def drop(self, login: ServerLogin, account: Account) -> None:
        """The account is not there any more."""
        ...


class RegionAccounts(AccountServers, NamedAccounts, Protocol):
    """Those of all servers of a region."""


@dataclass(frozen=True)
class ReaderFound:
    """The account in Keystone with the name of a reader. `foreign`: others created the account. `disabled`:
    the account is ours, and others disabled it. Neither was changed. `made`: the account did not exist.
    `others`: the number of roles and groups that others gave it."""

    foreign: bool = False
    disabled: bool = False
    made: bool = False
    others: int = 0


class ReaderAccounts(Protocol):
    """Keystone's accounts that may only read. `mark` is by which ours are known. Every call has a deadline
    and may be repeated, also where one before was cut off anywhere. Raises ServerUnavailable."""

    def ensure_reader(
        self, login: ServerLogin, account: Account, password: str, mark: str, *, project: bool
    ) -> ReaderFound:
        """The account exists, can log in with this password, and cannot change it. It has the role `reader`
        of the whole system, and with `project` also in the administrator's project. A role that this method
        gave earlier, and that is no longer desired, is removed. Nothing is written if nothing differs. Raises
        PasswordRefused if Keystone accepts no such password."""
        ...

    def drop_readers(
        self, login: ServerLogin, domain: str, prefix: str, mark: str, keep: Collection[str]
    ) -> tuple[str, ...]:
        """Accounts with this mark, whose names begin so, are not there any more, but those to `keep`; the
        names of those that were."""
        ...
