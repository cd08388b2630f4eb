"""The regions in the watched namespace: whom an event of a workload or a node may concern."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Any

from controller.domain.api.keys import RegionKey

# One of them is served, the oldest. A deletion that no watch has reported leaves a key behind it.
MOST = 3


class KnownRegions:
    """The OpenStackDeployments seen and not deleted, in the order of `managed_region`. Safe from any thread.

    There may be a hundred that are not served: nothing that happens in the region brings a pass at those.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._created: dict[RegionKey, str] = {}

    def feed(self, event: str | None, obj: Mapping[str, Any]) -> tuple[RegionKey, ...]:
        """Takes in one event of a watch; the keys that it concerns.

        These are its own and, where the one that was served may be gone, those that may be served now.
        """
        meta = obj["metadata"]
        key = (str(meta["namespace"]), str(meta["name"]))
        with self._lock:
            if event != "DELETED":
                self._created[key] = str(meta.get("creationTimestamp") or "")
                return (key,)
            concerned = key in self._oldest()
            self._created.pop(key, None)
            return (key, *self._oldest()) if concerned else (key,)

    def served(self) -> tuple[RegionKey, ...]:
        """The one that is served, and the next ones, should that have gone unseen."""
        with self._lock:
            return self._oldest()

    def _oldest(self) -> tuple[RegionKey, ...]:
        return tuple(sorted(self._created, key=lambda key: (self._created[key], key[1]))[:MOST])
