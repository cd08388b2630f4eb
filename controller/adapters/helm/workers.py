"""Workers: processes of Helm that carry out one request at a time, and can be ended one by one.

A worker is `helm work` (helm/main.go): it reads one request per line, and answers with one line. After its
answer it stays for the next request, because a start takes longer than most requests. A killed worker, or one
with much memory, does not stay.
"""

from __future__ import annotations

import contextlib
import json
import os
import resource
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from controller.adapters.helm.cancellation import CancellationToken
from controller.adapters.helm.conversation import Conversation, Finished, kill, processor_seconds
from controller.adapters.helm.memory_budget import MemoryBudget, private_octets
from controller.adapters.helm.process_bounds import MIB, Bounds

# The number kept after their answer, and for how long: requests after an action follow at once.
MOST_IDLE = 16
IDLE_SECONDS = 15.0
# A worker is replaced beyond this size, or after this many requests.
MOST_KEPT_OCTETS = 96 * MIB
MOST_REQUESTS = 500


@dataclass(eq=False)
class Worker:
    """One process, and how many requests it has had."""

    process: subprocess.Popen[bytes]
    requests: int = 0
    idle_since: float = field(default=0.0)


class Workers:
    """Processes of `program`, as many as there are requests at a time. Safe from several threads.

    Each may take `memory` octets; `budget` bounds all of them together.
    """

    def __init__(
        self, program: Path, environment: Callable[[], Mapping[str, str]], memory: int, budget: MemoryBudget
    ) -> None:
        self._program = program
        self._environment = environment
        self._memory = memory
        self._budget = budget
        self._lock = threading.Lock()
        self._idle: list[Worker] = []
        self._timer: threading.Timer | None = None
        # The kernel kills a worker with the thread that started it, so that thread must stay.
        self._starter = ThreadPoolExecutor(1, thread_name_prefix="helm: starts workers")

    def call(
        self,
        request: Mapping[str, Any],
        bounds: Bounds,
        *,
        token: CancellationToken | None = None,
        make_it_end: Callable[[], None] | None = None,
    ) -> Finished:
        """One request's answer.

        Nothing of it continues when this returns. With `make_it_end` a cancelled or late request may first
        end by itself; otherwise it is killed.
        """
        try:
            worker = self._take()
        except OSError as error:
            return Finished(died=f"Helm cannot be started: {error.strerror}", killed=True)
        worker.requests += 1
        kept = False
        try:
            spent = processor_seconds(worker.process.pid)
            conversation = Conversation(
                worker.process, bounds, self._budget, spent, token=token, make_it_end=make_it_end
            )
            ended = conversation.hold(json.dumps(request).encode() + b"\n")
            kept = ended.whole and self._put_back(worker)
            return ended
        finally:
            if not kept:
                self._end(worker)

    def _take(self) -> Worker:
        with self._lock:
            while self._idle:
                worker = self._idle.pop()
                if _is_alive(worker.process):
                    return worker
                self._end(worker)
        return self._starter.submit(self._start).result()

    def _put_back(self, worker: Worker) -> bool:
        large = private_octets(worker.process.pid) > MOST_KEPT_OCTETS
        with self._lock:
            if large or worker.requests >= MOST_REQUESTS or len(self._idle) >= MOST_IDLE:
                return False
            worker.idle_since = time.monotonic()
            self._idle.append(worker)
            self._look_later()
            return True

    def _look_later(self) -> None:
        if self._timer is None:
            self._timer = threading.Timer(IDLE_SECONDS, self._end_idle)
            self._timer.daemon = True
            self._timer.start()

    def _end_idle(self) -> None:
        with self._lock:
            self._timer = None
            since = time.monotonic() - IDLE_SECONDS
            old = [worker for worker in self._idle if worker.idle_since <= since]
            self._idle = [worker for worker in self._idle if worker not in old]
            if self._idle:
                self._look_later()
        for worker in old:
            self._end(worker)

    def _start(self) -> Worker:
        process = subprocess.Popen(
            [*_dies_with_us(), str(self._program), "work"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**self._environment(), **_runtime(self._memory)},
            start_new_session=True,  # a group of its own, so that all of it can be ended
        )
        for which, most in ((resource.RLIMIT_DATA, self._memory), (resource.RLIMIT_CORE, 0)):
            with contextlib.suppress(ProcessLookupError):
                resource.prlimit(process.pid, which, (most, most))
        self._budget.count(process.pid)
        return Worker(process)

    def _end(self, worker: Worker) -> None:
        kill(worker.process, signal.SIGKILL)
        self._budget.discount(worker.process.pid)
        worker.process.wait()
        for stream in (worker.process.stdin, worker.process.stdout, worker.process.stderr):
            if stream is not None:
                with contextlib.suppress(OSError):
                    stream.close()


def _runtime(memory: int) -> dict[str, str]:
    """Go collects garbage harder before it meets its bound, uses two processors, and prints no stack."""
    return {"GOMEMLIMIT": str(memory * 3 // 4), "GOGC": "200", "GOMAXPROCS": "2", "GOTRACEBACK": "none"}


def _is_alive(process: subprocess.Popen[bytes]) -> bool:
    """Without reaping it, because its number must not be reused while it counts in the budget."""
    return os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT | os.WNOHANG) is None


def _dies_with_us() -> tuple[str, ...]:
    """A command prefix that ends the worker when we are killed. util-linux's setpriv sets the signal that the
    kernel sends when the starting thread is gone. Without setpriv, a worker ends with its standard input,
    after its request.
    """
    setpriv = shutil.which("setpriv")
    return (setpriv, "--pdeathsig", "KILL", "--") if setpriv else ()
