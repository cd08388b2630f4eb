"""A release that is taken away leaves nothing of its hooks, those of its deletion included."""

from __future__ import annotations

import pytest

from controller.adapters.helm.cancellation import CancellationToken
from controller.ports.kubernetes import JOB, SECRET
from controller.reconcile.releases.actions.uninstall import ReleaseRemoval, Removal
from tests.contract.conftest import Bench, wait_until

pytestmark = pytest.mark.cluster


@pytest.mark.parametrize(
    ("bench", "events"),
    [
        ("sdk", "pre-delete"),
        ("sdk", "post-delete"),
        ("cli", "post-delete"),
        ("sdk", "post-install,post-delete"),
    ],
    indirect=["bench"],
)
def test_what_hooks_of_the_deletion_made_goes_with_the_release(bench: Bench, events: str) -> None:
    bench.helm.install(bench.request("web", {"hook": {"events": events, "outcome": "succeeds"}}))
    state = bench.records.removal("web", bench.namespace)
    assert (state.status, state.runs_hooks) == ("deployed", True)

    removal = ReleaseRemoval(bench.kube, bench.helm, bench.records)
    wanted = Removal("web", bench.namespace, 1, 200, for_good=True)
    removal.remove(wanted, CancellationToken())
    wait_until(lambda: not bench.kube.list(JOB, bench.namespace), "no Job is left")
    assert bench.kube.list_metadata(SECRET, bench.namespace, labels="owner=helm") == []
    removal.remove(wanted, CancellationToken())


@pytest.mark.parametrize("bench", ["sdk"], indirect=True)
def test_a_removal_that_was_cut_before_its_records_went_goes_on(bench: Bench) -> None:
    bench.helm.install(bench.request("web", {"hook": {"events": "post-delete", "outcome": "succeeds"}}))
    bench.helm.uninstall("web", bench.namespace, keep_history=True)
    assert bench.kube.list(JOB, bench.namespace)
    wanted = Removal("web", bench.namespace, 1, 200, for_good=True)
    ReleaseRemoval(bench.kube, bench.helm, bench.records).remove(wanted, CancellationToken())
    wait_until(lambda: not bench.kube.list(JOB, bench.namespace), "no Job is left")
    assert bench.statuses("web") == []
