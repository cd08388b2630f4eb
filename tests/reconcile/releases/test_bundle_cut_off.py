"""Releases that another's Helm works on, or that a dead writer left: which are touched, and when."""

from __future__ import annotations

from typing import Any

import pytest

from controller.domain.api.names import ROLLBACK_RELEASE_PREFIX
from controller.ports.kubernetes import HELMBUNDLE, SECRET
from tests.fakes.helm import Hook
from tests.reconcile.bundles import NAMESPACE, Bench

KEYS = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "keys", "namespace": NAMESPACE}}


@pytest.fixture
def bench() -> Bench:
    """One release with a Secret in its values, deployed in two revisions."""
    bench = Bench()
    bench.kube.create({**KEYS, "stringData": {"p": "planted-secret-word"}})
    for number in (1, 2):
        apply(bench, number)
        bench.settle()
    bench.helm.calls.clear()
    return bench


def apply(bench: Bench, number: int = 2, **more: Any) -> None:
    values = {"a": number, "password": {"$secretRef": {"name": "keys", "key": "p"}}}
    bench.bundle("pages", {"name": "web", "values": values, **more})


def begun_by_hand(bench: Bench, status: str) -> None:
    """As a person's own helm leaves the record while it is at work: the labels are of the revision before."""
    last = bench.helm.observe(NAMESPACE)["web"][-1]
    if status == "uninstalling":
        bench.helm.set_status("web", status)
    else:
        bench.helm.record("web", last.version + 1, status, **bench.helm.labels("web"))


@pytest.mark.parametrize("status", ["pending-upgrade", "pending-rollback", "uninstalling"])
@pytest.mark.parametrize("wanted", ["as before", "not any more", "bundle is deleted"])
def test_anothers_helm_at_work_is_left_alone(bench: Bench, status: str, wanted: str) -> None:
    begun_by_hand(bench, status)
    if wanted == "not any more":
        bench.bundle("pages", "other")
        bench.helm.fails["other"] = "not looked at here"
    elif wanted == "bundle is deleted":
        bench.kube.delete(HELMBUNDLE, "pages", NAMESPACE)
    bench.settle()
    assert bench.release("pages", "web")["reason"] == "BusyElsewhere"
    assert ("Uninstall", "web") not in bench.helm.calls
    assert bench.helm.status("web") == status


@pytest.mark.parametrize("ahead", [7200.0, -7200.0])
def test_how_long_it_is_left_alone_depends_on_no_clock_of_theirs(bench: Bench, ahead: float) -> None:
    begun_by_hand(bench, "pending-upgrade")
    bench.helm.stamp("web", bench.clock.now() + ahead)
    bench.settle()
    bench.clock.advance(1790)
    bench.settle()
    assert bench.release("pages", "web")["reason"] == "BusyElsewhere"
    bench.clock.advance(20)
    bench.settle()
    assert bench.release("pages", "web")["reason"] == "InSync"


def test_it_is_left_alone_as_long_as_it_writes_its_record(bench: Bench) -> None:
    begun_by_hand(bench, "pending-upgrade")
    for number in range(4):
        bench.helm.stamp("web", float(number))
        bench.settle()
        bench.clock.advance(1000)
        bench.settle()
    assert bench.release("pages", "web")["reason"] == "BusyElsewhere"


def test_our_own_removal_goes_on_after_a_kill(bench: Bench) -> None:
    bench.helm.mark_uninstalling("web", NAMESPACE, 2)
    bench.restart()
    bench.bundle("pages")
    bench.settle()
    assert bench.helm.calls == [("Uninstall", "web")]


def test_a_release_of_a_dead_writer_is_unlocked_though_its_secret_is_missing(bench: Bench) -> None:
    labels = {**bench.helm.labels("web"), "osctl.dev/revision": "3"}
    bench.helm.record("web", 3, "pending-upgrade", **labels)
    bench.kube.delete(SECRET, "keys", NAMESPACE)
    bench.restart()
    bench.settle()
    assert bench.helm.status("web") == "failed"
    assert bench.release("pages", "web")["reason"] == "SecretMissing"
    assert bench.release("pages", "web")["lastAttempt"]["failures"] == 1
    assert any(text.startswith("Unlocked") for _, text in bench.events.emitted)
    bench.kube.create({**KEYS, "stringData": {"p": "planted-secret-word"}})
    bench.settle()
    assert bench.helm.calls == [("Upgrade", "web")]


