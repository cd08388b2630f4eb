"""The steps before Helm is called, and their order: nothing is written before every refusal has passed."""

from __future__ import annotations

from typing import Any

import pytest

from controller.reconcile.releases.actions import preparation
from controller.reconcile.releases.actions.preparation import BEFORE_CALL, BEFORE_ROLLBACK, Step
from tests.reconcile.bundles import Bench
from tests.reconcile.releases.test_immutable_objects import VolumeHelm, mariadb

REFUSED_FIRST = ["refuse_objects_of_others", "refuse_changes_of_fixed_fields", "refuse_lost_claims"]
MADE_WAY = [
    "take_over_free_objects",
    "leave_lost_objects_to_others",
    "replace_jobs_that_cannot_change",
    "delete_runs_of_hooks",
    "keep_volumes",
    "insist_on_what_was_seen",
]


def names(steps: tuple[Step, ...]) -> list[str]:
    return [step.__name__ for step in steps]


def test_the_steps_come_in_this_order() -> None:
    jobs = ["narrow_to_awaited_jobs", "delete_runs_of_awaited_jobs"]
    assert names(BEFORE_CALL) == [*REFUSED_FIRST, *jobs, *MADE_WAY]
    assert names(BEFORE_ROLLBACK) == [*REFUSED_FIRST, *MADE_WAY]


@pytest.fixture
def bench() -> Bench:
    made = Bench()
    made.helm = VolumeHelm(made.kube, made.clock)
    made.restart()
    made.bundle("database", mariadb())
    made.settle()
    return made


def test_an_upgrade_takes_the_steps_in_their_order(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    taken: list[str] = []

    def noted(step: Step) -> Any:
        def take(found: preparation.Preparation) -> None:
            taken.append(step.__name__)
            step(found)

        return take

    monkeypatch.setattr(preparation, "BEFORE_CALL", tuple(map(noted, BEFORE_CALL)))
    bench.bundle("database", mariadb(replicas=3))
    bench.settle()
    assert taken == names(BEFORE_CALL)
    assert bench.helm.calls[-1] == ("Upgrade", "mariadb")


def test_what_is_refused_has_changed_nothing(bench: Bench) -> None:
    bench.bundle("database", mariadb(size="50Gi"))
    bench.kube.forget_requests()
    bench.settle()
    assert bench.helm.calls == [("Install", "mariadb")]
    assert {one.kind for one in bench.kube.writes} <= {"HelmBundle", "Event"}
