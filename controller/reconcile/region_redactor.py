"""Takes the region's credentials out of what its containers say."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterator, Mapping
from typing import Any

from controller.domain.redaction import Redactor, redact_urls
from controller.ports import SECRET, Clock, Kube

# Seconds: what was rotated may stand in logs, and may be in use until pods have taken up the new one.
FORMER_KEPT = 86400.0
# Helm's records are many, and no credentials of their own.
NOT_RECORDS = "type!=helm.sh/release.v1"


class RegionRedactor:
    """Knows every text in the Secrets that the region's bundles refer to, as they are, and what was in
    them within the last day as far as this process has seen it.

    Asks the API server only when there is a text that it has not redacted at the last look or at this
    one, and reads only Secrets that have changed. Not thread-safe: one reconciler asks.
    """

    def __init__(self, kube: Kube, clock: Clock, namespace: str) -> None:
        self._kube = kube
        self._clock = clock
        self._namespace = namespace
        self._names: frozenset[str] = frozenset()
        self._known: dict[str, tuple[str, frozenset[str]]] = {}  # by name: resourceVersion, texts
        self._former: dict[str, float] = {}  # text, until when
        self._redactor = Redactor()
        self._compared = False
        self._done: dict[str, str] = {}
        self._last: dict[str, str] = {}

    def look_through(self, names: frozenset[str]) -> None:
        """A new look begins: from now on these Secrets are what is looked for."""
        self._last = self._done if names == self._names else {}
        self._names, self._done, self._compared = names, {}, False

    def redact(self, text: str) -> str:
        """The text without any of the secrets. Raises KubeError where they cannot be read."""
        if not text:
            return text
        done = self._done.get(text) or self._last.get(text)
        if done is None:
            self._compare()
            done = redact_urls(self._redactor.redact(text))
        self._done[text] = done
        return done

    def _compare(self) -> None:
        """Reads what is not known as the API server has it now."""
        if self._compared or not (self._names or self._known or self._former):
            return
        metas = [
            one["metadata"] for one in self._kube.list_metadata(SECRET, self._namespace, fields=NOT_RECORDS)
        ]
        versions = {str(meta["name"]): str(meta.get("resourceVersion")) for meta in metas}
        wanted = {name: versions[name] for name in self._names & versions.keys()}
        known = {
            name: self._known[name]
            if name in self._known and self._known[name][0] == version
            else (version, frozenset(_texts(self._kube.get(SECRET, name, self._namespace) or {})))
            for name, version in wanted.items()
        }
        now = self._clock.monotonic()
        present = frozenset[str]().union(*(texts for _, texts in known.values()))
        gone = frozenset[str]().union(*(texts for _, texts in self._known.values())) - present
        former = {text: until for text, until in self._former.items() if until > now} | dict.fromkeys(
            gone, now + FORMER_KEPT
        )
        if known != self._known or former.keys() != self._former.keys():
            self._redactor = Redactor(present | former.keys())
            self._done, self._last = {}, {}
        self._known, self._former, self._compared = known, former, True


def _texts(secret: Mapping[str, Any]) -> Iterator[str]:
    for encoded in (secret.get("data") or {}).values():
        try:
            yield base64.b64decode(encoded, validate=True).decode("utf-8")
        except (binascii.Error, UnicodeDecodeError):
            continue
