"""Writes a sealed file as the first versions did: they are still read."""

from __future__ import annotations

import base64
import json

from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.kdf.scrypt import Scrypt

SALT, NONCE = bytes(range(16)), bytes(range(12))


def former_file(content: bytes, passphrase: str, cost: int) -> bytes:
    header = {
        "format": "openstack-controller credentials",
        "version": 1,
        "kdf": {"name": "scrypt", "n": cost, "r": 8, "p": 1, "salt": base64.b64encode(SALT).decode()},
        "cipher": {"name": "AES-256-GCM", "nonce": base64.b64encode(NONCE).decode()},
    }
    line = json.dumps(header).encode()
    key = Scrypt(salt=SALT, length=32, n=cost, r=8, p=1).derive(passphrase.encode())
    text = base64.b64encode(AESGCM(key).encrypt(NONCE, content, line))
    lines = [text[start : start + 76] for start in range(0, len(text), 76)]
    return line + b"\n" + b"\n".join(lines) + b"\n"
