"""How much memory all processes of Helm may hold together: what the container has beside our own.

A process that the kernel kills for want of memory takes its whole container with it (Kubernetes sets
`memory.oom.group`). So the largest of them is ended before that.
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
    """Ends the largest of the processes counted while all hold more than `octets`; 0 for no budget."""

    def __init__(self, octets: int = 0) -> None:
        self._octets = octets
        self._lock = threading.Lock()
        self._counted: set[int] = set()
        self._killed: dict[int, str] = {}
        self._busy = threading.Event()
        self._watch: threading.Thread | None = None

    def count(self, pid: int) -> None:
        """From now on the process counts. It must not be reaped before `discount`."""
        if not self._octets:
            return
        with self._lock:
            self._counted.add(pid)
            self._busy.set()
            if self._watch is None:
                self._watch = threading.Thread(target=self._look, name="helm: memory", daemon=True)
                self._watch.start()

    def discount(self, pid: int) -> None:
        """The process counts no more."""
        with self._lock:
            self._counted.discard(pid)
            self._killed.pop(pid, None)
            if not self._counted:
                self._busy.clear()

    def killed(self, pid: int) -> str:
        """Why this process was ended, in words; empty where it was not."""
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
            f"held {held[pid] // MIB} MiB of memory, the most of {len(held)} processes, which may hold "
            f"{self._octets // MIB} MiB together"
        )
        with contextlib.suppress(ProcessLookupError):
            os.killpg(pid, signal.SIGKILL)


def private_octets(pid: int) -> int:
    """Octets of memory of its own that a process holds; what it shares with others does not count."""
    try:
        _, resident, shared, *_ = Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()
    except (OSError, ValueError):
        return 0
    return (int(resident) - int(shared)) * _PAGE
