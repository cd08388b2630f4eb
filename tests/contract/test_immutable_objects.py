"""What the API server says of fields that are fixed, as it is known here; and the reported way out."""

from __future__ import annotations

import pytest

from controller.errors import FieldsFixed
from controller.ports.helm import RenderedRelease
from controller.ports.kubernetes import STATEFULSET
from controller.reconcile.releases.actions.immutable_objects import refuse_fixed_changes
from tests.contract.conftest import Bench, wait_until

pytestmark = pytest.mark.cluster


def check(bench: Bench, values: dict[str, object], chart: str) -> None:
    rendered = bench.helm.render(bench.request("web", values, chart=chart))
    refuse_fixed_changes(bench.kube, rendered, "web", bench.namespace)


def test_a_statefulset_takes_no_other_volumes_until_it_is_made_again_over_its_pods(bench: Bench) -> None:
    bench.helm.install(bench.request("web", chart="stateful"))
    both = ("data-web-0", "data-web-1")
    wait_until(lambda: bench.records.claims("web", bench.namespace) == both, "every pod has its claim")
    check(bench, {"replicas": 3}, "stateful")
    with pytest.raises(FieldsFixed, match="claim data: size 1Gi → 2Gi") as refused:
        check(bench, {"size": "2Gi"}, "stateful")
    assert f"kubectl -n {bench.namespace} delete statefulset web --cascade=orphan" in str(refused.value)

    bench.kube.delete(STATEFULSET, "web", bench.namespace, propagation="Orphan")
    wait_until(lambda: bench.object("statefulset", "web") is None, "the set is gone")
    check(bench, {"size": "2Gi"}, "stateful")
    bench.helm.upgrade(bench.request("web", {"size": "2Gi"}, chart="stateful"))
    assert bench.object("statefulset", "web") is not None
    assert bench.records.claims("web", bench.namespace) == both


def test_a_claim_that_was_bound_takes_neither_another_class_nor_less(bench: Bench) -> None:
    def claim(**spec: object) -> dict[str, object]:
        size = {"resources": {"requests": {"storage": spec.pop("size", "2Gi")}}}
        return {
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "metadata": {"name": "images", "namespace": bench.namespace},
            "spec": {"accessModes": ["ReadWriteOnce"], "storageClassName": "one", **size, **spec},
        }

    bench.kube.create(claim())
    refuse_fixed_changes(bench.kube, RenderedRelease((claim(),), ()), "web", bench.namespace)
    with pytest.raises(FieldsFixed, match="storage class one → two"):
        other = RenderedRelease((claim(storageClassName="two"),), ())
        refuse_fixed_changes(bench.kube, other, "web", bench.namespace)
