"""A release that is taken away leaves nothing of its hooks, those of its deletion included."""

from __future__ import annotations

import pytest

from controller.ports.helm import UninstallRequest
from controller.ports.kubernetes import JOB, SECRET
from tests.contract.conftest import Bench, wait_until

pytestmark = pytest.mark.cluster


@pytest.mark.parametrize("events", ["pre-delete", "post-delete", "post-install,post-delete"])
def test_what_hooks_of_the_deletion_made_goes_with_the_release(bench: Bench, events: str) -> None:
    bench.helm.install(bench.request("web", {"hook": {"events": events, "outcome": "succeeds"}}))
    state = bench.records.removal("web", bench.namespace)
    assert (state.status, state.runs_hooks) == ("deployed", True)

    bench.uninstall("web")
    wait_until(lambda: not bench.kube.list(JOB, bench.namespace), "no Job is left")
    assert bench.kube.list_metadata(SECRET, bench.namespace, labels="owner=helm") == []
    bench.uninstall("web")


def test_a_removal_that_was_cut_before_its_records_went_goes_on(bench: Bench) -> None:
    bench.helm.install(bench.request("web", {"hook": {"events": "post-delete", "outcome": "succeeds"}}))
    bench.helm.uninstall(UninstallRequest("web", bench.namespace, keep_history=True))
    assert bench.kube.list(JOB, bench.namespace)
    bench.uninstall("web")
    wait_until(lambda: not bench.kube.list(JOB, bench.namespace), "no Job is left")
    assert bench.statuses("web") == []
