"""A container as two processes: neither outlives the other, and no work outlives the Lease."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from controller.reconcile.shared.leases.keeping import LEASE_BROKEN, LEASE_LOST, STOOD_STILL

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[3]
DEADLINE = 60.0
# A Lease of `{seconds}`, kept by the first process in a cluster that it has in memory; what `{work}` does is
# done in the second. Each write of the Lease is printed with the number of seconds since the start.
SCRIPT = """
import os, signal, sys, threading, time
from controller.adapters.system.clock import SystemClock
from controller.adapters.system.lease_process import split_off_work
from controller.errors import ApiUnavailable
from controller.reconcile.shared.leases.lease import LeaseTimes, WriterLease
from tests.fakes.kube import FakeKube

class Told(FakeKube):
    def create(self, lease):
        {trouble}
        holder = lease["spec"]["holderIdentity"] or "given back"
        print(f"{{time.monotonic() - began:.1f}} lease {{holder}}", flush=True)
        return super().create(lease)

    def replace(self, lease, *, subresource=""):
        {trouble}
        holder = lease["spec"]["holderIdentity"] or "given back"
        print(f"{{time.monotonic() - began:.1f}} lease {{holder}}", flush=True)
        return super().replace(lease)

began, clock, kube, times = time.monotonic(), SystemClock(), Told(), LeaseTimes({seconds})
make = lambda: WriterLease(kube, clock, name="osctl-core", namespace="openstack", holder="pod", times=times)
board = split_off_work("core", make, clock, times)
print("worker", os.getpid(), flush=True)

def live(seconds=60.0, held=False):
    until = time.monotonic() + seconds
    while time.monotonic() < until and not board.stops() and not (held and board.held()):
        board.beat(0.0)
        time.sleep(0.02)

{work}
os._exit(0)
"""


class Running:
    """The first process; `worker` is the number of the second."""

    def __init__(self, work: str, trouble: str, seconds: int) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-P", "-c", SCRIPT.format(work=work, trouble=trouble, seconds=seconds)],
            env={"PYTHONPATH": str(ROOT), "PATH": os.environ["PATH"]},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        self.lines: list[str] = []
        self.worker = int(self.until("worker").split()[1])

    def until(self, word: str) -> str:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.lines.append(line.strip())
            if word in line:
                return line.strip()
        raise AssertionError(f"no {word}: {self.lines}")

    def ends_with(self) -> int:
        assert self.process.stdout is not None
        self.lines += [line.strip() for line in self.process.stdout]
        return self.process.wait(DEADLINE)

    def writes(self) -> list[tuple[float, str]]:
        found = [line.split(" lease ") for line in self.lines if " lease " in line]
        return [(float(at), holder) for at, holder in found]


@pytest.fixture
def run() -> Iterator[type[Running]]:
    started: list[Running] = []

    class Started(Running):
        def __init__(self, work: str, trouble: str = "pass", seconds: int = 2) -> None:
            super().__init__(work, trouble, seconds)
            started.append(self)

    yield Started
    for one in started:
        one.process.kill()
        one.process.wait(DEADLINE)


def _is_there(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except FileNotFoundError:
        return False


def _wait_until_gone(pid: int) -> None:
    deadline = time.monotonic() + DEADLINE
    while _is_there(pid):
        assert time.monotonic() < deadline
        os.sched_yield()


@pytest.mark.parametrize(
    ("work", "code"), [("os._exit(5)", 5), ("os.kill(os.getpid(), signal.SIGKILL)", 128 + signal.SIGKILL)]
)
def test_the_exit_code_of_the_work_is_that_of_the_container(run: type[Running], work: str, code: int) -> None:
    running = run(f"live(held=True); {work}")
    assert running.ends_with() == code
    assert {holder for _, holder in running.writes()} == {"pod"}


def test_a_process_that_cannot_start_takes_no_lease(run: type[Running]) -> None:
    running = run("time.sleep(1); os._exit(78)")
    assert running.ends_with() == 78
    assert running.writes() == []


def test_the_lease_is_renewed_while_the_interpreter_of_the_work_is_held_by_one_call(
    run: type[Running],
) -> None:
    """Calls of C, one after the other, let no other thread on for nearly as long as the Lease lasts."""
    held = "live(held=True); began = time.monotonic()\nwhile time.monotonic() - began < 7: sum(range(10**8))"
    running = run(held, seconds=9)
    assert running.ends_with() == 0
    assert len(running.writes()) >= 3


def test_work_that_stands_still_is_ended_and_its_lease_ends_by_itself(run: type[Running]) -> None:
    running = run("live(held=True); os.kill(os.getpid(), signal.SIGSTOP)")
    assert running.ends_with() == STOOD_STILL
    assert not _is_there(running.worker)
    assert {holder for _, holder in running.writes()} == {"pod"}
    assert any("no sign of life from the work" in line for line in running.lines)


def test_work_that_does_not_end_with_its_lease_is_ended(run: type[Running]) -> None:
    trouble = "if time.monotonic() - began > 3: raise ApiUnavailable('no answer')"
    running = run("live()", trouble)
    assert running.ends_with() == LEASE_LOST
    assert not _is_there(running.worker)
    assert any("late (the API server: no answer)" in line for line in running.lines)


def test_what_the_keeper_did_not_foresee_ends_the_work_and_shows_no_content(run: type[Running]) -> None:
    running = run("live()", "raise RuntimeError('what it ' + 'said')")
    assert running.ends_with() == LEASE_BROKEN
    text = "\n".join(running.lines)
    assert not _is_there(running.worker)
    assert "RuntimeError" in text and "what it said" not in text


def test_a_signal_to_the_whole_group_reaches_the_work_once_and_the_lease_is_given_back(
    run: type[Running],
) -> None:
    running = run("live(); time.sleep(0.5); print('stops', board.stops(), flush=True); board.give_back()")
    running.until(" lease pod")
    os.killpg(running.process.pid, signal.SIGTERM)
    assert running.ends_with() == 0
    assert "stops 1" in running.lines
    assert running.writes()[-1][1] == "given back"


def test_work_that_ends_half_done_leaves_the_lease_to_end_by_itself(run: type[Running]) -> None:
    running = run("live()")
    running.until(" lease pod")
    running.process.terminate()
    assert running.ends_with() == 0
    assert {holder for _, holder in running.writes()} == {"pod"}


def test_a_signal_before_the_work_is_heard_of_ends_both_at_once(run: type[Running]) -> None:
    running = run("time.sleep(60)")
    running.process.terminate()
    assert running.ends_with() == 0
    assert not _is_there(running.worker)


@pytest.mark.parametrize("work", ["live()", "time.sleep(60)"], ids=["at work", "at its start"])
def test_the_work_does_not_outlive_the_keeper(run: type[Running], work: str) -> None:
    running = run(work)
    running.process.kill()
    running.process.wait(DEADLINE)
    _wait_until_gone(running.worker)


def test_programs_that_the_work_starts_heed_signals(run: type[Running]) -> None:
    started = "import subprocess; one = subprocess.Popen(['sleep', '60']); one.terminate()"
    running = run(f"live(held=True); {started}; print('ended by', one.wait(), flush=True)")
    assert running.ends_with() == 0
    assert f"ended by {-signal.SIGTERM}" in running.lines
