"""Splits a container into two processes: the first keeps its Lease, the second, a child of it, works.

Neither outlives the other: the kernel ends the second with the first, which ends once the second has. The
first has little work, so the kernel schedules it soon, also on a busy node, and it does not share an
interpreter lock with the work. Kubernetes sends its signals to the first.
"""

from __future__ import annotations

import contextlib
import ctypes
import logging
import mmap
import os
import signal
import threading
import traceback
from collections.abc import Callable

from controller.ports.system import Clock
from controller.reconcile.shared.leases.board import BOARD_SIZE, LeaseBoard
from controller.reconcile.shared.leases.keeping import (
    LEASE_BROKEN,
    LeaseKeeping,
    keep,
)
from controller.reconcile.shared.leases.lease import LeaseTimes, WriterLease

log = logging.getLogger(__name__)

# How often the working process is checked.
GUARD_EVERY = 0.25
# A running renewal has this long to end before the Lease is released.
LEASE_ENDS_WITHIN = 5.0
_PR_SET_PDEATHSIG = 1
_SIGNALS = (signal.SIGTERM, signal.SIGINT)


def split_off_work(
    name: str, make_lease: Callable[[], WriterLease], clock: Clock, times: LeaseTimes
) -> LeaseBoard:
    """Returns only in the working process, with its settings; the other process ends with its exit code.

    Call it before a second thread starts, because a lock of another thread would stay locked in the child.
    """
    # SystemClock is the same clock in all processes.
    board = LeaseBoard(memoryview(mmap.mmap(-1, BOARD_SIZE)), times, clock.monotonic)
    keeper = os.getpid()
    worker = os.fork()
    if worker:
        lease = make_lease()
        code = _Keeper(worker, lease, LeaseKeeping(lease, board, clock, name), board).run()
        logging.shutdown()
        os._exit(code)
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != keeper:
        os._exit(LEASE_BROKEN)
    for number in _SIGNALS:
        # The keeper receives it and passes it on, so a signal to the whole group counts once. With SIG_IGN,
        # programs started here would inherit it.
        signal.signal(number, lambda *_: None)
    return board


class _Keeper:
    """The first process. Three threads: one waits for the work's end, one renews, one guards."""

    def __init__(self, worker: int, lease: WriterLease, keeping: LeaseKeeping, board: LeaseBoard) -> None:
        self._worker = worker
        self._lease = lease
        self._keeping = keeping
        self._board = board
        self._over = threading.Event()
        self._code: int | None = None

    def run(self) -> int:
        """Until the working process has ended; gives the exit code of both."""
        for number in _SIGNALS:
            signal.signal(number, self._stop)
        renewing = threading.Thread(target=self._renew, name="lease", daemon=True)
        renewing.start()
        threading.Thread(target=self._guard, name="guard", daemon=True).start()
        code = self._reap()
        self._over.set()
        # If the work was killed, the Lease is not released: its children (Helm) may outlive it for a moment,
        # and end with us in a container. A running renewal would take a released Lease again.
        if self._board.is_given_back() and self._code is None:
            renewing.join(LEASE_ENDS_WITHIN)
            if not renewing.is_alive():
                self._lease.release()
        return code if self._code is None else self._code

    def _reap(self) -> int:
        """As the first process of a container it also reaps orphans of others."""
        while True:
            pid, status = os.wait()
            if pid == self._worker:
                code = os.waitstatus_to_exitcode(status)
                # The exit code of a shell.
                return code if code >= 0 else 128 - code

    def _stop(self, *_: object) -> None:
        self._board.stop()
        if not self._board.has_begun():
            # It has written nothing, and its first pass may take long.
            self._end(0)

    def _renew(self) -> None:
        try:
            while not self._board.has_begun():
                # A process that cannot start does not take the Lease.
                if self._over.wait(GUARD_EVERY):
                    return
            keep(self._keeping, self._over.wait)
        # Any error, an exit too: a thread has no caller to raise to, and unrenewed the process has to end.
        except BaseException as error:  # noqa: BLE001
            reason = type(error).__name__
            # Without the error's own text, which may contain arguments of a library.
            stack = "".join(traceback.format_tb(error.__traceback__))
            extra = {"object": "Lease", "reason": reason}
            log.error("the renewal of the Lease failed: %s\n%s", reason, stack, extra=extra)
            self._end(LEASE_BROKEN)

    def _guard(self) -> None:
        while not self._over.wait(GUARD_EVERY):
            found = self._keeping.overdue()
            if found is not None:
                extra = {"object": "Lease", "reason": "LeaseLost"}
                log.error("%s; this container stops", found.why, extra=extra)
                self._end(found.code)
                return

    def _end(self, code: int) -> None:
        """At once, because a write from now on could conflict with another pod."""
        if self._code is None:
            self._code = code
        with contextlib.suppress(ProcessLookupError):
            os.kill(self._worker, signal.SIGKILL)
