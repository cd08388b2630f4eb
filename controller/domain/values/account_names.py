"""Names of accounts in the values of a release: what its Jobs have to make when they change. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from controller.domain.values.chart_values import Values


def renames_accounts(before: Values, after: Values) -> bool:
    """Whether an account at the same place (`endpoints.*.auth.*.username`) has got another name."""
    return bool(replaced_accounts(before, after))


def replaced_accounts(before: Values, after: Values) -> tuple[str, ...]:
    """The accounts of before that have got another name, each with its endpoint: `nova (oslo_db)`.

    `before` has to hold the chart's own values as well: they name accounts that nobody else does."""
    names = dict(_account_names(after))
    return tuple(
        f"{name} ({place[0]})"
        for place, name in sorted(_account_names(before))
        if names.get(place, name) != name
    )


def _account_names(values: Values) -> Iterator[tuple[tuple[str, str], str]]:
    for endpoint, settings in _map(values.get("endpoints")).items():
        for user, account in _map(_map(settings).get("auth")).items():
            name = _map(account).get("username")
            if isinstance(name, str) and name:
                yield (str(endpoint), str(user)), name


def _map(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
