"""When a region gets another pass after an event of it or of its objects."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from controller.adapters.kubernetes.watches import Key
from controller.reconcile.shared.edit_filter import EditFilter
from controller.reconcile.shared.work_queue import WorkQueue

# Seconds. All containers report in the status of one object. Without a delay, each report would queue the
# region in every other container at once.
AFTER_REPORTS = 5.0


class RegionEvents:
    """Queues regions: at once after an edit, later if only a status has changed."""

    def __init__(self, queue: WorkQueue[Key], keys: Callable[[Mapping[str, Any]], Iterable[Key]]) -> None:
        """`keys` of an observed object."""
        self._queue = queue
        self._keys = keys
        self._edits = EditFilter()

    def seen(self, event: str | None, obj: Mapping[str, Any]) -> None:
        """An event of a watch; None of its list."""
        after = 0.0 if self._edits.feed(event, obj) else AFTER_REPORTS
        for key in self._keys(obj):
            self._queue.add(key, after=after)
