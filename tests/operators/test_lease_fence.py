"""A container without its Lease: it ends in time, whatever the API server does, and is alive before."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest

from controller import operator
from controller.adapters.kubernetes.watches import Key
from controller.domain.api.names import WORK_AGE_ANNOTATION
from controller.operator import LEASE_BROKEN, LEASE_LOST, STUCK_AFTER, Container
from controller.ports.kubernetes import LEASE
from controller.ports.metrics import NoMetrics
from controller.reconcile.shared.leases.board import LeaseBoard
from controller.reconcile.shared.leases.lease import LeaseTimes, WriterLease
from controller.reconcile.shared.work_queue import WorkQueue
from sandbox.patience import patient
from tests.fakes.kube import FakeKube, Request
from tests.fakes.lease import KeptInThread
from tests.fakes.world import FakeClock, FakeRandomness

DEADLINE = 60.0


class _Running:
    """The Lease's threads of one container; `codes` are those it would have ended with."""

    def __init__(self) -> None:
        self.clock = FakeClock()
        self.kube = FakeKube(clock=self.clock)
        self.queue: WorkQueue[Key] = WorkQueue(self.clock, FakeRandomness())
        self.container = Container("core", (), {}, self.queue, workers=1)
        self.tenure = operator._Tenure()
        self.ended, self.exited = threading.Event(), threading.Event()
        self.codes: list[int] = []
        self.kept = KeptInThread(self.lease("pod-a"), self.clock)
        self._thread: threading.Thread | None = None

    @property
    def board(self) -> LeaseBoard:
        return self.kept.board

    def lease(self, pod: str) -> WriterLease:
        return WriterLease(self.kube, self.clock, name="osctl-core", namespace="openstack", holder=pod)

    def exit(self, code: int) -> None:
        self.codes.append(code)
        self.ended.set()
        self.exited.set()

    def start(self) -> None:
        given = (self.board, self.container, self.tenure, self.ended, NoMetrics())
        self._thread = threading.Thread(target=operator._follow_lease, args=given, daemon=True)
        self._thread.start()
        self.kept.start()

    def stop(self) -> None:
        self.ended.set()
        self.queue.close()
        if self._thread:
            self._thread.join(DEADLINE)
            self.kept.finish()


@pytest.fixture
def running(monkeypatch: pytest.MonkeyPatch) -> Iterator[_Running]:
    made = _Running()
    monkeypatch.setattr(operator, "exit_container", made.exit)
    for period in ("AWAIT_EVERY", "FENCE_EVERY"):
        monkeypatch.setattr(operator, period, 0.01)
    yield made
    made.stop()


def _at_the_next_write(kube: FakeKube, then: Callable[[], None]) -> threading.Event:
    reached = threading.Event()

    def write(request: Request) -> None:
        reached.set()
        then()

    kube.before_write = write
    return reached


def test_a_renewal_that_hangs_does_not_outlive_the_lease(running: _Running) -> None:
    answer = threading.Event()

    def hang() -> None:
        answer.wait(DEADLINE)

    running.start()
    assert running.tenure.held.wait(DEADLINE)
    hangs = _at_the_next_write(running.kube, hang)
    try:
        assert hangs.wait(DEADLINE)
        running.clock.advance(LeaseTimes().give_up_after + 1)
        assert running.exited.wait(DEADLINE)
        assert running.codes[0] == LEASE_LOST
    finally:
        answer.set()


def test_a_lease_that_is_lost_before_the_work_begins_ends_the_process(running: _Running) -> None:
    """The first take is slow, and the Lease is deleted before the second one."""

    def slow(request: Request) -> None:
        if request.verb == "delete":
            return
        running.clock.advance(LeaseTimes().give_up_after + 1)
        if running.kube.get(LEASE, "osctl-core", "openstack") is not None:
            running.kube.delete(LEASE, "osctl-core", "openstack")

    running.kube.before_write = slow
    running.start()
    assert running.exited.wait(patient(10))
    assert running.codes == [LEASE_LOST]
    assert not running.tenure.held.is_set()


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_an_unexpected_error_ends_the_process_and_shows_no_content(
    running: _Running, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    content = " ".join(("what", "the", "work", "said"))

    def fail() -> float:
        raise RuntimeError(content)

    monkeypatch.setattr(running.queue, "longest", fail)
    running.start()
    assert running.exited.wait(DEADLINE)
    assert running.codes == [LEASE_BROKEN]
    assert "RuntimeError" in caplog.text
    assert "_follow_lease" in caplog.text
    assert all(content not in record.getMessage() for record in caplog.records)


def test_a_container_that_loses_its_lease_says_how_late_it_was(
    running: _Running, caplog: pytest.LogCaptureFixture
) -> None:
    running.start()
    assert running.tenure.held.wait(DEADLINE)
    released = threading.Event()
    hangs = _at_the_next_write(running.kube, lambda: released.wait(DEADLINE) and None)
    assert hangs.wait(DEADLINE)
    running.clock.advance(12.5)
    assert running.exited.wait(DEADLINE)
    assert running.codes[0] == LEASE_LOST
    assert "the renewal of the Lease is 7.5 s late" in caplog.text
    released.set()


def test_a_standby_is_alive_however_long_its_work_waits(running: _Running) -> None:
    running.queue.add(("region", "openstack", "one"))
    running.clock.advance(STUCK_AFTER + 1)
    assert running.tenure.late(running.container) == ""


def test_work_that_waited_for_the_lease_is_late_only_from_then_on(
    running: _Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(time, "monotonic", running.clock.monotonic)
    running.queue.add(("region", "openstack", "one"))
    running.clock.advance(STUCK_AFTER + 1)
    running.tenure.begin()
    assert running.tenure.late(running.container) == ""
    running.clock.advance(STUCK_AFTER + 1)
    assert running.tenure.late(running.container) == "the oldest work has waited for 601 s"


def test_work_that_does_not_end_is_reported_on_the_lease_which_goes_on_being_renewed(
    running: _Running,
) -> None:
    reported, answer = threading.Event(), threading.Event()

    def hang(*_: str) -> None:
        answer.wait(DEADLINE)

    def hold_up(_: Request) -> None:
        lease = running.kube.get(LEASE, "osctl-core", "openstack")
        if WORK_AGE_ANNOTATION in ((lease or {}).get("metadata", {}).get("annotations") or {}):
            reported.set()
        running.clock.advance(5)

    running.container = replace(running.container, reconcilers={"region": hang})
    running.queue.add(("region", "openstack", "one"))
    running.kube.before_write = hold_up
    running.start()
    try:
        assert reported.wait(DEADLINE)
        assert running.codes == []
    finally:
        answer.set()
