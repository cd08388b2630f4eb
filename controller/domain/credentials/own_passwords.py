"""Database accounts with a password from another Secret, which MariaDB would not get.

Pure. OpenStack-Helm's Jobs create an account (`CREATE USER IF NOT EXISTS`), but do not change the password of
an existing one. With another password they are refused, and the upgrade fails. So another password needs
another name. Accounts of a broker and of Keystone, and those of our own charts, get the new password.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from controller.domain.credentials.rotation.accounts import Release, Server, accounts_of, server_at
from controller.domain.values.chart_values import SECRET_REF
from controller.domain.values.secret_refs import is_complete
from controller.domain.values.templates.template_functions import ACCOUNT_SUFFIX
from controller.errors import Problem

# The `account-suffix` of a Secret, or empty; None if it is not known.
SuffixOf = Callable[[str], str | None]

GUIDE = "docs/credentials.md, Secrets of your own"
# An unused suffix of account names, for examples.
AN_ENDING = "-own"


@dataclass(frozen=True)
class _Account:
    """Its name begins with `prefix`, and ends with the suffix in Secret `named_by`, if any; `password` is the
    Secret and its key.
    """

    prefix: str
    named_by: str
    password: tuple[str, str]

    def name(self, suffix_of: SuffixOf) -> str | None:
        """The complete name; None if the suffix in its Secret is not known."""
        suffix = suffix_of(self.named_by) if self.named_by else ""
        return None if suffix is None else self.prefix + suffix


def own_password_warnings(
    before: Iterable[Release],
    after: Iterable[Release],
    generated: Iterable[str],
    suffix_of: SuffixOf,
) -> tuple[Problem, ...]:
    """One problem for each database account that gets the password of another Secret under the same name, or
    possibly the same name. `generated` are the region's own Secrets: an account that returns to one
    already has its password.
    """
    there, made = {one.name: one for one in before}, frozenset(generated)
    found = (
        problem
        for release in after
        if release.upstream and release.name in there
        for problem in _of_release(there[release.name], release, made, suffix_of)
    )
    return tuple(dict.fromkeys(found))  # the databases of one service have one account


def _of_release(
    before: Release, after: Release, generated: frozenset[str], suffix_of: SuffixOf
) -> Iterator[Problem]:
    known = dict(_accounts(before))
    for endpoint, one in _accounts(after):
        other = known.get(endpoint)
        if other is None or other.password == one.password or one.password[0] in generated:
            continue
        old, new = other.name(suffix_of), one.name(suffix_of)
        if old is not None and new is not None:
            if old == new:
                yield _problem(after.name, one, new)
        elif new in (None, one.prefix):  # any other suffix was chosen by a person
            yield _problem(after.name, one, None)


def _problem(release: str, one: _Account, name: str | None) -> Problem:
    secret, key = one.password
    account = f"account {name} exists and" if name else f"an existing account {one.prefix}"
    message = (
        f"release {release}: the database password now comes from Secret {secret} (key {key}), but "
        f"{account} keeps the former password: the database would refuse Job db-init, and the "
        "upgrade would fail"
    )
    place = "spec.features.credentials"
    if one.named_by == secret:
        remedy = f"put {ACCOUNT_SUFFIX} into the same Secret {secret}, a suffix that no account name "
        remedy += f"has had, such as {AN_ENDING}"
        return Problem(place, message, f"{remedy} ({GUIDE})")
    remedy = f"name the Secret in {place} as database-password, and put {ACCOUNT_SUFFIX} into it"
    return Problem("spec.services", message, f"{remedy} ({GUIDE})")


def _accounts(release: Release) -> Iterator[tuple[str, _Account]]:
    """The database accounts that Jobs of the release create for its own pods, by endpoint."""
    for endpoint, user, settings in accounts_of(release.values):
        if server_at(endpoint) != Server.DATABASE or user != release.chart:
            continue
        password, name = _reference(settings.get("password")), _reference(settings.get("username"))
        if password:
            plain = str(settings.get("username") or user)
            prefix, named_by = (str(name.get("prefix") or ""), str(name["name"])) if name else (plain, "")
            yield endpoint, _Account(prefix, named_by, (str(password["name"]), str(password["key"])))


def _reference(value: object) -> Mapping[str, str] | None:
    """The reference in a leaf of values; None for any other."""
    target = value.get(SECRET_REF) if isinstance(value, Mapping) else None
    return target if is_complete(target) and isinstance(target, Mapping) else None
