"""Hooks that are pods without a Job: reported, and counted as waiting."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from controller.domain.releases.actions import Action
from controller.domain.releases.hooks import HookPhase, HookRef, awaited_hooks, parse_hook_job
from controller.domain.shared.redaction import Redactor
from controller.errors import ReleaseMissing
from controller.ports.helm import RenderedRelease
from controller.ports.kubernetes import JOB, POD
from controller.reconcile.releases.action_request import ActionRequest, RunningAction
from controller.reconcile.releases.hooks.progress import LASTS_AFTER, PODS_EVERY, HookFollower
from controller.reconcile.shared.object_store import ObjectStore
from tests.fakes.helm import CancellationToken
from tests.fakes.kube import FakeKube
from tests.fakes.world import FakeClock

NAMESPACE = "openstack"
KEY = (NAMESPACE, "nova")


def hook(kind: str, name: str, events: str = "post-install", weight: int = 0) -> dict[str, Any]:
    annotations = {"helm.sh/hook": events, "helm.sh/hook-weight": str(weight)}
    return {"kind": kind, "metadata": {"name": name, "annotations": annotations}}


class Records:
    """The record of the revision that is being made, once it is written."""

    def __init__(self, *hooks: dict[str, Any]) -> None:
        self.hooks = hooks
        self.written = True
        self.reads = 0

    def manifest(self, release: str, namespace: str, version: int) -> RenderedRelease:
        self.reads += 1
        if not self.written:
            raise ReleaseMissing("not yet")
        return RenderedRelease((), self.hooks)

    def given_values(self, release: str, namespace: str, version: int) -> Mapping[str, Any]:
        return {}


class World:
    def __init__(self, *hooks: dict[str, Any]) -> None:
        self.clock = FakeClock()
        self.kube = FakeKube(self.clock)
        self.records = Records(*hooks)
        store = ObjectStore(self.kube, self.clock, NAMESPACE, {JOB: parse_hook_job})
        self.hooks = HookFollower(self.kube, self.records, self.clock, store)  # type: ignore[arg-type]
        self.hooks.begin(KEY)
        self.begin()

    def begin(self) -> None:
        """An install begins now."""
        request = ActionRequest(
            Action.INSTALL, "compute", KEY[1], KEY[0], 1, "d", redactor=Redactor(["hush-hush"])
        )
        self.running = RunningAction(request, self.clock.now(), CancellationToken())

    def reconcile(self, after: float = 0.0) -> Any:
        self.clock.advance(after)
        return self.hooks.observe(KEY, self.running)

    def pod(self, name: str, **status: Any) -> None:
        pod = {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": name, "namespace": NAMESPACE},
            "spec": {"containers": [{"name": "main", "image": "nova:1"}]},
        }
        live = self.kube.get(POD, name, NAMESPACE) or self.kube.create(pod)
        self.kube.replace({**live, "status": status}, subresource="status")


@pytest.fixture
def world() -> World:
    return World(hook("Pod", "check", weight=5), hook("Pod", "first"), hook("Job", "clean", "pre-delete"))


def test_jobs_and_pods_are_reported_in_the_order_in_which_helm_runs_them() -> None:
    hooks = [
        hook("Pod", "b", "post-install", -1),
        hook("Job", "c", "pre-install,post-upgrade", 3),
        hook("Secret", "keys", "pre-install"),
        hook("Job", "a", "post-install", -1),
        hook("Pod", "gone", "pre-delete"),
    ]
    assert awaited_hooks(hooks, "Install") == (HookRef("Job", "c"), HookRef("Job", "a"), HookRef("Pod", "b"))


def test_an_action_that_is_soon_over_is_not_looked_into(world: World) -> None:
    world.kube.forget_requests()
    seen = world.reconcile(1.0)
    assert (seen.waiting, seen.again_after) == (False, LASTS_AFTER - 1.0)
    assert world.records.reads == 0
    assert world.kube.requests == []


def test_one_that_waits_for_a_pod_gives_its_place_to_others_and_says_what_for(world: World) -> None:
    waiting = {"reason": "ImagePullBackOff", "message": "no such image, hush-hush"}
    world.pod("first", phase="Pending", containerStatuses=[{"name": "main", "state": {"waiting": waiting}}])
    seen = world.reconcile(LASTS_AFTER)
    assert seen.waiting
    assert seen.again_after == PODS_EVERY
    assert [(one.name, one.phase) for one in seen.hooks] == [
        ("first", HookPhase.PENDING),
        ("check", HookPhase.PENDING),
    ]
    assert seen.message.startswith("waits for its hook: Pod first: ImagePullBackOff: image nova:1")
    assert "hush-hush" not in seen.message


def test_one_that_has_ended_is_not_waited_for_and_the_next_one_is(world: World) -> None:
    world.pod("first", phase="Running")
    assert world.reconcile(LASTS_AFTER).waiting
    world.pod("first", phase="Succeeded")
    seen = world.reconcile(PODS_EVERY)
    assert not seen.waiting
    assert seen.again_after == PODS_EVERY
    world.pod("check", phase="Running")
    seen = world.reconcile(PODS_EVERY)
    assert seen.waiting
    assert [one.phase for one in seen.hooks] == [HookPhase.SUCCEEDED, HookPhase.RUNNING]


def test_pods_are_read_every_few_seconds_however_often_the_bundle_is_looked_at(world: World) -> None:
    world.pod("first", phase="Running")
    world.reconcile(LASTS_AFTER)
    world.kube.forget_requests()
    for _ in range(20):
        world.reconcile(0.1)
    assert [one for one in world.kube.requests if one.kind == "Pod"] == []
    assert world.records.reads == 1


def test_a_pod_of_an_earlier_action_is_not_this_ones(world: World) -> None:
    world.pod("first", phase="Running")
    world.clock.advance(3600)
    world.begin()
    assert not world.reconcile(LASTS_AFTER).waiting


def test_a_record_that_is_not_written_yet_is_asked_for_again(world: World) -> None:
    world.records.written = False
    assert world.reconcile(LASTS_AFTER).again_after == PODS_EVERY
    world.records.written = True
    world.pod("first", phase="Running")
    assert world.reconcile(PODS_EVERY).waiting


def test_why_a_pod_failed_is_reported_without_secrets(world: World) -> None:
    ended = {"exitCode": 3, "message": "login with hush-hush refused"}
    world.pod("first", phase="Failed", containerStatuses=[{"name": "main", "state": {"terminated": ended}}])
    why = world.hooks.why_pod_failed(KEY, "first", world.running.request.redactor, cut=False).why
    assert why.startswith("Pod first: failed: ended with exit code 3")
    assert "login with" in why
    assert "hush-hush" not in why
