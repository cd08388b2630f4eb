"""The token that ends a Helm action early, shared by both adapters."""

from __future__ import annotations

import threading
from collections.abc import Callable


class CancellationToken:
    """`controller.ports.helm.Cancellation`: may be cancelled from any thread, any number of times.

    `cancel` returns at once: the action ends, and its call raises HelmCancelled, some seconds later.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._cancelled = False
        self._overdue = ""
        self._listeners: list[Callable[[], None]] = []

    @property
    def cancelled(self) -> bool:
        return self._cancelled

    @property
    def overdue(self) -> str:
        return self._overdue

    @property
    def cut(self) -> str:
        """The cause of the end, as in `HelmCancelled.cut`."""
        return self._overdue or "cancelled"

    def cancel(self, overdue: str = "") -> None:
        with self._lock:
            if not self._cancelled:
                self._overdue = overdue
            self._cancelled = True
            listeners, self._listeners = self._listeners, []
        for listener in listeners:
            listener()

    def listen(self, listener: Callable[[], None]) -> None:
        """Calls `listener` once, when the token is cancelled, or now if it already is."""
        with self._lock:
            if not self._cancelled:
                self._listeners.append(listener)
                return
        listener()

    def forget(self, listener: Callable[[], None]) -> None:
        with self._lock:
            if listener in self._listeners:
                self._listeners.remove(listener)
