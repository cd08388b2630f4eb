"""A restore stops what writes, loads, and brings the services back, with the rights of the chart.

The pods of the cluster have no logs, so the test writes the outcome of the check itself.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from controller.domain.restores.restore_state import LoadedDatabase, Restore, Step, StepRecord, StepState
from tests.cluster.region import NAME, Region, wait_until

pytestmark = [pytest.mark.cluster, pytest.mark.xdist_group("region-life"), pytest.mark.timeout(1800)]

RESTORE = "after-a-loss"
BACKUP = "20261126T020000Z-0a1b2c"


def restore_of(region: Region) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(region.kubectl("get", "rr", RESTORE, "-o", "json"))
    return found


def phase_of(region: Region) -> str:
    return str((restore_of(region).get("status") or {}).get("phase"))


def replicas(region: Region) -> dict[str, int]:
    found = json.loads(region.kubectl("get", "deployments,statefulsets", "-o", "json"))["items"]
    return {one["metadata"]["name"]: one["spec"]["replicas"] for one in found}


def wait_for(region: Region, *phases: str, seconds: float = 300.0) -> None:
    wait_until(
        f"the restore is {phases}",
        lambda: phase_of(region) in phases,
        seconds,
        lambda: json.dumps(restore_of(region).get("status")) + region.controllers.log("core")[-3000:],
    )


def test_a_region_is_restored_by_the_rights_of_the_chart(survivor: Region) -> None:
    region = survivor
    region.wait_ready()
    before = replicas(region)
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "backup-repository"}}
    region.kubectl(
        "apply", "-f", "-", input=json.dumps({**secret, "stringData": {"RESTIC_REPOSITORY": "/r"}})
    )
    body = {
        "apiVersion": "osctl.dev/v1alpha1",
        "kind": "RegionRestore",
        "metadata": {"name": RESTORE},
        "spec": {"region": NAME, "from": {"secret": "backup-repository"}},
    }
    region.kubectl("apply", "-f", "-", input=json.dumps(body))
    wait_until("the check has a Job", lambda: "restore-check-" in region.kubectl("get", "jobs", "-o", "name"))
    assert replicas(region) == before
    checked = Restore(
        steps=tuple(
            StepRecord(step, StepState.DONE if step == Step.CHECK else StepState.PENDING) for step in Step
        ),
        backup=BACKUP,
        databases=(LoadedDatabase("keystone", "databases/keystone.sql", "a" * 64),),
    )
    patch = json.dumps({"status": checked.entry()})
    # A pass that is under way would write the outcome of its own look at the Job over it.
    region.controllers.kill("core")
    region.kubectl("patch", "rr", RESTORE, "--subresource=status", "--type=merge", "-p", patch)
    region.controllers.start("core")
    wait_for(region, "Holding", "Stopping", "Loading")
    region.controllers.restart("core")
    wait_for(region, "Loading", "Applying", "Starting", "Comparing", "Done")
    stopped = {name for name, count in replicas(region).items() if not count and before[name]}
    assert phase_of(region) != "Loading" or {"keystone-api", "placement-api"} <= stopped, stopped
    assert "mariadb-server" not in stopped
    wait_for(region, "Done", seconds=600.0)
    region.wait_ready()
    assert replicas(region) == before
    loads = [name for name in region.kubectl("get", "jobs", "-o", "name").split() if "restore-load-" in name]
    assert len(loads) == 1
