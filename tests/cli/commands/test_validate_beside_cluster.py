"""osctl validate --nodes: what a cluster lacks for a region, by what it has."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from controller.cli.cluster import Cluster
from controller.cli.cluster_checks import LiveObjects, beside_cluster
from controller.cli.offline.checks import Checked, check_all
from controller.cli.offline.input_files import read_objects
from controller.cli.offline.region import offline_renderer
from controller.errors import Forbidden, ObjectMissing
from controller.ports.kubernetes import SECRET, Kube, Resource
from tests.cli.objects import EXAMPLE, example_text, osctl
from tests.fakes.kube import FakeKube

pytestmark = pytest.mark.slow

TAINT = {"key": "node-role.kubernetes.io/control-plane", "effect": "NoSchedule"}
LABELS = ("openstack-control-plane", "openvswitch", "openstack-compute-node")
Validate = Callable[..., Any]


class Served(FakeKube):
    """An API server without the Gateway API."""

    def list_metadata(self, resource: Resource, *arguments: Any, **more: Any) -> Any:
        if resource.api_version.startswith("gateway."):
            raise ObjectMissing("the server could not find the requested resource")
        return super().list_metadata(resource, *arguments, **more)


@pytest.fixture
def kube() -> FakeKube:
    made = Served()
    for name in ("one", "two"):
        labels = dict.fromkeys(LABELS, "enabled")
        meta = {"name": name, "labels": labels}
        node = {"apiVersion": "v1", "kind": "Node", "metadata": meta, "spec": {"taints": [TAINT]}}
        made.create(node)
    return made


@pytest.fixture
def validate(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, kube: FakeKube) -> Validate:
    def run(*arguments: str, **spec: Any) -> tuple[int, str]:
        monkeypatch.setattr("controller.cli.commands.validate.open_cluster", lambda *_: Cluster(kube, ""))
        path = tmp_path / "region.yaml"
        path.write_text(example_text(**spec), encoding="utf-8")
        result = osctl("validate", *arguments, str(path))
        return result.exit_code, " ".join(result.stderr.split())

    return run


def test_the_taint_of_kubeadm_is_reported_and_one_feature_answers_it(validate: Validate) -> None:
    code, told = validate("--nodes")
    assert code == 0
    assert (
        "warning: nodes of the cluster: each with the label openstack-control-plane=enabled has a taint"
        in told
    )
    assert "set spec.features.pods.tolerations: [{key: node-role.kubernetes.io/control-plane" in told
    tolerations = [{"key": TAINT["key"], "operator": "Exists", "effect": "NoSchedule"}]
    _, told = validate("--nodes", features={"pods": {"tolerations": tolerations}})
    assert "taint" not in told


def test_strict_ends_with_3_where_there_is_a_warning(validate: Validate) -> None:
    code, told = validate("--nodes", "--strict")
    assert code == 3
    assert told.endswith("warnings, which --strict refuses")
    assert validate("--strict") == (0, "")


def test_an_error_is_called_so(validate: Validate) -> None:
    code, told = validate(preset="cores")
    assert code == 3
    assert " error: spec.preset:" in told


def test_a_label_of_values_that_no_node_has_is_reported_with_its_line(validate: Validate) -> None:
    values = {"compute": {"nova": {"compute": {"values": {"conf": {"nova": {"DEFAULT": {"debug": True}}}}}}}}
    _, told = validate("--nodes", nodes={"zone::x": {"services": values}})
    assert 'warning: spec.nodes["zone::x"]: no node of the cluster has the label zone=x' in told


def test_the_level_and_the_quotas_of_the_namespace_are_reported(validate: Validate, kube: FakeKube) -> None:
    labels = {"pod-security.kubernetes.io/enforce": "baseline"}
    meta = {"name": "openstack", "labels": labels}
    kube.create({"apiVersion": "v1", "kind": "Namespace", "metadata": meta})
    quota = {"name": "all", "namespace": "openstack"}
    spec = {"hard": {"pods": "1"}}
    kube.create({"apiVersion": "v1", "kind": "ResourceQuota", "metadata": quota, "spec": spec})
    _, told = validate("--nodes")
    assert "warning: namespace of the region: the Pod Security level baseline refuses pods of" in told
    assert "warning: ResourceQuota all: allows 1 of pods" in told


GATEWAY = {
    "services": {"enabled": ["gateway"]},
    "gateway": {"className": "envoy"},
    "tls": {"public": {"enabled": True, "secretName": "public"}},
}
DEFINITIONS = [
    {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": kind.lower()},
        "spec": {"group": "gateway.networking.k8s.io", "names": {"kind": kind}},
    }
    for kind in ("Gateway", "HTTPRoute")
]


def test_definitions_that_the_cluster_lacks_are_reported_unless_the_files_have_them(
    validate: Validate, kube: FakeKube, tmp_path: Path
) -> None:
    _, told = validate("--nodes", features=GATEWAY)
    missing = "the cluster does not define Gateway (gateway.networking.k8s.io/v1), HTTPRoute"
    assert f"warning: definitions of the cluster: {missing}" in told
    beside = tmp_path / "definitions.yaml"
    beside.write_text(yaml.safe_dump_all(DEFINITIONS), encoding="utf-8")
    _, told = validate("--nodes", str(beside), features=GATEWAY)
    assert "definitions of the cluster" not in told


def test_a_secret_that_is_there_is_not_asked_for_but_for_a_key_that_it_lacks(
    validate: Validate, kube: FakeKube
) -> None:
    _, told = validate("--nodes", features=GATEWAY)
    assert "Secret public (keys tls.crt, tls.key) is not created by a release" in told
    meta = {"name": "public", "namespace": "openstack"}
    secret = {"apiVersion": "v1", "kind": "Secret", "type": "kubernetes.io/tls", "metadata": meta}
    kube.create({**secret, "data": {"tls.crt": "eA=="}})
    _, told = validate("--nodes", features=GATEWAY)
    assert "Secret public has no key tls.key" in told
    kube.merge_patch(SECRET, "public", "openstack", {"data": {"tls.key": "eA=="}})
    _, told = validate("--nodes", features=GATEWAY)
    assert "Secret public" not in told


def test_what_may_not_be_seen_is_asked_for_as_ever(kube: FakeKube, monkeypatch: pytest.MonkeyPatch) -> None:
    def forbidden(*_: Any) -> None:
        raise Forbidden("secrets is forbidden")

    monkeypatch.setattr(kube, "get", forbidden)
    assert LiveObjects(Cluster(kube, ""))("Secret", "public", "openstack") is None
    assert LiveObjects(Cluster(kube, ""))("Deployment", "nova-api", "openstack") is None


def test_without_a_region_nothing_is_asked_of_the_cluster() -> None:
    asked: Kube = object()  # type: ignore[assignment] - nothing is called
    items = read_objects([str(EXAMPLE)])
    unread = [Checked(items[0].title, items[0].source, checked=True)]
    assert beside_cluster(unread, items, Cluster(asked)) == unread


def test_a_namespace_among_the_files_says_its_own_level(tmp_path: Path) -> None:
    labels = {"pod-security.kubernetes.io/enforce": "restricted"}
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "openstack", "labels": labels}}
    path = tmp_path / "region.yaml"
    path.write_text(f"{example_text()}---\n{yaml.safe_dump(namespace)}", encoding="utf-8")
    items = read_objects([str(path)])
    region = next(
        one for one in check_all(items, offline_renderer(), manifests=True) if one.asked is not None
    )
    assert any("Pod Security level restricted" in warning.message for warning in region.warnings)
