"""Keeps a container's Lease for a process that works under it; no work outlives the Lease.

The keeper is a process of its own: a renewal does not wait for the interpreter that the work is done in. In
turn the keeper has to know that the work lives. It ends a working process of which it hears nothing for long,
and one that does not end by itself when the Lease does.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass

from controller.ports.system import Clock
from controller.reconcile.shared.leases.board import LeaseBoard
from controller.reconcile.shared.leases.lease import RETRY_EVERY, WriterLease

log = logging.getLogger(__name__)

# How often a container without its Lease tries to take it.
TAKE_EVERY = 1.0
# Seconds without a processor, or for an answer, that are worth a word.
_LONG = 1.0


# Exit codes; Kubernetes starts the container again, and it waits for the Lease.
LEASE_LOST = 70
LEASE_BROKEN = 73
STOOD_STILL = 75


@dataclass(frozen=True)
class Overdue:
    """Work that has to be ended from outside: with which exit code, and why."""

    code: int
    why: str


class LeaseKeeping:
    """`name` is the container's. One thread calls `step`; `overdue` may be called from another one."""

    def __init__(self, lease: WriterLease, board: LeaseBoard, clock: Clock, name: str) -> None:
        self._lease = lease
        self._board = board
        self._clock = clock
        self._name = name
        self._waiting = False
        # What the tries since the last renewal came upon.
        self._trouble = ""
        self._took = 0.0
        self._due = clock.monotonic()

    def step(self) -> float:
        """Takes or renews the Lease once; seconds until the next time."""
        began = self._clock.monotonic()
        overslept = began - self._due
        taken = self._lease.try_take(self._board.work_age)
        self._trouble = self._lease.trouble or self._trouble
        self._took = self._clock.monotonic() - began
        if self._lease.forfeited():
            self._board.forfeited()
        first = not self._board.held()
        if taken and not (first and self._lease.lost()):
            self._tell_late(overslept)
            self._board.renewed(began)
            self._trouble = ""
        if first:
            self._tell_first(taken)
            if not taken and not self._lease.trouble:
                self._board.kept_out()
        pause = self._pause(taken)
        self._due = self._clock.monotonic() + pause
        return pause

    def _pause(self, taken: bool) -> float:
        if not self._board.held():
            return TAKE_EVERY
        return self._lease.times.renew_every if taken else RETRY_EVERY

    def _tell_first(self, taken: bool) -> None:
        if self._board.held():
            extra = {"object": self._name, "reason": "LeaseHeld"}
            log.info("holding the Lease of %s", self._name, extra=extra)
        elif not taken and not self._waiting:
            self._waiting = True
            text = "waiting for the Lease: another pod holds it, or the API server does not answer"
            log.info(text, extra={"object": self._name, "reason": "LeaseAwaited"})

    def _tell_late(self, overslept: float) -> None:
        """Whoever sets durations has to know how near it was."""
        times = self._lease.times
        late = self._board.age() - times.renew_every
        # Half of the time there is between the two.
        if not self._board.held() or late <= (times.give_up_after - times.renew_every) / 2:
            return
        extra = {"object": self._name, "reason": "LeaseLate"}
        text = "the Lease was renewed %.1f s late, %.1f s before its loss: %s"
        left = times.give_up_after - self._board.age()
        log.warning(text, late, left, self.cause(overslept), extra=extra)

    def cause(self, overslept: float = 0.0) -> str:
        """Why a renewal is late, as far as is known here."""
        if overslept > _LONG:
            return f"this process got no CPU time for {overslept:.1f} s"
        return self._trouble or f"the request took {self._took:.1f} s"

    def overdue(self) -> Overdue | None:
        """Why the working process has to be ended now, None where it may go on."""
        board, times = self._board, self._lease.times
        if board.is_forfeited():
            return Overdue(LEASE_LOST, f"the Lease is lost: {self._trouble}")
        if board.age() > times.end_after:
            late = board.age() - times.renew_every
            text = f"the Lease is lost: the renewal is {late:.1f} s late ({self.cause()})"
            return Overdue(LEASE_LOST, f"{text}, and its work has not stopped by itself")
        if board.silence() > times.silent_for:
            text = f"no sign of life from the work for {board.silence():.0f} s, so its process hangs"
            return Overdue(STOOD_STILL, text)
        return None


def keep(keeping: LeaseKeeping, wait: Callable[[float], bool]) -> None:
    """Goes on until `wait`, which is given seconds, says that it is over."""
    while not wait(keeping.step()):
        pass
