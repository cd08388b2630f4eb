"""What is in the first half of an upgrade, and how its record is marked."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from controller.domain.api.names import (
    BUNDLE_LABEL,
    DIGEST_LABEL,
    FORCE_LABEL,
    ROLLBACK_LABEL,
    SPEC_DIGEST_LABEL,
)
from controller.domain.releases.actions import Action
from controller.domain.releases.upgrade_jobs.jobs_first import NO_DIGEST
from controller.errors import ObjectRefused
from controller.ports.helm import HelmRequest, RenderedRelease
from controller.reconcile.releases.action_request import ActionRequest
from controller.reconcile.releases.actions.jobs_first import AwaitedJobs, JobsFirst
from tests.fakes.kube import Request
from tests.reconcile.bundles import NAMESPACE, Bench

BEFORE = {"helm.sh/hook": "pre-install,pre-upgrade", "helm.sh/hook-weight": "-5"}


def config(name: str, text: str, notes: Mapping[str, str] | None = None) -> dict[str, Any]:
    meta = {"name": name, "namespace": NAMESPACE, "annotations": dict(notes or {})}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": {"text": text}}


def job(number: int, *reads: str) -> dict[str, Any]:
    volumes = [{"name": name, "configMap": {"name": name}} for name in reads]
    pod = {"containers": [{"name": "main", "image": f"sync:{number}"}], "volumes": volumes}
    meta = {"name": "db-sync", "namespace": NAMESPACE}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": meta, "spec": {"template": {"spec": pod}}}


@pytest.fixture
def bench() -> Bench:
    return Bench()


def half_of(
    bench: Bench,
    old: RenderedRelease,
    new: RenderedRelease,
    *jobs: dict[str, Any],
    made: bool = True,
    gone: str = "",
) -> RenderedRelease:
    """Of an upgrade from `old`, which was made except an object that is gone."""
    for obj in old.manifest if made else ():
        if obj["metadata"]["name"] != gone:
            bench.kube.create(dict(obj))
    request = ActionRequest(Action.UPGRADE, "pages", "api", NAMESPACE, 2, "new", resolved_values={})
    return JobsFirst(bench.reconciler._ports, request, {1: old}).release(new, AwaitedJobs(jobs, first=True))


def named(objects: tuple[Mapping[str, Any], ...]) -> list[tuple[str, str]]:
    return [(one["kind"], one["metadata"]["name"]) for one in objects]


def test_a_job_that_is_no_hook_is_one_there(bench: Bench) -> None:
    """Else Helm would send it twice, as it was and as it is to be."""
    old, new = (RenderedRelease((config("page", "a"), job(number)), ()) for number in (1, 2))
    half = half_of(bench, old, new, job(2))
    assert named(half.manifest) == [("ConfigMap", "page")]
    [hook] = half.hooks
    assert hook["metadata"]["annotations"]["helm.sh/hook"] == "post-upgrade"
    assert hook["spec"]["template"]["spec"]["containers"][0]["image"] == "sync:2"


def test_what_a_chart_makes_before_an_upgrade_comes_with_the_jobs_that_read_it(bench: Bench) -> None:
    hooks = (config("read", "b", BEFORE), config("other", "b", BEFORE))
    half = half_of(bench, RenderedRelease((), ()), RenderedRelease((), hooks), job(2, "read"))
    upgrades = [one for one in half.hooks if "upgrade" in one["metadata"]["annotations"]["helm.sh/hook"]]
    assert named(tuple(upgrades)) == [("ConfigMap", "read"), ("Job", "db-sync")]


def test_what_is_new_and_read_by_no_job_waits_for_the_second_half(bench: Bench) -> None:
    new = RenderedRelease((config("read", "b"), config("other", "b")), ())
    half = half_of(bench, RenderedRelease((), ()), new, job(2, "read"))
    assert named(half.manifest) == [("ConfigMap", "read")]


def test_a_deleted_object_comes_back_with_the_second_half(bench: Bench) -> None:
    old = RenderedRelease((config("page", "a"), config("other", "a")), ())
    half = half_of(bench, old, old, job(2), gone="page")
    assert named(half.manifest) == [("ConfigMap", "other")]


def test_what_may_not_be_read_is_sent_as_it_is_recorded(bench: Bench) -> None:
    """Helm acts with the same rights: it says what it lacks."""
    meta = {"name": "fast", "annotations": {}}
    unread = {"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": meta, "provisioner": "x"}
    half = half_of(bench, RenderedRelease((unread,), ()), RenderedRelease((), ()), job(2))
    assert named(half.manifest) == [("StorageClass", "fast")]


def test_pods_stay_as_they_are_where_what_is_recorded_would_be_refused(bench: Bench) -> None:
    def web(image: str) -> dict[str, Any]:
        spec = {"template": {"spec": {"containers": [{"name": "main", "image": image}]}}}
        meta = {"name": "web", "namespace": NAMESPACE}
        return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": meta, "spec": spec}

    def refuse(request: Request) -> None:
        if request.dry_run:
            raise ObjectRefused("a policy of the cluster")

    bench.kube.create(web("as-it-is"))
    bench.kube.before_write = refuse
    old = RenderedRelease((web("recorded"),), ())
    half = half_of(bench, old, old, job(2), made=False)
    [found] = half.manifest
    assert found["spec"]["template"]["spec"]["containers"][0]["image"] == "as-it-is"


def test_its_record_serves_no_spec_and_no_request(bench: Bench) -> None:
    """The second half does, and only then has an operator what was asked for."""
    labels = {
        **{BUNDLE_LABEL: "pages", DIGEST_LABEL: "new", SPEC_DIGEST_LABEL: "spec"},
        **{FORCE_LABEL: "today", ROLLBACK_LABEL: "3"},
    }
    request = ActionRequest(Action.UPGRADE, "pages", "api", NAMESPACE, 2, "new", resolved_values={})
    whole = HelmRequest("api", NAMESPACE, "chart", {"n": 2}, labels=labels)
    asked = JobsFirst(bench.reconciler._ports, request, {}).helm_request(
        whole, "objects", RenderedRelease((), ())
    )
    assert asked.labels == {
        BUNDLE_LABEL: "pages",
        DIGEST_LABEL: NO_DIGEST,
        SPEC_DIGEST_LABEL: "",
        "osctl.dev/jobs-first": "2.new",
    }
    assert asked.chart_path == "objects"
