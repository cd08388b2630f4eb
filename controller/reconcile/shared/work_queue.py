"""A queue of keys to look at again: each key once, none by two threads at a time.

The idea is client-go's workqueue: events only say *that* something may have changed; whoever takes a
key reads the present state itself. A key added while it is being worked on comes back afterwards.
"""

from __future__ import annotations

import threading
from collections.abc import Hashable
from typing import Generic, TypeVar

from controller.domain.shared import backoff
from controller.ports.system import Clock, Randomness

Key = TypeVar("Key", bound=Hashable)


class WorkQueue(Generic[Key]):
    """Keys with the time they are due. Safe from any thread.

    It is closed in two steps: after `wind_down` only what was added as `last` is still handed out.
    """

    def __init__(self, clock: Clock, randomness: Randomness) -> None:
        self._clock = clock
        self._randomness = randomness
        self._wake = threading.Condition()
        self._due: dict[Key, float] = {}
        self._working: dict[Key, float] = {}
        self._failures: dict[Key, int] = {}
        # Added as `last`, and not looked at since without a failure.
        self._last: set[Key] = set()
        self._winding_down = False
        self._closed = False

    def add(self, key: Key, after: float = 0.0, *, last: bool = False) -> None:
        """Has the key looked at in `after` seconds, or earlier if it is due earlier already.

        `last`: also when the queue winds down meanwhile, as what the pass finds is lost otherwise.
        """
        due = self._clock.monotonic() + max(after, 0.0)
        with self._wake:
            if last and not self._closed:
                self._last.add(key)
            if (self._winding_down and key not in self._last) or self._due.get(key, due + 1) <= due:
                return
            self._due[key] = due
            self._wake.notify()

    def take(self) -> Key | None:
        """Waits for the next due key and hands it out; None when the queue is closed."""
        with self._wake:
            while not self._closed:
                now = self._clock.monotonic()
                first = self._first()
                if first and first[0] <= now:
                    del self._due[first[1]]
                    self._working[first[1]] = now
                    return first[1]
                self._wake.wait(first[0] - now if first else None)
            return None

    def _first(self) -> tuple[float, Key] | None:
        # A scan, not a heap: keys are few (bundles, not pods), and those being worked on are passed
        # over wherever they stand.
        waiting = ((due, key) for key, due in self._due.items() if key not in self._working)
        return min(waiting, key=lambda item: item[0], default=None)

    def done(self, key: Key, *, again_after: float | None = None) -> None:
        """The key was looked at and all went well."""
        with self._wake:
            self._working.pop(key, None)
            self._failures.pop(key, None)
            if key not in self._due:
                self._last.discard(key)
            self._wake.notify_all()
        if again_after is not None:
            self.add(key, again_after)

    def failed(self, key: Key, *, not_before: float = 0.0) -> float:
        """The pass failed; the key comes back after a growing, jittered pause, returned in seconds."""
        with self._wake:
            self._working.pop(key, None)
            self._failures[key] = failures = self._failures.get(key, 0) + 1
            self._wake.notify_all()
        pause = max(backoff.RECONNECT_PAUSES.after(failures, self._randomness.jitter()), not_before)
        self.add(key, pause)
        return pause

    def wind_down(self) -> None:
        """Drops all keys but those that were added as `last`, and from now on takes no others."""
        with self._wake:
            self._winding_down = True
            self._due = {key: due for key, due in self._due.items() if key in self._last}

    def close(self) -> None:
        """Ends all waits; nothing is handed out any more, and nothing waits for that."""
        with self._wake:
            self._closed = self._winding_down = True
            self._due.clear()
            self._last.clear()
            self._wake.notify_all()

    def unfinished(self) -> list[Key]:
        """The keys that are being worked on, and those added as `last` that are still to be."""
        with self._wake:
            return [*self._working, *(key for key in self._last if key not in self._working)]

    def overdue(self) -> int:
        """The number of keys that are due now and wait for a worker."""
        now = self._clock.monotonic()
        with self._wake:
            return sum(1 for key, due in self._due.items() if due <= now and key not in self._working)

    def oldest(self) -> float:
        """Seconds by which the most overdue key or the longest piece of work has been waiting."""
        now = self._clock.monotonic()
        with self._wake:
            ages = [now - due for due in self._due.values()] + [now - at for at in self._working.values()]
        return max([0.0, *ages])

    def longest(self) -> float:
        """Seconds for which the longest piece of work has been under way, 0 while there is none."""
        now = self._clock.monotonic()
        with self._wake:
            return max([0.0, *(now - at for at in self._working.values())])

    def __len__(self) -> int:
        with self._wake:
            return len(self._due)
