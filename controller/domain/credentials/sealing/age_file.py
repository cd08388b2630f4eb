"""Files of age (https://age-encryption.org/v1) that a passphrase opens: `age --decrypt FILE` reads them, too.

The passphrase wraps the key of the file by scrypt and ChaCha20-Poly1305. The content is encrypted with that
key in chunks, each of which is authenticated with its number and with whether it is the last one.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from controller.domain.credentials.generate import RandomSource
from controller.errors import BackupUnusable

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305

VERSION_LINE = b"age-encryption.org/v1\n"
BEGIN, END = b"-----BEGIN AGE ENCRYPTED FILE-----", b"-----END AGE ENCRYPTED FILE-----"
_LABEL = b"age-encryption.org/v1/scrypt"
_KEY, _FILE_KEY, _SALT, _NONCE, _TAG = 32, 16, 16, 16, 16
_CHUNK, _WIDTH = 64 * 1024, 64
_HEADER = re.compile(
    rb"age-encryption\.org/v1\n-> scrypt ([0-9A-Za-z+/]{22}) ([1-9][0-9]?)\n([0-9A-Za-z+/]{43})\n"
    rb"--- ([0-9A-Za-z+/]{43})\n"
)
_CHANGED = "the passphrase is wrong, or the file was changed or truncated"


def is_age(data: bytes) -> bool:
    """Whether the file says that it is one of age, with or without armor."""
    return data.lstrip().startswith((BEGIN, VERSION_LINE))


def encrypt(content: bytes, passphrase: str, source: RandomSource, *, work: int) -> bytes:
    """The content as such a file, armored as text. `work` is the logarithm of scrypt's N to base 2."""
    key, salt, nonce = source.octets(_FILE_KEY), source.octets(_SALT), source.octets(_NONCE)
    wrapped = _cipher(_scrypt(passphrase, salt, work)).encrypt(bytes(12), key, None)
    header = VERSION_LINE + b"-> scrypt " + _encoded(salt) + b" %d\n" % work + _encoded(wrapped) + b"\n---"
    whole = [header, b" ", _encoded(_mac(key, header)), b"\n", nonce]
    cipher = _cipher(_derived(key, nonce, b"payload"))
    pieces = [content[start : start + _CHUNK] for start in range(0, len(content), _CHUNK)] or [b""]
    whole += [
        cipher.encrypt(number, piece, None)
        for number, piece in zip(_numbers(len(pieces)), pieces, strict=True)
    ]
    text = base64.b64encode(b"".join(whole))
    lines = [text[start : start + _WIDTH] for start in range(0, len(text), _WIDTH)]
    return b"\n".join([BEGIN, *lines, END, b""])


def decrypt(data: bytes, passphrase: str, *, least: int, most: int) -> bytes:
    """The content of such a file. Raises BackupUnusable, without any content.

    `least` and `most` bound the work that the file may ask for: it could exhaust the memory.
    """
    from cryptography.exceptions import InvalidTag

    plain = _dearmored(data)
    found = _HEADER.match(plain)
    if found is None:
        raise BackupUnusable("this osctl does not know the encryption of the file: it is not by a passphrase")
    work = int(found[2])
    if not least <= work <= most:
        raise BackupUnusable(
            "this osctl does not know the encryption of the file: its work factor is unusual"
        )
    salt, wrapped, mac = (_decoded(found[number]) for number in (1, 3, 4))
    rest = plain[found.end() :]
    nonce, sealed = rest[:_NONCE], rest[_NONCE:]
    step = _CHUNK + _TAG
    pieces = [sealed[start : start + step] for start in range(0, len(sealed), step)]
    try:
        key = _cipher(_scrypt(passphrase, salt, work)).decrypt(bytes(12), wrapped, None)
        if len(nonce) != _NONCE or not hmac.compare_digest(mac, _mac(key, plain[: found.start(4) - 1])):
            raise BackupUnusable(_CHANGED)
        cipher = _cipher(_derived(key, nonce, b"payload"))
        opened = [
            cipher.decrypt(number, piece, None)
            for number, piece in zip(_numbers(len(pieces)), pieces, strict=True)
        ]
    except InvalidTag:
        raise BackupUnusable(_CHANGED) from None
    if not opened or (len(opened) > 1 and not opened[-1]):
        raise BackupUnusable(_CHANGED)
    return b"".join(opened)


def _dearmored(data: bytes) -> bytes:
    text = data.strip()
    if not text.startswith(BEGIN):
        return data
    if not text.endswith(END):
        raise BackupUnusable(_CHANGED)
    try:
        return base64.b64decode(b"".join(text[len(BEGIN) : -len(END)].split()), validate=True)
    except binascii.Error:
        raise BackupUnusable(_CHANGED) from None


def _numbers(pieces: int) -> Iterator[bytes]:
    """The nonce of each piece: its number, and 1 for the last one."""
    return (number.to_bytes(11, "big") + bytes([number == pieces - 1]) for number in range(pieces))


def _scrypt(passphrase: str, salt: bytes, work: int) -> bytes:
    from cryptography.hazmat.primitives.kdf.scrypt import Scrypt

    return Scrypt(salt=_LABEL + salt, length=_KEY, n=2**work, r=8, p=1).derive(passphrase.encode())


def _derived(key: bytes, salt: bytes, info: bytes) -> bytes:
    from cryptography.hazmat.primitives.hashes import SHA256
    from cryptography.hazmat.primitives.kdf.hkdf import HKDF

    return HKDF(algorithm=SHA256(), length=_KEY, salt=salt, info=info).derive(key)


def _mac(key: bytes, header: bytes) -> bytes:
    return hmac.new(_derived(key, b"", b"header"), header, hashlib.sha256).digest()


def _cipher(key: bytes) -> ChaCha20Poly1305:
    from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305

    return ChaCha20Poly1305(key)


def _encoded(octets: bytes) -> bytes:
    return base64.b64encode(octets).rstrip(b"=")


def _decoded(text: bytes) -> bytes:
    return base64.b64decode(text + b"=" * (-len(text) % 4))
