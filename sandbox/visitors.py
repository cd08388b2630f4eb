"""Who uses a shared sandbox: each visitor a file, so that the last one out can turn off the light."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from sandbox import processes
from sandbox.errors import SandboxError
from sandbox.locks import locked
from sandbox.paths import Layout

# As long as a build from nothing may take on a busy machine.
LOCK_SECONDS = 3600.0

T = TypeVar("T")


class Visitors:
    """The visitors' book of the sandbox in `layout`: a directory beside it, made and removed as needed."""

    def __init__(self, layout: Layout) -> None:
        self._sandbox = layout
        place = layout.directory
        self.directory = place.with_name(f".{place.name}.visitors")
        self._lock = place.with_name(f".{place.name}.visitors.lock")
        self._started = self.directory / "started-by-visitors"

    def enter(self, pid: int, start: Callable[[], T]) -> T:
        """Notes process `pid` as a visitor and gives what `start` gives: the running sandbox.

        `start` must return at once when the sandbox runs already; one visitor at a time runs it.
        """
        identity = processes.observe_process(pid)
        if identity is None:
            raise SandboxError(f"process {pid} is not in /proc: the sandbox needs Linux")
        with locked(self._lock, timeout=LOCK_SECONDS, remove=True):
            processes.write_pid_file(self._visitor(pid), identity)
            if not self._sandbox.state.exists():
                self._started.touch()
            return start()

    def leave(self, pid: int, last: Callable[[], object] | None) -> None:
        """Removes `pid`. `last` runs if there is no other visitor, and visitors had started the sandbox."""
        if not self._visitor(pid).exists():
            return
        with locked(self._lock, timeout=LOCK_SECONDS, remove=True):
            self._visitor(pid).unlink(missing_ok=True)
            if self._anyone_in():
                return
            if last is not None and self._started.exists():
                last()
                self._started.unlink()
            if not any(self.directory.iterdir()):
                self.directory.rmdir()

    def _visitor(self, pid: int) -> Path:
        return self.directory / f"visitor-{pid}.json"

    def _anyone_in(self) -> bool:
        """Whether a visitor's process still runs; forgets those that ended without leaving."""
        found = False
        for file in self.directory.glob("visitor-*.json"):
            identity = processes.read_pid_file(file)
            if identity is not None and processes.is_running(identity):
                found = True
            else:
                file.unlink(missing_ok=True)
        return found
