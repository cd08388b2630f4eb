"""Which bundles get a pass because a Secret that their values refer to has other contents."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Any

from controller.domain.api.keys import BundleKey
from controller.domain.releases.bundle_facts import referenced_secrets

# Name of a region's Secret -> digest of its contents, as `status.secrets` publishes it.
_Digests = Mapping[str, str]


class SecretEventFilter:
    """Remembers the published digests of each region, and which Secrets each bundle refers to.

    Without it a changed Secret waits until its bundles are compared again anyway, up to `resync` seconds. It
    follows `status.secrets` of regions, because this container neither lists nor watches Secrets. Two watches
    feed it, each from a thread of its own.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._bundles: dict[BundleKey, frozenset[str]] = {}
        self._digests: dict[BundleKey, _Digests] = {}

    def feed_bundle(self, event: str | None, obj: Mapping[str, Any]) -> None:
        """An event of a HelmBundle; `event` is None for an object of the list that a watch begins with."""
        key = _key(obj)
        with self._lock:
            if event == "DELETED":
                self._bundles.pop(key, None)
            else:
                self._bundles[key] = referenced_secrets(obj)

    def changed_bundles(self, event: str | None, obj: Mapping[str, Any]) -> tuple[BundleKey, ...]:
        """The bundles that refer to a Secret whose digest differs from what the region said before.

        The first look at a region names none: each bundle gets a pass when its own watch begins.
        """
        key = _key(obj)
        secrets = (obj.get("status") or {}).get("secrets") or {}
        digests = {str(name): str(entry.get("digest") or "") for name, entry in secrets.items()}
        with self._lock:
            if event == "DELETED":
                self._digests.pop(key, None)
                return ()
            before = self._digests.get(key)
            self._digests[key] = digests
            if before is None:
                return ()
            changed = {name for name, digest in digests.items() if digest != before.get(name, "")}
            return tuple(
                bundle for bundle, names in self._bundles.items() if bundle[0] == key[0] and names & changed
            )


def _key(obj: Mapping[str, Any]) -> BundleKey:
    return (str(obj["metadata"].get("namespace")), str(obj["metadata"]["name"]))
