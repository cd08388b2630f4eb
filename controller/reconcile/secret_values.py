"""Values of Secrets for one look at one bundle: each Secret is read once."""

from __future__ import annotations

import base64
import binascii

from controller.domain.names import MANAGED_BY, MANAGED_BY_US
from controller.ports import SECRET, Kube


class SecretValues:
    """A reader of `$secretRef` leaves. Holds what it read as long as one look lasts."""

    def __init__(self, kube: Kube, namespace: str) -> None:
        self._kube = kube
        self._namespace = namespace
        self._read: dict[str, dict[str, str] | None] = {}

    def generated(self) -> frozenset[str]:
        """Every text in the Secrets that we made: what an error might quote when nothing else is known."""
        labels = f"{MANAGED_BY}={MANAGED_BY_US}"
        secrets = self._kube.list(SECRET, self._namespace, labels=labels)
        texts = (_decoded(text) for secret in secrets for text in (secret.get("data") or {}).values())
        return frozenset(text for text in texts if text)

    def lookup(self, name: str, key: str) -> str | None:
        """The text under a key of a Secret; None when either is missing, or is not UTF-8 text."""
        if name not in self._read:
            secret = self._kube.get(SECRET, name, self._namespace)
            self._read[name] = None if secret is None else dict(secret.get("data") or {})
        return _decoded((self._read[name] or {}).get(key) or "")


def _decoded(encoded: str) -> str | None:
    try:
        return base64.b64decode(encoded, validate=True).decode("utf-8") or None
    except (binascii.Error, UnicodeDecodeError):
        return None
