"""A container that is told to stop: what is under way comes to its end first, and its Lease says so."""

from __future__ import annotations

import logging
import signal
import threading
from collections.abc import Callable, Iterator
from typing import Any, cast

import pytest

from controller import operator
from controller.adapters.kube_connection import Connection
from controller.adapters.metrics import PrometheusMetrics
from controller.adapters.watches import Key
from controller.operator import WATCHES_ENDED, Container
from controller.ports import LEASE
from controller.reconcile.action_slots import ActionSlots
from controller.reconcile.lease import WriterLease
from controller.reconcile.work_queue import WorkQueue
from controller.settings import read_settings
from tests.contract.conftest import wait_until
from tests.fakes.kube import FakeKube
from tests.fakes.world import FakeClock, FakeRandomness
from tests.reconcile.test_action_slots import hold

DEADLINE = 10.0
KEY: Key = ("bundle", "openstack", "compute")


class _Process:
    """One container as it runs, but for its watches, and for signals, which `tell` sends."""

    def __init__(self) -> None:
        self.clock = FakeClock()
        self.kube = FakeKube(clock=self.clock)
        self.queue: WorkQueue[Key] = WorkQueue(self.clock, FakeRandomness())
        self.slots = ActionSlots(2)
        self.go, self.looking = threading.Event(), threading.Event()
        self.handlers: dict[int, Callable[..., Any]] = {}
        self.codes: list[int] = []
        self._thread = threading.Thread(target=self._run, daemon=True)
        self.seconds = DEADLINE

    def start(self, *, seconds: float = DEADLINE) -> None:
        self.seconds = seconds
        self._thread.start()
        wait_until(lambda: self.holder() == "pod-a", "the Lease is held", DEADLINE)

    def _run(self) -> None:
        container = Container(
            "helmbundle", (), {"bundle": self._look}, self.queue, workers=1, background=(self.slots,)
        )
        code = operator.run_container(
            container,
            settings=read_settings({"STOP_WITHIN_SECONDS": str(self.seconds)}),
            connection=cast(Connection, None),
            lease=self.lease("pod-a"),
            measures=PrometheusMetrics("helmbundle"),
            clock=self.clock,
        )
        self.codes.append(code)

    def _look(self, *_: str) -> float | None:
        self.looking.set()
        self.go.wait(DEADLINE)
        # What a look would begin while the container is already told to stop.
        hold(self.slots, "compute", "placement", self.go)
        return None

    def lease(self, pod: str) -> WriterLease:
        return WriterLease(self.kube, self.clock, name="osctl-helmbundle", namespace="openstack", holder=pod)

    def holder(self) -> str:
        lease = self.kube.get(LEASE, "osctl-helmbundle", "openstack") or {"spec": {}}
        return str(lease["spec"].get("holderIdentity", "nobody"))

    def renewed(self) -> str:
        return str((self.kube.get(LEASE, "osctl-helmbundle", "openstack") or {})["spec"]["renewTime"])

    def tell(self, number: int = signal.SIGTERM) -> None:
        self.handlers[number](number, None)

    def ends_with(self) -> int:
        self._thread.join(DEADLINE)
        assert self.codes, "it does not end"
        return self.codes[0]


@pytest.fixture
def process(monkeypatch: pytest.MonkeyPatch) -> Iterator[_Process]:
    made, over = _Process(), threading.Event()
    monkeypatch.setattr(operator, "run_watches", lambda *_, **__: over.wait(DEADLINE))
    monkeypatch.setattr(signal, "signal", made.handlers.__setitem__)
    monkeypatch.setattr(operator, "TOLD_EVERY", 0.01)
    monkeypatch.setattr(operator, "RENEW_EVERY", 0.01)
    yield made
    made.go.set()
    made.queue.close()
    over.set()


def test_a_container_without_work_gives_its_lease_back_at_once(process: _Process) -> None:
    process.start()
    process.tell()
    assert process.ends_with() == 0
    assert process.holder() == ""


def test_a_helm_action_comes_to_its_end_under_a_lease_that_is_renewed(process: _Process) -> None:
    process.start()
    assert hold(process.slots, "compute", "nova", process.go)
    process.tell()
    for _ in range(2):
        before = process.renewed()
        process.clock.advance(1)
        wait_until(lambda before=before: process.renewed() != before, "it is renewed", DEADLINE)
    assert process.holder() == "pod-a"
    process.go.set()
    assert process.ends_with() == 0
    assert process.holder() == ""


def test_work_that_does_not_end_in_time_leaves_the_lease_to_end_by_itself(process: _Process) -> None:
    process.start(seconds=0.05)
    assert hold(process.slots, "compute", "nova", process.go)
    process.tell()
    assert process.ends_with() == 0
    assert process.holder() == "pod-a"
    assert not process.lease("pod-b").try_take()


def test_a_look_under_way_comes_to_its_end_and_begins_no_action(
    process: _Process, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    process.start()
    process.queue.add(KEY)
    assert process.looking.wait(DEADLINE)
    process.tell()
    waiting = "waiting 10 s at most for what is under way: a look at bundle openstack/compute"
    wait_until(lambda: waiting in caplog.text, "it tells what it waits for", DEADLINE)
    process.go.set()
    assert process.ends_with() == 0
    assert process.slots.busy() == {}
    assert process.holder() == ""


def test_a_second_signal_ends_the_wait(process: _Process) -> None:
    process.start()
    assert hold(process.slots, "compute", "nova", process.go)
    process.tell(signal.SIGINT)
    process.tell(signal.SIGINT)
    assert process.ends_with() == 0
    assert process.holder() == "pod-a"


def test_the_end_of_the_watches_waits_for_nothing(process: _Process, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(operator, "run_watches", lambda *_, **__: None)
    assert hold(process.slots, "compute", "nova", process.go)
    process._thread.start()
    assert process.ends_with() == WATCHES_ENDED
