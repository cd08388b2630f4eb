"""The port `AccountServers`: each account by the server that knows it."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import TypeVar

from controller.adapters.accounts.broker import BrokerAccounts
from controller.adapters.accounts.database import DatabaseAccounts
from controller.adapters.accounts.keystone import KeystoneAccounts
from controller.adapters.accounts.keystone_readers import KeystoneReaders
from controller.domain.credentials.rotation.accounts import Account, Server
from controller.errors import ServerUnavailable
from controller.ports.accounts import AccountServers, ReaderFound, ServerLogin

Answered = TypeVar("Answered")


class RealAccountServers:
    """`controller.ports.accounts.AccountServers`, `NamedAccounts`, `ReaderAccounts` and `WrappedKeys` on the
    network."""

    def __init__(self) -> None:
        self._database = DatabaseAccounts()
        self._keystone = KeystoneAccounts()
        self._readers = KeystoneReaders()
        self._servers: dict[Server, AccountServers] = {
            Server.DATABASE: self._database,
            Server.BROKER: BrokerAccounts(),
            Server.KEYSTONE: self._keystone,
        }

    def has(self, login: ServerLogin, account: Account) -> bool:
        return _asked(login, lambda: self._servers[account.server].has(login, account))

    def belongings(self, login: ServerLogin, account: Account) -> tuple[str, ...]:
        return _asked(login, lambda: self._servers[account.server].belongings(login, account))

    def sessions(self, login: ServerLogin, account: Account) -> int:
        return _asked(login, lambda: self._servers[account.server].sessions(login, account))

    def copy_grants(self, login: ServerLogin, before: Account, after: Account) -> None:
        _asked(login, lambda: self._servers[before.server].copy_grants(login, before, after))

    def drop(self, login: ServerLogin, account: Account) -> None:
        _asked(login, lambda: self._servers[account.server].drop(login, account))

    def add_password(self, login: ServerLogin, password: str) -> None:
        _asked(login, lambda: self._servers[login.place.server].add_password(login, password))

    def accepts(self, login: ServerLogin) -> bool:
        return _asked(login, lambda: self._servers[login.place.server].accepts(login))

    def drop_other_passwords(self, login: ServerLogin) -> None:
        _asked(login, lambda: self._servers[login.place.server].drop_other_passwords(login))

    def give_password(self, login: ServerLogin, account: Account, password: str) -> None:
        _asked(login, lambda: self._keystone.give_password(login, account, password))

    def has_password(self, login: ServerLogin, account: Account, password: str) -> bool:
        return _asked(login, lambda: self._keystone.has_password(login, account, password))

    def restore_lockout(self, login: ServerLogin, account: Account) -> None:
        _asked(login, lambda: self._keystone.restore_lockout(login, account))

    def ensure_reader(
        self, login: ServerLogin, account: Account, password: str, mark: str, *, project: bool
    ) -> ReaderFound:
        return _asked(
            login, lambda: self._readers.ensure_reader(login, account, password, mark, project=project)
        )

    def drop_readers(
        self, login: ServerLogin, domain: str, prefix: str, mark: str, keep: Collection[str]
    ) -> tuple[str, ...]:
        return _asked(login, lambda: self._readers.drop_readers(login, domain, prefix, mark, keep))

    def rewrap(self, login: ServerLogin, database: str, key: str, former: str) -> int:
        return _asked(login, lambda: self._database.rewrap(login, database, key, former))


def _asked(login: ServerLogin, ask: Callable[[], Answered]) -> Answered:
    """The answer of a server.

    If it has another shape, for example from a proxy, the rest of the region does not wait. Raises
    ServerUnavailable, without the text of the answer.
    """
    try:
        return ask()
    except (AttributeError, LookupError, TypeError):
        place = login.place
        raise ServerUnavailable(f"{place.shown} does not answer like a {place.server.lower()}") from None
