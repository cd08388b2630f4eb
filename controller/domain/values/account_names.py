"""Names of accounts in the values of a release: what its Jobs have to make when they change. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from controller.domain.values.chart_values import DocumentPath, Values, lookup

_DATABASE = ("endpoints", "oslo_db", "auth")
_BROKER = ("endpoints", "oslo_messaging", "auth")
_OCTAVIA = ("conf", "octavia", "service_auth")
_KEYSTONE = ("endpoints", "identity", "auth")
# Accounts that keep their names when their password is replaced.
_NAMED = ("aodh", "heat_trustee", "heat_stack_user", "octavia")
# The endpoint; what only the values of such a release have; the password: of MariaDB's own pods, which look
# by it whether they work, of RabbitMQ's, which set it, and of Octavia's.
_ADMINISTRATORS: tuple[tuple[str, DocumentPath, DocumentPath], ...] = (
    ("oslo_db", (*_DATABASE, "sst"), (*_DATABASE, "admin", "password")),
    ("oslo_messaging", (*_BROKER, "erlang_cookie"), (*_BROKER, "user", "password")),
    ("identity", _OCTAVIA, (*_OCTAVIA, "password")),
)


def renames_accounts(before: Values, after: Values) -> bool:
    """Whether an account at the same place (`endpoints.*.auth.*.username`) has got another name."""
    return bool(replaced_accounts(before, after))


def replaced_accounts(before: Values, after: Values) -> tuple[str, ...]:
    """The accounts that have another name now, each with its endpoint: `nova (oslo_db)`.

    `before` must hold the chart's own values as well: only they name some accounts."""
    names = dict(_account_names(after))
    return tuple(
        f"{name} ({place[0]})"
        for place, name in sorted(_account_names(before))
        if names.get(place, name) != name
    )


def replaced_passwords(before: Values, after: Values) -> tuple[str, ...]:
    """The accounts that pods of the release log in as, and that have got another password under the same
    name, each with its endpoint. Where only Jobs do, a rollback runs none."""
    found = []
    for endpoint, mark, path in _ADMINISTRATORS:
        if lookup(before, mark) is None:
            continue
        one, other = lookup(before, path), lookup(after, path)
        if one and other and one != other:
            found.append(f"the administrator ({endpoint})")
    for user in _NAMED:
        one, other = (lookup(values, (*_KEYSTONE, user)) for values in (before, after))
        if _differs(one, other, "password") and not _differs(one, other, "username"):
            found.append(f"{_map(one).get('username', user)} (identity)")
    return tuple(found)


def _differs(one: object, other: object, key: str) -> bool:
    return bool(_map(one).get(key) and _map(other).get(key) and _map(one)[key] != _map(other)[key])


def _account_names(values: Values) -> Iterator[tuple[tuple[str, str], str]]:
    for endpoint, settings in _map(values.get("endpoints")).items():
        for user, account in _map(_map(settings).get("auth")).items():
            name = _map(account).get("username")
            if isinstance(name, str) and name:
                yield (str(endpoint), str(user)), name


def _map(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
