"""The memory that all processes of Helm may use together: the container's limit without our own process.

If the kernel kills a process for lack of memory, it kills the whole container (Kubernetes sets
`memory.oom.group`). So we kill the largest Helm process before that.
"""

from __future__ import annotations

import contextlib
import os
import signal
import threading
from pathlib import Path

MIB = 1024 * 1024
LOOK_SECONDS = 0.05
_PAGE = os.sysconf("SC_PAGE_SIZE")


class MemoryBudget:
    """Kills the largest counted process while all together use more than `octets`; 0 for no budget."""

    def __init__(self, octets: int = 0) -> None:
        self._octets = octets
        self._lock = threading.Lock()
        self._counted: set[int] = set()
        self._killed: dict[int, str] = {}
        self._busy = threading.Event()
        self._watch: threading.Thread | None = None

    def count(self, pid: int) -> None:
        """Counts the process from now on. It must not be reaped before `discount`."""
        if not self._octets:
            return
        with self._lock:
            self._counted.add(pid)
            self._busy.set()
            if self._watch is None:
                self._watch = threading.Thread(target=self._look, name="helm: memory", daemon=True)
                self._watch.start()

    def discount(self, pid: int) -> None:
        """No longer counts the process."""
        with self._lock:
            self._counted.discard(pid)
            self._killed.pop(pid, None)
            if not self._counted:
                self._busy.clear()

    def killed(self, pid: int) -> str:
        """Why this process was killed, in words, or empty."""
        with self._lock:
            return self._killed.get(pid, "")

    def _look(self) -> None:
        pause = threading.Event()
        while True:
            self._busy.wait()
            with self._lock:
                held = {pid: private_octets(pid) for pid in self._counted if pid not in self._killed}
                if sum(held.values()) > self._octets:
                    self._end(max(held, key=lambda pid: held[pid]), held)
            pause.wait(LOOK_SECONDS)

    def _end(self, pid: int, held: dict[int, int]) -> None:
        self._killed[pid] = (
            f"used {held[pid] // MIB} MiB of memory, the most of {len(held)} processes, which "
            f"together may use {self._octets // MIB} MiB"
        )
        with contextlib.suppress(ProcessLookupError):
            os.killpg(pid, signal.SIGKILL)


def private_octets(pid: int) -> int:
    """Octets of private memory of a process, without shared memory."""
    try:
        _, resident, shared, *_ = Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()
    except (OSError, ValueError):
        return 0
    return (int(resident) - int(shared)) * _PAGE
