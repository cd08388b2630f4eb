"""osctl upgrade against a real API server and running controllers."""

from __future__ import annotations

import json

import pytest

from tests.cluster.region import NAME, Region
from tests.cluster.regions.test_osctl import Osctl

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(1800)]

OLD, NEW = "2025.2", "2026.1"


def test_an_upgrade_is_planned_checked_held_and_aborted(region: Region) -> None:
    region.apply(region.manifest(preset="core", openstackVersion=OLD, upgrade={"healthyFor": "1s"}))
    region.wait_ready()
    osctl, where = Osctl(region), (NAME, "-n", region.namespace)
    plan = osctl("upgrade", "plan", NEW, *where, "-o", "json", "--no-manifests")
    assert plan.returncode == 1, plan.stderr
    steps = [one["name"] for one in json.loads(plan.stdout)["steps"] if one["changes"]]
    assert steps[:2] == ["identity", "placement"]
    check = osctl("upgrade", "check", NEW, *where)
    assert check.returncode == 0, check.stdout
    before = {one["metadata"]["name"]: one["spec"] for one in region.get("hb")["items"]}

    started = osctl("upgrade", "start", NEW, *where, "--yes", "--paused", "--wait", "--timeout", "10m")
    assert started.returncode == 5, started.stdout + started.stderr
    assert "osctl upgrade resume" in started.stdout
    found = json.loads(osctl("upgrade", "status", *where, "-o", "json").stdout)
    assert found["reason"] == "RegionUpgradeHeld"
    assert {one["state"] for one in found["steps"]} == {"Pending"}
    code, screen = osctl.on_terminal("upgrade", "status", *where)
    assert code == 0
    assert "\x1b[" in screen and f"{OLD} → {NEW}" in screen
    assert osctl("wait", *where, "--timeout", "1m").returncode == 5
    assert "UPGRADE" in osctl("status", *where).stdout

    aborted = osctl("upgrade", "abort", *where, "--yes", "--wait", "--timeout", "10m")
    assert aborted.returncode == 0, aborted.stdout + aborted.stderr
    region.wait_ready()
    assert region.status()["upgrade"]["phase"] == "Aborted"
    assert {one["metadata"]["name"]: one["spec"] for one in region.get("hb")["items"]} == before
