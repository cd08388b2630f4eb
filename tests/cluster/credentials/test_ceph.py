"""An exchange with Ceph on a real API server, with the rights that the chart grants: consumers wait for what
they need, are made again once for each change, and not at all where nothing changed."""

from __future__ import annotations

import base64
import json
import secrets
import time
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from sandbox.cluster import Sandbox
from sandbox.errors import SandboxError
from tests.cluster.conftest import installed
from tests.cluster.region import Region, wait_until
from tests.domain.credentials.ceph.samples import ROOK_CLUSTER, ROOK_MONITORS, key_of, rook_client

pytestmark = [pytest.mark.cluster, pytest.mark.xdist_group("ceph"), pytest.mark.timeout(1800)]

CONSUMERS = {"glance": "glance_api", "libvirt": "libvirt", "nova": "nova_compute"}
# Passes without an event come this often here; nothing tells of a change in another namespace.
RESYNC = 5


@pytest.fixture(scope="module")
def ceph(sandbox: Sandbox) -> Iterator[str]:
    """A namespace with the definitions of Rook, without Rook."""
    name = f"test-{secrets.token_hex(4)}-ceph"
    sandbox.create_namespace(name, {})
    for kind, plural in (("CephBlockPool", "cephblockpools"), ("CephClient", "cephclients")):
        sandbox.kubectl("apply", "-f", "-", input=json.dumps(_definition(kind, plural)))
    yield name
    sandbox.kubectl("delete", "namespace", name, "--wait=false", "--ignore-not-found")


@pytest.fixture(scope="module")
def region(sandbox: Sandbox, ceph: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Region]:
    namespace = f"test-{secrets.token_hex(4)}"
    sandbox.create_namespace(namespace, {})
    directory = tmp_path_factory.mktemp("ceph")
    environment = {"RESYNC_SECONDS": str(RESYNC)}
    containers = ("core", "helmbundle", "secrets")
    for region in installed(sandbox, namespace, directory, containers, environment):
        place = f"ceph.namespaces[0].name={ceph},ceph.namespaces[0].rookObjects=true"
        region.install_chart("--set", place)
        yield region
    sandbox.kubectl("delete", "namespace", namespace, "--wait=false", "--ignore-not-found")


def _definition(kind: str, plural: str) -> dict[str, Any]:
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    names = {"kind": kind, "plural": plural, "singular": kind.lower()}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {
            "name": f"{plural}.ceph.rook.io",
            "annotations": {"api-approved.kubernetes.io": "unapproved, a stand-in for tests"},
        },
        "spec": {"group": "ceph.rook.io", "names": names, "scope": "Namespaced", "versions": [version]},
    }


def put(region: Region, namespace: str, kind: str, name: str, texts: Mapping[str, str]) -> None:
    field = "stringData" if kind == "Secret" else "data"
    meta = {"name": name, "namespace": namespace}
    body = {"apiVersion": "v1", "kind": kind, "metadata": meta, field: dict(texts)}
    region.sandbox.kubectl("apply", "-f", "-", input=json.dumps(body))


def put_rook(
    region: Region, namespace: str, monitors: str = ROOK_MONITORS["data"], generation: int = 1
) -> None:
    put(region, namespace, "Secret", "rook-ceph-mon", ROOK_CLUSTER)
    put(region, namespace, "ConfigMap", "rook-ceph-mon-endpoints", {**ROOK_MONITORS, "data": monitors})
    put(region, namespace, "Secret", "rook-ceph-client-glance", rook_client("glance"))
    put(region, namespace, "Secret", "rook-ceph-client-cinder", rook_client("cinder", generation))


def with_ceph(region: Region, namespace: str) -> dict[str, Any]:
    osdpl = region.manifest()
    features = osdpl["spec"].setdefault("features", {})
    features["ceph"] = {"source": "Rook", "namespace": namespace, "request": "Rook"}
    features["image"] = {"backends": [{"name": "rbd", "type": "ceph"}]}
    features.setdefault("compute", {})["images"] = {"backend": "ceph"}
    return osdpl


