"""What hooks have left that Helm would take for the new run: which of it is deleted before an action."""

from __future__ import annotations

from typing import Any

import pytest

from controller.ports import JOB
from controller.reconcile.last_runs import delete_last_runs
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
    assert delete_last_runs(kube, [one], action, SPACE) == deleted
    assert [obj["metadata"]["name"] for obj in kube.objects(one["kind"])] == ([] if deleted else ["clean"])
    kube.forget_requests()
    delete_last_runs(kube, [one], action, SPACE)
    assert kube.changes == []


def test_a_job_of_that_name_that_is_no_hook_is_left_alone() -> None:
    kube = FakeKube()
    there(kube, {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "clean"}})
    assert delete_last_runs(kube, [hook()], "Uninstall", SPACE) == ()
    assert kube.get(JOB, "clean", SPACE) is not None


def test_a_hook_in_another_namespace_is_found_there() -> None:
    kube = FakeKube()
    one = hook()
    one["metadata"]["namespace"] = "kube-system"
    there(kube, one, "kube-system")
    there(kube, hook())
    assert delete_last_runs(kube, [one], "Uninstall", SPACE) == ("Job/clean",)
    assert kube.get(JOB, "clean", SPACE) is not None
