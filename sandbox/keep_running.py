"""What a kubelet does for the demo's controllers: one that ends, or is not alive any more, is started again.

`python -m sandbox.keep_running` is a process of the demo's sandbox, and ends with it.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from sandbox import processes
from sandbox.errors import SandboxError
from sandbox.paths import SOURCE

LOOK_EVERY = 1.0
# As a kubelet: at once the first time, then after ten seconds, and twice as many each time, up to five
# minutes; from the beginning again after ten minutes of life (kubelet, CrashLoopBackOff).
FIRST_PAUSE, LONGEST_PAUSE, CALM = 10.0, 300.0, 600.0
# As the chart's liveness probe.
LIVENESS_PERIOD, LIVENESS_FAILURES = 10.0, 3


class Containers(Protocol):
    """Those of one pod, such as `Controllers`."""

    containers: tuple[str, ...]

    def running(self) -> tuple[str, ...]: ...

    def healthy(self, name: str) -> bool: ...

    def start(self, *names: str) -> None: ...

    def kill(self, name: str) -> None: ...


@dataclass
class _Life:
    """Of one container. Times are of the monotonic clock."""

    since: float
    runs: bool = True
    pause: float = 0.0
    not_before: float = 0.0
    asked: float = 0.0
    failures: int = 0
    restarts: int = 0


@dataclass
class Keeper:
    """Looks after containers. `tell` is given a line for each thing that is done."""

    pod: Containers
    monotonic: Callable[[], float] = time.monotonic
    tell: Callable[[str], None] = print
    _lives: dict[str, _Life] = field(default_factory=dict)

    def look(self) -> None:
        """One look at each, and what has to be done about it. Raises SandboxError where it cannot be."""
        now, running = self.monotonic(), self.pod.running()
        for name in self.pod.containers:
            life = self._lives.setdefault(name, _Life(since=now, asked=now))
            if name in running:
                self._probe(name, life, now)
            else:
                self._restart(name, life, now)

    def _probe(self, name: str, life: _Life, now: float) -> None:
        if now - life.asked < LIVENESS_PERIOD:
            return
        life.asked = now
        life.failures = 0 if self.pod.healthy(name) else life.failures + 1
        if life.failures >= LIVENESS_FAILURES:
            life.failures = 0
            self.tell(f"{name} fails its liveness probe, and is killed")
            self.pod.kill(name)

    def _restart(self, name: str, life: _Life, now: float) -> None:
        if life.runs:
            life.runs = False
            life.pause = 0.0 if now - life.since >= CALM else life.pause
            life.not_before = now + life.pause
            self.tell(f"{name} has ended; it is started again in {life.pause:.0f} s")
        if now < life.not_before:
            return
        self.pod.start(name)
        life.pause = min(max(FIRST_PAUSE, 2 * life.pause), LONGEST_PAUSE)
        life.runs, life.since, life.asked, life.failures = True, now, now, 0
        life.restarts += 1
        self.tell(f"{name} runs again (restart {life.restarts})")


def start_keeper(directory: Path, owner: Path) -> None:
    """Starts the process for the controllers in `directory`; it ends with the sandbox in `owner`."""
    environment = {**os.environ, "PYTHONPATH": str(SOURCE.parent), "PYTHONUNBUFFERED": "1"}
    identity = processes.start_process(
        [sys.executable, "-P", "-m", "sandbox.keep_running"],
        log=directory / "logs" / "kubelet.log",
        owner=owner,
        environment=environment,
    )
    processes.write_pid_file(_pid_file(directory), identity)


def stop_keeper(directory: Path) -> None:
    """Ends it, where it runs: from then on what ends stays so."""
    identity = processes.read_pid_file(_pid_file(directory))
    if identity is not None:
        processes.stop_processes([identity], grace=5.0)


def _pid_file(directory: Path) -> Path:
    return directory / "pids" / "kubelet.json"


def main() -> None:
    """Looks after the demo's controllers until there is no demo any more."""
    from sandbox.cluster import Sandbox
    from sandbox.demo import NAME, controllers_of

    box = Sandbox.open(NAME)
    if box is None:
        return
    keeper = Keeper(
        controllers_of(box), tell=lambda line: print(f"{time.strftime('%FT%TZ', time.gmtime())} {line}")
    )
    while Sandbox.open(NAME) is not None:
        try:
            keeper.look()
        except (SandboxError, OSError) as error:
            # The API server is away, or the sandbox is on its way out.
            print(f"{time.strftime('%FT%TZ', time.gmtime())} {error}")
        time.sleep(LOOK_EVERY)


if __name__ == "__main__":
    main()
