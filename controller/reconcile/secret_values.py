"""Values of Secrets for one look at one bundle: each Secret is read once."""

from __future__ import annotations

import base64
import binascii

from controller.ports import SECRET, Kube


class SecretValues:
    """A reader of `$secretRef` leaves. Holds what it read as long as one look lasts."""

    def __init__(self, kube: Kube, namespace: str) -> None:
        self._kube = kube
        self._namespace = namespace
        self._read: dict[str, dict[str, str] | None] = {}

    def lookup(self, name: str, key: str) -> str | None:
        """The text under a key of a Secret; None when either is missing, or is not UTF-8 text."""
        if name not in self._read:
            secret = self._kube.get(SECRET, name, self._namespace)
            self._read[name] = None if secret is None else dict(secret.get("data") or {})
        encoded = (self._read[name] or {}).get(key)
        try:
            return base64.b64decode(encoded, validate=True).decode("utf-8") if encoded else None
        except (binascii.Error, UnicodeDecodeError):
            return None
