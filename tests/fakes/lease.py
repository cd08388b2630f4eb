"""The keeper of a Lease as a thread beside the work, where a container is a process of its own."""

from __future__ import annotations

import threading

from controller.ports.system import Clock
from controller.reconcile.shared.leases.board import BOARD_SIZE, LeaseBoard
from controller.reconcile.shared.leases.keeping import LeaseKeeping, keep
from controller.reconcile.shared.leases.lease import WriterLease


class KeptInThread:
    """`board` is what the work goes by. `finish()` is called once the work has ended."""

    def __init__(self, lease: WriterLease, clock: Clock, *, pause: float = 0.01) -> None:
        self.lease = lease
        self.board = LeaseBoard(memoryview(bytearray(BOARD_SIZE)), lease.times, clock.monotonic)
        self.keeping = LeaseKeeping(lease, self.board, clock, "core")
        self._error: BaseException | None = None
        self._pause = pause
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._keep, name="keeper", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def _keep(self) -> None:
        try:
            keep(self.keeping, lambda _: self._over.wait(self._pause))
        # Any error: a thread has no caller to raise to. `finish` raises it.
        except BaseException as error:
            self._error = error

    def finish(self, within: float = 60.0) -> None:
        """Renews no more, and gives the Lease back where the work said so. Raises what ended the keeper."""
        self._over.set()
        self._thread.join(within)
        if self._error is not None:
            raise self._error
        if self.board.is_given_back():
            self.lease.release()
