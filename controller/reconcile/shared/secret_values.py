"""Values of Secrets for one pass at one bundle: each Secret is read once."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

from controller.domain.api.names import MANAGED_BY, MANAGED_BY_US, UNUSED_ANNOTATION
from controller.domain.shared.secret_text import as_put_in, decode_text
from controller.domain.values.chart_values import Values
from controller.domain.values.secret_refs import find_references, reserved
from controller.errors import SecretReserved, SpecInvalid
from controller.ports.kubernetes import SECRET, Kube, KubeObject, KubeObjects


class SecretValues:
    """A reader of `$secretRef` leaves. Holds what it read as long as one pass lasts."""

    def __init__(self, kube: Kube, namespace: str) -> None:
        self._kube = kube
        self._namespace = namespace
        self._read: dict[str, dict[str, str] | None] = {}
        self._generated: frozenset[str] | None = None

    def generated(self) -> frozenset[str]:
        """Every text in the Secrets that we made: what an error might quote when nothing else is known."""
        if self._generated is None:
            labels = f"{MANAGED_BY}={MANAGED_BY_US}"
            self._generated = _texts(self._kube.list(SECRET, self._namespace, labels=labels))
        return self._generated

    def of_no_release(self) -> frozenset[str]:
        """Every text in the Secrets that no release has made: ours, and those that people keep."""
        labels = f"{MANAGED_BY}!=Helm,owner!=helm"
        return _texts(self._kube.list(SECRET, self._namespace, labels=labels))

    def referenced(self, values: Values) -> frozenset[str]:
        """The texts that the values refer to, of those that are there."""
        try:
            references = find_references(values)
        except SpecInvalid:
            return frozenset()
        found = set()
        for reference in references:
            if reference.prefix is not None:
                continue
            with suppress(SecretReserved):
                found.add(self.lookup(reference.name, reference.key))
        return frozenset(text for text in found if text)

    def lookup(self, name: str, key: str) -> str | None:
        """The text under a key of a Secret; None when either is missing, or is not UTF-8 text.

        One that is about to be deleted counts as missing: nothing begins with what goes a moment later.
        Raises SecretReserved.
        """
        if name not in self._read:
            secret = self._kube.get(SECRET, name, self._namespace)
            what = reserved(name, str((secret or {}).get("type") or ""))
            if what:
                raise SecretReserved(name, what)
            there = secret is not None and not _is_unused(secret)
            self._read[name] = dict((secret or {}).get("data") or {}) if there else None
        return decode_text((self._read[name] or {}).get(key) or "")


def _is_unused(secret: KubeObject) -> bool:
    return UNUSED_ANNOTATION in (secret["metadata"].get("annotations") or {})


def _texts(secrets: KubeObjects) -> frozenset[str]:
    return frozenset(
        text
        for secret in secrets
        for encoded in (secret.get("data") or {}).values()
        for text in _both(encoded)
    )


def _both(encoded: str) -> Iterator[str]:
    """As values have it, and as it was put in."""
    yield from filter(None, {decode_text(encoded), as_put_in(encoded)})
