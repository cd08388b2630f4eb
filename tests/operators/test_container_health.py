"""What a container says of itself: alive, ready, and how its work goes."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable

import pytest

from controller import operator
from controller.adapters.kubernetes.watches import SILENT_AFTER, Key, SignsOfLife
from controller.adapters.system.metrics import PrometheusMetrics
from controller.domain.shared import metrics
from controller.errors import ApiUnavailable, ObjectReplaced
from controller.operator import STUCK_AFTER, Container
from controller.ports.kubernetes import HELMBUNDLE, OSDPL
from controller.reconcile.shared.leases.board import BOARD_SIZE, LeaseBoard
from controller.reconcile.shared.leases.lease import LeaseTimes
from controller.reconcile.shared.work_queue import WorkQueue
from tests.fakes.metrics import FakeMetrics
from tests.fakes.world import FakeClock, FakeRandomness

KEY: Key = ("region", "openstack", "one")
DEADLINE = 60.0


class _Running:
    """The parts of a running container that its endpoint asks."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.clock = FakeClock()
        monkeypatch.setattr(time, "monotonic", self.clock.monotonic)
        self.queue: WorkQueue[Key] = WorkQueue(self.clock, FakeRandomness())
        self.container = Container("core", (), {}, self.queue)
        self.tenure = operator._Tenure()
        self.signs = SignsOfLife((OSDPL, HELMBUNDLE), self.clock)
        self.board = LeaseBoard(memoryview(bytearray(BOARD_SIZE)), LeaseTimes(), self.clock.monotonic)
        self.measures = PrometheusMetrics("core")
        self.endpoint = operator._endpoint(self.container, self.tenure, self.signs, self.board, self.measures)

    def begin(self) -> None:
        """The Lease is held and both watches were answered."""
        self.tenure.begin()
        self.alive()

    def alive(self) -> None:
        self.signs.turned()
        for plural in self.signs.resources:
            self.signs.heard(plural)

    def ask(self, path: str) -> tuple[int, str]:
        status, body, _ = self.endpoint.answer(path, "")
        return status, body.decode().strip()


@pytest.fixture
def running(monkeypatch: pytest.MonkeyPatch) -> _Running:
    return _Running(monkeypatch)


def test_a_container_at_work_is_alive_and_ready(running: _Running) -> None:
    running.begin()
    assert running.ask("/healthz") == (200, "ok")
    assert running.ask("/readyz") == (200, "ok")


def test_a_standby_is_alive_and_not_ready(running: _Running) -> None:
    running.alive()
    assert running.ask("/healthz")[0] == 200
    assert running.ask("/readyz") == (
        503,
        "lease: another pod holds the Lease, or the API server does not answer",
    )


def test_one_of_several_pods_is_ready_while_another_one_works(running: _Running) -> None:
    running.tenure.stands_by = running.board.stands_by
    running.alive()
    assert running.ask("/readyz")[0] == 503
    running.board.kept_out()
    assert running.ask("/readyz") == (200, "ok")
    running.clock.advance(LeaseTimes().duration + 1)
    running.alive()
    assert running.ask("/readyz")[0] == 503


def test_a_standby_measures_only_itself(running: _Running) -> None:
    running.measures.set(metrics.REGION_RELEASES, 3, region="one")
    assert "osctl_region_releases{" not in running.ask("/metrics")[1]
    assert "osctl_queue_retries" in running.ask("/metrics")[1]
    running.begin()
    assert 'osctl_region_releases{region="one"} 3.0' in running.ask("/metrics")[1]


def test_without_an_answer_about_every_watch_it_is_not_ready(running: _Running) -> None:
    running.tenure.begin()
    running.signs.heard("helmbundles")
    assert running.ask("/readyz") == (503, "watches begun: no answer yet about openstackdeployments")
    assert running.ask("/healthz")[0] == 200


def test_a_dead_watch_is_no_life(running: _Running) -> None:
    running.begin()
    running.clock.advance(SILENT_AFTER + 1)
    running.signs.turned()
    running.signs.heard("helmbundles")
    assert running.ask("/healthz") == (
        503,
        "watches: no sign of life from the watches of openstackdeployments for 181 s",
    )


def test_a_standby_lives_on_while_the_api_server_is_away_and_is_ready_once_it_is_back(
    running: _Running,
) -> None:
    """A new process would hear no more, and Kubernetes lets it wait up to five minutes after each end."""
    running.clock.advance(3600)
    running.signs.turned()
    assert running.ask("/healthz") == (200, "ok")
    running.tenure.begin()
    assert running.ask("/healthz") == (200, "ok")
    running.alive()
    assert running.ask("/readyz") == (200, "ok")


