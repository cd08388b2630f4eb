"""Takes the region's credentials out of what its containers say."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterator

from controller.domain.redaction import Redactor, redact_urls
from controller.ports import SECRET, Clock, Kube

KEPT = 60.0


class RegionRedactor:
    """Knows every text in the Secrets that the region's bundles refer to; reads them when needed.

    Not thread-safe: one reconciler asks. What was read is kept for a minute.
    """

    def __init__(self, kube: Kube, clock: Clock, namespace: str) -> None:
        self._kube = kube
        self._clock = clock
        self._namespace = namespace
        self._names: frozenset[str] = frozenset()
        self._redactor = Redactor()
        self._stale_at: float | None = None

    def look_through(self, names: frozenset[str]) -> None:
        """From now on these Secrets are what is looked for."""
        if names != self._names:
            self._names, self._stale_at = names, None

    def redact(self, text: str) -> str:
        """The text without any of the secrets. Raises KubeError where they cannot be read."""
        if not text:
            return text
        now = self._clock.monotonic()
        if self._stale_at is None or now > self._stale_at:
            self._redactor = Redactor(self._texts())
            self._stale_at = now + KEPT
        return redact_urls(self._redactor.redact(text))

    def _texts(self) -> Iterator[str]:
        for name in sorted(self._names):
            secret = self._kube.get(SECRET, name, self._namespace) or {}
            for encoded in (secret.get("data") or {}).values():
                try:
                    yield base64.b64decode(encoded, validate=True).decode("utf-8")
                except (binascii.Error, UnicodeDecodeError):
                    continue
