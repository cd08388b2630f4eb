"""When each object is compared with its release's manifest: changed ones first, and all in slow rounds."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable

from controller.domain.api.keys import ReleaseKey
from controller.domain.releases.drift.difference import ObjectId
from controller.domain.shared import backoff
from controller.ports.system import Clock
from controller.reconcile.releases.drift.index import DriftIndex
from controller.reconcile.releases.drift.unanswered_objects import UnansweredObjects
from controller.reconcile.releases.parts import DriftRates

# An object that changes all the time is compared no more often than this, in seconds.
QUIET = 1.0


class ComparisonSchedule:
    """Plain memory, without a lock of its own. Times are monotonic."""

    def __init__(self, index: DriftIndex, clock: Clock, pace: DriftRates) -> None:
        self._index = index
        self._clock = clock
        self._pace = pace
        self._touched: dict[ObjectId, float] = {}  # when to compare it
        self._round: deque[ObjectId] = deque()
        self._unanswered = UnansweredObjects()
        self._not_before = 0.0

    @property
    def has_touched(self) -> bool:
        """Whether an object waits for its comparison outside of the rounds."""
        return bool(self._touched)

    def touch(self, object_: ObjectId) -> float:
        """The object may have changed: the seconds until it is compared."""
        now = self._clock.monotonic()
        if object_ in self._unanswered and object_ in self._touched:
            return self._touched[object_] - now
        last = self._index.compared(object_)
        due = now if last is None else max(now, last + QUIET)
        self._touched[object_] = min(due, self._touched.get(object_, due))
        return due - now

    def pause(self) -> float:
        """Seconds until anything may be compared; 0 for now."""
        return max(0.0, self._not_before - self._clock.monotonic())

    def due(self) -> tuple[list[ReleaseKey], dict[ReleaseKey, list[ObjectId]]]:
        """Releases whose manifest is to be read, and objects to compare: first those that have changed."""
        self._unanswered.begin_round()
        now, budget = self._clock.monotonic(), max(1, int(self._pace.qps))
        unread = []
        for key, tracked in self._index.releases.items():
            if tracked.due > now:
                continue
            if not tracked.read:
                unread.append(key)
                continue
            tracked.due = now + self._pace.resync * (0.8 + 0.4 * backoff.steady_jitter("/".join(key)))
            self._round.extend(tracked.prints)
            self._index.forget_old_corrections(self._clock.now())
        touched = [object_ for object_, due in self._touched.items() if due <= now]
        chosen = sorted(touched, key=lambda one: one in self._unanswered)[:budget]
        while self._round and len(chosen) < budget:
            chosen.append(self._round.popleft())
        batch: dict[ReleaseKey, list[ObjectId]] = {}
        for object_ in dict.fromkeys(chosen):
            owners = self._index.owners(object_)
            if not owners:
                self._touched.pop(object_, None)
                self._unanswered.forget(object_)
            elif self._touched.get(object_, now) <= now or object_ not in self._unanswered:
                for owner in owners:
                    batch.setdefault(owner, []).append(object_)
        return unread[:budget], batch

    def compared(self, object_: ObjectId, *, answered: bool, again: float = 0.0) -> None:
        """The object was compared, or is none of its release any more (not `answered`). With `again` it is
        compared after so many seconds, if no event comes before."""
        (self._unanswered.answered if answered else self._unanswered.forget)(object_)
        self._touched.pop(object_, None)
        if again:
            self._touched[object_] = self._clock.monotonic() + again

    def unanswered(self, object_: ObjectId) -> bool:
        """The API server did not answer for the object, which waits. Whether the server itself is away."""
        self._touched[object_] = self._clock.monotonic() + self._unanswered.note(object_)
        return self._unanswered.is_away

    def put_back(self, objects: Iterable[ObjectId], pause: float) -> None:
        """What was due and not compared is due still, after a pause in seconds."""
        self._round.extend(objects)
        self._not_before = self._clock.monotonic() + pause

    def until_next(self) -> float | None:
        """Seconds until there is more to compare; None while there is nothing."""
        now = self._clock.monotonic()
        times = [*self._touched.values(), *(one.due for one in self._index.releases.values())]
        if self._round:
            times.append(now)
        return max(min(times), self._not_before, now + 0.01) - now if times else None
