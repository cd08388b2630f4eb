"""A file that only a passphrase decrypts, and in which every change is detected.

It is a file of age. Former versions wrote a format of their own, which is still read: one line of JSON
describes the encryption, and is authenticated; the rest is in base64. The key is derived from the passphrase
by scrypt (RFC 7914), the rest is AES-256-GCM (NIST SP 800-38D).
"""

from __future__ import annotations

import base64
import binascii
import json
from typing import Any

from controller.domain.credentials.generate import RandomSource
from controller.domain.credentials.sealing.age_file import decrypt, encrypt, is_age
from controller.errors import BackupUnusable

FORMAT = "openstack-controller credentials"
VERSION = 1
# Shorter ones can be guessed.
SHORTEST_PASSPHRASE = 12
# 128 MiB and about half a second for each attempt. A file may request less or more, within these bounds.
_COST = 2**17
_LEAST_COST, _MOST_COST = 2**14, 2**20
_BLOCKS, _PARALLEL = 8, 1
_KEY, _SALT, _NONCE = 32, 16, 12
LARGEST_FILE = 64 * 1024 * 1024


def seal(content: bytes, passphrase: str, source: RandomSource, *, cost: int = _COST) -> bytes:
    """The content as such a file.

    `cost` is scrypt's N. Raises BackupUnusable if it would exceed the limit for reading.
    """
    whole = encrypt(content, passphrase, source, work=_work(cost))
    if len(whole) > LARGEST_FILE:
        size = f"the backup has {len(whole)} bytes"
        raise BackupUnusable(f"{size}, more than the limit of {LARGEST_FILE}")
    return whole


def unseal(data: bytes, passphrase: str) -> bytes:
    """The content of such a file. Raises BackupUnusable, without any content."""
    from cryptography.exceptions import InvalidTag
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    if len(data) > LARGEST_FILE:
        raise BackupUnusable("the file is larger than any backup")
    if is_age(data):
        return decrypt(data, passphrase, least=_work(_LEAST_COST), most=_work(_MOST_COST))
    line, _, rest = data.partition(b"\n")
    salt, nonce, cost = _parse_header(line)
    try:
        sealed = base64.b64decode(b"".join(rest.split()), validate=True)
        return AESGCM(_key(passphrase, salt, cost)).decrypt(nonce, sealed, line)
    except (binascii.Error, InvalidTag):
        raise BackupUnusable("the passphrase is wrong, or the file was changed or truncated") from None


def _parse_header(line: bytes) -> tuple[bytes, bytes, int]:
    """Salt, nonce and cost. Values of a foreign file are bounded, because they could exhaust the memory."""
    try:
        header: Any = json.loads(line)
        if header["format"] != FORMAT:
            raise BackupUnusable("the file is not a backup of credentials")
        if header["version"] != VERSION:
            raise BackupUnusable(
                f"the format of the file is {header['version']!r}, and this osctl reads only {VERSION}"
            )
        kdf, cipher = header["kdf"], header["cipher"]
        cost = kdf["n"]
        known = (kdf["name"], kdf["r"], kdf["p"], cipher["name"]) == (
            "scrypt",
            _BLOCKS,
            _PARALLEL,
            "AES-256-GCM",
        )
        bounded = isinstance(cost, int) and _LEAST_COST <= cost <= _MOST_COST and cost & (cost - 1) == 0
        salt, nonce = (base64.b64decode(text, validate=True) for text in (kdf["salt"], cipher["nonce"]))
    except (ValueError, KeyError, TypeError, RecursionError):
        raise BackupUnusable("the file is not a backup of credentials") from None
    if not (known and bounded and len(salt) == _SALT and len(nonce) == _NONCE):
        raise BackupUnusable("this osctl does not know the encryption of the file")
    return salt, nonce, cost


def _key(passphrase: str, salt: bytes, cost: int) -> bytes:
    from cryptography.hazmat.primitives.kdf.scrypt import Scrypt

    return Scrypt(salt=salt, length=_KEY, n=cost, r=_BLOCKS, p=_PARALLEL).derive(passphrase.encode())


def _work(cost: int) -> int:
    """The logarithm to base 2."""
    return cost.bit_length() - 1
