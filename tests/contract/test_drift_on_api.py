"""What people and controllers do to a release's objects, and what is made of it, on a real API server."""

from __future__ import annotations

import json
from functools import partial
from typing import Any

import pytest

from controller.domain.releases.bundle import DriftIgnore
from controller.domain.releases.drift.difference import Change, Drifted
from controller.ports.kubernetes import DEPLOYMENT, JOB, Resource
from controller.reconcile.releases.drift.compare import compare, correct
from tests.contract.conftest import Bench, wait_until

pytestmark = pytest.mark.cluster

AUTOSCALER = Resource("autoscaling/v2", "HorizontalPodAutoscaler", "horizontalpodautoscalers")


def deployed(bench: Bench, **values: Any) -> None:
    bench.helm.install(bench.request("web", values, chart="varied"))


def drifted(bench: Bench, version: int = 1, rules: tuple[DriftIgnore, ...] = ()) -> dict[str, Drifted]:
    objects = bench.records.required_objects("web", bench.namespace, version)
    found = [compare(bench.kube, obj, "web", bench.namespace, rules).drifted for obj in objects]
    return {str(one.object): one for one in found if one is not None}


def corrected(bench: Bench, version: int = 1) -> list[Drifted]:
    """Puts everything right; what is left."""
    left = []
    for obj in bench.records.required_objects("web", bench.namespace, version):
        compare_again = partial(compare, bench.kube, obj, "web", bench.namespace, ())
        one = correct(bench.kube, compare_again).remaining
        left += [one] if one is not None else []
    return left


def kubectl(bench: Bench, *arguments: str, text: str | None = None) -> None:
    bench.sandbox.kubectl("--namespace", bench.namespace, *arguments, input=text)


def hook_uid(bench: Bench) -> str:
    job = bench.kube.get(JOB, "migrate", bench.namespace)
    assert job is not None
    return str(job["metadata"]["uid"])


def test_a_release_as_helm_left_it_does_not_drift(bench: Bench) -> None:
    deployed(bench)
    wait_until(lambda: bench.kube.get(DEPLOYMENT, "web", bench.namespace)["status"], "it has a status")
    assert drifted(bench) == {}
    kinds = {obj["kind"] for obj in bench.records.required_objects("web", bench.namespace, 1)}
    assert len(kinds) == 10
    names = [obj["metadata"]["name"] for obj in bench.records.required_objects("web", bench.namespace, 1)]
    assert "migrate" in names
    assert "once" not in names


