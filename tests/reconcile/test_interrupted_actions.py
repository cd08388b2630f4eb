"""Actions that fail for the API server's sake: tried again soon, however often, and whoever asks."""

from __future__ import annotations

import pytest

from tests.fakes.helm import Hook
from tests.reconcile.bundles import NAMESPACE, Bench

LOST = 'Patch "https://api/apis/batch/v1/namespaces/openstack/jobs/db-sync": EOF'


def pause(bench: Bench) -> float:
    """Seconds until the next look, when the last action has failed."""
    again = bench.reconciler.reconcile((NAMESPACE, "pages"))
    assert again is not None
    return again


def failed(bench: Bench, times: int) -> None:
    for _ in range(times):
        bench.settle()
        bench.clock.advance(301)
    bench.settle()


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


def test_what_the_release_fails_at_is_tried_ever_more_seldom() -> None:
    bench = Bench()
    bench.bundle("pages", "web")
    bench.helm.fails["web"] = "no such image"
    failed(bench, 9)
    assert pause(bench) > 60


def test_a_hook_that_goes_on_well_is_not_blamed_for_a_lost_request() -> None:
    bench = Bench()
    bench.helm.hooks_of["web"] = [Hook("db-sync")]
    bench.bundle("pages", "web")
    bench.look()
    bench.wait(lambda: bench.hook_runs("db-sync"), "the hook runs")
    bench.helm.finish("db-sync", "Lost")
    bench.settle()
    attempt = bench.release("pages", "web")["lastAttempt"]
    assert "EOF" in attempt["error"]
    assert attempt["interrupted"] is True
