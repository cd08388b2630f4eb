"""The records that real Helm writes, and what it makes of those we have edited."""

from __future__ import annotations

import pytest

from controller.ports import PVC, SECRET
from tests.contract.conftest import Bench, wait_until

pytestmark = pytest.mark.cluster


def test_observed_histories_equal_helms_own(bench: Bench) -> None:
    bench.helm.install(bench.request("web", labels=bench.labelled(1, "a" * 40)))
    bench.helm.upgrade(bench.request("web", labels=bench.labelled(2, "b" * 40)))

    observed = bench.records.observe(bench.namespace)["web"]
    told = bench.helm.history("web", bench.namespace)
    assert [(one.version, one.status, one.digest, one.bundle, one.ours) for one in observed] == [
        (one.version, one.status, one.digest, one.bundle, one.ours) for one in told
    ]


def test_the_recorded_manifest_is_what_was_put_there(bench: Bench) -> None:
    values = {"data": {"colour": "red"}, "hook": {"events": "post-install", "outcome": "succeeds"}}
    bench.helm.install(bench.request("web", values))

    recorded = bench.records.manifest("web", bench.namespace, 1)
    assert [(obj["kind"], obj["data"]["colour"]) for obj in recorded.manifest] == [("ConfigMap", "red")]
    assert [obj["kind"] for obj in recorded.hooks] == ["Job"]


def test_retained_claims_outlive_the_release_and_are_taken_up_again(bench: Bench) -> None:
    values = {"claim": True, "data": {"colour": "red"}}
    bench.helm.install(bench.request("web", values))
    before = bench.object("claim", "web-data")
    assert bench.records.retain_claims("web", bench.namespace) == ("web-data",)
    bench.helm.uninstall("web", bench.namespace)
    wait_until(lambda: bench.object("configmap", "web") is None, "the rest is gone")
    bench.helm.install(bench.request("web", values))

    after = bench.object("claim", "web-data")
    assert before is not None and after is not None
    assert after["metadata"]["uid"] == before["metadata"]["uid"]
    assert "deletionTimestamp" not in after["metadata"]


def test_helm_can_still_upgrade_a_release_whose_claims_are_retained(bench: Bench) -> None:
    bench.helm.install(bench.request("web", {"claim": True}))
    bench.records.retain_claims("web", bench.namespace)
    made = bench.helm.upgrade(bench.request("web", {"claim": True, "data": {"colour": "red"}}))

    assert made.status == "deployed"
    assert bench.config("web")["colour"] == "red"
    assert len(bench.kube.list_metadata(SECRET, bench.namespace, labels="owner=helm,name=web")) == 2


def test_claims_of_a_set_that_deletes_them_are_retained(bench: Bench) -> None:
    bench.helm.install(bench.request("web", chart="stateful"))
    wait_until(lambda: len(_owned_claims(bench)) == 2, "both claims belong to the set")
    assert bench.records.retain_claims("web", bench.namespace) == ("data-web-0", "data-web-1")
    bench.helm.uninstall("web", bench.namespace)
    wait_until(lambda: bench.object("statefulset", "web") is None, "the set is gone")

    for name in ("data-web-0", "data-web-1"):
        found = bench.object("claim", name)
        assert found is not None and "deletionTimestamp" not in found["metadata"]


def test_claims_are_deleted_before_the_release(bench: Bench) -> None:
    """A kill in between must forget none, and no StatefulSet may make one anew."""
    bench.helm.install(bench.request("web", chart="stateful"))
    wait_until(lambda: len(bench.records.claims("web", bench.namespace)) == 2, "both claims are there")
    bench.records.delete_claims("web", bench.namespace)
    assert set(bench.records.delete_claims("web", bench.namespace)) <= {"data-web-0", "data-web-1"}
    bench.helm.uninstall("web", bench.namespace)

    wait_until(lambda: bench.kube.list_metadata(PVC, bench.namespace) == [], "the claims are gone")


def test_hook_jobs_are_gone_with_the_release(bench: Bench) -> None:
    bench.helm.install(bench.request("web", {"hook": {"events": "post-install", "outcome": "succeeds"}}))
    assert bench.records.delete_hooks("web", bench.namespace) == ("Job/web-hook",)
    bench.helm.uninstall("web", bench.namespace)

    wait_until(lambda: bench.object("job", "web-hook") is None, "the hook's Job is gone")


def _owned_claims(bench: Bench) -> list[str]:
    claims = bench.kube.list_metadata(PVC, bench.namespace)
    return [one["metadata"]["name"] for one in claims if one["metadata"].get("ownerReferences")]
