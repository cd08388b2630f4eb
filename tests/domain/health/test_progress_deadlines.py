"""What waits for the cluster's own controllers is on its way for a while, and no longer."""

from __future__ import annotations

from typing import Any

from controller.domain.api.conditions import timestamp
from controller.domain.health.progress_deadlines import UNSEEN_AFTER, ProgressDeadlines
from controller.domain.health.region_health import ComponentHealth
from controller.domain.health.workload_health import PROGRESS_DEADLINE, Health, WorkloadHealth

KEY = ("nova", "compute")
STARTS = WorkloadHealth(Health.PROGRESSING, 1, 3, "pod a starts")
UNSEEN = WorkloadHealth(Health.PROGRESSING, 1, 3, "not taken up", unseen=True)
EPOCH = 1_780_000_000.0
LACKING = WorkloadHealth(
    Health.PROGRESSING, 0, 3, "3 pods do not exist", lacking=("DaemonSet", "nova-compute")
)


class Observations:
    """One component, looked at as a process would that has just begun. `said` is what its status says."""

    def __init__(self, said: str = "", **more: str) -> None:
        self._patience = ProgressDeadlines()
        self._before: dict[str, Any] = {"nova": {"compute": {"status": said, **more}}} if said else {}

    def __call__(self, verdict: WorkloadHealth, now: float, generation: int = 1) -> str:
        judged = {KEY: ComponentHealth(verdict, generation)}
        return self._patience.judged(judged, self._before, now, EPOCH + now)[KEY].verdict.health


def test_a_spec_that_its_controller_ignores_for_a_minute_is_unknown() -> None:
    observe = Observations()
    assert observe(UNSEEN, 1000.0) == Health.PROGRESSING
    assert observe(UNSEEN, 999.0 + UNSEEN_AFTER) == Health.PROGRESSING
    assert observe(UNSEEN, 1000.0 + UNSEEN_AFTER) == Health.UNKNOWN


def test_what_was_on_its_way_for_long_has_its_minute_for_a_new_spec() -> None:
    observe = Observations("Progressing")
    observe(STARTS, 1000.0)
    assert observe(UNSEEN, 1900.0) == Health.PROGRESSING
    assert observe(UNSEEN, 1901.0) == Health.PROGRESSING
    assert observe(UNSEEN, 1900.0 + UNSEEN_AFTER) == Health.UNKNOWN


def test_each_generation_is_waited_for_again() -> None:
    observe = Observations()
    observe(UNSEEN, 1000.0)
    assert observe(UNSEEN, 1050.0, generation=2) == Health.PROGRESSING
    assert observe(UNSEEN, 1070.0, generation=2) == Health.PROGRESSING
    assert observe(UNSEEN, 1050.0 + UNSEEN_AFTER, generation=2) == Health.UNKNOWN


def test_what_has_ended_is_not_remembered() -> None:
    observe = Observations()
    observe(UNSEEN, 1000.0)
    observe(STARTS, 1030.0)
    assert observe(UNSEEN, 1000.0 + UNSEEN_AFTER) == Health.PROGRESSING


def test_missing_pods_are_waited_for_as_long_as_a_rollout_may_take() -> None:
    observe = Observations()
    assert observe(LACKING, 1000.0) == Health.PROGRESSING
    assert observe(LACKING, 999.0 + PROGRESS_DEADLINE) == Health.PROGRESSING
    assert observe(LACKING, 1000.0 + PROGRESS_DEADLINE) == Health.UNHEALTHY


def test_a_new_process_goes_on_with_what_the_status_says() -> None:
    assert Observations("Unknown")(UNSEEN, 5.0) == Health.UNKNOWN
    assert Observations("Unhealthy")(LACKING, 5.0) == Health.UNHEALTHY
    assert Observations("Unhealthy")(UNSEEN, 5.0) == Health.PROGRESSING
    assert Observations("Progressing")(LACKING, 5.0) == Health.PROGRESSING


def test_a_restart_does_not_begin_the_wait_for_pods_again() -> None:
    observe = Observations(
        "Progressing", since=timestamp(EPOCH - 500), message='3 pods do not exist: "quota"'
    )
    assert observe(LACKING, 0.0) == Health.PROGRESSING
    assert observe(LACKING, PROGRESS_DEADLINE - 501) == Health.PROGRESSING
    assert observe(LACKING, PROGRESS_DEADLINE - 500) == Health.UNHEALTHY


def test_what_was_on_its_way_for_another_reason_has_the_whole_time() -> None:
    observe = Observations("Progressing", since=timestamp(EPOCH - 500), message="pod a starts")
    assert observe(LACKING, 0.0) == Health.PROGRESSING
    assert observe(LACKING, PROGRESS_DEADLINE - 1) == Health.PROGRESSING


def test_a_wait_that_begins_later_has_the_whole_time() -> None:
    observe = Observations("Progressing", since=timestamp(EPOCH - 500), message="3 pods do not exist")
    observe(STARTS, 0.0)
    observe(LACKING, 100.0)
    assert observe(LACKING, 99.0 + PROGRESS_DEADLINE) == Health.PROGRESSING


def test_a_failure_is_reported_whatever_is_waited_for() -> None:
    failed = WorkloadHealth(Health.UNHEALTHY, 0, 1, "Job x failed", lacking=("Job", "x"))
    assert Observations()(failed, 5.0) == Health.UNHEALTHY
