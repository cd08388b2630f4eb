"""While an action runs: how far its hooks are, whom it keeps waiting, and what ends it."""

from __future__ import annotations

from typing import Any

import pytest

from controller.errors import Forbidden
from controller.ports.kubernetes import HELMBUNDLE, JOB, POD, SECRET, KubeObjects, Resource
from controller.reconcile.releases.hooks.progress import HookEventFilter
from controller.reconcile.shared.work_queue import WorkQueue
from tests.fakes.helm import Hook
from tests.fakes.world import FakeRandomness
from tests.reconcile.bundles import NAMESPACE, Bench

PULLING = {
    "phase": "Pending",
    "conditions": [
        {"type": "PodScheduled", "status": "True"},
        {"type": "Initialized", "status": "True"},
        {"type": "Ready", "status": "False"},
    ],
    "containerStatuses": [
        {
            "name": "main",
            "state": {"waiting": {"reason": "ImagePullBackOff", "message": "registry: not found"}},
        }
    ],
}
WAITING_FOR_OTHERS = {
    "phase": "Pending",
    "conditions": [
        {"type": "PodScheduled", "status": "True"},
        {"type": "Initialized", "status": "False"},
        {"type": "Ready", "status": "False"},
    ],
    "initContainerStatuses": [{"name": "init", "state": {"running": {"startedAt": "2023-11-14T22:13:20Z"}}}],
}
ENTRYPOINT = {
    "initContainers": [
        {"name": "init", "image": "entrypoint", "env": [{"name": "DEPENDENCY_SERVICE", "value": "x:mariadb"}]}
    ]
}
CRASHED = {
    "phase": "Failed",
    "containerStatuses": [{"name": "main", "state": {"terminated": {"exitCode": 3, "reason": "Error"}}}],
}


@pytest.fixture
def bench() -> Bench:
    return Bench()


def stuck(bench: Bench, release: str = "nova", job: str = "nova-db-sync") -> None:
    """The release's install waits for its hook."""
    bench.helm.hooks_of[release] = [Hook(job)]
    bench.bundle("compute", release)
    bench.reconcile()
    bench.wait(lambda: bench.hook_runs(job), "the hook runs")


def test_hooks_of_a_running_action_are_reported_in_their_order(bench: Bench) -> None:
    bench.helm.hooks_of["nova"] = [
        Hook("nova-bootstrap", weight=5),
        Hook("nova-db-init", weight=-5),
        Hook("nova-clean", events="pre-delete"),
    ]
    bench.bundle("compute", "nova")
    bench.reconcile()
    bench.wait(lambda: bench.hook_runs("nova-db-init"), "the first hook runs")
    bench.reconcile()
    hooks = bench.release("compute", "nova")["hooks"]
    assert hooks == [
        {"name": "nova-db-init", "phase": "Running", "since": "2023-11-14T22:13:20Z"},
        {"name": "nova-bootstrap", "phase": "Pending"},
    ]
    bench.helm.finish("nova-db-init")
    bench.helm.finish("nova-bootstrap")
    bench.settle()
    assert bench.release("compute", "nova")["state"] == "Deployed"
    assert "hooks" not in bench.release("compute", "nova")


def test_a_release_that_waits_for_a_stuck_hook_says_which_and_why(bench: Bench) -> None:
    stuck(bench)
    bench.pod("nova-db-sync", PULLING)
    bench.clock.advance(5)
    bench.reconcile()
    entry = bench.release("compute", "nova")
    assert entry["state"] == "Installing"
    assert entry["message"] == (
        "waits for its hook: Job nova-db-sync: pod nova-db-sync-x7k2p ImagePullBackOff: "
        "image registry/nova:1 cannot be pulled (registry: not found)"
    )
    bench.helm.finish("nova-db-sync")
    bench.settle()


def test_the_unmet_dependency_of_a_hook_is_reported_from_the_log_of_its_entrypoint(bench: Bench) -> None:
    stuck(bench)
    bench.pod("nova-db-sync", WAITING_FOR_OTHERS, **ENTRYPOINT)
    bench.kube.logs[NAMESPACE, "nova-db-sync-x7k2p", "init"] = (
        "Entrypoint INFO: Resolving Service mariadb in namespace x\n"
        "Entrypoint WARNING: Resolving dependency Service rabbitmq in namespace x failed: none .\n"
        "Entrypoint INFO: Dependency Service rabbitmq in namespace x is resolved.\n"
        "Entrypoint WARNING: Resolving dependency Service mariadb in namespace x failed: "
        "Service mariadb has no endpoints - Trying again in 2.000 seconds\n"
    )
    bench.clock.advance(5)
    bench.reconcile()
    message = bench.release("compute", "nova")["message"]
    assert "the pod waits for Service/x/mariadb" in message
    assert message.endswith("unmet: Service mariadb in namespace x: Service mariadb has no endpoints")
    bench.helm.finish("nova-db-sync")
    bench.settle()


