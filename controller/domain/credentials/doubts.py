"""What is told of credentials without anything being held up: the region may run well with it. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from controller.domain.api.names import WRITTEN_ANNOTATION
from controller.domain.api.reasons import Reason
from controller.domain.api.region_spec import OwnSecret
from controller.domain.credentials.credential_plan import StoredSecret
from controller.domain.credentials.served_certificate import REMEDY

# By which of its keys a service has accounts where; what has either has one of Keystone's, too.
_SERVERS = {"database-password": "the database", "messaging-password": "the broker"}
# Keys of SSH are files of several lines.
_FILES = ("ssh-private-key", "ssh-public-key")


@dataclass(frozen=True)
class CredentialDoubt:
    """Of a Secret, by its name: what may be wrong, and what to do."""

    secret: str
    message: str
    reason: Reason


def edited_doubt(secret: str, keys: Sequence[str], namespace: str) -> CredentialDoubt:
    """Keys of a generated Secret have another text than the controller has written."""
    text = (
        f"{', '.join(keys)} is not what the controller has written: somebody has edited it, and databases, "
        "the broker, Keystone and data may still be of the one before; put that back "
        f"(osctl credentials restore FILE -n {namespace} --secret {secret} --overwrite {secret}), or, if it "
        "is meant, and what knows it was told, say so: "
        f"kubectl -n {namespace} annotate secret {secret} {WRITTEN_ANNOTATION}-"
    )
    return CredentialDoubt(secret, text, Reason.CREDENTIALS_EDITED)


def accounts_left(there: StoredSecret, suffix: str) -> CredentialDoubt | None:
    """What is told of the credentials of a service that is not there any more: its accounts are; None where
    it had none."""
    servers = [server for key, server in _SERVERS.items() if key in there.filled]
    if not servers:
        return None
    named = f', whose names end in "{suffix}",' if suffix else ""
    text = (
        f"service {there.service} is gone, and its accounts{named} stay in {', '.join(servers)} and Keystone "
        "for the day it is back; where it never will be, delete them there, and then this Secret"
    )
    return CredentialDoubt(there.name, text, Reason.ACCOUNTS_LEFT)


def own_doubt(own: OwnSecret, text: str) -> CredentialDoubt | None:
    """What may be wrong with the text of a Secret that the spec names; as values have it; it is not
    quoted."""
    what = _oddity(text, is_file=own.credential in _FILES)
    if not what:
        return None
    path = f"spec.features.credentials.{own.service}.{own.credential}"
    message = (
        f'its key "{own.key}", which {path} names, {what}: files of services and Jobs may not read it as it '
        "is; write it without (printf %s, not echo), and for an account of a database with another "
        "account-suffix (docs/credentials.md, Secrets of your own)"
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
        return "has control characters, or others that cannot be seen"
    return "begins or ends with a blank" if text != text.strip() else ""
