"""Which objects the API server had no answer for, and whether it is about them or it is away."""

from __future__ import annotations

from controller.domain.releases.drift.difference import ObjectId
from controller.domain.shared import backoff

# So many different objects in a row without an answer: the API server is away, it is not about them.
AWAY_AFTER = 3
# The longest pause of one object, in seconds.
CAP = 300.0


class UnansweredObjects:
    """Plain memory, without a lock of its own. A webhook that does not answer makes a few objects fail
    for hours: each waits by itself, with growing pauses, and comes after those that had an answer."""

    def __init__(self) -> None:
        self._times: dict[ObjectId, int] = {}
        self._in_a_row: set[ObjectId] = set()

    def __contains__(self, object_: ObjectId) -> bool:
        return object_ in self._times

    @property
    def is_away(self) -> bool:
        """Whether the API server itself seems to be away."""
        return len(self._in_a_row) >= AWAY_AFTER

    def begin_round(self) -> None:
        """The API server may be back."""
        self._in_a_row.clear()

    def note(self, object_: ObjectId) -> float:
        """There was no answer once more: the seconds until this object may be asked for again."""
        self._times[object_] = self._times.get(object_, 0) + 1
        self._in_a_row.add(object_)
        return backoff.delay(self._times[object_], 1.0, first=1.0, cap=CAP)

    def answered(self, object_: ObjectId) -> None:
        """There was an answer, if only a refusal."""
        self.forget(object_)
        self._in_a_row.clear()

    def forget(self, object_: ObjectId) -> None:
        """Forgets the object."""
        self._times.pop(object_, None)