def test_without_the_right_to_see_pods_the_job_is_reported_alone(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    stuck(bench)
    lists = bench.kube.list

    def refuse(resource: Resource, *arguments: Any, **more: Any) -> KubeObjects:
        if resource == POD:
            raise Forbidden("you may not list pods")
        return lists(resource, *arguments, **more)

    monkeypatch.setattr(bench.kube, "list", refuse)
    bench.clock.advance(5)
    bench.reconcile()
    message = bench.release("compute", "nova")["message"]
    assert message == "waits for its hook: Job nova-db-sync has run since 2023-11-14T22:13:20Z"
    bench.helm.finish("nova-db-sync")
    bench.settle()


def test_pods_are_listed_for_hooks_that_last_and_not_at_every_look(bench: Bench) -> None:
    stuck(bench)
    bench.reconcile()
    bench.kube.forget_requests()
    for _ in range(12):
        bench.clock.advance(1)
        bench.reconcile()
    pods = [request for request in bench.kube.requests if request.kind == "Pod"]
    assert 1 <= len(pods) <= 3
    records = [request for request in bench.kube.requests if (request.verb, request.kind) == ("get", "Job")]
    assert records == []
    bench.helm.finish("nova-db-sync")
    bench.settle()


def test_progress_has_a_bundle_looked_at_once_a_second_at_most(bench: Bench) -> None:
    stuck(bench)
    queue: WorkQueue[tuple[str, str]] = WorkQueue(bench.clock, FakeRandomness())
    news = HookEventFilter(bench.jobs, bench.slots, queue.add)
    looks = 0
    for number in range(50):
        bench.clock.advance(0.1)
        job = Hook(f"job-{number % 7}").job(NAMESPACE)
        meta = {**job["metadata"], "uid": f"u{number}", "resourceVersion": str(10_000 + number)}
        news.seen("MODIFIED", {**job, "metadata": meta})
        if queue.overdue():
            key = queue.take()
            assert key == (NAMESPACE, "compute")
            queue.done(key)
            looks += 1
    assert 3 <= looks <= 5
    bench.helm.finish("nova-db-sync")
    bench.settle()


def test_a_failed_hook_is_explained_by_the_end_of_its_log_without_secrets(bench: Bench) -> None:
    secret = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {
            "name": "nova-credentials",
            "namespace": NAMESPACE,
            "labels": {"app.kubernetes.io/managed-by": "openstack-controller"},
        },
        "stringData": {"database-password": "planted-secret-word"},
    }
    bench.kube.create(secret)
    stuck(bench)
    bench.pod("nova-db-sync", CRASHED)
    bench.kube.logs[NAMESPACE, "nova-db-sync-x7k2p", "main"] = (
        "ERROR: access denied for nova with planted-secret-word\n"
        "mysql://nova:someone-elses@mariadb/nova failed\n"
    )
    bench.helm.finish("nova-db-sync", "Failed")
    bench.until(lambda: bench.release("compute", "nova").get("lastAttempt"), "it fails")
    attempt = bench.release("compute", "nova")["lastAttempt"]
    assert attempt["error"] == (
        "a hook failed: Job nova-db-sync: BackoffLimitExceeded: Job has reached the specified backoff limit; "
        "pod nova-db-sync-x7k2p failed: ended with exit code 3: "
        '"ERROR: access denied for nova with [redacted] mysql://nova:[redacted]@mariadb/nova failed"'
    )
    assert "planted" not in str(bench.statuses()) and "someone-elses" not in str(bench.statuses())
    (hook,) = bench.release("compute", "nova")["hooks"]
    assert (hook["name"], hook["phase"]) == ("nova-db-sync", "Failed")


def test_time_that_is_up_is_explained_by_what_the_hook_waited_for(bench: Bench) -> None:
    """Its Job fails in the end because we have it fail, and its pods go: neither is the cause."""
    stuck(bench)
    bench.pod("nova-db-sync", PULLING)
    bench.clock.advance(1797)
    bench.reconcile()
    bench.clock.advance(4)
    bench.kube.delete(POD, "nova-db-sync-x7k2p", NAMESPACE)
    found = bench.kube.get(JOB, "nova-db-sync", NAMESPACE)
    assert found is not None
    bench.kube.replace({**found, "status": {**found["status"], "failed": 1}}, subresource="status")
    bench.reconcile()
    bench.helm.finish("nova-db-sync", "TimedOut")
    bench.settle()
    assert bench.release("compute", "nova")["lastAttempt"]["error"] == (
        "not done within 1800 s: its hook: Job nova-db-sync: pod nova-db-sync-x7k2p ImagePullBackOff: "
        "image registry/nova:1 cannot be pulled (registry: not found)"
    )


