"""Upgrades that would have to change what is fixed in an object are held back, and say what to do."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from controller.domain.api.names import ROLLBACK_RELEASE_PREFIX
from controller.errors import Forbidden, ObjectRefused
from controller.ports.helm import HelmRequest, RenderedRelease
from controller.ports.kubernetes import Resource
from tests.fakes.helm import FakeHelm
from tests.fakes.kube import Request
from tests.reconcile.bundles import NAMESPACE, Bench

STATEFUL_SET = Resource("apps/v1", "StatefulSet", "statefulsets")
WAY_OUT = "kubectl -n openstack delete statefulset mariadb-server --cascade=orphan"


def rendered(release: str, values: Mapping[str, Any]) -> list[dict[str, Any]]:
    """A StatefulSet with a volume of `size`, and a claim of `class`."""
    claim = {"resources": {"requests": {"storage": values.get("size", "20Gi")}}}
    images = {"resources": {"requests": {"storage": "1Gi"}}, "storageClassName": values.get("class", "fast")}
    return [
        {
            "apiVersion": "apps/v1",
            "kind": "StatefulSet",
            "metadata": {"name": f"{release}-server"},
            "spec": {
                "replicas": values.get("replicas", 1),
                "template": {},
                "volumeClaimTemplates": [{"metadata": {"name": "mysql-data"}, "spec": claim}],
            },
        },
        {
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "metadata": {"name": f"{release}-dumps"},
            "spec": images,
        },
    ]


class VolumeHelm(FakeHelm):
    def _make(self, action: str, request: HelmRequest, *rest: Any) -> Any:
        self.objects_of[request.release] = rendered(request.release, request.values)
        return super()._make(action, request, *rest)

    def render(self, request: HelmRequest, *, server: bool = False) -> RenderedRelease:
        return RenderedRelease(tuple(rendered(request.release, request.values)), ())

    def manifest(self, release: str, namespace: str, version: int) -> RenderedRelease:
        return RenderedRelease(tuple(dict(one) for one in self._find(release, version).objects), ())


@pytest.fixture
def bench() -> Bench:
    made = Bench()
    made.helm = VolumeHelm(made.kube, made.clock)
    made.restart()
    made.bundle("database", mariadb())
    made.settle()
    return made


def mariadb(**values: Any) -> dict[str, Any]:
    return {"name": "mariadb", "values": values}


def test_what_is_not_fixed_is_upgraded(bench: Bench) -> None:
    bench.bundle("database", mariadb(replicas=3))
    bench.settle()
    assert bench.helm.calls == [("Install", "mariadb"), ("Upgrade", "mariadb")]


def test_another_size_of_a_volume_is_refused_before_helm_is_called(bench: Bench) -> None:
    bench.bundle("database", mariadb(size="50Gi", replicas=3))
    bench.settle()
    assert bench.helm.calls == [("Install", "mariadb")]
    text = bench.release("database", "mariadb")["lastAttempt"]["error"]
    assert "StatefulSet/mariadb-server cannot be changed: claim mysql-data: size 20Gi → 50Gi" in text
    assert WAY_OUT in text
    assert bench.release("database", "mariadb")["lastAttempt"]["lasting"] is True
    live = bench.kube.get(STATEFUL_SET, "mariadb-server", NAMESPACE)
    assert live is not None and live["spec"]["replicas"] == 1


def test_the_old_value_lets_the_rest_through(bench: Bench) -> None:
    bench.bundle("database", mariadb(size="50Gi", replicas=3))
    bench.settle()
    bench.bundle("database", mariadb(size="20Gi", replicas=3))
    bench.settle()
    assert bench.release("database", "mariadb")["state"] == "Deployed"


def test_a_statefulset_that_was_orphaned_away_is_made_again(bench: Bench) -> None:
    bench.bundle("database", mariadb(size="50Gi"))
    bench.settle()
    bench.kube.delete(STATEFUL_SET, "mariadb-server", NAMESPACE, propagation="Orphan")
    bench.clock.advance(3600)
    bench.settle()
    assert bench.release("database", "mariadb")["state"] == "Deployed"
    live = bench.kube.get(STATEFUL_SET, "mariadb-server", NAMESPACE)
    assert live is not None
    claim = live["spec"]["volumeClaimTemplates"][0]["spec"]
    assert claim["resources"]["requests"]["storage"] == "50Gi"


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (ObjectRefused("spec: Forbidden: spec is immutable after creation"), "storage class fast → slow"),
        (Forbidden("and the storageclass must support resize"), "storage class fast → slow"),
    ],
)
def test_another_class_of_a_claim_is_refused(bench: Bench, error: Exception, said: str) -> None:
    def refuse(request: Request) -> None:
        if request.kind == "PersistentVolumeClaim" and request.dry_run:
            raise error

    bench.kube.before_write = refuse
    bench.bundle("database", mariadb(**{"class": "slow"}))
    bench.settle()
    assert bench.helm.calls == [("Install", "mariadb")]
    assert said in bench.release("database", "mariadb")["lastAttempt"]["error"]


def test_any_other_refusal_is_for_helm_to_report(bench: Bench) -> None:
    def refuse(request: Request) -> None:
        if request.kind == "StatefulSet" and request.dry_run:
            raise ObjectRefused("admission webhook does not support dry run")

    bench.kube.before_write = refuse
    bench.bundle("database", mariadb(replicas=2))
    bench.settle()
    assert bench.helm.calls[-1] == ("Upgrade", "mariadb")


def test_a_rollback_over_it_is_refused_as_well(bench: Bench) -> None:
    bench.kube.delete(STATEFUL_SET, "mariadb-server", NAMESPACE)
    bench.bundle("database", mariadb(size="50Gi"))
    bench.settle()
    bench.annotate("database", {f"{ROLLBACK_RELEASE_PREFIX}/mariadb": "1"})
    bench.settle()
    assert ("Rollback", "mariadb") not in bench.helm.calls
    assert WAY_OUT in bench.release("database", "mariadb")["lastAttempt"]["error"]


def test_a_plan_shows_the_way_out(bench: Bench) -> None:
    planned = {
        "volumes": "Retain",
        "releases": [{"chart": {"name": "mariadb", "path": "mariadb"}, **mariadb(size="50Gi")}],
    }
    bench.bundle("database", mariadb(), mode="Plan", planned=planned)
    bench.reconcile()
    [entry] = bench.status("database")["plan"]["releases"]
    assert "claim mysql-data: size 20Gi → 50Gi" in entry["problem"]
    assert WAY_OUT in entry["problem"]
