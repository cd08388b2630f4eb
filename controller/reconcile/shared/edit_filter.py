"""Which events of an object tell of an edit, and which only of what we wrote into its status ourselves."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


class EditFilter:
    """Remembers what people and other controllers decide over in objects: all but the status.

    A pass at OpenStack costs some fifty requests: each of our own writes would bring another one.
    """

    def __init__(self) -> None:
        self._known: dict[str, tuple[Any, ...]] = {}

    def feed(self, event: str | None, obj: Mapping[str, Any]) -> bool:
        """Whether the event brings anything new but the status. `event` as of a watch, None of a list."""
        meta = obj["metadata"]
        uid = str(meta.get("uid") or "")
        if event == "DELETED":
            self._known.pop(uid, None)
            return True
        words = tuple(
            meta.get(key)
            for key in ("generation", "deletionTimestamp", "labels", "annotations", "finalizers")
        )
        new = self._known.get(uid) != words
        self._known[uid] = words
        return new
