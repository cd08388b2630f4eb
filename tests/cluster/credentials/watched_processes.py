"""What the processes of a region's controllers show of themselves while they run, however short that is."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from pathlib import Path

from sandbox import processes

# Between two looks; a command of Helm's takes longer.
SECONDS = 0.1
FILES = ("cmdline", "environ", "limits")


class WatchedProcesses:
    """Of the processes whose pid files are in `pids`, and of all that they start. `texts`: by the command and
    what it is of, all that was seen; also what files in `temporary` had."""

    def __init__(self, pids: Path, temporary: Path) -> None:
        self._pids, self._temporary = pids, temporary
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self.texts: dict[tuple[str, str], set[str]] = {}

    def __enter__(self) -> WatchedProcesses:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopped.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._stopped.wait(SECONDS):
            for pid in self._all():
                with contextlib.suppress(OSError):  # it has ended
                    self._look(pid)
            with contextlib.suppress(OSError):  # a directory has gone; the next look is soon
                for path in self._temporary.rglob("*"):
                    self._look_into(path)

    def _look(self, pid: int) -> None:
        place = Path(f"/proc/{pid}")
        command = (place / "comm").read_text().strip()
        for name in FILES:
            self._add(command, name, (place / name).read_bytes())

    def _look_into(self, path: Path) -> None:
        with contextlib.suppress(OSError):
            if path.is_file():
                self._add("a temporary file", path.name, path.read_bytes())

    def _add(self, command: str, name: str, content: bytes) -> None:
        self.texts.setdefault((command, name), set()).add(content.decode(errors="replace"))

    def _all(self) -> Iterator[int]:
        waiting = [
            found.pid for path in self._pids.glob("*.json") if (found := processes.read_pid_file(path))
        ]
        while waiting:
            pid = waiting.pop()
            yield pid
            for task in Path(f"/proc/{pid}/task").glob("*/children"):
                with contextlib.suppress(OSError):
                    waiting += [int(one) for one in task.read_text().split()]
