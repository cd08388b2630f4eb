"""Which events of HelmBundles count: what we write into their status ourselves does not."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from controller.domain.api.keys import BundleKey
from controller.reconcile.releases.bundle_finalizer import BUNDLE_FINALIZER


class BundleEventFilter:
    """Remembers of each bundle what a pass depends on. One watch feeds it.

    Without it each write of a status would be followed by a pass that finds nothing.
    """

    def __init__(self) -> None:
        self._known: dict[BundleKey, tuple[list[Any], bool]] = {}

    def known(self) -> tuple[BundleKey, ...]:
        """Namespace and name of all bundles that there are."""
        return tuple(self._known)

    def concerns_reconcile(self, event: str | None, obj: Mapping[str, Any]) -> bool:
        """Whether the object differs in more than its status from what was last seen.

        `event` is its type, None for an object of the list that a watch begins with.
        """
        meta = obj["metadata"]
        key = (str(meta.get("namespace")), str(meta["name"]))
        if event == "DELETED":
            return self._known.pop(key, None) is not None
        fields = ("uid", "generation", "deletionTimestamp", "annotations", "labels")
        free = not BUNDLE_FINALIZER.is_on(obj)
        before, seen = self._known.get(key), ([meta.get(field) for field in fields], free)
        self._known[key] = seen
        # Our own finalizer coming is our own doing; its going is not.
        return before is None or before[0] != seen[0] or (free and not before[1])
