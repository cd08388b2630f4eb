"""A region whose OpenStackDeployment is lost and restored from a backup, and has another uid then."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sandbox.cluster import Sandbox
from tests.cluster.conftest import installed
from tests.cluster.region import NAME, Region, wait_until

pytestmark = pytest.mark.cluster


@pytest.fixture
def region(sandbox: Sandbox, namespace: str, tmp_path: Path) -> Iterator[Region]:
    yield from installed(sandbox, namespace, tmp_path, containers=("core", "helmbundle", "secrets"))


def uids(region: Region, kind: str) -> dict[str, str]:
    return {one["metadata"]["name"]: one["metadata"]["uid"] for one in region.get(kind)["items"]}


def credentials(region: Region) -> dict[str, Any]:
    found = region.get("secrets", "-l", "osctl.dev/service,app.kubernetes.io/managed-by=openstack-controller")
    return {one["metadata"]["name"]: (one["metadata"]["uid"], one["data"]) for one in found["items"]}


def test_nothing_is_uninstalled_and_no_data_goes_when_it_comes_back(region: Region) -> None:
    spec = {"volumes": "Delete"}
    region.apply(region.manifest(**spec))
    region.wait_ready()
    before = (uids(region, "hb"), region.revisions(), uids(region, "pvc"), credentials(region))
    assert all(before)
    first = region.osdpl()["metadata"]["uid"]
    pods = uids(region, "sts,deploy")

    owner = {"apiVersion": "osctl.dev/v1alpha1", "kind": "OpenStackDeployment", "name": NAME, "uid": first}
    meta = {"name": "canary", "ownerReferences": [owner]}
    canary = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta}
    region.kubectl("create", "-f", "-", input=json.dumps(canary))
    region.controllers.stop("core")
    region.kubectl("patch", "osdpl", NAME, "--type=merge", "-p", '{"metadata":{"finalizers":null}}')
    region.kubectl("delete", "osdpl", NAME)
    gone = ("get", "configmap", "canary", "--ignore-not-found", "-o", "name")
    wait_until("what it owned is collected", lambda: not region.kubectl(*gone).strip())
    region.apply(region.manifest(**spec))
    region.controllers.start("core")
    region.wait_ready()

    assert region.osdpl()["metadata"]["uid"] != first
    after = (uids(region, "hb"), region.revisions(), uids(region, "pvc"), credentials(region))
    assert after == before
    assert uids(region, "sts,deploy") == pods

    region.kubectl("delete", "osdpl", NAME, "--timeout=300s")
    assert region.revisions() == {}
    assert credentials(region) == {}
