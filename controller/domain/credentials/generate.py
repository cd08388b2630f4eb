"""The kinds of credentials of a region, and their generation.

A credential is generated once and kept. So it must fit wherever charts put it: into connection URLs
(`mysql+pymysql://user:password@host`), ini files where `$` and `%` have a meaning, YAML that is not always
quoted, and shell scripts. Letters and digits with a letter first fit everywhere.
"""

from __future__ import annotations

import base64
import string
import uuid
from collections.abc import Callable, Mapping
from typing import Protocol

from controller.errors import ControllerError

LETTERS = string.ascii_letters
LETTERS_AND_DIGITS = string.ascii_letters + string.digits
HEX_LETTERS = "abcdef"
HEX_DIGITS = "0123456789abcdef"

# 32 of 62 characters are 190 bits: no search reaches that, and 32 fits every field of every chart
# (MariaDB takes 32 characters for a replication password, the shortest limit among them).
PASSWORD_LENGTH = 32

WRAPPING_KIND = "base64-32"
SSH_PRIVATE_KEY = "ssh-private-key"
SSH_PUBLIC_KEY = "ssh-public-key"


class RandomSource(Protocol):
    """Cryptographic randomness; `controller.ports.system.Randomness` is one."""

    def token(self, alphabet: str, length: int) -> str: ...

    def octets(self, length: int) -> bytes: ...


class CredentialUnusable(ControllerError):
    """A stored credential cannot be used for its purpose. The text never quotes it."""


def _password(source: RandomSource) -> str:
    return source.token(LETTERS, 1) + source.token(LETTERS_AND_DIGITS, PASSWORD_LENGTH - 1)


def _hex(digits: int) -> Callable[[RandomSource], str]:
    # A letter first: unquoted YAML would read "12345678" and "123e4567" as numbers.
    return lambda source: source.token(HEX_LETTERS, 1) + source.token(HEX_DIGITS, digits - 1)


def _uuid(source: RandomSource) -> str:
    return str(uuid.UUID(bytes=source.octets(16), version=4))


def _fernet(source: RandomSource) -> str:
    # https://github.com/fernet/spec: 32 octets in URL-safe base64, padding included.
    return base64.urlsafe_b64encode(source.octets(32)).decode()


def _base64_32(source: RandomSource) -> str:
    # The key-encryption key of barbican's simple crypto plugin.
    return base64.b64encode(source.octets(32)).decode()


def _ssh_private_key(source: RandomSource) -> str:
    # Imported here: containers that only read the catalogue need not carry the library's memory.
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric import ed25519

    key = ed25519.Ed25519PrivateKey.from_private_bytes(source.octets(32))
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.OpenSSH, serialization.NoEncryption()
    ).decode()


_MAKERS: Mapping[str, Callable[[RandomSource], str]] = {
    "password": _password,
    "hex32": _hex(32),
    "hex64": _hex(64),
    "uuid": _uuid,
    "fernet": _fernet,
    WRAPPING_KIND: _base64_32,
    SSH_PRIVATE_KEY: _ssh_private_key,
}

# Public keys are derived, not drawn.
KINDS = (*_MAKERS, SSH_PUBLIC_KEY)


def generate(kind: str, source: RandomSource) -> str:
    """A new credential of a kind of `KINDS` except `ssh-public-key`. Raises KeyError for another."""
    return _MAKERS[kind](source)


def generate_all(kinds: Mapping[str, str], texts: Mapping[str, str], source: RandomSource) -> dict[str, str]:
    """New credentials by their keys; public keys come of the private ones among them, or of those of the same
    Secret that has these `texts`. Raises CredentialUnusable."""
    new = {key: generate(kind, source) for key, kind in kinds.items() if kind != SSH_PUBLIC_KEY}
    for key, kind in kinds.items():
        if kind == SSH_PUBLIC_KEY:
            new[key] = public_key_of({**texts, **new}[private_name(key)])
    return new


def private_name(public_name: str) -> str:
    """Name of the private key that belongs to a public one: `ssh-private-key` for `ssh-public-key`."""
    return public_name.replace("public", "private")


def public_key_of(private_key: str) -> str:
    """The OpenSSH public key of a private one, of any type. Raises CredentialUnusable for anything else."""
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives import serialization

    try:
        key = serialization.load_ssh_private_key(private_key.encode(), password=None)
    except (ValueError, TypeError, UnsupportedAlgorithm):
        raise CredentialUnusable("the text is not an OpenSSH private key without a passphrase") from None
    return (
        key.public_key()
        .public_bytes(serialization.Encoding.OpenSSH, serialization.PublicFormat.OpenSSH)
        .decode()
    )
