"""Actions that fail for the API server's sake: tried again soon, however often, and whoever asks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from controller.domain.api.names import RECONCILE_ANNOTATION
from controller.errors import ApiUnavailable
from controller.ports.helm import Revision
from controller.ports.kubernetes import JOB, SECRET, Resource
from controller.reconcile.releases.action_request import ActionOutcome
from controller.reconcile.releases.hooks.running_hooks import find_running_hook
from tests.fakes.helm import FAILED, Hook
from tests.fakes.kube import FakeKube
from tests.reconcile.bundles import NAMESPACE, Bench

COMPLETE = {"type": "Complete", "status": "True"}
LOST = 'Patch "https://api/apis/batch/v1/namespaces/openstack/jobs/db-sync": EOF'


def pause(bench: Bench) -> float:
    """Seconds until the next pass, when the last action has failed."""
    again = bench.reconciler.reconcile((NAMESPACE, "pages"))
    assert again is not None
    return again


def failed(bench: Bench, times: int) -> None:
    for _ in range(times):
        bench.settle()
        bench.clock.advance(301)
    bench.settle()


def away_for(kube: FakeKube, kind: Resource) -> None:
    """The API server does not answer any more when it is asked for these."""
    for verb in ("get", "list"):
        setattr(kube, verb, _refusing(getattr(kube, verb), kind))


def _refusing(ask: Callable[..., Any], kind: Resource) -> Callable[..., Any]:
    def asked(resource: Resource, *args: Any, **options: Any) -> Any:
        if resource == kind:
            raise ApiUnavailable("connection refused")
        return ask(resource, *args, **options)

    return asked


@pytest.mark.parametrize("restarted", [False, True])
def test_a_lost_request_is_forgiven_within_a_minute(restarted: bool) -> None:
    bench = Bench()
    bench.bundle("pages", "web")
    bench.helm.fails["web"] = LOST
    failed(bench, 9)
    if restarted:
        bench.restart()
    attempt = bench.release("pages", "web")["lastAttempt"]
    assert attempt["failures"] >= 9
    assert attempt["interrupted"] is True
    assert pause(bench) <= 60
    del bench.helm.fails["web"]
    failed(bench, 1)
    assert "interrupted" not in bench.release("pages", "web")["lastAttempt"]


@pytest.mark.slow
def test_the_first_failure_of_its_own_is_not_paid_for_with_the_lost_requests_before_it() -> None:
    bench = Bench()
    bench.bundle("pages", "web")
    bench.helm.fails["web"] = LOST
    failed(bench, 9)
    bench.helm.fails["web"] = "no such image"
    bench.clock.advance(301)
    bench.settle()
    assert bench.release("pages", "web")["lastAttempt"]["failures"] == 1
    assert pause(bench) <= 5


@pytest.mark.slow
def test_what_the_release_fails_at_is_tried_ever_more_seldom() -> None:
    bench = Bench()
    bench.bundle("pages", "web")
    bench.helm.fails["web"] = "no such image"
    failed(bench, 9)
    assert pause(bench) > 60


def hooked(**spec: Any) -> Bench:
    """A release whose hook's Job runs."""
    bench = Bench()
    bench.helm.hooks_of["web"] = [Hook("db-sync")]
    bench.bundle("pages", {"name": "web", **spec})
    bench.reconcile()
    bench.wait(lambda: bench.hook_runs("db-sync"), "the hook runs")
    return bench


def outcome(bench: Bench) -> ActionOutcome:
    """How the action ended that is under way."""
    bench.wait(lambda: not bench.slots.under_way(), "the action ends")
    found = bench.slots.outcome((NAMESPACE, "web"))
    assert found is not None
    return found


def test_a_hook_that_goes_on_well_is_not_blamed_for_a_lost_request() -> None:
    bench = hooked()
    bench.helm.finish("db-sync", "Lost")
    bench.settle()
    attempt = bench.release("pages", "web")["lastAttempt"]
    assert "EOF" in attempt["error"]
    assert attempt["interrupted"] is True


def job_ends(bench: Bench, condition: Mapping[str, Any]) -> None:
    """As the Job controller notes it."""
    live = bench.kube.get(JOB, "db-sync", NAMESPACE)
    assert live is not None
    status = {**live.get("status", {}), "conditions": [condition]}
    bench.kube.replace({**live, "status": status}, subresource="status")


def uid_of_the_hook(bench: Bench) -> str:
    live = bench.kube.get(JOB, "db-sync", NAMESPACE)
    return str(live["metadata"]["uid"]) if live else ""


