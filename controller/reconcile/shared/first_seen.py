"""Since when, and in how many passes in a row, something was seen to be so. Forgotten at a restart."""

from __future__ import annotations

from collections.abc import Collection, Hashable
from dataclasses import dataclass

from controller.domain.shared.times import is_ahead


@dataclass(frozen=True, slots=True)
class Sighting:
    """`since` in seconds since the epoch, 0.0 while it is not so; `observations` in a row, the last
    included."""

    since: float = 0.0
    observations: int = 0


class FirstSeen:
    """Counts for each of some things. One thread at a time."""

    def __init__(self) -> None:
        self._seen: dict[Hashable, Sighting] = {}

    def observe(self, what: Hashable, so: bool, now: float) -> Sighting:
        """Takes in one pass at `what`."""
        if not so:
            self._seen.pop(what, None)
            return Sighting()
        before = self._seen.get(what, Sighting(now))
        # By a clock that was ahead it was first seen in the future: it counts from now on.
        since = now if is_ahead(before.since, now) else before.since
        self._seen[what] = Sighting(since, before.observations + 1)
        return self._seen[what]

    def keep(self, those: Collection[Hashable]) -> None:
        """Forgets everything else."""
        self._seen = {what: sighting for what, sighting in self._seen.items() if what in those}
