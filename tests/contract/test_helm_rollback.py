"""Rollbacks and taken-back uninstalls: what labels tell, and what ends a hook."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from controller.domain.api.names import DESIRED_AT_ROLLBACK_LABEL, REVISION_LABEL, ROLLED_BACK_TO_LABEL
from controller.errors import HelmCancelled, HelmFailed, ReleaseMissing
from controller.ports.helm import RollbackRequest, UninstallRequest
from sandbox.patience import patient
from tests.contract.conftest import Bench, wait_until

pytestmark = pytest.mark.cluster


def test_a_rollback_has_the_labels_of_the_revision_it_goes_back_to_until_they_are_set(bench: Bench) -> None:
    bench.helm.install(bench.request("web", {"data": {"colour": "1"}}, labels=bench.labelled(1, "a" * 40)))
    bench.helm.upgrade(bench.request("web", {"data": {"colour": "2"}}, labels=bench.labelled(2, "b" * 40)))
    bench.helm.rollback(RollbackRequest("web", bench.namespace, 1))

    newest = bench.records.observe(bench.namespace)["web"][-1]
    assert (newest.version, newest.status, newest.digest) == (3, "deployed", "a" * 40)
    assert (newest.ours, newest.origin, newest.rolled_back_to) == (False, 1, 0)

    labels = {REVISION_LABEL: "3", ROLLED_BACK_TO_LABEL: "1.3", DESIRED_AT_ROLLBACK_LABEL: "b" * 40}
    bench.records.relabel("web", bench.namespace, 3, labels)
    newest = bench.helm.history("web", bench.namespace)[-1]
    assert (newest.ours, newest.rolled_back_to, newest.desired_at_rollback) == (True, 1, "b" * 40)

    made = bench.helm.upgrade(bench.request("web", labels=bench.labelled(4, "b" * 40)))
    assert (made.ours, made.rolled_back_to, made.desired_at_rollback) == (True, 0, "")


def test_a_hanging_hook_of_a_rollback_ends_when_cancelled(bench: Bench) -> None:
    hanging = {"hook": {"events": "post-rollback", "outcome": "job-hangs"}, "data": {"colour": "1"}}
    bench.helm.install(bench.request("web", hanging, labels=bench.labelled(1)))
    bench.helm.upgrade(bench.request("web", {"data": {"colour": "2"}}, labels=bench.labelled(2)))
    cancellation = bench.helm.new_cancellation()

    def act() -> None:
        bench.helm.rollback(RollbackRequest("web", bench.namespace, 1, timeout=300), cancellation)

    with ThreadPoolExecutor(1) as pool:
        acting = pool.submit(act)
        wait_until(lambda: _running(bench, "web-hook"), "the hook runs")
        cancellation.cancel()
        with pytest.raises(HelmCancelled):
            acting.result(timeout=patient(200))
    assert bench.statuses("web")[-1] == "pending-rollback"
    assert bench.records.mark_failed("web", bench.namespace, 3, "the rollback failed")
    bench.helm.upgrade(bench.request("web", {"data": {"colour": "3"}}))
    assert bench.config("web")["colour"] == "3"


def test_a_rollback_to_a_revision_that_is_not_there_says_so(bench: Bench) -> None:
    bench.helm.install(bench.request("web"))
    with pytest.raises(HelmFailed):
        bench.helm.rollback(RollbackRequest("web", bench.namespace, 7))
    with pytest.raises(ReleaseMissing):
        bench.records.relabel("web", bench.namespace, 7, {"a": "b"})
    assert bench.statuses("web") == ["deployed"]


def test_an_uninstall_without_hooks_waits_for_none(bench: Bench) -> None:
    bench.helm.install(bench.request("web", {"hook": {"events": "pre-delete", "outcome": "job-hangs"}}))
    bench.helm.uninstall(UninstallRequest("web", bench.namespace, timeout=20, hooks=False))
    assert bench.helm.history("web", bench.namespace) == ()
    assert bench.object("job", "web-hook") is None


def _running(bench: Bench, job: str) -> bool:
    found = bench.object("job", job)
    return found is not None and bool(found.get("status", {}).get("active"))
