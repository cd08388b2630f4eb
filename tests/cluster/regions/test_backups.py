"""Backups of a region on a real API server, by the rights of the chart. KWOK ends the Jobs; no pod runs."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest

from controller.ports.kubernetes import CRONJOB
from sandbox import audit
from sandbox.errors import SandboxError
from tests.cluster.region import NAME, WITHOUT_COMPUTE, Region, wait_until

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(1800)]

CLAIM = {"destination": {"claim": {"size": "5Gi"}}}


def cronjobs(region: Region) -> dict[str, dict[str, Any]]:
    found = json.loads(region.kubectl("get", "cronjobs", "-l", "osctl.dev/backup", "-o", "json"))["items"]
    return {one["metadata"]["name"]: one for one in found}


def shown(region: Region) -> str:
    return f"{json.dumps(region.status().get('backup'))}\n{region.controllers.log('core')[-3000:]}"


def test_backups_follow_the_spec_of_the_region(region: Region) -> None:
    manifest = region.manifest()
    features = manifest["spec"].setdefault("features", {})
    features["services"] = {**features.get("services", {}), "disabled": list(WITHOUT_COMPUTE)}
    features["backup"] = CLAIM
    region.apply(manifest)
    region.wait_ready()
    wait_until("there are CronJobs", lambda: len(cronjobs(region)) == 2, 60, lambda: shown(region))
    made = cronjobs(region)
    assert made["region-backup"]["spec"]["suspend"] is False
    assert made["region-backup-drill"]["spec"]["suspend"] is True
    region.get("persistentvolumeclaims", "region-backup")
    assert region.condition("BackedUp")["reason"] == "BackupAwaited"

    # At rest nothing is written about backups, although each pass compares.
    moment = audit.now()
    region.kubectl("annotate", "osdpl", NAME, "osctl.dev/reconcile-requested-at=now")
    time.sleep(40)
    kinds = {one.resource for one in region.writes_since(moment)}
    assert not kinds & {"cronjobs", "persistentvolumeclaims"}, kinds
    assert cronjobs(region)["region-backup"]["metadata"]["generation"] == 1

    region.edit(features={"backup": {"schedule": "30 3 * * *", "drill": "0 4 * * 0"}})
    wait_until(
        "the edit is followed",
        lambda: [one["spec"]["schedule"] for one in cronjobs(region).values()] == ["30 3 * * *", "0 4 * * 0"],
        60,
        lambda: shown(region),
    )

    # The pods are as the Pod Security Standard asks for; another one is refused.
    region.kubectl("create", "job", "by-hand", "--from=cronjob/region-backup")
    wait_until(
        "the outcome is known",
        lambda: (region.status().get("backup") or {}).get("last"),
        120,
        lambda: shown(region),
    )
    last = region.status()["backup"]["last"]
    assert (last["job"], last["result"]) == ("by-hand", "Succeeded")
    for name, cronjob in cronjobs(region).items():
        _assert_restricted(region, name, cronjob["spec"]["jobTemplate"]["spec"]["template"])

    region.kubectl(
        "patch", "osdpl", NAME, "--type=json", "-p", '[{"op":"remove","path":"/spec/features/backup"}]'
    )
    wait_until("the CronJobs are gone", lambda: not cronjobs(region), 60, lambda: shown(region))
    wait_until("the status is gone", lambda: "backup" not in region.status(), 60)
    assert not region.condition("BackedUp")
    region.get("persistentvolumeclaims", "region-backup")
    region.get("secret", "region-backup-passphrase")


def _assert_restricted(region: Region, name: str, template: dict[str, Any]) -> None:
    """A namespace that enforces the standard takes such a pod."""
    place = f"{region.namespace}-{name}"
    label = "pod-security.kubernetes.io/enforce"
    space = {
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {"name": place, "labels": {label: "restricted"}},
    }
    region.sandbox.kubectl("apply", "-f", "-", input=json.dumps(space))
    spec = {key: value for key, value in template["spec"].items() if not key.startswith("serviceAccount")}
    body = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": place}, "spec": spec}
    try:
        region.sandbox.kubectl("create", "--dry-run=server", "-f", "-", input=json.dumps(body))
        root = {**spec, "securityContext": {"runAsUser": 0}}
        with pytest.raises(SandboxError, match="violates PodSecurity"):
            text = json.dumps({**body, "spec": root})
            region.sandbox.kubectl("create", "--dry-run=server", "-f", "-", input=text)
    finally:
        region.sandbox.kubectl("delete", "namespace", place, "--wait=false")


def test_a_bucket_that_cannot_be_is_refused_by_the_api_server(region: Region) -> None:
    manifest = region.manifest()
    bucket = {"endpoint": "https://user:word@s3.example.org", "bucket": "b", "credentials": "x"}
    manifest["spec"].setdefault("features", {})["backup"] = {"destination": {"s3": bucket}}
    with pytest.raises(SandboxError, match="endpoint"):
        region.apply(manifest)
    assert region.kube.list(CRONJOB, region.namespace) == []
