"""Whose turn it is, and what suspends or overtakes an action: slots, suspension, urgent requests."""

from __future__ import annotations

import pytest

from controller.domain.api.names import (
    FORCE_ANNOTATION,
    ROLLBACK_RELEASE_PREFIX,
    SUSPEND_ANNOTATION,
)
from controller.ports.kubernetes import POD
from controller.reconcile.releases.hooks.progress import LASTS_AFTER
from tests.fakes.helm import Hook
from tests.reconcile.bundles import NAMESPACE, Bench


@pytest.fixture
def bench() -> Bench:
    return Bench()


def test_one_slot_is_enough_where_a_hook_waits_for_the_next_release() -> None:
    """As upstream's hooks do, through their init containers, without any dependsOn."""
    bench = Bench(size=1)
    bench.helm.hooks_of["keystone"] = [Hook("keystone-db-sync")]
    bench.bundle("identity", "keystone", "mariadb")
    bench.reconcile()
    bench.wait(lambda: bench.hook_runs("keystone-db-sync"), "the hook runs")
    bench.until(lambda: bench.release("identity", "mariadb").get("state") == "Deployed", "mariadb is there")
    assert bench.release("identity", "keystone")["state"] == "Installing"
    bench.helm.finish("keystone-db-sync")
    bench.settle()
    assert bench.release("identity", "keystone")["state"] == "Deployed"


def test_one_slot_is_enough_where_a_hook_that_is_a_pod_waits_for_the_next_release() -> None:
    bench = Bench(size=1)
    bench.helm.hooks_of["keystone"] = [Hook("keystone-check", kind="Pod")]
    bench.bundle("identity", "keystone", "mariadb")
    bench.reconcile()
    bench.wait(lambda: bench.kube.get(POD, "keystone-check", NAMESPACE), "the pod is there")
    bench.clock.advance(LASTS_AFTER)
    bench.until(lambda: bench.release("identity", "mariadb").get("state") == "Deployed", "mariadb is there")
    entry = bench.release("identity", "keystone")
    assert (entry["state"], entry["message"]) == ("Installing", "waits for its hook, Pod keystone-check")
    bench.helm.finish("keystone-check")
    bench.settle()
    assert bench.release("identity", "keystone")["state"] == "Deployed"


def test_an_action_that_has_begun_is_looked_at_again_soon(bench: Bench) -> None:
    """No event tells of pods."""
    bench.helm.hooks_of["nova"] = [Hook("nova-check", kind="Pod")]
    bench.bundle("compute", "nova")
    assert bench.reconciler.reconcile((NAMESPACE, "compute")) == LASTS_AFTER
    bench.helm.finish("nova-check")
    bench.settle()


@pytest.mark.slow
def test_however_many_wait_what_they_wait_for_has_its_turn() -> None:
    bench = Bench(size=2, waiters=3)
    names = [f"r{number}" for number in range(9)]
    for name in names:
        bench.helm.hooks_of[name] = [Hook(f"{name}-hook")]
    bench.bundle("many", *names)
    bench.bundle("z", "mariadb")

    def deployed() -> bool:
        for name in names:
            bench.hook_runs(f"{name}-hook")
        return bench.release("z", "mariadb").get("state") == "Deployed"

    bench.until(deployed, "mariadb is there")
    for name in names:
        bench.helm.finish(f"{name}-hook")
    bench.settle()


def test_a_place_given_back_has_those_looked_at_that_were_refused() -> None:
    bench = Bench(size=1)
    bench.helm.hooks_of["keystone"] = [Hook("keystone-db-sync")]
    bench.bundle("a", "keystone")
    bench.bundle("b", "mariadb")
    bench.reconcile("a")
    bench.reconcile("b")
    assert bench.release("b", "mariadb")["reason"] == "WaitingForSlot"
    bench.wait(lambda: bench.hook_runs("keystone-db-sync"), "the hook runs")
    bench.asked.clear()
    bench.reconcile("a")
    assert (NAMESPACE, "b") in bench.asked
    bench.helm.finish("keystone-db-sync")
    bench.settle()


@pytest.mark.parametrize("how", ["release", "mode", "annotation"])
def test_what_is_suspended_ends_what_it_does_and_takes_no_edit_until_it_is_resumed(
    bench: Bench, how: str
) -> None:
    nova: dict[str, object] = {"name": "nova", "values": {"a": 1}}
    bench.helm.hooks_of["nova"] = [Hook("nova-db-sync")]
    bench.bundle("compute", nova)
    bench.reconcile()
    bench.wait(lambda: bench.hook_runs("nova-db-sync"), "the hook runs")
    edited = {**nova, "values": {"a": 2}}
    if how == "release":
        bench.bundle("compute", {**edited, "suspend": True})
    elif how == "mode":
        bench.bundle("compute", edited, mode="Paused")
    else:
        bench.bundle("compute", edited)
        bench.annotate("compute", {SUSPEND_ANNOTATION: "true"})
    bench.reconcile()
    bench.reconcile()
    [running] = bench.slots.busy().values()
    assert not running.cancellation.cancelled
    bench.helm.finish("nova-db-sync")
    bench.settle()
    assert bench.helm.values("nova") == {"a": 1}
    assert bench.release("compute", "nova")["state"] == "Suspended"
    paused = bench.condition("compute", "Paused")
    assert paused["status"] == ("False" if how == "release" else "True")
    assert ("nova" if how == "release" else "nothing is changed") in paused["message"]
    bench.helm.hooks_of["nova"] = []
    bench.bundle("compute", edited)
    bench.annotate("compute", {SUSPEND_ANNOTATION: None})
    bench.settle()
    assert bench.helm.values("nova") == {"a": 2}
    assert bench.condition("compute", "Paused")["status"] == "False"


