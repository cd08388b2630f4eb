"""A region's OpenStack is upgraded step by step: services in their order, and of each its Jobs first."""

from __future__ import annotations

import json
from datetime import datetime
from itertools import pairwise

import pytest

from sandbox import audit
from tests.cluster.region import NAME, Region, wait_until
from tests.cluster.regions.test_osctl import Osctl
from tests.cluster.schema_before_code import assert_jobs_came_first, waiting_releases

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(1800)]

OLD, NEW = "2025.2", "2026.1"
WITHOUT_IMAGES = ("keystone", "placement")
ORDER = ("keystone", "placement", "glance", "nova", "neutron")

of_the_survivor = pytest.mark.xdist_group("region-life")


@of_the_survivor
def test_an_upgrade_is_planned_checked_held_and_aborted(survivor: Region) -> None:
    region = survivor
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


@of_the_survivor
def test_services_are_upgraded_in_their_order_and_their_jobs_come_first(survivor: Region) -> None:
    assert_upgraded_in_order(survivor, WITHOUT_IMAGES)


@pytest.mark.exhaustive
def test_computes_are_upgraded_after_what_they_need(region: Region) -> None:
    region.apply(region.manifest(openstackVersion=OLD, upgrade={"healthyFor": "1s"}))
    region.wait_ready()
    assert_upgraded_in_order(region, ORDER)


def assert_upgraded_in_order(region: Region, order: tuple[str, ...]) -> None:
    releases = waiting_releases(region)
    assert releases.keys() >= set(order)
    began = audit.now()
    # An upgrade that was aborted while it was held leaves it set.
    region.edit(openstackVersion=NEW, upgrade={"gates": "Smoke", "paused": None})
    wait_until("steps", lambda: region.status().get("upgrade", {}).get("steps"))
    region.wait_ready(1200)
    upgrade = region.status()["upgrade"]
    assert (upgrade["phase"], upgrade["to"]) == ("Finished", NEW)
    assert {step["state"] for step in upgrade["steps"]} == {"Done"}
    assert_jobs_came_first(region, began, releases)
    first, last = _records(region, began)
    for before, after in pairwise(order):
        assert first[before] < first[after], f"{after} was upgraded before {before}"
        # Computes follow the control plane, in a revision of their own.
        assert before == "nova" or last[before] < first[after], f"{before} was not over before {after}"
    assert region.status()["openstackVersion"] == NEW
    changed = [step["service"] for step in upgrade["steps"] if step.get("message") != "no change"]
    wait_until("removed checks", lambda: _smoke_checks(region, began) == (changed, len(changed)), 60)


def _smoke_checks(region: Region, since: datetime) -> tuple[list[str], int]:
    """The services that were used after their steps, in order, and how many of the Jobs are removed again."""
    made, removed = [], set()
    for one in audit.requests(region.sandbox.audit_log, since):
        if one.resource != "jobs" or not one.name.startswith("upgrade-smoke-") or one.code >= 300:
            continue
        if one.verb == "delete":
            removed.add(one.name)
        if one.verb == "create":
            made.append(one.name.removeprefix("upgrade-smoke-").rpartition("-")[0])
    return made, len(removed)


def _records(region: Region, since: datetime) -> tuple[dict[str, datetime], dict[str, datetime]]:
    """When Helm made the first and the last record of each release since then."""
    first: dict[str, datetime] = {}
    last: dict[str, datetime] = {}
    for one in audit.requests(region.sandbox.audit_log, since):
        is_record = one.verb == "create" and one.name.startswith("sh.helm.release.v1.")
        if not is_record or one.namespace != region.namespace or one.code >= 300 or one.dry_run:
            continue
        release = one.name.split(".")[4]
        first.setdefault(release, one.time)
        last[release] = one.time
    return first, last
