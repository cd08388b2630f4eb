"""The records that real Helm writes, and what it makes of those we have edited."""

from __future__ import annotations

import pytest

from controller.ports.helm import UninstallRequest
from controller.ports.kubernetes import PVC
from tests.contract.conftest import Bench, wait_until

pytestmark = pytest.mark.cluster


def test_observed_histories_equal_helms_own(bench: Bench) -> None:
    bench.helm.install(bench.request("web", labels=bench.labelled(1, "a" * 40)))
    bench.helm.upgrade(bench.request("web", labels=bench.labelled(2, "b" * 40)))

    observed = bench.records.observe(bench.namespace)["web"]
    reported = bench.helm.history("web", bench.namespace)
    assert [(one.version, one.status, one.digest, one.bundle, one.ours) for one in observed] == [
        (one.version, one.status, one.digest, one.bundle, one.ours) for one in reported
    ]


def test_the_recorded_manifest_is_what_was_put_there(bench: Bench) -> None:
    values = {"data": {"colour": "red"}, "hook": {"events": "post-install", "outcome": "succeeds"}}
    bench.helm.install(bench.request("web", values))

    recorded = bench.records.manifest("web", bench.namespace, 1)
    assert [(obj["kind"], obj["data"]["colour"]) for obj in recorded.manifest] == [("ConfigMap", "red")]
    assert [obj["kind"] for obj in recorded.hooks] == ["Job"]


def test_claims_are_deleted_before_the_release(bench: Bench) -> None:
    """A kill in between must forget none, and no StatefulSet may make one again."""
    bench.helm.install(bench.request("web", chart="stateful"))
    wait_until(lambda: len(bench.records.claims("web", bench.namespace)) == 2, "both claims are there")
    bench.records.delete_claims("web", bench.namespace)
    assert set(bench.records.delete_claims("web", bench.namespace)) <= {"data-web-0", "data-web-1"}
    bench.helm.uninstall(UninstallRequest("web", bench.namespace))

    wait_until(lambda: bench.kube.list_metadata(PVC, bench.namespace) == [], "the claims are gone")


def test_hook_jobs_are_gone_with_the_release(bench: Bench) -> None:
    bench.helm.install(bench.request("web", {"hook": {"events": "post-install", "outcome": "succeeds"}}))
    assert bench.records.delete_hooks("web", bench.namespace) == ("Job/web-hook",)
    bench.helm.uninstall(UninstallRequest("web", bench.namespace))

    wait_until(lambda: bench.object("job", "web-hook") is None, "the hook's Job is gone")