def revisions(region: Region) -> dict[str, int]:
    """Of the consumers that are deployed."""
    found = region.revisions()
    return {name: found[name][0] for name in CONSUMERS if name in found and found[name][1] == "deployed"}


def generations(region: Region) -> dict[str, int]:
    """How often the pods of each consumer were asked to be others: a template's every change counts."""
    found: dict[str, int] = {}
    for one in region.get("deployments,daemonsets")["items"]:
        if "osctl.dev/ceph" in (one["spec"]["template"]["metadata"].get("annotations") or {}):
            found[f"{one['kind']}/{one['metadata']['name']}"] = one["metadata"]["generation"]
    return found


def grown(before: Mapping[str, int], after: Mapping[str, int]) -> dict[str, int]:
    return {name: after[name] - before[name] for name in before if after[name] != before[name]}


def wait_deployed(region: Region, what: str, wanted: Mapping[str, int]) -> None:
    def show() -> str:
        return f"{region.revisions()}\n{region.controllers.log('helmbundle')[-2000:]}"

    wait_until(what, lambda: revisions(region) == wanted, 900.0, show)


def may(region: Region, verb: str, what: str, namespace: str) -> bool:
    name = f"osctl-{region.namespace}"
    account = f"--as=system:serviceaccount:{region.namespace}:{name}"
    try:
        return "yes" in region.sandbox.kubectl("auth", "can-i", verb, what, "-n", namespace, account)
    except SandboxError:
        return False  # kubectl ends with 1 when it says no


def test_consumers_wait_follow_every_change_once_and_nothing_else(region: Region, ceph: str) -> None:
    region.apply(with_ceph(region, ceph))
    wait_until(
        "what is missing is told",
        lambda: "rook-ceph-mon-endpoints" in region.condition("SecretsExchanged").get("message", ""),
    )
    clients = region.sandbox.kubectl("-n", ceph, "get", "cephclients", "-o", "name").split()
    assert {name.rpartition("/")[2] for name in clients} == {"cinder", "glance"}
    wait_until("the others go on", lambda: "keystone" in region.revisions(), 900.0)
    assert revisions(region) == {}

    put_rook(region, ceph)
    wait_deployed(region, "the consumers are deployed", dict.fromkeys(CONSUMERS, 1))
    assert region.condition("SecretsExchanged")["status"] == "True"
    first = generations(region)
    assert len(first) == len(CONSUMERS)

    put_rook(region, ceph, generation=2)
    wait_deployed(region, "a new key has reached them", {"glance": 1, "libvirt": 2, "nova": 2})
    second = generations(region)
    assert sorted(grown(first, second).values()) == [1, 1]
    key = region.get("secret", "pvc-ceph-client-key")["data"]["key"]
    assert key == _encoded(key_of("cinder", 2))

    more = f"{ROOK_MONITORS['data']},d=10.96.1.4:6789"
    put_rook(region, ceph, more, generation=2)
    wait_deployed(region, "a new monitor has reached them", {"glance": 2, "libvirt": 3, "nova": 3})
    third = generations(region)
    assert sorted(grown(second, third).values()) == [1, 1, 1]

    turned = ",".join(reversed(more.split(",")))
    put_rook(region, ceph, turned, generation=2)
    time.sleep(RESYNC * 5)
    assert revisions(region) == {"glance": 2, "libvirt": 3, "nova": 3} and generations(region) == third


def test_the_controller_reads_the_exchange_and_no_other_secret_of_ceph(region: Region, ceph: str) -> None:
    assert may(region, "get", "secret/rook-ceph-client-cinder", ceph)
    assert not may(region, "get", "secret/rook-ceph-admin-keyring", ceph)
    assert not may(region, "list", "secrets", ceph)
    assert not may(region, "delete", "cephblockpools.ceph.rook.io", ceph)


def _encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()
