"""Accounts of a MariaDB."""

from __future__ import annotations

import contextlib
import hashlib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from controller.adapters.accounts.client_tls import client_context
from controller.domain.credentials.rotation.accounts import Account
from controller.errors import PasswordRefused, RightRefused, ServerUnavailable
from controller.ports.accounts import ServerLogin

CONNECT_SECONDS = 5
ANSWER_SECONDS = 20
# Objects that run with the rights of their creator, and fail without that account.
_DEFINED = {"TRIGGERS": "triggers", "VIEWS": "views", "ROUTINES": "routines", "EVENTS": "events"}

# Of what the plugin has wrapped (barbican, model/models.py, KEKDatum).
_SIMPLE_CRYPTO = "barbican.plugin.crypto.simple_crypto.SimpleCryptoPlugin"
_PLUGIN = "mysql_native_password"
# With these an account may grant its privileges and roles to others.
_OPTION = re.compile(r"( WITH (?:GRANT|ADMIN) OPTION)(?: MAX_\w+ \S+)*$")
_PUBLIC = re.compile(r" TO `?PUBLIC`?( |$)")
# These are no answer to the request: not ready, a lock, a deadlock, temporarily read-only, lost connection.
_PASSING = (1047, 1205, 1213, 1290, 2006, 2013)
_NAME = re.compile(r"[A-Za-z0-9_]{1,64}")


class DatabaseAccounts:
    """`controller.ports.accounts.AccountServers`, for databases."""

    def has(self, login: ServerLogin, account: Account) -> bool:
        with _connected(login) as cursor:
            cursor.execute("SELECT COUNT(*) FROM mysql.user WHERE User = %s", (account.name,))
            return bool(cursor.fetchone()[0])

    def belongings(self, login: ServerLogin, account: Account) -> tuple[str, ...]:
        found = []
        with _connected(login) as cursor:
            for table, what in _DEFINED.items():
                # The table is one of the four above.
                query = f"SELECT COUNT(*) FROM information_schema.{table} WHERE DEFINER = %s"  # noqa: S608
                cursor.execute(query, (f"{account.name}@%",))
                count = int(cursor.fetchone()[0])
                if count:
                    found.append(f"{count} {what} that it has defined")
        return tuple(found)

    def sessions(self, login: ServerLogin, account: Account) -> int:
        with _connected(login) as cursor:
            query = "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE USER = %s"
            cursor.execute(query, (account.name,))
            return int(cursor.fetchone()[0])

    def copy_grants(self, login: ServerLogin, before: Account, after: Account) -> None:
        """Only grants made by hand, because the Job of the chart grants the next account its database."""
        with _connected(login) as cursor:
            if not all(_is_there(cursor, one.name) for one in (before, after)):
                return
            there = set(_grants(cursor, login, after.name))
            more = [one for one in _grants(cursor, login, before.name) if one not in there]
            _copy_grants(cursor, login, more, before, after)

    def drop(self, login: ServerLogin, account: Account) -> None:
        with _connected(login) as cursor:
            cursor.execute("DROP USER IF EXISTS %s@'%%'", (account.name,))

    def add_password(self, login: ServerLogin, password: str) -> None:
        """With both: MariaDB knows several passwords of one account from 10.4 on."""
        try:
            with _connected(login) as cursor:
                _let_in_with(cursor, login, (login.password, password))
        except _Refused:
            with _connected(replace(login, password=password)):
                return

    def accepts(self, login: ServerLogin) -> bool:
        try:
            with _connected(login):
                return True
        except _Refused:
            return False

    def drop_other_passwords(self, login: ServerLogin) -> None:
        """With that password alone."""
        with _connected(login) as cursor:
            _let_in_with(cursor, login, (login.password,))

    def rewrap(self, login: ServerLogin, database: str, key: str, former: str) -> int:
        """`controller.ports.accounts.WrappedKeys`. Each row is written as it was read."""
        from cryptography.fernet import Fernet, InvalidToken

        if not _NAME.fullmatch(database):
            raise ServerUnavailable(f"{database!r} is no name of a database")
        table = f"`{database}`.kek_data"
        now, before, count = Fernet(key), Fernet(former), 0
        with _connected(login) as cursor:
            query = f"SELECT id, plugin_meta FROM {table} WHERE plugin_name = %s"  # noqa: S608
            cursor.execute(query, (_SIMPLE_CRYPTO,))
            for row, wrapped in cursor.fetchall():
                if not wrapped:
                    continue
                with contextlib.suppress(InvalidToken):
                    now.decrypt(wrapped)
                    continue
                try:
                    again = now.encrypt(before.decrypt(wrapped)).decode()
                except InvalidToken:
                    continue
                change = f"UPDATE {table} SET plugin_meta = %s WHERE id = %s AND plugin_meta = %s"  # noqa: S608
                cursor.execute(change, (again, row, wrapped))
                count += 1
        return count


