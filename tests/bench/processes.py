"""What a process and all below it take while something is done: processor time, and memory at its most."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

_TICKS = os.sysconf("SC_CLK_TCK")
LOOK_SECONDS = 0.25


class Watched:
    """While within, looks at the tree of the process that `pid()` gives.

    `megabytes`: the most that all held together, what they share counted once. `processes`: the most at a
    time. `processor`: seconds, of those that have ended too.
    """

    def __init__(self, pid: Callable[[], int]) -> None:
        self._pid = pid
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)
        self.megabytes = 0.0
        self.processes = 0
        self.processor = 0.0

    def __enter__(self) -> Watched:
        self._before = self._taken()
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()
        self.processor = self._taken() - self._before

    def _look(self) -> None:
        while not self._ended.wait(LOOK_SECONDS):
            held = [_proportional(pid) for pid in self._tree()]
            self.megabytes = max(self.megabytes, sum(held) / 1024)
            self.processes = max(self.processes, sum(1 for one in held if one))

    def _tree(self) -> Iterator[int]:
        found = [self._pid()]
        for pid in found:
            with suppress(OSError):
                for task in Path(f"/proc/{pid}/task").iterdir():
                    found += map(int, (task / "children").read_text(encoding="ascii").split())
            yield pid

    def _taken(self) -> float:
        total = 0
        for pid in self._tree():
            with suppress(OSError):
                fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
                # proc(5): (14) to (17), of the process and of its children that have ended.
                total += sum(map(int, fields[11:15]))
        return total / _TICKS


def _proportional(pid: int) -> int:
    """Kilobytes, what it shares with others counted in part; 0 where it is gone."""
    with suppress(OSError):
        for line in Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="ascii").splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1])
    return 0
