"""The keeper of a Lease: it renews while the work lives, and ends what would outlive the Lease."""

from __future__ import annotations

import pytest

from controller.domain.api.names import WORK_AGE_ANNOTATION
from controller.errors import ApiUnavailable
from controller.ports.kubernetes import LEASE
from controller.reconcile.shared.leases.board import BOARD_SIZE, LeaseBoard
from controller.reconcile.shared.leases.keeping import LEASE_LOST, STOOD_STILL, TAKE_EVERY, LeaseKeeping
from controller.reconcile.shared.leases.lease import RETRY_EVERY, LeaseTimes, WriterLease
from tests.fakes.kube import FakeKube, Request
from tests.fakes.world import FakeClock

TIMES = LeaseTimes()


class Kept:
    """A Lease with its keeper; `pass_time` goes on as the keeper's process does, and the work's beats."""

    def __init__(self, times: LeaseTimes = TIMES) -> None:
        self.clock = FakeClock()
        self.kube = FakeKube(clock=self.clock)
        self.times = times
        self.board = LeaseBoard(memoryview(bytearray(BOARD_SIZE)), times, self.clock.monotonic)
        self.lease = self.of("pod-a")
        self.keeping = LeaseKeeping(self.lease, self.board, self.clock, "core")
        self.beats = True

    def of(self, pod: str) -> WriterLease:
        return WriterLease(
            self.kube, self.clock, name="osctl-core", namespace="openstack", holder=pod, times=self.times
        )

    def step(self) -> float:
        if self.beats:
            self.board.beat(0.0)
        return self.keeping.step()

    def pass_time(self, seconds: float) -> None:
        until = self.clock.monotonic() + seconds
        while self.clock.monotonic() < until and self.keeping.overdue() is None:
            self.clock.advance(self.step())

    def fail(self, error: Exception) -> None:
        def fails(_: Request) -> None:
            raise error

        self.kube.before_write = fails


@pytest.fixture
def kept() -> Kept:
    made = Kept()
    assert made.step() == TIMES.renew_every
    return made


def test_a_pod_that_is_kept_out_stands_by_until_it_has_the_lease_itself(kept: Kept) -> None:
    waiting = LeaseBoard(memoryview(bytearray(BOARD_SIZE)), TIMES, kept.clock.monotonic)
    second = LeaseKeeping(kept.of("pod-b"), waiting, kept.clock, "core")
    assert not waiting.stands_by()
    second.step()
    assert waiting.stands_by()
    kept.lease.release()
    second.step()
    assert waiting.held() and not waiting.stands_by()


def test_a_pod_that_the_api_server_does_not_answer_does_not_stand_by(kept: Kept) -> None:
    waiting = LeaseBoard(memoryview(bytearray(BOARD_SIZE)), TIMES, kept.clock.monotonic)
    second = LeaseKeeping(kept.of("pod-b"), waiting, kept.clock, "core")
    kept.lease.release()
    kept.fail(ApiUnavailable("no answer"))
    second.step()
    assert not waiting.held() and not waiting.stands_by()


def test_it_renews_for_as_long_as_the_work_lives(kept: Kept) -> None:
    kept.pass_time(300)
    assert kept.keeping.overdue() is None and not kept.board.lost()
    assert kept.board.age() <= TIMES.renew_every


@pytest.mark.parametrize("duration", [15, 60])
def test_work_that_stands_still_is_ended_and_not_before(duration: int) -> None:
    kept = Kept(LeaseTimes(duration))
    kept.step()
    kept.beats = False
    kept.pass_time(4 * duration - 1)
    assert kept.keeping.overdue() is None
    assert not kept.board.lost()
    kept.pass_time(duration)
    found = kept.keeping.overdue()
    assert found is not None and found.code == STOOD_STILL
    assert "no sign of life from the work" in found.why


def test_work_that_does_not_see_the_end_of_its_lease_is_ended_before_another_pod_may_begin(
    kept: Kept,
) -> None:
    other = kept.of("pod-b")
    assert not other.try_take()
    kept.fail(ApiUnavailable("no answer"))
    lost_at = ended_at = 0.0
    while not ended_at:
        kept.clock.advance(0.25)
        kept.step()
        lost_at = lost_at or (kept.clock.monotonic() if kept.board.lost() else 0.0)
        ended_at = kept.clock.monotonic() if kept.keeping.overdue() else 0.0
        assert not other.try_take()
    assert TIMES.give_up_after < lost_at < ended_at < TIMES.duration
    found = kept.keeping.overdue()
    assert found is not None and found.code == LEASE_LOST
    assert "7.5 s late" in found.why or "7.7 s late" in found.why or "7.8 s late" in found.why
    assert "no answer" in found.why


def test_a_lease_that_another_pod_has_ends_the_work_at_once(kept: Kept) -> None:
    live = kept.kube.get(LEASE, "osctl-core", "openstack")
    assert live is not None
    kept.kube.replace({**live, "spec": {**live["spec"], "holderIdentity": "pod-b"}})
    kept.step()
    found = kept.keeping.overdue()
    assert kept.board.lost() and found is not None
    assert (found.code, "pod-b holds it" in found.why) == (LEASE_LOST, True)


def test_a_renewal_that_fails_is_tried_again_soon(kept: Kept) -> None:
    kept.fail(ApiUnavailable("no answer"))
    assert kept.step() == RETRY_EVERY


def test_another_pods_lease_is_waited_for() -> None:
    kept = Kept()
    assert kept.of("pod-b").try_take()
    assert kept.step() == TAKE_EVERY
    assert not kept.board.held() and not kept.board.lost() and kept.keeping.overdue() is None


def test_a_late_renewal_is_reported_with_its_cause(kept: Kept, caplog: pytest.LogCaptureFixture) -> None:
    kept.clock.advance(TIMES.renew_every + 3.0)
    kept.step()
    assert "the Lease was renewed 3.0 s late, 2.0 s before its loss" in caplog.text
    assert "this process got no CPU time for 3.0 s" in caplog.text
    caplog.clear()
    kept.clock.advance(TIMES.renew_every)
    kept.step()
    assert caplog.text == ""


def test_a_late_renewal_after_a_failed_one_names_what_the_api_server_said(
    kept: Kept, caplog: pytest.LogCaptureFixture
) -> None:
    kept.clock.advance(TIMES.renew_every)
    kept.fail(ApiUnavailable("503 after a while"))
    for _ in range(6):
        kept.clock.advance(kept.step())
    kept.kube.before_write = lambda _: None
    kept.step()
    assert "the API server: 503 after a while" in caplog.text


def test_work_that_takes_long_is_reported_on_the_lease(kept: Kept) -> None:
    kept.board.beat(130.0)
    kept.keeping.step()
    live = kept.kube.get(LEASE, "osctl-core", "openstack")
    assert live is not None
    assert live["metadata"]["annotations"] == {WORK_AGE_ANNOTATION: "130"}
