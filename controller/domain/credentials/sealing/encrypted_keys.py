"""Encrypted private keys: under a passphrase, as Octavia reads the key of its authority, and sealed, as
the region's namespace stores those of the region's authority. Pure, except for the salt.
"""

from __future__ import annotations

import base64
import binascii
import string
from functools import lru_cache

# Texts that an option file can hold between `=` and the end of the line: oslo.config removes blanks at the
# ends, and quotes around the whole.
_PLAIN = frozenset(string.ascii_letters + string.digits + string.punctuation) - {'"', "'"}
# OpenSSL reads no more (PEM_BUFSIZE).
LONGEST_PASSPHRASE = 1023
# Octets of a key that seals: AES-SIV with 256 bits, which gives the same text each time (RFC 5297), so that
# an unchanged key causes no write.
SEALING_OCTETS = 64
_SEALED = "sealed.osctl.dev/1:"


def is_passphrase(text: str) -> bool:
    """Whether an option file can hold it, and OpenSSL accepts it."""
    return 0 < len(text) <= LONGEST_PASSPHRASE and _PLAIN.issuperset(text)


def encrypted(key: str, passphrase: str) -> str:
    """The private key in PEM, encrypted with the passphrase; the text differs each time.

    Raises ValueError for anything else.
    """
    from cryptography.hazmat.primitives import serialization

    read = serialization.load_pem_private_key(key.encode(), password=None)
    under = serialization.BestAvailableEncryption(passphrase.encode())
    return read.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, under).decode()


@lru_cache(maxsize=8)
def decrypted(text: str, passphrase: str) -> str:
    """The decrypted private key in PEM; empty if the passphrase is wrong."""
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives import serialization

    try:
        key = serialization.load_pem_private_key(text.encode(), password=passphrase.encode())
    except (ValueError, TypeError, UnsupportedAlgorithm):
        return ""
    form, none = serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    return key.private_bytes(serialization.Encoding.PEM, form, none).decode()


def sealed(text: str, key: bytes, place: str) -> str:
    """The text encrypted with the key; `place`: where it is stored. It is not valid elsewhere."""
    from cryptography.hazmat.primitives.ciphers.aead import AESSIV

    return _SEALED + base64.b64encode(AESSIV(key).encrypt(text.encode(), [place.encode()])).decode()


def opened(text: str, key: bytes, place: str) -> str:
    """The text sealed for this place; empty if another key sealed it.

    A text that is not sealed is returned unchanged.
    """
    if not text.startswith(_SEALED):
        return text
    from cryptography.exceptions import InvalidTag
    from cryptography.hazmat.primitives.ciphers.aead import AESSIV

    try:
        octets = base64.b64decode(text.removeprefix(_SEALED), validate=True)
        return AESSIV(key).decrypt(octets, [place.encode()]).decode()
    except (InvalidTag, binascii.Error, ValueError):
        return ""