def test_an_operator_gets_a_rollback_though_a_secret_is_missing_and_keeps_it(bench: Bench) -> None:
    bench.kube.delete(SECRET, "keys", NAMESPACE)
    bench.annotate("pages", {f"{ROLLBACK_RELEASE_PREFIX}/web": "1 now"})
    bench.settle()
    assert bench.release("pages", "web")["reason"] == "RolledBack"
    bench.kube.create({**KEYS, "stringData": {"p": "planted-secret-word"}})
    bench.settle()
    assert bench.release("pages", "web")["reason"] == "RolledBack"
    assert bench.helm.calls == [("Rollback", "web")]
    bench.annotate("pages", {f"{ROLLBACK_RELEASE_PREFIX}/web": None})
    bench.settle()
    assert bench.release("pages", "web")["reason"] == "InSync"
    assert bench.helm.values("web")["a"] == 2


def test_a_rollback_goes_on_when_the_missing_secret_is_there_again(bench: Bench) -> None:
    bench.helm.hooks_of["web"] = [Hook("web-back", events="post-rollback")]
    bench.kube.delete(SECRET, "keys", NAMESPACE)
    bench.annotate("pages", {f"{ROLLBACK_RELEASE_PREFIX}/web": "1 now"})
    bench.reconcile()
    bench.wait(lambda: bench.hook_runs("web-back"), "the hook runs")
    bench.kube.create({**KEYS, "stringData": {"p": "planted-secret-word"}})
    bench.reconcile()
    [running] = bench.slots.busy().values()
    assert not running.cancellation.cancelled
    bench.helm.finish("web-back")
    bench.settle()
    assert bench.helm.calls == [("Rollback", "web")]


def test_what_is_half_removed_goes_whole_though_a_secret_is_missing(bench: Bench) -> None:
    bench.helm.mark_uninstalling("web", NAMESPACE, 2)
    bench.kube.delete(SECRET, "keys", NAMESPACE)
    bench.restart()
    bench.settle()
    assert bench.helm.calls == [("Uninstall", "web")]
    assert bench.release("pages", "web")["reason"] == "SecretMissing"


def test_a_release_whose_upgrade_ends_the_container_again_backs_off(bench: Bench) -> None:
    """The first time it goes on at once: another had restarted it."""
    bundle = bench.kube.get(HELMBUNDLE, "pages", NAMESPACE)
    assert bundle is not None
    attempt = bundle["status"]["releases"][0]["lastAttempt"]
    attempt |= {"action": "Unlock", "failures": 1}
    bench.kube.replace(bundle, subresource="status")
    labels = {**bench.helm.labels("web"), "osctl.dev/revision": "3"}
    bench.helm.record("web", 3, "pending-upgrade", **labels)
    bench.restart()
    bench.settle()
    assert bench.helm.status("web") == "failed"
    entry = bench.release("pages", "web")
    assert entry["reason"] == "BackingOff"
    assert (entry["lastAttempt"]["action"], entry["lastAttempt"]["failures"]) == ("Unlock", 2)
    assert bench.helm.calls == []
    bench.clock.advance(10)
    bench.settle()
    entry = bench.release("pages", "web")
    assert (entry["reason"], entry["lastAttempt"]["failures"]) == ("InSync", 0)
    assert bench.helm.calls == [("Upgrade", "web")]


def cut_off(bench: Bench) -> None:
    """The container is killed in the middle of an upgrade, and the next one is as it should be again."""
    labels = bench.helm.labels("web")
    version = bench.helm.observe(NAMESPACE)["web"][-1].version + 1
    bench.helm.record("web", version, "pending-upgrade", **{**labels, "osctl.dev/revision": str(version)})
    bench.restart()
    bench.settle()


def test_how_often_a_release_was_unlocked_outlives_the_container(bench: Bench) -> None:
    assert "unlocks" not in bench.release("pages", "web")
    for times in (1, 2, 3):
        cut_off(bench)
        bench.clock.advance(600)
        bench.settle()
        entry = bench.release("pages", "web")
        assert (entry["reason"], entry["unlocks"]) == ("InSync", times)
    # What is done to it afterwards neither adds to the count nor takes from it.
    apply(bench, 3)
    bench.settle()
    assert bench.release("pages", "web")["unlocks"] == 3


def test_a_release_installed_again_begins_with_no_unlocks(bench: Bench) -> None:
    cut_off(bench)
    assert bench.release("pages", "web")["unlocks"] == 1
    bench.bundle("pages")
    bench.settle()
    apply(bench)
    bench.settle()
    assert "unlocks" not in bench.release("pages", "web")
