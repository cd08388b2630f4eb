"""An exchange with Ceph on a real API server, with the rights that the chart grants: consumers wait for what
they need, are made again once for each change, and not at all where nothing changed."""

from __future__ import annotations

import base64
import json
import secrets
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from sandbox.cluster import Sandbox
from sandbox.errors import SandboxError
from tests.cluster.conftest import installed
from tests.cluster.region import WITHOUT_NETWORK, Region, wait_until
from tests.domain.credentials.ceph.samples import ROOK_CLUSTER, ROOK_MONITORS, key_of, rook_client

pytestmark = [pytest.mark.cluster, pytest.mark.xdist_group("ceph"), pytest.mark.timeout(1800)]

CONSUMERS = {"glance": "glance_api", "libvirt": "libvirt", "nova": "nova_compute"}
# Passes without an event come this often here; nothing tells of a change in another namespace.
RESYNC = 5


@dataclass(frozen=True)
class Bed:
    """A region, and a namespace with the definitions of Rook, without Rook."""

    region: Region
    ceph: str


@contextmanager
def installed_beside_rook(sandbox: Sandbox, directory: Path) -> Iterator[Bed]:
    namespace = f"test-{secrets.token_hex(4)}"
    ceph = f"{namespace}-ceph"
    for name in (namespace, ceph):
        sandbox.create_namespace(name, {})
    for kind, plural in (("CephBlockPool", "cephblockpools"), ("CephClient", "cephclients")):
        sandbox.kubectl("apply", "-f", "-", input=json.dumps(_definition(kind, plural)))
    environment = {"RESYNC_SECONDS": str(RESYNC)}
    containers = ("core", "helmbundle", "secrets")
    for region in installed(sandbox, namespace, directory, containers, environment):
        place = f"ceph.namespaces[0].name={ceph},ceph.namespaces[0].rookObjects=true"
        region.install_chart("--set", place)
        yield Bed(region, ceph)
    sandbox.kubectl("delete", "namespace", namespace, ceph, "--wait=false", "--ignore-not-found")


@pytest.fixture(scope="module")
def bed(sandbox: Sandbox, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bed]:
    """Shared: its region has images in Ceph, and no computes."""
    with installed_beside_rook(sandbox, tmp_path_factory.mktemp("ceph")) as made:
        yield made


@pytest.fixture
def whole_bed(sandbox: Sandbox, tmp_path: Path) -> Iterator[Bed]:
    with installed_beside_rook(sandbox, tmp_path) as made:
        yield made


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


def put_rook(bed: Bed, monitors: str = ROOK_MONITORS["data"], glance: int = 1, cinder: int = 1) -> None:
    """`glance`, `cinder`: the generation of the key of each."""
    region, namespace = bed.region, bed.ceph
    put(region, namespace, "Secret", "rook-ceph-mon", ROOK_CLUSTER)
    put(region, namespace, "ConfigMap", "rook-ceph-mon-endpoints", {**ROOK_MONITORS, "data": monitors})
    put(region, namespace, "Secret", "rook-ceph-client-glance", rook_client("glance", glance))
    put(region, namespace, "Secret", "rook-ceph-client-cinder", rook_client("cinder", cinder))


def images_in_ceph(osdpl: dict[str, Any], namespace: str) -> dict[str, Any]:
    features: dict[str, Any] = osdpl["spec"].setdefault("features", {})
    features["ceph"] = {"source": "Rook", "namespace": namespace, "request": "Rook"}
    features["image"] = {"backends": [{"name": "rbd", "type": "ceph"}]}
    return features


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


def wait_for_what_is_missing(bed: Bed, clients: set[str]) -> None:
    """It is reported, Rook is asked for `clients`, and all releases but the consumers go on."""
    region = bed.region
    wait_until(
        "what is missing is told",
        lambda: "rook-ceph-mon-endpoints" in region.condition("SecretsExchanged").get("message", ""),
    )
    found = region.sandbox.kubectl("-n", bed.ceph, "get", "cephclients", "-o", "name").split()
    assert {name.rpartition("/")[2] for name in found} == clients
    wait_until("the others go on", lambda: "keystone" in region.revisions(), 900.0)
    assert revisions(region) == {}


def test_a_consumer_waits_follows_every_change_once_and_nothing_else(bed: Bed) -> None:
    region = bed.region
    osdpl = region.smaller(WITHOUT_NETWORK)
    images_in_ceph(osdpl, bed.ceph)
    region.apply(osdpl)
    wait_for_what_is_missing(bed, {"glance"})
    put_rook(bed)
    wait_deployed(region, "it is deployed", {"glance": 1})
    assert region.condition("SecretsExchanged")["status"] == "True"
    first = generations(region)
    assert len(first) == 1

    put_rook(bed, glance=2)
    wait_deployed(region, "a new key has reached it", {"glance": 2})
    second = generations(region)
    assert list(grown(first, second).values()) == [1]

    more = f"{ROOK_MONITORS['data']},d=10.96.1.4:6789"
    put_rook(bed, more, glance=2)
    wait_deployed(region, "a new monitor has reached it", {"glance": 3})
    third = generations(region)
    assert list(grown(second, third).values()) == [1]

    put_rook(bed, ",".join(reversed(more.split(","))), glance=2, cinder=2)
    time.sleep(RESYNC * 4)
    assert revisions(region) == {"glance": 3} and generations(region) == third


@pytest.mark.exhaustive
def test_a_new_key_reaches_those_consumers_that_have_it(whole_bed: Bed) -> None:
    region = whole_bed.region
    osdpl = region.manifest()
    images_in_ceph(osdpl, whole_bed.ceph).setdefault("compute", {})["images"] = {"backend": "ceph"}
    region.apply(osdpl)
    wait_for_what_is_missing(whole_bed, {"cinder", "glance"})
    put_rook(whole_bed)
    wait_deployed(region, "the consumers are deployed", dict.fromkeys(CONSUMERS, 1))
    first = generations(region)
    assert len(first) == len(CONSUMERS)

    put_rook(whole_bed, cinder=2)
    wait_deployed(region, "a new key has reached them", {"glance": 1, "libvirt": 2, "nova": 2})
    second = generations(region)
    assert sorted(grown(first, second).values()) == [1, 1]
    key = region.get("secret", "pvc-ceph-client-key")["data"]["key"]
    assert key == _encoded(key_of("cinder", 2))

    put_rook(whole_bed, f"{ROOK_MONITORS['data']},d=10.96.1.4:6789", cinder=2)
    wait_deployed(region, "a new monitor has reached them", {"glance": 2, "libvirt": 3, "nova": 3})
    assert sorted(grown(second, generations(region)).values()) == [1, 1, 1]


def test_the_controller_reads_the_exchange_and_no_other_secret_of_ceph(bed: Bed) -> None:
    region, ceph = bed.region, bed.ceph
    assert may(region, "get", "secret/rook-ceph-client-cinder", ceph)
    assert not may(region, "get", "secret/rook-ceph-admin-keyring", ceph)
    assert not may(region, "list", "secrets", ceph)
    assert not may(region, "delete", "cephblockpools.ceph.rook.io", ceph)


def _encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()