def test_hand_edits_are_reported_put_right_and_no_upgrade_fails_for_them(bench: Bench) -> None:
    deployed(bench)
    hook = hook_uid(bench)
    kubectl(bench, "scale", "deploy/web", "--replicas=3")
    kubectl(bench, "set", "image", "deploy/web", "web=two")
    kubectl(bench, "set", "env", "deploy/web", "EXTRA=mine")
    kubectl(bench, "rollout", "restart", "deploy/web")
    kubectl(bench, "annotate", "deploy/web", "note=theirs", "other=theirs", "--overwrite")
    kubectl(bench, "patch", "cm", "settings", "--type=json", "-p", '[{"op":"remove","path":"/data/a"}]')
    kubectl(bench, "patch", "secret", "passwords", "-p", '{"stringData":{"plain":"x","packed":"y","z":"1"}}')
    kubectl(bench, "patch", "cronjob", "nightly", "-p", '{"spec":{"schedule":"1 1 * * *"}}')
    role = {"metadata": {"name": "web"}, "rules": [], "kind": "Role"}
    role["apiVersion"] = "rbac.authorization.k8s.io/v1"
    kubectl(bench, "apply", "-f", "-", text=json.dumps(role))
    budget: dict[str, Any] = {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget"}
    budget |= {"metadata": {"name": "web"}, "spec": {"maxUnavailable": 2}}
    kubectl(
        bench, "apply", "--server-side", "--field-manager=someone", "--force-conflicts", "-f", "-",
        text=json.dumps(budget),
    )  # fmt: skip
    kubectl(bench, "delete", "sa", "web")
    kubectl(bench, "delete", "job", "migrate")

    found = drifted(bench)
    assert {name: one.paths for name, one in found.items()} == {
        "Deployment/web": (
            "/metadata/annotations/note",
            "/spec/replicas",
            "/spec/template/spec/containers/0/image",
        ),
        "ConfigMap/settings": ("/data/a",),
        "Secret/passwords": ("/data/packed", "/data/plain"),
        "CronJob/nightly": ("/spec/schedule",),
        "Role/web": ("/rules",),
        "PodDisruptionBudget/web": ("/spec/maxUnavailable",),
        "ServiceAccount/web": (),
        "Job/migrate": (),
    }
    assert found["Deployment/web"].by == ("kubectl (scale)", "kubectl-annotate", "kubectl-set")
    assert found["PodDisruptionBudget/web"].by == ("someone",)
    assert [found[name].change for name in ("ServiceAccount/web", "Job/migrate")] == [Change.DELETED] * 2

    assert corrected(bench) == []
    assert drifted(bench) == {}
    assert hook_uid(bench) != hook
    assert bench.statuses("web") == ["deployed"]

    kubectl(bench, "scale", "deploy/web", "--replicas=7")
    kubectl(bench, "set", "image", "deploy/web", "web=three")
    made = bench.helm.upgrade(bench.request("web", {"image": "four", "replicas": 2}, chart="varied"))
    assert made.status == "deployed"
    assert drifted(bench, 2) == {}
    live = bench.kube.get(DEPLOYMENT, "web", bench.namespace)
    assert live is not None
    assert live["spec"]["replicas"] == 2
    assert live["spec"]["template"]["spec"]["containers"][0]["image"] == "four"


def test_replicas_that_an_autoscaler_sets_are_not_drift(bench: Bench) -> None:
    deployed(bench)
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
    meta = {"name": "web", "namespace": bench.namespace}
    spec = {"scaleTargetRef": target, "minReplicas": 3, "maxReplicas": 5}
    bench.kube.create(
        {"apiVersion": "autoscaling/v2", "kind": AUTOSCALER.kind, "metadata": meta, "spec": spec}
    )

    def scaled() -> bool:
        live = bench.kube.get(DEPLOYMENT, "web", bench.namespace)
        return live is not None and live["spec"]["replicas"] == 3

    wait_until(scaled, "the autoscaler has scaled")
    assert drifted(bench) == {}
    kubectl(bench, "set", "image", "deploy/web", "web=two")
    assert drifted(bench)["Deployment/web"].paths == ("/spec/template/spec/containers/0/image",)
    assert corrected(bench) == []
    assert scaled()
    bench.kube.delete(AUTOSCALER, "web", bench.namespace)


def test_what_cannot_be_changed_back_is_refused_with_the_field(bench: Bench) -> None:
    deployed(bench)
    kubectl(bench, "delete", "service", "store")
    kubectl(bench, "create", "service", "clusterip", "store", "--tcp=80:80")
    kubectl(bench, "delete", "sts", "store", "--cascade=orphan")
    other = next(
        o for o in bench.records.required_objects("web", bench.namespace, 1) if o["kind"] == "StatefulSet"
    )
    other["spec"]["volumeClaimTemplates"][0]["spec"]["resources"]["requests"]["storage"] = "2Gi"
    kubectl(bench, "create", "-f", "-", text=json.dumps(other))

    found = drifted(bench)
    assert {name: one.change for name, one in found.items()} == {
        "Service/store": Change.REFUSED,
        "StatefulSet/store": Change.REFUSED,
    }
    assert all("cannot be changed" in one.message for one in found.values())
    assert "spec.clusterIP" in found["Service/store"].message
    assert {str(one.object) for one in corrected(bench)} == set(found)

    rule = DriftIgnore(kind="StatefulSet", name="store", paths=("/spec/volumeClaimTemplates",))
    left = drifted(bench, rules=(rule,))
    assert left["Service/store"].change == Change.REFUSED
    assert left["StatefulSet/store"].change == Change.EDITED
    assert all(path.startswith("/metadata/") for path in left["StatefulSet/store"].paths)
