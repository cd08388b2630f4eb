"""A container that is asked to stop: what is under way comes to its end first, and its Lease says so."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from typing import cast

import pytest

from controller import operator
from controller.adapters.kubernetes.connection import Connection
from controller.adapters.kubernetes.watches import Key
from controller.adapters.system.metrics import PrometheusMetrics
from controller.errors import ApiUnavailable
from controller.operator import WATCHES_ENDED, Container
from controller.ports.kubernetes import HELMBUNDLE, LEASE
from controller.reconcile.shared.leases.lease import WriterLease
from controller.reconcile.shared.work_queue import WorkQueue
from controller.settings import read_settings
from tests.contract.conftest import wait_until
from tests.fakes.helm import Hook
from tests.fakes.lease import KeptInThread
from tests.fakes.world import FakeRandomness
from tests.reconcile.bundles import NAMESPACE, Bench
from tests.reconcile.releases.test_action_slots import hold

DEADLINE = 60.0
KEY: Key = ("bundle", "openstack", "compute")


class _Process:
    """One container as it runs, except its watches, and for signals, which `tell` sends."""

    def __init__(self) -> None:
        self.bench = Bench()
        self.clock, self.kube, self.slots = self.bench.clock, self.bench.kube, self.bench.slots
        self.queue: WorkQueue[Key] = WorkQueue(self.clock, FakeRandomness())
        self.bench.note_end = lambda key: self.queue.add(("bundle", *key), last=True)
        self.go, self.looking = threading.Event(), threading.Event()
        self.kept = KeptInThread(self.lease("pod-a"), self.clock)
        self.codes: list[int] = []
        self.stuck = False
        self._thread = threading.Thread(target=self._run, daemon=True)
        self.seconds = DEADLINE

    def start(self, *, seconds: float = DEADLINE) -> None:
        self.seconds = seconds
        self._thread.start()
        self.kept.start()
        wait_until(lambda: self.holder() == "pod-a", "the Lease is held", DEADLINE)

    def _run(self) -> None:
        container = Container(
            "helmbundle", (), {"bundle": self._reconcile}, self.queue, workers=1, background=(self.slots,)
        )
        code = operator.run_container(
            container,
            settings=read_settings({"STOP_WITHIN_SECONDS": str(self.seconds)}),
            connection=cast(Connection, None),
            lease=self.kept.board,
            measures=PrometheusMetrics("helmbundle"),
            clock=self.clock,
        )
        self.kept.finish()
        self.codes.append(code)

    def _reconcile(self, namespace: str, name: str) -> float | None:
        if self.stuck:
            raise ApiUnavailable("no answer")
        if self.kube.get(HELMBUNDLE, name, namespace):
            return self.bench.reconciler.reconcile((namespace, name))
        self.looking.set()
        self.go.wait(DEADLINE)
        # What a pass would begin while the container is already asked to stop.
        hold(self.slots, "compute", "placement", self.go)
        return None

    def lease(self, pod: str) -> WriterLease:
        return WriterLease(self.kube, self.clock, name="osctl-helmbundle", namespace="openstack", holder=pod)

    def holder(self) -> str:
        lease = self.kube.get(LEASE, "osctl-helmbundle", "openstack") or {"spec": {}}
        return str(lease["spec"].get("holderIdentity", "nobody"))

    def renewed(self) -> str:
        return str((self.kube.get(LEASE, "osctl-helmbundle", "openstack") or {})["spec"]["renewTime"])

    def tell(self) -> None:
        """As the keeper does when it gets a signal."""
        self.kept.board.stop()

    def ends_with(self) -> int:
        self._thread.join(DEADLINE)
        assert self.codes, "it does not end"
        return self.codes[0]


@pytest.fixture
def process(monkeypatch: pytest.MonkeyPatch) -> Iterator[_Process]:
    made, over = _Process(), threading.Event()
    monkeypatch.setattr(operator, "run_watches", lambda *_, **__: over.wait(DEADLINE))
    monkeypatch.setattr(operator, "STOP_CHECK_SECONDS", 0.01)
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
    what = "for running work: the reconciliation of bundle openstack/compute"
    waiting = f"waiting at most {DEADLINE:.0f} s {what}"
    wait_until(lambda: waiting in caplog.text, "it tells what it waits for", DEADLINE)
    process.go.set()
    assert process.ends_with() == 0
    assert process.slots.busy() == {}
    assert process.holder() == ""


def test_a_second_signal_ends_the_wait(process: _Process) -> None:
    process.start()
    assert hold(process.slots, "compute", "nova", process.go)
    process.tell()
    process.tell()
    assert process.ends_with() == 0
    assert process.holder() == "pod-a"


def test_the_end_of_the_watches_waits_for_nothing(process: _Process, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(operator, "run_watches", lambda *_, **__: None)
    assert hold(process.slots, "compute", "nova", process.go)
    # The work ends at once, and then finishes its keeper.
    process.kept.start()
    process._thread.start()
    assert process.ends_with() == WATCHES_ENDED


def test_how_an_action_ended_while_it_was_waited_for_is_written_down(process: _Process) -> None:
    bench = process.bench
    bench.helm.hooks_of["web"] = [Hook("web-db-sync")]
    bench.bundle("pages", "web")
    process.start()
    process.queue.add(("bundle", NAMESPACE, "pages"))
    bench.wait(lambda: bench.hook_runs("web-db-sync"), "the hook runs")
    bench.wait(lambda: bench.release("pages", "web"), "the pass is over")
    process.tell()
    wait_until(lambda: process.slots.closed, "the stop has begun", DEADLINE)
    bench.helm.finish("web-db-sync", "Failed")
    assert process.ends_with() == 0
    found = bench.release("pages", "web")
    attempt = found["lastAttempt"]
    assert (found["state"], found["reason"]) == ("Failed", "BackingOff")
    assert (attempt["action"], attempt["failures"]) == ("Install", 1)
    assert "web-db-sync" in attempt["error"]
    assert process.holder() == ""


def test_an_unlock_that_is_waited_for_is_counted_and_nothing_follows_it(process: _Process) -> None:
    """What it leads to, another upgrade, is for the next run."""
    bench = process.bench
    bench.bundle("pages", "web")
    bench.settle()
    ours = {**bench.helm.labels("web"), "osctl.dev/revision": "2"}
    bench.helm.record("web", 2, "pending-upgrade", **ours)
    marked, go = bench.helm.mark_failed, threading.Event()
    bench.helm.mark_failed = lambda *of: go.wait(DEADLINE) and marked(*of)  # type: ignore[method-assign]
    process.start()
    process.queue.add(("bundle", NAMESPACE, "pages"))
    bench.wait(lambda: bench.release("pages", "web").get("reason") == "Unlocking", "the pass is over")
    process.tell()
    wait_until(lambda: process.slots.closed, "the stop has begun", DEADLINE)
    go.set()
    assert process.ends_with() == 0
    found = bench.release("pages", "web")
    assert (found["unlocks"], found["lastAttempt"]["action"]) == (1, "Unlock")
    assert bench.helm.calls == [("Install", "web")]
    assert process.holder() == ""


@pytest.mark.slow
def test_the_end_that_is_not_written_down_in_time_leaves_the_lease_to_end_by_itself(
    process: _Process,
) -> None:
    bench = process.bench
    bench.helm.hooks_of["web"] = [Hook("web-db-sync")]
    bench.bundle("pages", "web")
    process.start(seconds=0.5)
    process.queue.add(("bundle", NAMESPACE, "pages"))
    bench.wait(lambda: bench.hook_runs("web-db-sync"), "the hook runs")
    bench.wait(lambda: bench.release("pages", "web"), "the pass is over")
    process.stuck = True
    process.tell()
    bench.helm.finish("web-db-sync")
    assert process.ends_with() == 0
    assert process.holder() == "pod-a"
