"""The accounts of a region's releases, and the passwords that only they use.

Pure. A rotation replaces an account by another one, because a database, a broker and Keystone have one
password for each name. So its name ends with a suffix from the same Secret (`$secretRef` with a prefix). Both
change in one write, and the Jobs of the chart create the next account while the former one still works.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from controller.domain.values.chart_values import Values, format_path, lookup
from controller.domain.values.secret_refs import SecretReference, find_references
from controller.domain.values.templates.template_functions import ACCOUNT_SUFFIX

_IDENTITY, _BROKER, _DATABASE = "identity", "oslo_messaging", "oslo_db"
# The values of a chart name it, but no region uses it.
_POSTGRESQL = "oslo_db_postgresql"
SERVICE_DOMAIN = "service"  # for accounts of services, in OpenStack-Helm's values
# Names of the administrator of a server in values; `user` is that of the broker in its own chart.
ADMINISTRATORS = ("admin", "user")


class Server(StrEnum):
    """What knows an account."""

    DATABASE = "Database"
    BROKER = "Broker"
    KEYSTONE = "Keystone"


@dataclass(frozen=True)
class Release:
    """A release in its HelmBundle."""

    name: str
    chart: str
    values: Values
    upstream: bool = False


@dataclass(frozen=True)
class Account:
    """An account on a server that the `endpoint` of a release's values leads to. `domain` is Keystone's."""

    server: Server
    name: str
    release: str
    endpoint: str
    domain: str = ""


@dataclass(frozen=True)
class MovingAccount:
    """An account whose name ends with the suffix in its Secret."""

    account: Account
    prefix: str

    def named(self, suffix: str) -> Account:
        """The account with this suffix."""
        one = self.account
        return Account(one.server, self.prefix + suffix, one.release, one.endpoint, one.domain)


@dataclass(frozen=True)
class SecretUse:
    """The uses of a Secret by releases: the accounts that it rotates, the passwords that only they use,
    and the reasons for other keys.
    """

    accounts: tuple[MovingAccount, ...] = ()
    keys: frozenset[str] = frozenset()
    fixed: Mapping[str, str] = field(default_factory=dict)

    def successor(self, account: Account, suffix_before: str) -> MovingAccount | None:
        """The successor of an account with this suffix; None if the values now name it otherwise, because
        it may be in use again.
        """
        return next((one for one in self.accounts if one.named(suffix_before) == account), None)


def releases_of(bundles: Iterable[Mapping[str, Any]]) -> tuple[Release, ...]:
    """The releases of HelmBundles, in their order."""
    found = []
    for bundle in bundles:
        for one in (bundle.get("spec") or {}).get("releases") or ():
            chart = one.get("chart") or {}
            values = one.get("values") or {}
            upstream = bool(chart.get("repository"))
            found.append(Release(str(one["name"]), str(chart.get("name") or ""), values, upstream))
    return tuple(found)


def uses_of(releases: Iterable[Release]) -> dict[str, SecretUse]:
    """The uses of each Secret by the releases. Raises SpecInvalid if values are unreadable."""
    accounts: dict[str, dict[MovingAccount, None]] = {}
    theirs: dict[str, set[str]] = {}
    fixed: dict[str, dict[str, str]] = {}
    for release in releases:
        for reference in find_references(release.values):
            name = reference.name
            if reference.prefix is not None:
                moving = _moving(release, reference)
                if moving is not None:
                    accounts.setdefault(name, {})[moving] = None
            elif _is_of_moving_account(release, reference):
                theirs.setdefault(name, set()).add(reference.key)
            elif not _is_of_another_chart(release, reference):
                place = f"{release.name} has it at {format_path(reference.path)}"
                fixed.setdefault(name, {})[reference.key] = place
    return {
        name: SecretUse(
            tuple(accounts.get(name, ())),
            frozenset(theirs.get(name, set()) - fixed.get(name, {}).keys()),
            fixed.get(name, {}),
        )
        for name in accounts.keys() | theirs.keys() | fixed.keys()
    }


def use_of(secret: str, releases: Iterable[Release]) -> SecretUse:
    """The uses of this Secret by the releases. Raises SpecInvalid like `uses_of`."""
    return uses_of(releases).get(secret, SecretUse())


def references_to(secret: str, release: Release) -> tuple[SecretReference, ...]:
    """The places where the values of the release refer to the Secret. Raises SpecInvalid."""
    return tuple(one for one in find_references(release.values) if one.name == secret)


def is_of_administrator(reference: SecretReference) -> bool:
    """Whether only Jobs of a chart read this place, to act as the administrator of a server."""
    return reference.path[0] == "endpoints" and reference.path[2:4] == ("auth", "admin")


def names_in_use(releases: Iterable[Release], suffixes: Mapping[str, str]) -> frozenset[tuple[Server, str]]:
    """The present names of all accounts, with the suffixes of the Secrets (`suffixes`)."""
    found: set[tuple[Server, str]] = set()
    for release in releases:
        for endpoint, user, settings in accounts_of(release.values):
            server, name = server_at(endpoint), settings.get("username")
            if server is None:
                continue
            if isinstance(name, str):
                found.add((server, name))
            for one in find_references({"username": name}) if isinstance(name, Mapping) else ():
                found.add((server, (one.prefix or "") + suffixes.get(one.name, "")))
            if name is None and user == release.chart:
                found.add((server, user))  # its default name in the chart
    return frozenset(found)


def next_suffix(suffix: str) -> str:
    """The next suffix: `-2`, `-3`, … Names are never reused, because a server may still know them."""
    number = suffix.removeprefix("-")
    return f"-{int(number) + 1}" if number.isdecimal() and number.isascii() else f"{suffix}-2"


def _moving(release: Release, reference: SecretReference) -> MovingAccount | None:
    if reference.key != ACCOUNT_SUFFIX or not _is_account(reference, "username"):
        return None
    endpoint = str(reference.path[1])
    server = server_at(endpoint)
    if server is None:
        return None
    domain = ""
    if server == Server.KEYSTONE:
        domain = str(lookup(release.values, (*reference.path[:-1], "user_domain_name")) or SERVICE_DOMAIN)
    account = Account(server, "", release.name, endpoint, domain)
    return MovingAccount(account, str(reference.prefix))


def _is_of_moving_account(release: Release, reference: SecretReference) -> bool:
    if not _is_account(reference, "password"):
        return False
    name = lookup(release.values, (*reference.path[:-1], "username"))
    found = find_references({"username": name}) if isinstance(name, Mapping) else ()
    return any(one.name == reference.name and one.key == ACCOUNT_SUFFIX for one in found)


def _is_of_another_chart(release: Release, reference: SecretReference) -> bool:
    """Whether this place names another chart's account, which this chart's Jobs do not create."""
    path = reference.path
    return (
        _is_account(reference, "password")
        and str(path[1]).startswith((_DATABASE, _BROKER))
        and path[3] not in (release.chart, *ADMINISTRATORS)
    ) or (len(path) > 1 and path[:2] == ("endpoints", _POSTGRESQL))


def _is_account(reference: SecretReference, field: str) -> bool:
    path = reference.path
    return len(path) == 5 and (path[0], path[2], path[4]) == ("endpoints", "auth", field)


def accounts_of(values: Values) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    """Endpoint, user and settings of each account in values below `endpoints.*.auth`."""
    for endpoint, settings in _map(values.get("endpoints")).items():
        for user, account in _map(_map(settings).get("auth")).items():
            if isinstance(account, Mapping):
                yield str(endpoint), str(user), account


def server_at(endpoint: str) -> Server | None:
    """The kind of server of an endpoint; None for one without accounts."""
    if endpoint == _IDENTITY:
        return Server.KEYSTONE
    if endpoint == _BROKER:
        return Server.BROKER
    return Server.DATABASE if endpoint.startswith(_DATABASE) and endpoint != _POSTGRESQL else None


def _map(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
