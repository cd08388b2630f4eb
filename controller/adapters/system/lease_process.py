"""Splits a container into two processes: the first keeps its Lease, the second, a child of it, works.

Neither outlives the other: the kernel ends the second with the first, which ends once the second has. The
first has hardly anything to do: the kernel runs it soon, also on a busy node, and it shares no lock of an
interpreter with the work. It is the one that Kubernetes and its signals know.
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

# How often the working process is looked at.
GUARD_EVERY = 0.25
# A renewal that is under way has so long to end before the Lease is given back.
LEASE_ENDS_WITHIN = 5.0
_PR_SET_PDEATHSIG = 1
_SIGNALS = (signal.SIGTERM, signal.SIGINT)


def split_off_work(
    name: str, make_lease: Callable[[], WriterLease], clock: Clock, times: LeaseTimes
) -> LeaseBoard:
    """Returns in the working process alone, with what it has to go by; the other one ends with its exit code.

    To be called before a second thread is started: a lock that another thread holds is held for ever in the
    child.
    """
    # The clock of SystemClock is one for all processes.
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
        # The keeper hears it and passes it on: a signal to the whole group is no second one. Programs that
        # are started here would inherit SIG_IGN.
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
        # Work that was ended gives nothing back: what it had started (Helm) may outlive it for a moment, and
        # in a container ends with us. One that still renews would take back what is given.
        if self._board.is_given_back() and self._code is None:
            renewing.join(LEASE_ENDS_WITHIN)
            if not renewing.is_alive():
                self._lease.release()
        return code if self._code is None else self._code

    def _reap(self) -> int:
        """As the first process of a container it also has the orphans of others to wait for."""
        while True:
            pid, status = os.wait()
            if pid == self._worker:
                code = os.waitstatus_to_exitcode(status)
                # As a shell says it.
                return code if code >= 0 else 128 - code

    def _stop(self, *_: object) -> None:
        self._board.stop()
        if not self._board.has_begun():
            # It has written nothing, and may take long to look.
            self._end(0)

    def _renew(self) -> None:
        try:
            while not self._board.has_begun():
                # A process that cannot even start takes no Lease from one that can.
                if self._over.wait(GUARD_EVERY):
                    return
            keep(self._keeping, self._over.wait)
        # Any error, an exit too: a thread has no caller to raise to, and unrenewed the process has to end.
        except BaseException as error:  # noqa: BLE001
            reason = type(error).__name__
            # Without the error's own text, which may hold what a library was given.
            stack = "".join(traceback.format_tb(error.__traceback__))
            extra = {"object": "Lease", "reason": reason}
            log.error("the Lease cannot be kept: %s\n%s", reason, stack, extra=extra)
            self._end(LEASE_BROKEN)

    def _guard(self) -> None:
        while not self._over.wait(GUARD_EVERY):
            found = self._keeping.overdue()
            if found is not None:
                extra = {"object": "Lease", "reason": "LeaseLost"}
                log.error("%s; this container is ended", found.why, extra=extra)
                self._end(found.code)
                return

    def _end(self, code: int) -> None:
        """At once: a write from now on could meet another pod's."""
        if self._code is None:
            self._code = code
        with contextlib.suppress(ProcessLookupError):
            os.kill(self._worker, signal.SIGKILL)
