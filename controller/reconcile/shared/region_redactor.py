"""Takes the region's credentials out of what its containers say."""

from __future__ import annotations

import base64
import binascii
import logging
from collections.abc import Iterator, Mapping
from typing import Any

from controller.domain.shared.redaction import Redactor, redact_urls
from controller.domain.shared.times import AHEAD, seconds_of
from controller.errors import KubeError
from controller.ports.kubernetes import SECRET, Kube
from controller.ports.system import Clock

log = logging.getLogger(__name__)

# Seconds: what was rotated may stand in logs, and may be in use until pods have taken up the new one.
FORMER_KEPT = 86400.0
# How old the knowledge of Secrets may be: for words of Kubernetes and our own, and while nothing is said,
# so that hardly anything is rotated twice in between.
STALE_AFTER = 10.0
LEARNT_EVERY = 300.0
# What is written within so many seconds of a Secret's making belongs to its making.
MADE_WITHIN = 60.0
# Helm's records are many, and no credentials of their own.
NOT_RECORDS = "type!=helm.sh/release.v1"
WITHHELD = (
    "hidden for a day, because a Secret changed while container health did not run, and the output may "
    "contain its former content"
)


class RegionRedactor:
    """Knows every text in the Secrets that the region's bundles refer to, as they are, and what was in
    them within the last day as far as this process has seen it. Where it has not, no output is reported.

    Asks the API server when there is output that it has not redacted at the last pass or at this one,
    seldom for other texts, and reads only Secrets that have changed. Not thread-safe: one reconciler asks.
    """

    def __init__(self, kube: Kube, clock: Clock, namespace: str) -> None:
        self._kube = kube
        self._clock = clock
        self._namespace = namespace
        self._names: frozenset[str] = frozenset()
        self._known: dict[str, tuple[str, frozenset[str]]] = {}  # by name: resourceVersion, texts
        self._former: dict[str, float] = {}  # text, until when
        self._begun = False
        self._unknown_until = 0.0  # since the epoch
        self._redactor = Redactor()
        self._compared: float | None = None
        self._compared_now = False
        self._done: dict[str, str] = {}
        self._last: dict[str, str] = {}

    def learn_from_secrets(self, names: frozenset[str]) -> None:
        """A new pass begins: from now on these Secrets are what is looked for.

        They are read before anything is said, so that what they hold now is known once it is rotated.
        """
        same = names == self._names
        self._last = self._done if same else {}
        self._names, self._done, self._compared_now = names, {}, False
        self._compared = self._compared if same else None
        if self._older_than(LEARNT_EVERY):
            try:
                self._compare()
            except KubeError as error:
                # Without them nothing is said either; who has nothing to say need not wait.
                reason = type(error).__name__
                extra = {"object": self._namespace, "reason": reason}
                log.warning("the region's Secrets cannot be read now: %s", error, extra=extra)

    def redact(self, text: str) -> str:
        """Words of Kubernetes or our own without any of the secrets. Raises KubeError where they cannot be
        read."""
        return self._redacted(text, STALE_AFTER)

    def redact_output(self, text: str) -> str:
        """What a container said, likewise, by the Secrets as they are at this pass."""
        done = self._redacted(text, 0.0)
        # Set by a clock that was ahead, it says nothing.
        unknown = 0.0 < self._unknown_until - self._clock.now() <= FORMER_KEPT + AHEAD
        return WITHHELD if text and unknown else done

    def _redacted(self, text: str, compared_within: float) -> str:
        if not text:
            return text
        done = self._done.get(text) or self._last.get(text)
        if done is None:
            if self._older_than(compared_within):
                self._compare()
            done = redact_urls(self._redactor.redact(text))
        self._done[text] = done
        return done

    def _older_than(self, seconds: float) -> bool:
        if self._compared is None:
            return True
        return not self._compared_now and self._clock.monotonic() - self._compared >= seconds

    def _compare(self) -> None:
        """Reads what is not known as the API server has it now."""
        known = self._read() if self._names or self._known or self._former else {}
        now = self._clock.monotonic()
        present = frozenset[str]().union(*(texts for _, texts in known.values()))
        gone = frozenset[str]().union(*(texts for _, texts in self._known.values())) - present
        former = {text: until for text, until in self._former.items() if until > now} | dict.fromkeys(
            gone, now + FORMER_KEPT
        )
        if known != self._known or former.keys() != self._former.keys():
            self._redactor = Redactor(present | former.keys())
            self._done, self._last = {}, {}
        self._known, self._former = known, former
        self._compared, self._compared_now = now, True

    def _read(self) -> dict[str, tuple[str, frozenset[str]]]:
        metas = [
            one["metadata"] for one in self._kube.list_metadata(SECRET, self._namespace, fields=NOT_RECORDS)
        ]
        versions = {str(meta["name"]): str(meta.get("resourceVersion")) for meta in metas}
        known = {}
        for name in self._names & versions.keys():
            before = self._known.get(name)
            if before is None or before[0] != versions[name]:
                secret = self._kube.get(SECRET, name, self._namespace) or {}
                if not self._begun:
                    self._unknown_until = max(self._unknown_until, _changed(secret) + FORMER_KEPT)
                before = versions[name], frozenset(_texts(secret))
            known[name] = before
        # Secrets that bundles begin to refer to later were not in use while we watched.
        self._begun = self._begun or bool(self._names)
        return known


def _texts(secret: Mapping[str, Any]) -> Iterator[str]:
    for encoded in (secret.get("data") or {}).values():
        try:
            yield base64.b64decode(encoded, validate=True).decode("utf-8")
        except (binascii.Error, UnicodeDecodeError):
            continue


def _changed(secret: Mapping[str, Any]) -> float:
    """When data were last changed that had been there before, since the epoch; long ago where never.

    The time of a manager's entry moves on when it changes the value of a field that it owns, or adds one.
    """
    meta = secret.get("metadata") or {}
    times = [
        seconds_of(one.get("time"))
        for one in meta.get("managedFields") or []
        if {"f:data", "f:stringData"} & (one.get("fieldsV1") or {}).keys()
    ]
    last = max(times, default=0.0)
    made = seconds_of(meta.get("creationTimestamp"))
    return last if last > made + MADE_WITHIN else -FORMER_KEPT
