"""Hooks that their chart has deleted after a success only, as upstream's `glance-clean`, on both adapters."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from controller.domain.releases.bundle import ChartRef, ReleaseSpec
from controller.errors import HelmCancelled, HelmFailed
from controller.ports.helm import Cancellation
from controller.ports.kubernetes import JOB, SECRET
from controller.reconcile.releases.hooks.previous_runs import delete_last_runs
from sandbox.patience import patient
from tests.contract.conftest import Bench, wait_until

pytestmark = pytest.mark.cluster


def hook(outcome: str, events: str = "pre-upgrade") -> dict[str, Any]:
    return {"hook": {"events": events, "outcome": outcome, "policy": "hook-succeeded"}}


def upgrade(bench: Bench, outcome: str, cancellation: Cancellation | None = None) -> None:
    """As an upgrade of ours: first what the hooks have left, then Helm."""
    request = bench.request("web", hook(outcome), timeout=300)
    token = cancellation or bench.helm.new_cancellation()
    hooks = bench.helm.render(request).hooks
    delete_last_runs(bench.kube, hooks, "Upgrade", "web", bench.namespace, cancellation=token, timeout=200)
    bench.helm.upgrade(request, cancellation)


def cancel(bench: Bench, act: Callable[[Cancellation], object]) -> None:
    """Does it, and cancels it as soon as its hook runs."""
    cancellation = bench.helm.new_cancellation()
    with ThreadPoolExecutor(1) as pool:
        acting = pool.submit(act, cancellation)
        wait_until(lambda: _job(bench).get("status", {}).get("active"), "the hook runs")
        cancellation.cancel()
        with pytest.raises(HelmCancelled):
            acting.result(timeout=patient(200))


def _job(bench: Bench) -> dict[str, Any]:
    return bench.object("job", "web-hook") or {}


def uid(bench: Bench) -> str:
    return str(_job(bench)["metadata"]["uid"])


def test_helm_alone_takes_the_failed_job_for_the_new_one_and_fails_at_once(bench: Bench) -> None:
    bench.helm.install(bench.request("web", hook("job-fails")))
    with pytest.raises(HelmFailed):
        bench.helm.upgrade(bench.request("web", hook("job-fails")))
    before = uid(bench)
    with pytest.raises(HelmFailed):
        bench.helm.upgrade(bench.request("web", hook("job-fails")))
    assert uid(bench) == before


def test_a_hook_that_failed_runs_again_and_succeeds(bench: Bench) -> None:
    bench.helm.install(bench.request("web", hook("job-fails")))
    with pytest.raises(HelmFailed):
        upgrade(bench, "job-fails")
    assert _job(bench)
    upgrade(bench, "succeeds")
    assert bench.statuses("web")[-1] == "deployed"
    assert not _job(bench)


def test_a_hook_that_was_cancelled_runs_again_and_succeeds(bench: Bench) -> None:
    bench.helm.install(bench.request("web", hook("job-hangs")))
    cancel(bench, lambda cancellation: upgrade(bench, "job-hangs", cancellation))
    if bench.statuses("web")[-1].startswith("pending"):
        bench.records.mark_failed("web", bench.namespace, 2, "cut off")
    upgrade(bench, "succeeds")
    assert bench.statuses("web")[-1] == "deployed"


def test_a_hook_of_the_deletion_that_failed_runs_again_at_the_next_try(bench: Bench) -> None:
    bench.helm.install(bench.request("web", hook("job-fails", "pre-delete")))
    with pytest.raises(HelmFailed):
        bench.uninstall("web")
    before = uid(bench)
    with pytest.raises(HelmFailed):
        bench.uninstall("web")
    assert uid(bench) != before


def test_a_hook_of_the_deletion_that_was_cancelled_runs_again_and_the_release_goes(bench: Bench) -> None:
    bench.helm.install(bench.request("web", hook("succeeds", "pre-delete")))
    # What a try leaves that was ended while its hook hung.
    (left,) = bench.records.manifest("web", bench.namespace, 1).hooks
    meta = {**left["metadata"], "namespace": bench.namespace}
    bench.kube.create({**left, "metadata": meta, "spec": {**left["spec"], "suspend": True}})
    bench.uninstall("web")
    wait_until(lambda: not bench.kube.list(JOB, bench.namespace), "no Job is left")
    assert bench.kube.list_metadata(SECRET, bench.namespace, labels="owner=helm") == []


WANTED_AGAIN = ReleaseSpec("web", "", ChartRef("web"))


@pytest.mark.parametrize(
    "way", [{"skip_hooks": True}, {"spec": WANTED_AGAIN}], ids=["skipped", "wanted again"]
)
def test_a_removal_without_hooks_leaves_nothing_of_an_earlier_try(bench: Bench, way: dict[str, Any]) -> None:
    bench.helm.install(bench.request("web", hook("job-hangs", "pre-delete")))
    cancel(bench, lambda cancellation: bench.uninstall("web", cancellation))
    assert _job(bench)
    # Helm has written the record meanwhile, and left our mark there.
    (seen,) = bench.records.observe(bench.namespace)["web"]
    assert (seen.status, seen.removing) == ("uninstalling", True)
    bench.uninstall("web", **way)
    wait_until(lambda: not bench.kube.list(JOB, bench.namespace), "no Job is left")
    assert bench.kube.list_metadata(SECRET, bench.namespace, labels="owner=helm") == []


def test_a_hook_that_fails_once_all_is_gone_keeps_the_record_and_runs_again(bench: Bench) -> None:
    values = hook("job-fails", "post-delete")
    values["hook"]["policy"] = "before-hook-creation,hook-succeeded"
    bench.helm.install(bench.request("web", values))
    for _ in range(2):
        with pytest.raises(HelmFailed):
            bench.uninstall("web")
        (seen,) = bench.records.observe(bench.namespace)["web"]
        assert (seen.status, seen.removing) == ("uninstalled", True)
        assert bench.config("web") == {}
    before = uid(bench)
    with pytest.raises(HelmFailed):
        bench.uninstall("web")
    assert uid(bench) != before
    bench.uninstall("web", skip_hooks=True)
    wait_until(lambda: not bench.kube.list(JOB, bench.namespace), "no Job is left")
    assert bench.kube.list_metadata(SECRET, bench.namespace, labels="owner=helm") == []