def test_an_action_is_looked_at_just_before_its_time_is_up(bench: Bench) -> None:
    stuck(bench)
    bench.clock.advance(1790)
    bench.reconcile()
    again = bench.reconciler.reconcile((NAMESPACE, "compute"))
    assert again is not None and again <= 7
    bench.helm.finish("nova-db-sync")
    bench.settle()


def test_hooks_of_a_failed_action_are_still_reported_after_a_restart(bench: Bench) -> None:
    stuck(bench)
    bench.helm.finish("nova-db-sync", "Failed")
    bench.until(lambda: bench.release("compute", "nova").get("hooks"), "it fails")
    bench.until(lambda: bench.release("compute", "nova")["state"] == "Failed", "it backs off")
    before = bench.status("compute")
    bench.restart()
    bench.kube.forget_requests()
    bench.reconcile()
    assert bench.status("compute") == before
    assert bench.kube.changes == []


@pytest.mark.parametrize("action", ["install", "upgrade"])
def test_an_edit_ends_an_action_whose_hook_never_finishes_and_is_served_next(
    bench: Bench, action: str
) -> None:
    if action == "upgrade":
        bench.bundle("compute", {"name": "nova", "values": {"a": 0}})
        bench.settle()
    bench.helm.hooks_of["nova"] = [Hook("nova-db-sync")]
    bench.bundle("compute", {"name": "nova", "values": {"a": 1}})
    bench.reconcile()
    bench.wait(lambda: bench.hook_runs("nova-db-sync"), "the hook runs")
    bench.helm.hooks_of["nova"] = []
    bench.bundle("compute", {"name": "nova", "values": {"a": 2}})
    bench.settle()
    assert bench.release("compute", "nova")["state"] == "Deployed"
    assert bench.helm.values("nova") == {"a": 2}
    assert bench.release("compute", "nova")["lastAttempt"]["failures"] == 0


def test_an_edit_that_cannot_be_served_yet_ends_the_action_too(bench: Bench) -> None:
    stuck(bench)
    bench.bundle("compute", {"name": "nova", "values": {"a": {"$secretRef": {"name": "x", "key": "y"}}}})
    bench.until(lambda: not bench.slots.busy(), "the action ends")
    bench.reconcile()
    assert bench.release("compute", "nova")["reason"] == "SecretMissing"


def test_a_secret_that_is_gone_for_a_moment_ends_nothing(bench: Bench) -> None:
    values = {"a": {"$secretRef": {"name": "x", "key": "y"}}}
    secret = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "x", "namespace": NAMESPACE},
        "stringData": {"y": "word"},
    }
    bench.kube.create(secret)
    bench.helm.hooks_of["nova"] = [Hook("nova-db-sync")]
    bench.bundle("compute", {"name": "nova", "values": values})
    bench.reconcile()
    bench.wait(lambda: bench.hook_runs("nova-db-sync"), "the hook runs")
    bench.kube.delete(SECRET, "x", NAMESPACE)
    bench.reconcile()
    [running] = bench.slots.busy().values()
    assert not running.cancellation.cancelled
    bench.kube.create(secret)
    bench.helm.finish("nova-db-sync")
    bench.settle()
    assert bench.helm.calls == [("Install", "nova")]


@pytest.mark.parametrize("removed", ["release", "bundle"])
def test_what_is_taken_out_while_it_installs_is_ended_and_uninstalled(bench: Bench, removed: str) -> None:
    stuck(bench)
    if removed == "release":
        bench.bundle("compute")
    else:
        bench.kube.delete(HELMBUNDLE, "compute", NAMESPACE)
    bench.until(lambda: not bench.helm.history("nova", NAMESPACE) and not bench.slots.busy(), "it is gone")
    assert bench.helm.calls == [("Install", "nova"), ("Uninstall", "nova")]


