"""Has what Barbican keeps wrapped with the key in use, before the one before it goes."""

from __future__ import annotations

from collections.abc import Iterable

from controller.domain.credentials.generate import CredentialUnusable
from controller.domain.credentials.rotation.accounts import Account, Release, Server, references_to
from controller.domain.credentials.rotation.barbican_key import FORMER, IN_USE, KEYS
from controller.domain.shared.plurals import count
from controller.domain.values.chart_values import lookup
from controller.ports.accounts import WrappedKeys
from controller.reconcile.credentials.store import CredentialStore
from controller.reconcile.shared.action_log import log_action
from controller.reconcile.shared.secret_values import AccountLogins

_ENDPOINT = "oslo_db"


class Rewrapping:
    """Only where every pod unwraps with both keys, and wraps with the one in use."""

    def __init__(self, keys: WrappedKeys) -> None:
        self._keys = keys

    def waits(
        self, name: str, store: CredentialStore, releases: Iterable[Release], logins: AccountLogins
    ) -> tuple[str, ...]:
        """Empty once nothing is wrapped with the former key any more: looked at once more after the last one
        was wrapped again. Raises ServerUnavailable, SpecInvalid, CredentialUnusable, KubeError."""
        missing = [key for key in KEYS if not store.text(name, key)]
        if missing:
            raise CredentialUnusable(f"{', '.join(missing)} is missing")
        releases = tuple(releases)
        users = [one for one in releases if any(found.key == IN_USE for found in references_to(name, one))]
        rewrapped = 0
        for release in users:
            account = Account(Server.DATABASE, "", release.name, _ENDPOINT)
            path = lookup(release.values, ("endpoints", _ENDPOINT, "path"))
            database = str(path or release.chart).strip("/")
            try:
                found = self._keys.rewrap(
                    logins.of(account, releases), database, store.text(name, IN_USE), store.text(name, FORMER)
                )
            except ValueError:
                raise CredentialUnusable(f"{IN_USE} or {FORMER} is not a key of this kind") from None
            if found:
                text = f"database {database}: {count(found, 'key')} of projects wrapped with the key in use"
                log_action("rewrap", f"{Server.DATABASE}/{database}", text, release=release.name)
            rewrapped += found
        text = count(rewrapped, "key of projects was", "keys of projects were")
        return (f"{text} wrapped again just now",) if rewrapped else ()