def test_watches_that_are_not_heard_of_with_the_lease_are_no_life(running: _Running) -> None:
    running.clock.advance(3600)
    running.tenure.begin()
    running.clock.advance(SILENT_AFTER + 1)
    running.signs.turned()
    assert running.ask("/healthz") == (
        503,
        "watches: no sign of life from the watches of openstackdeployments for 181 s, helmbundles for 181 s",
    )


def test_a_stuck_queue_is_no_life(running: _Running) -> None:
    running.begin()
    running.queue.add(KEY)
    running.clock.advance(STUCK_AFTER + 1)
    running.alive()
    assert running.ask("/healthz") == (503, "queue: the oldest work has waited for 601 s")


def test_work_that_does_not_end_is_no_life_either(running: _Running) -> None:
    running.begin()
    running.queue.add(KEY)
    assert running.queue.take() == KEY
    running.clock.advance(STUCK_AFTER + 1)
    running.alive()
    assert running.ask("/healthz") == (503, "queue: the oldest work has waited for 601 s")


def test_a_loop_that_stands_still_is_no_life(running: _Running) -> None:
    running.begin()
    running.clock.advance(61)
    for plural in running.signs.resources:
        running.signs.heard(plural)
    assert running.ask("/healthz") == (503, "loop: the event loop stands still for 61 s")


def test_asked_to_stop_it_is_not_ready_and_alive(running: _Running) -> None:
    running.begin()
    running.board.stop()
    assert running.ask("/readyz") == (503, "stop: a stop was requested")
    assert running.ask("/healthz")[0] == 200


def metrics_of_pass(one_pass: Callable[[], float | None]) -> FakeMetrics:
    """What is measured of one pass, which `one_pass` stands for."""
    measures, done = FakeMetrics(), threading.Event()
    queue: WorkQueue[Key] = WorkQueue(FakeClock(), FakeRandomness())

    def reconcile(*_: str) -> float | None:
        try:
            return one_pass()
        finally:
            done.set()

    queue.add(KEY)
    container = Container("core", (), {"region": reconcile}, queue)
    thread = threading.Thread(target=operator._work, args=(container, measures), daemon=True)
    thread.start()
    assert done.wait(DEADLINE)
    queue.close()
    thread.join(DEADLINE)
    assert queue.unfinished() == []
    return measures


def test_a_look_is_measured() -> None:
    measures = metrics_of_pass(lambda: None)
    [(name, labels, _)] = measures.observed
    assert (name, labels) == (metrics.RECONCILE_DURATION.name, {"kind": "region", "result": "success"})
    assert measures.value(metrics.QUEUE_RETRIES, kind="region") is None


def test_what_would_end_a_worker_unseen_ends_the_container(monkeypatch: pytest.MonkeyPatch) -> None:
    codes: list[int] = []
    monkeypatch.setattr(operator, "exit_container", codes.append)
    queue: WorkQueue[Key] = WorkQueue(FakeClock(), FakeRandomness())
    queue.add(KEY)
    container = Container("core", (), {"region": lambda *_: sys.exit(3)}, queue)
    with pytest.raises(SystemExit):
        operator._work(container, FakeMetrics())
    assert codes == [operator.WORKER_ENDED]
    queue.wind_down()
    assert queue.unfinished() == []


def test_a_look_that_fails_is_measured_as_a_failure_and_a_retry() -> None:
    def fail() -> None:
        raise ApiUnavailable("no answer")

    measures = metrics_of_pass(fail)
    assert measures.observed[0][1] == {"kind": "region", "result": "error"}
    assert measures.value(metrics.QUEUE_RETRIES, kind="region") == 1


def test_what_was_replaced_during_a_look_is_no_failure(caplog: pytest.LogCaptureFixture) -> None:
    def find_replaced() -> None:
        raise ObjectReplaced("OpenStackDeployment one is another object now")

    measures = metrics_of_pass(find_replaced)
    assert measures.observed[0][1] == {"kind": "region", "result": "success"}
    assert measures.value(metrics.QUEUE_RETRIES, kind="region") is None
    assert caplog.records == []


def test_an_unexpected_error_does_not_end_the_worker(caplog: pytest.LogCaptureFixture) -> None:
    content = " ".join(("what", "a", "library", "was", "given"))

    def fail() -> None:
        raise KeyError(content)

    measures = metrics_of_pass(fail)
    assert measures.value(metrics.QUEUE_RETRIES, kind="region") == 1
    assert content not in caplog.text
    assert {vars(record)["reason"] for record in caplog.records} == {"KeyError"}