def _is_there(cursor: Any, name: str) -> bool:
    cursor.execute("SELECT COUNT(*) FROM mysql.user WHERE User = %s AND Host = '%%'", (name,))
    return bool(cursor.fetchone()[0])


@dataclass(frozen=True)
class _Grant:
    """A statement that grants an account something: the text before its name, and after it."""

    verb: str
    option: str = ""

    def to(self, name: str) -> str:
        """The statement for an account of this name."""
        quoted = name.replace("`", "``")
        return f"{self.verb} `{quoted}`@`%`{self.option}"


def _grants(cursor: Any, login: ServerLogin, name: str) -> Iterator[_Grant]:
    """The grants of the account, without its password, its TLS requirements and its limits.

    Raises RightRefused for an unknown form, which would be lost with the account.
    """
    cursor.execute("SHOW GRANTS FOR %s@'%%'", (name,))
    # The quotes depend on the mode of the server; a proxy grant has a third form.
    shown = [quote + name.replace(quote, quote * 2) + quote for quote in "`\"'"]
    for (line,) in cursor.fetchall():
        if _PUBLIC.search(str(line)):
            continue  # every account has it
        found = (str(line).partition(f" {one}@{one[0]}%{one[0]}") for one in shown)
        verb, _, rest = next((one for one in found if one[1]), (str(line), "", ""))
        if not verb.endswith((" TO", " FOR")):
            # The line may hold a password's digest, but not before the name.
            what = f"account {name} has a privilege of an unknown form, which is not copied"
            raise RightRefused(f"{what}; revoke it in the database at {login.place.shown}")
        option = _OPTION.search(rest)
        grant = _Grant(verb, option[1] if option else "")
        if not verb.startswith("GRANT USAGE ") or grant.option:
            yield grant


def _copy_grants(
    cursor: Any, login: ServerLogin, grants: Sequence[_Grant], before: Account, after: Account
) -> None:
    """Grants everything possible. Raises RightRefused with the statements of the rest."""
    import pymysql

    refused = []
    for grant in grants:
        statement = grant.to(after.name)
        try:
            cursor.execute(statement)
        except pymysql.MySQLError as error:
            if error.args[:1] and error.args[0] in _PASSING:
                raise
            refused.append(statement)
    if refused:
        place = login.place
        text = f"{place.user} may not grant account {after.name} all privileges of account {before.name}"
        way = "revoke them from the old account, or run the following as a user with these privileges"
        raise RightRefused(f"{text} in the database at {place.shown}; {way}: {'; '.join(refused)}")


class _Refused(ServerUnavailable):
    """Another password, or none."""


def _let_in_with(cursor: Any, login: ServerLogin, passwords: Sequence[str]) -> None:
    """Sets these passwords on the current account. They are not in the statement, which others can see."""
    cursor.execute("SELECT CURRENT_USER()")
    user, _, host = str(cursor.fetchone()[0]).rpartition("@")
    cursor.execute("SELECT plugin FROM mysql.user WHERE User = %s AND Host = %s", (user, host))
    plugin = str(cursor.fetchone()[0])
    if plugin not in ("", _PLUGIN):
        what = f"the account {user} at {login.place.shown} logs in by {plugin}"
        raise PasswordRefused(f"{what}, which allows one password only")
    known = " OR ".join(f"{_PLUGIN} USING '{_digest(one)}'" for one in passwords)
    cursor.execute(f"ALTER USER %s@%s IDENTIFIED VIA {known}", (user, host))


def _digest(password: str) -> str:
    """As the plugin keeps it (https://mariadb.com/kb/en/password/)."""
    once = hashlib.sha1(password.encode()).digest()  # noqa: S324 - the plugin's own
    return f"*{hashlib.sha1(once).hexdigest().upper()}"  # noqa: S324


@contextlib.contextmanager
def _connected(login: ServerLogin) -> Iterator[Any]:
    import pymysql  # only a rotation needs it

    place = login.place
    try:
        with (
            pymysql.connect(
                host=place.host,
                port=place.port,
                user=place.user,
                password=login.password,
                connect_timeout=CONNECT_SECONDS,
                read_timeout=ANSWER_SECONDS,
                write_timeout=ANSWER_SECONDS,
                autocommit=True,
                # With an authority, the connection fails if the server does not encrypt.
                ssl=client_context(login),
            ) as connection,
            connection.cursor() as cursor,
        ):
            yield cursor
    except (pymysql.MySQLError, OSError) as error:
        # 1045: ER_ACCESS_DENIED_ERROR; other texts of the server may contain a name or a password.
        refused = isinstance(error, pymysql.OperationalError) and error.args[:1] == (1045,)
        what = f"refuses {place.user}" if refused else f"does not answer ({type(error).__name__})"
        kind = _Refused if refused else ServerUnavailable
        raise kind(f"the database at {place.shown} {what}") from None
