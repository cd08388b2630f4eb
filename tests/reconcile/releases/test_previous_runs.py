"""What hooks have left that Helm would take for the new run: which of it is deleted before an action."""

from __future__ import annotations

from typing import Any

import pytest

from controller.adapters.helm.cancellation import CancellationToken
from controller.errors import HelmCancelled, HelmFailed
from controller.ports.kubernetes import JOB
from controller.reconcile.releases.hooks.previous_runs import delete_last_runs
from tests.fakes.kube import FakeKube

SPACE = "openstack"
SUCCEEDED = "hook-succeeded"


def hook(
    events: str = "pre-delete", policy: str = SUCCEEDED, kind: str = "Job", **more: str
) -> dict[str, Any]:
    notes = {"helm.sh/hook": events, **({"helm.sh/hook-delete-policy": policy} if policy else {}), **more}
    version = "batch/v1" if kind == "Job" else "v1"
    return {"apiVersion": version, "kind": kind, "metadata": {"name": "clean", "annotations": notes}}


def there(kube: FakeKube, obj: dict[str, Any], namespace: str = SPACE) -> None:
    kube.create({**obj, "metadata": {**obj["metadata"], "namespace": namespace}})


def made_way(
    kube: FakeKube, one: dict[str, Any], action: str, release: str = "web", **more: Any
) -> tuple[str, ...]:
    options = {"cancellation": CancellationToken(), "timeout": 1.0, "pause": lambda seconds: None, **more}
    return delete_last_runs(kube, [one], action, release, SPACE, **options)


@pytest.mark.parametrize(
    ("one", "action", "deleted"),
    [
        (hook(), "Uninstall", ("Job/clean",)),
        (hook(kind="Pod"), "Uninstall", ("Pod/clean",)),
        (hook("post-install, Post-Upgrade", "hook-failed ,Hook-Succeeded"), "Upgrade", ("Job/clean",)),
        (hook(), "Upgrade", ()),
        (hook(policy=""), "Uninstall", ()),
        (hook(policy="before-hook-creation"), "Uninstall", ()),
        (hook(policy="hook-succeeded, before-hook-creation"), "Uninstall", ()),
        (hook(kind="ConfigMap"), "Uninstall", ()),
        (hook(kind="Secret"), "Uninstall", ()),
        (hook(**{"helm.sh/resource-policy": "keep"}), "Uninstall", ()),
    ],
)
def test_only_what_helm_would_meet_is_deleted(
    one: dict[str, Any], action: str, deleted: tuple[str, ...]
) -> None:
    kube = FakeKube()
    there(kube, one)
    assert made_way(kube, one, action) == deleted
    assert [obj["metadata"]["name"] for obj in kube.objects(one["kind"])] == ([] if deleted else ["clean"])
    kube.forget_requests()
    made_way(kube, one, action)
    assert kube.changes == []


def test_a_job_of_that_name_that_is_no_hook_is_left_alone() -> None:
    kube = FakeKube()
    there(kube, {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "clean"}})
    assert made_way(kube, hook(), "Uninstall") == ()
    assert kube.get(JOB, "clean", SPACE) is not None


def test_a_hook_in_another_namespace_is_found_there() -> None:
    kube = FakeKube()
    one = hook()
    one["metadata"]["namespace"] = "kube-system"
    there(kube, one, "kube-system")
    there(kube, hook())
    assert made_way(kube, one, "Uninstall") == ("Job/clean",)
    assert kube.get(JOB, "clean", SPACE) is not None


@pytest.mark.parametrize("place", ["labels", "annotations"])
def test_what_another_release_has_left_under_that_name_is_left_alone(place: str) -> None:
    helms = {"meta.helm.sh/release-name": "one", "meta.helm.sh/release-namespace": SPACE}
    kube, theirs, ours = FakeKube(), hook(), hook()
    marks = {"app.kubernetes.io/instance": "one"} if place == "labels" else helms
    theirs["metadata"].setdefault(place, {}).update(marks)
    ours["metadata"].setdefault("labels", {})["app.kubernetes.io/instance"] = "two"
    there(kube, theirs)
    assert made_way(kube, ours, "Uninstall", release="two") == ()
    assert made_way(kube, theirs, "Uninstall", release="one") == ("Job/clean",)


def ending(kube: FakeKube) -> None:
    """A hook's Job that something holds when it is deleted."""
    one = hook()
    one["metadata"]["finalizers"] = ["example.com/held"]
    there(kube, one)


def test_what_is_still_ending_is_waited_for() -> None:
    kube = FakeKube()
    ending(kube)
    paused: list[float] = []

    def pause(seconds: float) -> None:
        paused.append(seconds)
        kube.merge_patch(JOB, "clean", SPACE, {"metadata": {"finalizers": None}})

    assert made_way(kube, hook(), "Uninstall", pause=pause) == ("Job/clean",)
    assert len(paused) == 1
    assert kube.get(JOB, "clean", SPACE) is None


def test_what_does_not_end_in_time_is_reported() -> None:
    kube = FakeKube()
    ending(kube)
    with pytest.raises(HelmFailed, match="Job clean of the last run still exists 1 s after"):
        made_way(kube, hook(), "Uninstall")


def test_a_cancellation_ends_the_wait() -> None:
    kube, token = FakeKube(), CancellationToken()
    ending(kube)
    with pytest.raises(HelmCancelled):
        made_way(kube, hook(), "Uninstall", cancellation=token, pause=lambda seconds: token.cancel())
