"""osctl preflight: each requirement of a region that a cluster does not meet is named, with what to do."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
import yaml

from controller.cli.cluster import Cluster
from controller.cli.exit_codes import ExitCode
from controller.errors import ApiUnavailable, Forbidden, ObjectMissing
from controller.ports.kubernetes import Resource
from tests.cli.objects import ROOT, example_text, osctl
from tests.fakes.kube import FakeKube

pytestmark = pytest.mark.slow

LABELS = ("openstack-control-plane", "openvswitch", "openstack-compute-node", "l3-agent")
DEFINITIONS = ROOT / "charts" / "openstack-controller" / "files" / "crds"
GATEWAY = {
    "services": {"enabled": ["gateway"]},
    "gateway": {"className": "envoy"},
    "tls": {"public": {"enabled": True, "secretName": "public"}},
}


class Api(FakeKube):
    """An API server. It lacks what is in `undefined`, and refuses to show what is in `hidden`."""

    def __init__(self) -> None:
        super().__init__()
        self.undefined: tuple[str, ...] = ()
        self.hidden: tuple[str, ...] = ()
        self.silent = False

    def _ask(self, resource: Resource) -> None:
        if self.silent:
            raise ApiUnavailable("no answer")
        if resource.kind in self.hidden:
            raise Forbidden(f"{resource.kind} is forbidden")

    def get(self, resource: Resource, *arguments: Any, **more: Any) -> Any:
        self._ask(resource)
        return super().get(resource, *arguments, **more)

    def list(self, resource: Resource, *arguments: Any, **more: Any) -> Any:
        self._ask(resource)
        return super().list(resource, *arguments, **more)

    def list_metadata(self, resource: Resource, *arguments: Any, **more: Any) -> Any:
        if resource.kind in self.undefined:
            raise ObjectMissing("the server could not find the requested resource")
        return super().list_metadata(resource, *arguments, **more)


@dataclass
class Broken:
    """A cluster, what the API server says of its version, and the spec of the region."""

    kube: Api
    minor: str = "36"
    spec: dict[str, Any] = field(default_factory=dict)
    definitions: list[dict[str, Any]] = field(default_factory=list)
    node: dict[str, Any] = field(default_factory=dict)
    controller: dict[str, Any] = field(default_factory=dict)
    classes: list[dict[str, Any]] = field(default_factory=list)

    def server_version(self) -> Mapping[str, Any]:
        return {"major": "1", "minor": self.minor, "gitVersion": f"v1.{self.minor}.0"}

    def put(self, kind: str, name: str, *, api: str = "v1", namespace: str = "", **more: Any) -> None:
        meta = {"name": name, **({"namespace": namespace} if namespace else {}), **more.pop("meta", {})}
        self.add({"apiVersion": api, "kind": kind, "metadata": meta, **more})

    def add(self, obj: dict[str, Any]) -> None:
        """Creates it with its status, which a create leaves out."""
        made = self.kube.create(obj)
        if "status" in obj:
            self.kube.replace({**made, "status": obj["status"]}, subresource="status")

    def finish(self) -> None:
        """Creates what a healthy cluster has, as the test has changed it."""
        for one in self.definitions:
            self.kube.create(one)
        for name in ("one", "two"):
            self.put("Node", name, **json.loads(json.dumps(self.node)))
        for one in self.classes:
            self.kube.create(one)
        if self.controller:
            self.add(self.controller)


@cache
def _definitions() -> str:
    """Read once: the YAML of all definitions takes longer than a command."""
    return json.dumps([yaml.safe_load(path.read_text()) for path in sorted(DEFINITIONS.glob("*.yaml"))])


@pytest.fixture
def cluster() -> Broken:
    """A healthy cluster, in which nothing was created yet."""
    made = Broken(Api())
    made.definitions = json.loads(_definitions())
    made.node = {
        "meta": {"labels": dict.fromkeys(LABELS, "enabled")},
        "spec": {},
        "status": {"allocatable": {"cpu": "64", "memory": "256Gi"}},
    }
    notes = {"storageclass.kubernetes.io/is-default-class": "true"}
    made.classes = [
        {
            "apiVersion": "storage.k8s.io/v1",
            "kind": "StorageClass",
            "metadata": {"name": "standard", "annotations": notes},
            "provisioner": "example.org/disks",
        }
    ]
    labels = {"app.kubernetes.io/name": "openstack-controller"}
    labels["app.kubernetes.io/version"] = version("openstack-controller")
    container = {"name": "core", "env": [{"name": "REGION_NAMESPACE", "value": "openstack"}]}
    made.controller = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "openstack-controller", "namespace": "openstack-controller", "labels": labels},
        "spec": {"template": {"spec": {"containers": [container]}}},
        "status": {"availableReplicas": 1},
    }
    return made


Preflight = Callable[..., tuple[int, dict[str, Any]]]


@pytest.fixture
def preflight(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, cluster: Broken) -> Preflight:
    where = "controller.cli.commands.readiness.preflight"

    def run() -> tuple[int, dict[str, Any]]:
        cluster.finish()
        monkeypatch.setattr(f"{where}.open_cluster", lambda *_: Cluster(cluster.kube, ""))
        monkeypatch.setattr(f"{where}.open_survey", lambda *_: cluster)
        path = tmp_path / "region.yaml"
        path.write_text(example_text(**cluster.spec), encoding="utf-8")
        result = osctl("preflight", "-o", "json", str(path))
        assert result.exit_code in tuple(ExitCode), result.exception
        return result.exit_code, json.loads(result.stdout) if result.stdout else {}

    return run


def _wrong(answer: Mapping[str, Any]) -> dict[str, dict[str, str]]:
    return {one["what"]: one for one in answer["checks"] if one["state"] != "ok"}


def test_a_cluster_that_has_everything_is_ready(preflight: Preflight) -> None:
    code, answer = preflight()
    assert (code, _wrong(answer), answer["ready"]) == (0, {}, True)
    needed = {one["what"]: one["needed"] for one in answer["checks"]}
    assert "openstack-control-plane=enabled: " in needed["labels and room of nodes"]
    assert " claims, " in needed["storage classes"]


def _old_kubernetes(cluster: Broken) -> None:
    cluster.minor = "32+"


def _no_label(cluster: Broken) -> None:
    cluster.node["meta"]["labels"].pop("openvswitch")


def _no_room(cluster: Broken) -> None:
    cluster.node["status"]["allocatable"] = {"cpu": "500m", "memory": "1Gi"}


def _taint(cluster: Broken) -> None:
    cluster.node["spec"]["taints"] = [{"key": "dedicated", "effect": "NoSchedule"}]


def _cordoned(cluster: Broken) -> None:
    cluster.node["spec"]["unschedulable"] = True


def _no_class(cluster: Broken) -> None:
    cluster.classes = []


def _pod_security(cluster: Broken) -> None:
    labels = {"pod-security.kubernetes.io/enforce": "restricted"}
    cluster.put("Namespace", "openstack", meta={"labels": labels})


def _quota(cluster: Broken) -> None:
    cluster.put("ResourceQuota", "all", namespace="openstack", spec={"hard": {"pods": "1"}})


def _no_gateway_api(cluster: Broken) -> None:
    cluster.spec = {"features": GATEWAY}
    data = {"tls.crt": "eA==", "tls.key": "eA=="}
    cluster.put("Secret", "public", namespace="openstack", type="kubernetes.io/tls", data=data)
    cluster.kube.undefined = ("Gateway", "HTTPRoute")


def _no_secret(cluster: Broken) -> None:
    cluster.spec = {"features": GATEWAY}


def _no_definition(cluster: Broken) -> None:
    cluster.definitions = [one for one in cluster.definitions if "helmbundles" not in one["metadata"]["name"]]


def _old_definition(cluster: Broken) -> None:
    [own] = [one for one in cluster.definitions if one["spec"]["names"]["kind"] == "OpenStackDeployment"]
    schema = own["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    del schema["properties"]["spec"]["properties"]["upgrade"]


def _no_controller(cluster: Broken) -> None:
    cluster.controller = {}


def _dead_controller(cluster: Broken) -> None:
    cluster.controller["status"] = {}


def _old_controller(cluster: Broken) -> None:
    cluster.controller["metadata"]["labels"]["app.kubernetes.io/version"] = "0.0.1"


@pytest.mark.parametrize(
    ("broken", "what", "found", "remedy"),
    [
        (_old_kubernetes, "Kubernetes", "v1.32+.0", "upgrade the cluster to Kubernetes 1.33 or newer"),
        (_no_label, "labels and room of nodes", "openvswitch=enabled", "kubectl label node NODE openvswitch"),
        (_no_room, "labels and room of nodes", "are asked for", "smaller spec.size"),
        (_taint, "taints", "dedicated", "spec.features.pods.tolerations"),
        (_cordoned, "cordoned nodes", "cordoned", "kubectl uncordon NODE"),
        (_no_class, "storage classes", "there is no standard", "known: none"),
        (_pod_security, "Pod Security", "restricted refuses pods", "kubectl label"),
        (_quota, "quotas", "allows 1 of pods", ""),
        (
            _no_gateway_api,
            "definitions of other products",
            "does not define Gateway",
            "install the Gateway API",
        ),
        (_no_secret, "Secret openstack/public", "not there", "kubectl -n openstack create secret tls public"),
        (_no_definition, "definition HelmBundle", "not in the cluster", "helm upgrade --install"),
        (_old_definition, "definition OpenStackDeployment", "lacks spec.upgrade", "helm upgrade --install"),
        (_no_controller, "controller", "not installed", "helm upgrade --install"),
        (_dead_controller, "controller", "no pod is available", "kubectl -n openstack-controller describe"),
        (_old_controller, "controller", "0.0.1", "helm upgrade --install"),
    ],
)
def test_a_fault_is_named_with_what_to_do(
    broken: Callable[[Broken], None],
    what: str,
    found: str,
    remedy: str,
    cluster: Broken,
    preflight: Preflight,
) -> None:
    broken(cluster)
    code, answer = preflight()
    assert (code, answer["ready"]) == (5, False)
    assert set(_wrong(answer)) == {what}
    shown = [one for one in answer["checks"] if one["state"] == "lacks"]
    assert any(found in one["found"] and remedy in one["remedy"] for one in shown)


def test_what_the_account_may_not_read_is_unknown_and_no_fault(cluster: Broken, preflight: Preflight) -> None:
    cluster.kube.hidden = ("Node", "ResourceQuota", "CustomResourceDefinition", "Deployment")
    code, answer = preflight()
    assert code == 6
    assert {one["state"] for one in _wrong(answer).values()} == {"unknown"}
    assert {"taints", "quotas", "controller", "definition HelmBundle"} <= set(_wrong(answer))


def test_an_object_to_bring_that_is_there_is_listed(cluster: Broken, preflight: Preflight) -> None:
    _no_gateway_api(cluster)
    cluster.kube.undefined = ()
    _, answer = preflight()
    [own] = [one for one in answer["checks"] if one["what"] == "Secret openstack/public"]
    assert own["found"] != "not there"


def test_a_cluster_that_does_not_answer_ends_with_7(cluster: Broken, preflight: Preflight) -> None:
    cluster.kube.silent = True
    assert preflight()[0] == 7


def test_nothing_is_written(cluster: Broken, preflight: Preflight) -> None:
    cluster.finish = lambda: None  # type: ignore[method-assign]
    before = len(cluster.kube.requests)
    preflight()
    assert {one.verb for one in cluster.kube.requests[before:]} <= {"get", "list", "list_metadata"}