def has_lost_sight_of_its_hook(**spec: Any) -> tuple[Bench, str]:
    """A release whose action is over while its hook's Job runs, and the uid of that Job."""
    bench = hooked(**spec)
    bench.helm.finish("db-sync", "Lost")
    bench.settle()
    return bench, uid_of_the_hook(bench)


def test_a_hook_that_goes_on_is_shown_as_it_is() -> None:
    bench, _ = has_lost_sight_of_its_hook()
    hooks = bench.release("pages", "web")["hooks"]
    assert [(one["name"], one["phase"]) for one in hooks] == [("db-sync", "Running")]


@pytest.mark.parametrize("restarted", [False, True])
def test_a_hook_that_goes_on_is_not_cut_off_by_the_next_try(restarted: bool) -> None:
    bench, uid = has_lost_sight_of_its_hook(timeout="30m")
    if restarted:
        bench.restart()
    bench.clock.advance(1700)
    bench.settle()
    assert uid_of_the_hook(bench) == uid
    assert "Job db-sync of the last attempt still runs" in bench.release("pages", "web")["message"]
    assert pause(bench) <= 5


@pytest.mark.parametrize("condition", [COMPLETE, FAILED])
def test_the_next_try_begins_once_the_hook_has_ended_that_went_on(condition: Mapping[str, Any]) -> None:
    bench, uid = has_lost_sight_of_its_hook()
    bench.clock.advance(60)
    job_ends(bench, condition)
    bench.helm.finish("db-sync")
    bench.settle()
    assert uid_of_the_hook(bench) != uid
    assert bench.release("pages", "web")["state"] == "Deployed"


def test_a_hook_that_goes_on_beyond_the_time_of_its_release_is_made_again() -> None:
    bench, uid = has_lost_sight_of_its_hook(timeout="30m")
    bench.clock.advance(1801)
    bench.helm.finish("db-sync")
    bench.settle()
    assert uid_of_the_hook(bench) != uid
    assert bench.release("pages", "web")["state"] == "Deployed"


def test_an_edit_does_not_wait_for_a_hook_that_goes_on() -> None:
    bench, uid = has_lost_sight_of_its_hook()
    bench.bundle("pages", {"name": "web", "values": {"colour": "blue"}})
    bench.helm.finish("db-sync")
    bench.settle()
    assert uid_of_the_hook(bench) != uid


def test_a_request_does_not_wait_for_a_hook_that_goes_on() -> None:
    bench, uid = has_lost_sight_of_its_hook()
    bench.annotate("pages", {RECONCILE_ANNOTATION: "now"})
    bench.helm.finish("db-sync")
    bench.settle()
    assert uid_of_the_hook(bench) != uid


def test_a_hook_made_before_the_revision_that_failed_is_not_waited_for() -> None:
    bench, _ = has_lost_sight_of_its_hook()
    made = bench.clock.now()
    key = (NAMESPACE, "web")
    assert find_running_hook(bench.kube, bench.helm, key, Revision(1, "failed", created=made), 60.0)
    later = Revision(1, "failed", created=made + 1)
    assert find_running_hook(bench.kube, bench.helm, key, later, 60.0) is None


def test_a_request_stays_lost_while_the_hook_is_unknown() -> None:
    bench = hooked()
    away_for(bench.kube, JOB)
    bench.helm.finish("db-sync", "Lost")
    ended = outcome(bench)
    assert "EOF; its hook: Job db-sync (its state cannot be read: " in ended.attempt.error
    assert [one.phase for one in ended.hooks] == ["Running"]
    assert ended.attempt.interrupted


def test_a_hook_that_was_seen_to_fail_is_to_blame_though_requests_were_lost() -> None:
    bench = hooked()
    job_ends(bench, FAILED)
    bench.helm.finish("db-sync", "Lost")
    ended = outcome(bench)
    assert ended.attempt.error.startswith("a hook failed: Job db-sync")
    assert not ended.attempt.interrupted


def test_a_request_stays_lost_while_secrets_cannot_be_read_that_its_cause_may_quote() -> None:
    bench = Bench()
    bench.helm.hooks_of["web"] = [Hook("bye", "pre-delete")]
    bench.bundle("pages", "web", "db")
    bench.settle()
    bench.bundle("pages", "db")
    bench.reconcile()
    bench.wait(lambda: bench.hook_runs("bye"), "the hook runs")
    away_for(bench.kube, SECRET)
    bench.helm.finish("bye", "Lost")
    ended = outcome(bench)
    assert "its secrets cannot be read" in ended.attempt.error
    assert ended.attempt.interrupted