def test_a_release_put_back_while_it_is_uninstalled_is_installed_again(bench: Bench) -> None:
    """The hook of the deletion never ends: it is ended, and does not run again."""
    bench.helm.hooks_of["nova"] = [Hook("nova-clean", events="pre-delete")]
    bench.bundle("compute", "nova", volumes="Delete")
    bench.settle()
    bench.bundle("compute", volumes="Delete")
    bench.reconcile()
    bench.wait(lambda: bench.hook_runs("nova-clean"), "the hook runs")
    deleted = bench.helm.calls.count(("DeleteClaims", "nova"))
    bench.bundle("compute", "nova", volumes="Delete")
    bench.settle()
    assert bench.release("compute", "nova")["state"] == "Deployed"
    assert [call for call, _ in bench.helm.calls if call != "DeleteClaims"] == [
        *("Install", "Uninstall", "Uninstall", "Install")
    ]
    assert bench.helm.calls.count(("DeleteClaims", "nova")) == deleted


@pytest.mark.parametrize("paused", [False, True])
def test_an_action_that_is_given_less_time_by_an_edit_is_ended_when_that_is_up(
    bench: Bench, paused: bool
) -> None:
    bench.helm.hooks_of["nova"] = [Hook("nova-db-sync")]
    bench.bundle("compute", {"name": "nova", "timeout": "24h"})
    bench.reconcile()
    bench.wait(lambda: bench.hook_runs("nova-db-sync"), "the hook runs")
    [running] = bench.slots.busy().values()
    bench.bundle("compute", {"name": "nova", "timeout": "1m"}, **({"mode": "Paused"} if paused else {}))
    bench.clock.advance(30)
    again = bench.reconciler.reconcile((NAMESPACE, "compute"))
    assert again is not None and (paused or again <= 30)
    assert not running.cancellation.cancelled
    bench.clock.advance(31)
    bench.reconcile()
    assert running.cancellation.cancelled is not paused
    bench.helm.finish("nova-db-sync")
    bench.settle()


def test_an_action_cut_by_an_edit_that_gives_it_less_time_fails_with_its_cause(bench: Bench) -> None:
    bench.helm.hooks_of["nova"] = [Hook("nova-db-sync")]
    bench.bundle("compute", {"name": "nova", "timeout": "24h"})
    bench.reconcile()
    bench.wait(lambda: bench.hook_runs("nova-db-sync"), "the hook runs")
    bench.bundle("compute", {"name": "nova", "timeout": "1m"})
    bench.clock.advance(55)
    bench.reconcile()
    bench.pod("nova-db-sync", PULLING)
    # Just before the new time is up it is looked at once more, as before the old one.
    again = bench.reconciler.reconcile((NAMESPACE, "compute"))
    assert again is not None and again <= 2
    bench.clock.advance(3)
    bench.reconcile()
    bench.clock.advance(2)
    bench.until(lambda: bench.release("compute", "nova")["state"] == "Failed", "it fails")
    attempt = bench.release("compute", "nova")["lastAttempt"]
    assert attempt["failures"] == 1
    assert attempt["error"] == (
        "not done within 60 s, the timeout in its present spec: its hook: Job nova-db-sync: pod "
        "nova-db-sync-x7k2p ImagePullBackOff: image registry/nova:1 cannot be pulled (registry: not "
        "found)"
    )


def test_an_action_that_is_given_more_time_by_an_edit_goes_on(bench: Bench) -> None:
    bench.helm.hooks_of["nova"] = [Hook("nova-db-sync")]
    bench.bundle("compute", {"name": "nova", "timeout": "1m"})
    bench.reconcile()
    bench.wait(lambda: bench.hook_runs("nova-db-sync"), "the hook runs")
    [running] = bench.slots.busy().values()
    bench.bundle("compute", {"name": "nova", "timeout": "24h"})
    bench.clock.advance(600)
    bench.reconcile()
    assert not running.cancellation.cancelled
    bench.helm.finish("nova-db-sync")
    bench.settle()


def test_an_install_makes_way_for_a_hook_that_a_lost_release_has_left(bench: Bench) -> None:
    once = Hook("nova-db-sync", policy="hook-succeeded")
    bench.helm.hooks_of["nova"] = [once]
    left = bench.kube.create(once.job(NAMESPACE))
    bench.bundle("compute", "nova")
    bench.reconcile()

    def is_replaced() -> bool:
        found = bench.kube.get(JOB, "nova-db-sync", NAMESPACE)
        return found is not None and found["metadata"]["uid"] != left["metadata"]["uid"]

    bench.wait(is_replaced, "the hook of this release has made way for its own")
    assert bench.hook_runs("nova-db-sync")
    bench.helm.finish("nova-db-sync")
    bench.settle()
    assert bench.release("compute", "nova")["state"] == "Deployed"
