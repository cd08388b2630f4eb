"""The regions in the watched namespace: whom an event of a workload or a node may concern."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Any

from controller.domain.api.keys import RegionKey


class KnownRegions:
    """The keys of all OpenStackDeployments seen and not deleted. Safe from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._keys: set[RegionKey] = set()

    def feed(self, event: str | None, obj: Mapping[str, Any]) -> RegionKey:
        """Takes in one event of a watch; the key that it is about.

        A deletion that no watch reports leaves a key behind, and a pass at nothing.
        """
        key = (str(obj["metadata"]["namespace"]), str(obj["metadata"]["name"]))
        with self._lock:
            if event == "DELETED":
                self._keys.discard(key)
            else:
                self._keys.add(key)
        return key

    def all(self) -> tuple[RegionKey, ...]:
        """All of them, sorted."""
        with self._lock:
            return tuple(sorted(self._keys))
