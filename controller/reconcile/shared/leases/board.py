"""What the two processes of a container know of its Lease, in memory that both have.

The one keeps the Lease, the other works under it. Each field has one writer, and is written in one piece.
"""

from __future__ import annotations

import enum
from collections.abc import Callable

from controller.reconcile.shared.leases.lease import LeaseTimes

Monotonic = Callable[[], float]


class _Field(enum.IntEnum):
    RENEWED = 0
    FORFEITED = enum.auto()
    KEPT_OUT = enum.auto()
    STOPS = enum.auto()
    BEAT = enum.auto()
    WORK_AGE = enum.auto()
    GIVE_BACK = enum.auto()


# Zero means never.
_SOME_TIME = 1e-9
_OCTETS = 8
BOARD_SIZE = _OCTETS * len(_Field)


class LeaseBoard:
    """`memory` is of BOARD_SIZE, and zero at first. Times are those of one clock that never goes back."""

    def __init__(self, memory: memoryview, times: LeaseTimes, monotonic: Monotonic) -> None:
        self.times = times
        self._cells = memory.cast("B").cast("d")
        self._monotonic = monotonic

    # -- of the keeper ------------------------------------------------------------------------------

    def renewed(self, at: float) -> None:
        """The Lease is held, and was asked for at that time."""
        self._cells[_Field.RENEWED] = max(at, _SOME_TIME)

    def forfeited(self) -> None:
        """Others may have had the Lease."""
        self._cells[_Field.FORFEITED] = 1.0

    def kept_out(self) -> None:
        """The API server has just shown that another pod holds the Lease."""
        self._cells[_Field.KEPT_OUT] = max(self._monotonic(), _SOME_TIME)

    def stop(self) -> None:
        """Requests the end of the work. The second request ends it immediately."""
        self._cells[_Field.STOPS] += 1.0

    def has_begun(self) -> bool:
        """Whether the working process has been heard of."""
        return self._cells[_Field.BEAT] > 0.0

    def silence(self) -> float:
        """Seconds since the working process was last heard of, 0.0 before it was."""
        beat = self._cells[_Field.BEAT]
        return self._monotonic() - beat if beat else 0.0

    @property
    def work_age(self) -> float:
        """For how many seconds one piece of the work has been under way."""
        return self._cells[_Field.WORK_AGE]

    def is_given_back(self) -> bool:
        """Whether no process works under the Lease once the working process has ended."""
        return self._cells[_Field.GIVE_BACK] > 0.0

    # -- of the working process ---------------------------------------------------------------------

    def beat(self, work_age: float) -> None:
        """The process lives."""
        self._cells[_Field.WORK_AGE] = work_age
        self._cells[_Field.BEAT] = max(self._monotonic(), _SOME_TIME)

    def give_back(self) -> None:
        """Nothing writes any more: with this process the Lease may go."""
        self._cells[_Field.GIVE_BACK] = 1.0

    def stops(self) -> int:
        """The number of requests to stop."""
        return int(self._cells[_Field.STOPS])

    # -- of both ------------------------------------------------------------------------------------

    def held(self) -> bool:
        """Whether the Lease was taken, now or some time ago."""
        return self._cells[_Field.RENEWED] > 0.0

    def stands_by(self) -> bool:
        """Whether this pod only waits for another one, and would take the Lease after it."""
        seen = self._cells[_Field.KEPT_OUT]
        return not self.held() and seen > 0.0 and self._monotonic() - seen <= self.times.duration

    def age(self) -> float:
        """Seconds since the renewal that was last asked for and came true, 0.0 before the first one."""
        renewed = self._cells[_Field.RENEWED]
        return self._monotonic() - renewed if renewed else 0.0

    def is_forfeited(self) -> bool:
        """Whether others may have had the Lease since it was held."""
        return self._cells[_Field.FORFEITED] > 0.0

    def lost(self) -> bool:
        """Whether others may have the Lease, or the last renewal is so long ago that they may soon."""
        return self.is_forfeited() or self.age() > self.times.give_up_after