@pytest.mark.parametrize("mode", ["Apply", "Paused"])
def test_a_bundle_that_cannot_be_read_says_whether_it_is_paused(bench: Bench, mode: str) -> None:
    bench.bundle("compute", {"name": "nova", "timeout": "soon"}, mode=mode)
    assert bench.condition("compute", "Paused")["status"] == "Unknown"
    bench.reconcile()
    assert bench.condition("compute", "Ready")["reason"] == "SpecInvalid"
    assert bench.condition("compute", "Paused")["status"] == ("True" if mode == "Paused" else "False")
    bench.kube.forget_requests()
    bench.reconcile()
    assert bench.kube.writes == []


def test_a_forced_upgrade_ends_one_that_hangs(bench: Bench) -> None:
    bench.bundle("compute", "nova")
    bench.settle()
    bench.helm.hooks_of["nova"] = [Hook("nova-db-sync")]
    bench.annotate("compute", {FORCE_ANNOTATION: "one"})
    bench.reconcile()
    bench.wait(lambda: bench.hook_runs("nova-db-sync"), "the hook runs")
    bench.helm.hooks_of["nova"] = []
    bench.annotate("compute", {FORCE_ANNOTATION: "two"})
    bench.settle()
    assert bench.helm.calls == [("Install", "nova"), ("Upgrade", "nova"), ("Upgrade", "nova")]


def test_a_rollback_asked_for_ends_an_upgrade_that_hangs(bench: Bench) -> None:
    bench.bundle("compute", {"name": "nova", "values": {"a": 1}})
    bench.settle()
    bench.helm.hooks_of["nova"] = [Hook("nova-db-sync", events="post-upgrade")]
    bench.bundle("compute", {"name": "nova", "values": {"a": 2}})
    bench.reconcile()
    bench.wait(lambda: bench.hook_runs("nova-db-sync"), "the hook runs")
    bench.annotate("compute", {f"{ROLLBACK_RELEASE_PREFIX}/nova": "1"})
    bench.settle()
    assert bench.helm.values("nova") == {"a": 1}
    assert bench.release("compute", "nova")["reason"] == "RolledBack"


class TestToldToStop:
    """A pass that is under way, or the last one after an action has ended: it begins nothing."""

    @pytest.fixture
    def stopped(self) -> Bench:
        bench = Bench()
        bench.bundle("pages", {"name": "web", "values": {"a": 1}})
        bench.settle()
        bench.helm.calls.clear()
        bench.slots.close()
        return bench

    def test_says_nothing_of_an_edit_that_it_does_not_take_up(self, stopped: Bench) -> None:
        before = stopped.status("pages")
        stopped.bundle("pages", {"name": "web", "values": {"a": 2}})
        stopped.reconcile()
        assert stopped.status("pages") == before
        assert stopped.helm.calls == []

    def test_says_nothing_of_a_bundle_that_nothing_was_said_of(self, stopped: Bench) -> None:
        stopped.bundle("new", "mariadb")
        stopped.reconcile()
        assert "releases" not in stopped.status("new")

    def test_leaves_the_edit_to_the_next_run(self, stopped: Bench) -> None:
        stopped.bundle("pages", {"name": "web", "values": {"a": 2}}, "more")
        stopped.reconcile()
        stopped.restart()
        stopped.settle()
        assert stopped.helm.calls == [("Upgrade", "web"), ("Install", "more")]
        assert stopped.condition("pages", "Ready")["status"] == "True"

    def test_says_how_one_release_ended_beside_another_that_is_put_off(self) -> None:
        bench = Bench()
        bench.helm.hooks_of["db"] = [Hook("db-sync")]
        bench.bundle("pages", "db", {"name": "web", "dependsOn": ["db"]})
        bench.reconcile()
        bench.wait(lambda: bench.hook_runs("db-sync"), "the hook runs")
        waits = bench.release("pages", "web")
        bench.slots.close()
        bench.helm.finish("db-sync")
        bench.wait(lambda: not bench.slots.under_way(), "it has ended")
        bench.reconcile()
        assert bench.release("pages", "db")["state"] == "Deployed"
        assert bench.release("pages", "web") == waits
        assert bench.condition("pages", "Ready")["status"] == "False"
