"""One request to one worker, within bounds: memory, processor time, time, and the size of the answer.

A chart is foreign code. Whatever its templates do, the request ends: by itself, at a bound, or when it is
cancelled.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import selectors
import signal
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from controller.adapters.helm.cancellation import CancellationToken
from controller.adapters.helm.memory_budget import MemoryBudget
from controller.adapters.helm.process_bounds import MIB, Bounds

# The limit of the error output: a dying process prints its cause first, and then its stacks.
ERROR_OCTETS = 16 * 1024
_CAUSES = ("fatal error: ", "panic: ", "runtime: ")
# Go's words where RLIMIT_DATA leaves no memory (runtime: malloc.go, mheap.go, mem_linux.go, stack.go). Its
# collector does not look whether it was given any (mgcmark_greenteagc.go): then a signal ends the runtime
# itself. A panic has the same words in the middle of a line.
_OUT_OF_MEMORY = re.compile(
    r"out of memory|cannot allocate memory|^SIGSEGV: segmentation violation", re.MULTILINE
)
# And where the kernel gives no thread (runtime: os_linux.go, proc.go). The stack of a thread is of Go's own
# memory: it is the container's number of processes that is used up, or the kernel's memory.
_OUT_OF_THREADS = "failed to create new OS thread"
# Between the steps that end an action: its hook must fail, then SIGTERM, after which Helm records the
# failure, then SIGKILL.
GENTLE_SECONDS = 5.0
TERM_SECONDS = 10.0
_STEP_SECONDS = 0.5
# How often the time and the processor time of a request are checked.
_LOOK_SECONDS = 0.5
# A process that has closed its output is about to end.
_CLOSED_SECONDS = 5.0
_CHUNK = 256 * 1024
_TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Finished:
    """The end of a request. `exceeded`: which bound has ended it, in words, empty for none.

    `cut`: it was ended from outside, as `HelmCancelled.cut`; empty where it ended by itself. `died`: the last
    words of a process that ended without an answer. `killed`: its node did that, or had no thread for it. It
    is no fault of the request, which may be made again.
    """

    answer: dict[str, Any] = field(default_factory=dict, repr=False)
    exceeded: str = ""
    cut: str = ""
    died: str = ""
    killed: bool = False

    @property
    def whole(self) -> bool:
        """Whether the worker has answered, and waits for the next request."""
        return bool(self.answer) and not (self.exceeded or self.cut or self.died)


class Conversation:
    """Sends a worker its request, and reads until it has answered or is terminated.

    `spent`: processor seconds that it had used before.
    """

    def __init__(
        self,
        process: subprocess.Popen[bytes],
        bounds: Bounds,
        budget: MemoryBudget,
        spent: float,
        *,
        token: CancellationToken | None = None,
        make_it_end: Callable[[], None] | None = None,
    ) -> None:
        assert process.stdin and process.stdout and process.stderr  # noqa: S101  (started with pipes)
        self._process = process
        self._stdin, self._stdout, self._stderr = process.stdin, process.stdout, process.stderr
        self._bounds = bounds
        self._budget = budget
        self._spent = spent
        self._token = token
        self._make_it_end = make_it_end
        self._output = bytearray()
        self._error = bytearray()
        self._exceeded = ""
        self._cut = ""
        self._answered = False
        self._until = time.monotonic() + bounds.seconds
        self._steps: list[tuple[float, Callable[[], None]]] = []

    def hold(self, text: bytes) -> Finished:
        """Sends the worker its request, and returns the result."""
        wake_reader, wake_writer = os.pipe()
        os.set_blocking(wake_writer, False)

        def wake() -> None:
            with contextlib.suppress(OSError):
                os.write(wake_writer, b"x")

        if self._token is not None:
            self._token.listen(wake)
        try:
            with selectors.DefaultSelector() as streams:
                streams.register(wake_reader, selectors.EVENT_READ, None)
                self._exchange(streams, memoryview(text))
        finally:
            if self._token is not None:
                self._token.forget(wake)
            os.close(wake_reader)
            os.close(wake_writer)
        return self._finished()

    def _exchange(self, streams: selectors.BaseSelector, text: memoryview) -> None:
        for stream, event in (
            (self._stdin, selectors.EVENT_WRITE),
            (self._stdout, selectors.EVENT_READ),
            (self._stderr, selectors.EVENT_READ),
        ):
            os.set_blocking(stream.fileno(), False)
            streams.register(stream, event, stream)
        open_ = True
        while open_ and not self._answered:
            for key, _ in streams.select(self._wait_seconds()):
                stream = key.data
                if stream is None:
                    streams.unregister(key.fileobj)  # cancelled
                elif stream is self._stdin:
                    text = text[_written(stream, text) :]
                    if not text:
                        streams.unregister(stream)
                elif stream is self._stderr:
                    if not self._read_error():
                        streams.unregister(stream)
                else:
                    open_ = self._read_answer() and open_
            self._look()

    def _read_answer(self) -> bool:
        """False when there is no more to come."""
        chunk = _chunk(self._stdout)
        if chunk is None:
            return True
        self._output += chunk
        if len(self._output) > self._bounds.output:
            self._exceeded = self._exceeded or f"gave more than {_mib(self._bounds.output)}"
            kill(self._process, signal.SIGKILL)
            return False
        self._answered = self._output.endswith(b"\n")
        return bool(chunk)

    def _read_error(self) -> bool:
        chunk = _chunk(self._stderr)
        self._error += (chunk or b"")[: ERROR_OCTETS - len(self._error)]
        return chunk != b""

    # -- its end from outside -----------------------------------------------------------------------

    def _wait_seconds(self) -> float:
        due = min([self._until, *(at for at, _ in self._steps[:1])])
        return max(0.0, min(due - time.monotonic(), _LOOK_SECONDS))

    def _look(self) -> None:
        now = time.monotonic()
        spent = processor_seconds(self._process.pid) - self._spent
        if spent > self._bounds.processor and not self._exceeded:
            self._exceeded = f"took more than {self._bounds.processor:g} s of processor time"
            kill(self._process, signal.SIGKILL)
        if not self._cut:
            if self._token is not None and self._token.cancelled:
                self._begin_end(self._token.cut, now)
            elif now >= self._until:
                self._begin_end(f"not done within {self._bounds.seconds:g} s", now)
        while self._steps and self._steps[0][0] <= time.monotonic():
            self._steps.pop(0)[1]()

    def _begin_end(self, cut: str, now: float) -> None:
        self._cut = cut
        self._until = float("inf")
        if self._make_it_end is None:
            kill(self._process, signal.SIGKILL)
            return
        tries = range(int(GENTLE_SECONDS / _STEP_SECONDS))
        terminate = now + GENTLE_SECONDS
        self._steps = [
            *((now + number * _STEP_SECONDS, self._make_it_end) for number in tries),
            (terminate, lambda: kill(self._process, signal.SIGTERM)),
            (terminate + TERM_SECONDS, lambda: kill(self._process, signal.SIGKILL)),
        ]

    def _finished(self) -> Finished:
        if self._answered:
            return Finished(_decoded(self._output), self._exceeded, self._cut)
        code = _await_end(self._process)
        with contextlib.suppress(OSError):
            while self._read_error() and _has_more(self._stderr):
                pass
        error = self._error.decode(errors="replace").strip()
        exceeded = self._exceeded or self._budget.killed(self._process.pid)
        if not exceeded and _OUT_OF_MEMORY.search(error):
            exceeded = f"needed more than {_mib(self._bounds.memory)} of memory"
        by_node = "" if exceeded or self._cut else _done_by_node(code, error)
        died = by_node or last_words(error) or f"Helm exited with {code}"
        return Finished({}, exceeded, self._cut, died=died, killed=bool(by_node))


def _done_by_node(code: int, error: str) -> str:
    """What the node did to a process that ended so, in words; empty where the reason is its own."""
    if code == -signal.SIGKILL:
        return "Helm was killed, probably by lack of memory on its node"
    if _OUT_OF_THREADS in error:
        return "Helm could not start a thread: its container has too many processes"
    return ""


def last_words(error: str) -> str:
    """The line of an error output that names the cause; without such a line, its last one."""
    lines = [line.strip() for line in error.splitlines() if line.strip()]
    causes = [line for line in lines if line.startswith(_CAUSES)]
    return (causes or lines[-1:] or [""])[0]


def _decoded(output: bytearray) -> dict[str, Any]:
    try:
        answer = json.loads(output)
    except ValueError:
        answer = None
    # Output that is not an answer may contain a secret, so it is not quoted.
    return answer if isinstance(answer, dict) and answer.get("done") else {"error": "Helm gave no answer"}


def _await_end(process: subprocess.Popen[bytes]) -> int:
    """The code of a process that has closed its output. It stays a zombie, because its number must not be
    reused while others may kill it."""
    until = time.monotonic() + _CLOSED_SECONDS
    while (end := os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT | os.WNOHANG)) is None:
        if time.monotonic() > until:
            kill(process, signal.SIGKILL)
        time.sleep(0.002)
    return end.si_status if end.si_code == os.CLD_EXITED else -end.si_status


def _chunk(stream: IO[bytes]) -> bytes | None:
    """The bytes available now; empty at the end, None if there are none yet."""
    try:
        return os.read(stream.fileno(), _CHUNK)
    except BlockingIOError:
        return None


def _has_more(stream: IO[bytes]) -> bool:
    with selectors.DefaultSelector() as streams:
        streams.register(stream, selectors.EVENT_READ)
        return bool(streams.select(0))


def _written(stream: IO[bytes], text: memoryview) -> int:
    try:
        return os.write(stream.fileno(), text[:_CHUNK])
    except BlockingIOError:
        return 0
    except BrokenPipeError:
        return len(text)  # it has ended: its last output says why


def processor_seconds(pid: int) -> float:
    """Processor time that a process has used; 0 if it is gone."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    except OSError:
        return 0.0
    # proc(5): (14) utime and (15) stime; the first field here is (3).
    return (int(fields[11]) + int(fields[12])) / _TICKS


def kill(process: subprocess.Popen[bytes], number: signal.Signals) -> None:
    """Sends a signal to the group of a process, unless it was reaped, because its number may be reused."""
    if process.returncode is None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, number)


def _mib(octets: int) -> str:
    return f"{octets / MIB:.3g} MiB"
