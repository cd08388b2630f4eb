"""Warnings about credentials that hold nothing up, because the region may run well with them. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from controller.domain.api.names import WRITTEN_ANNOTATION
from controller.domain.api.reasons import Reason
from controller.domain.api.region_spec import OwnSecret
from controller.domain.credentials.credential_plan import StoredSecret
from controller.domain.credentials.served_certificate import REMEDY

# Which keys of a service mean accounts on which servers; a service with either also has an account of
# Keystone.
_SERVERS = {"database-password": "the database", "messaging-password": "the broker"}
# SSH keys are files of several lines.
_FILES = ("ssh-private-key", "ssh-public-key")


@dataclass(frozen=True)
class CredentialDoubt:
    """A possible problem of a Secret, by its name, with the remedy."""

    secret: str
    message: str
    reason: Reason


def edited_doubt(secret: str, keys: Sequence[str], namespace: str) -> CredentialDoubt:
    """Keys of a generated Secret differ from the text that the controller wrote."""
    text = (
        f"{', '.join(keys)} was edited by another client; databases, the broker, Keystone and data may "
        "still use the former content. Restore the former content (osctl credentials restore FILE -n "
        f"{namespace} --secret {secret} --overwrite {secret}), or, if the edit is intended and all of "
        f"these have the new content, confirm it: kubectl -n {namespace} annotate secret {secret} "
        f"{WRITTEN_ANNOTATION}-"
    )
    return CredentialDoubt(secret, text, Reason.CREDENTIALS_EDITED)


def accounts_left(there: StoredSecret, suffix: str) -> CredentialDoubt | None:
    """The warning about remaining accounts of a removed service; None if it had none."""
    servers = [server for key, server in _SERVERS.items() if key in there.filled]
    if not servers:
        return None
    named = f', whose names end in "{suffix}",' if suffix else ""
    text = (
        f"service {there.service} was removed; the accounts{named} stay in {', '.join(servers)} and "
        "Keystone, for the return of the service. If the service never returns, delete the accounts "
        "there, and then this Secret"
    )
    return CredentialDoubt(there.name, text, Reason.ACCOUNTS_LEFT)


def own_doubt(own: OwnSecret, text: str) -> CredentialDoubt | None:
    """A possible problem in the text of a Secret that the spec names; the text is not quoted."""
    what = _oddity(text, is_file=own.credential in _FILES)
    if not what:
        return None
    path = f"spec.features.credentials.{own.service}.{own.credential}"
    message = (
        f'key "{own.key}", which {path} names, {what}: files of services and Jobs may read it '
        "differently; write it without them (printf %s, not echo). For a database account also "
        "change account-suffix (docs/credentials.md, Secrets of your own)"
    )
    return CredentialDoubt(own.name, message, Reason.CREDENTIAL_DOUBTFUL)


def served_doubt(name: str, fault: str) -> CredentialDoubt:
    """Clients refuse what the Secret with the certificate of the public endpoints has."""
    message = f"{fault}, so that clients refuse the public endpoints; {REMEDY.format(name=name)}"
    return CredentialDoubt(name, message, Reason.CREDENTIAL_DOUBTFUL)


def _oddity(text: str, *, is_file: bool) -> str:
    if is_file:
        return ""
    if len(text.splitlines()) > 1:
        return "has several lines"
    if not text.isprintable():
        return "has control characters or other invisible characters"
    return "begins or ends with a blank" if text != text.strip() else ""
