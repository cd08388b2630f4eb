"""A region whose OpenStackDeployment is lost and restored from a backup, and has another uid then."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.cluster.region import NAME, Region, wait_until

pytestmark = [pytest.mark.cluster, pytest.mark.xdist_group("shared-region"), pytest.mark.timeout(1800)]


def uids(region: Region, kind: str) -> dict[str, str]:
    return {one["metadata"]["name"]: one["metadata"]["uid"] for one in region.get(kind)["items"]}


def credentials(region: Region) -> dict[str, Any]:
    found = region.get("secrets", "-l", "osctl.dev/service,app.kubernetes.io/managed-by=openstack-controller")
    return {one["metadata"]["name"]: (one["metadata"]["uid"], one["data"]) for one in found["items"]}


def backup(region: Region) -> dict[str, Any]:
    """What a backup has of the OpenStackDeployment."""
    live = region.osdpl()
    kept = ("name", "namespace", "annotations")
    meta = {key: value for key, value in live["metadata"].items() if key in kept}
    return {"apiVersion": live["apiVersion"], "kind": live["kind"], "metadata": meta, "spec": live["spec"]}


def test_nothing_is_uninstalled_and_no_data_goes_when_it_comes_back(shared_region: Region) -> None:
    region = shared_region
    region.edit(volumes="Delete")
    region.wait_ready()
    kept = backup(region)
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
    region.apply(kept)
    region.controllers.start("core")
    region.wait_ready()

    assert region.osdpl()["metadata"]["uid"] != first
    after = (uids(region, "hb"), region.revisions(), uids(region, "pvc"), credentials(region))
    assert after == before
    assert uids(region, "sts,deploy") == pods
    # That they would go with the region is asked where a region goes for good.
    region.put_back(volumes=None)
    region.wait_ready()
