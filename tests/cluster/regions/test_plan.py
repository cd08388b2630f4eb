"""Mode Plan: nothing is done before it is approved, what is approved is done, and nothing else."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from datetime import datetime
from typing import Any

import pytest

from sandbox import audit
from sandbox.patience import patient
from tests.cluster.region import ROOT, Region, wait_until, within

pytestmark = [pytest.mark.cluster, pytest.mark.xdist_group("shared-region"), pytest.mark.timeout(1800)]

DEBUG = {"identity": {"keystone": {"values": {"conf": {"keystone": {"DEFAULT": {"debug": True}}}}}}}
REPLICAS = {"identity": {"keystone": {"values": {"pod": {"replicas": {"api": 2}}}}}}
# What a plan may write: the resources that carry it, and what containers say of themselves.
CARRIERS = ("openstackdeployments", "helmbundles", "leases", "events")


def planned(region: Region) -> dict[str, Any]:
    """`status.plan`, once it tells all about the present spec."""

    def ready() -> bool:
        osdpl, entry = region.osdpl(), region.condition("Planned")
        current = entry.get("observedGeneration") == osdpl["metadata"]["generation"]
        return bool(current and entry.get("status") == "True")

    def show() -> str:
        reported = {
            one["metadata"]["name"]: (one.get("status") or {}).get("plan")
            for one in region.get("hb")["items"]
        }
        logs = region.controllers.log("core")[-1500:] + region.controllers.log("helmbundle")[-3000:]
        return f"{json.dumps(region.status(), indent=1)}\n{json.dumps(reported)[:3000]}\n{logs}"

    wait_until("the plan is there", ready, 240.0, show)
    found: dict[str, Any] = region.status().get("plan") or {}
    return found


def osctl(region: Region, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {
        "PATH": os.environ["PATH"],
        "PYTHONPATH": str(ROOT),
        "KUBECONFIG": str(region.sandbox.kubeconfig),
    }
    command = [sys.executable, "-m", "controller.cli.main", *arguments, "-n", region.namespace]
    return subprocess.run(
        command, check=False, capture_output=True, text=True, timeout=patient(900), env=environment
    )


def foreign_writes(region: Region, since: datetime) -> list[str]:
    """What our containers wrote beside the carriers."""
    return [
        str(write)
        for write in region.writes_since(since)
        if write.resource.partition("/")[0] not in CARRIERS and write.code < 400
    ]


@pytest.fixture
def planning(shared_region: Region) -> Iterator[Region]:
    """The running region with mode Plan; as it was, afterwards."""
    shared_region.edit(mode="Plan")
    yield shared_region
    shared_region.edit(mode="Apply", approvedPlan=None, services=None)
    shared_region.wait_ready()


def test_an_edit_is_planned_then_approved_and_applied(planning: Region) -> None:
    assert planned(planning).get("releases") is None
    assert planning.condition("Planned")["reason"] == "PlanEmpty"
    planning.wait_ready()
    before, moment = planning.revisions(), audit.now()
    planning.edit(services=DEBUG)
    plan = planned(planning)
    assert [(one["name"], one["service"], one["action"]) for one in plan["releases"]] == [
        ("keystone", "identity", "Upgrade")
    ]
    [entry] = plan["releases"]
    [change] = entry["changes"]
    assert (change["path"], change["after"], change["layer"]) == (
        "conf.keystone.DEFAULT.debug",
        "true",
        "services",
    )
    assert set(entry["objects"]) == {"change Deployment/keystone-api", "change Secret/keystone-etc"}
    # Another test may have scaled it.
    replicas = planning.get("deployment", "keystone-api")["spec"]["replicas"]
    assert (entry["restarts"], entry["pods"]) == (["Deployment/keystone-api"], replicas)
    assert entry["bytes"] > 5000
    assert planning.status()["state"] == "Planned"
    wait_until("it waits", lambda: planning.condition("Ready")["reason"] == "PlanPending")
    wait_until("releases are told", lambda: planning.condition("ReleasesReady")["status"] == "True")
    # Another plan than the present one is not applied.
    planning.edit(approvedPlan=f"sha256:{'0' * 64}")
    wait_until("it is told", lambda: planning.condition("Planned")["reason"] == "PlanDiffers")
    assert planned(planning)["digest"] == plan["digest"]
    assert foreign_writes(planning, moment) == []
    assert planning.revisions() == before
    # Exactly this one is.
    shown = osctl(planning, "plan")
    assert (shown.returncode, plan["digest"] in shown.stdout) == (1, True), shown.stderr
    planning.edit(approvedPlan=None)
    approved = osctl(planning, "approve", "--plan", plan["digest"], "--wait", "--timeout", within(480))
    assert approved.returncode == 0, approved.stdout + approved.stderr
    after = planning.revisions()
    assert {name for name in after if after[name] != before[name]} == {"keystone"}
    assert after["keystone"] == (before["keystone"][0] + 1, "deployed")
    assert planned(planning)["accepted"]["done"] is True
    # The approval is used up: the next edit waits again.
    planning.edit(services=REPLICAS)
    assert planned(planning)["digest"] != plan["digest"]
    assert planning.revisions() == after
