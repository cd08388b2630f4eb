"""osctl upgrade status, for people and for programs."""

from __future__ import annotations

import json

import pytest

from tests.cli.commands.upgrade.conftest import found_by_osctl
from tests.cli.objects import osctl
from tests.reconcile.region.upgrade.played_checks import play_end
from tests.reconcile.region.upgrade.upgrading_region import NEW, OLD, UpgradingRegion


def test_a_region_without_an_upgrade_says_what_it_runs(region: UpgradingRegion) -> None:
    result = osctl("upgrade", "status")
    assert result.exit_code == 0
    assert result.stdout == (
        f"region-one: runs {OLD}; no upgrade was made. See what one would do: osctl upgrade plan VERSION\n"
    )


@pytest.mark.slow
def test_the_present_step_comes_with_its_time_and_what_to_do(region: UpgradingRegion) -> None:
    region.edit(openstackVersion=NEW)
    region.begin("image")
    region.clock.advance(100)
    lines = osctl("upgrade", "status").stdout.splitlines()
    assert lines[0].startswith(f"region-one  {OLD} → {NEW}  ControlPlane  7 of 12 steps done  ")
    [row] = [line for line in lines if line.split()[:2] == ["…", "image"]]
    assert row.split() == ["…", "image", "ControlPlane", "Running", "2", "m", "11", "s"]
    rows = [line.split() for line in lines]
    assert ["=", "database", "Infrastructure", "Done", "-", "no", "change"] in rows
    [back] = [line for line in lines if line.startswith("BACK")]
    assert "not possible: a step has begun that migrates data" in back


def test_a_failed_check_is_the_first_thing_with_the_ways_on(monkeypatch: pytest.MonkeyPatch) -> None:
    pinned = {"images": {"tags": {"keystone_api": f"registry.example.org/keystone:{OLD}-fixed"}}}
    given = UpgradingRegion(services={"identity": {"keystone": {"values": pinned}}})
    region = found_by_osctl(given, monkeypatch)
    region.edit(openstackVersion=NEW)
    result = osctl("upgrade", "status", "--wait")
    assert result.exit_code == 5
    text = osctl("upgrade", "status").stdout
    assert "failed  pinned-images: the spec names images of 2025.2" in text
    assert text.index("pinned-images") < text.index("NEXT") < text.index("STEP")
    assert "osctl upgrade abort region-one" in text


def test_programs_get_what_the_status_has_and_what_follows(region: UpgradingRegion) -> None:
    region.edit(openstackVersion=NEW, upgrade={"gates": "Manual"})
    osctl("upgrade", "status", "--wait")
    found = json.loads(osctl("upgrade", "status", "-o", "json").stdout)
    assert (found["from"], found["to"], found["reason"]) == (OLD, NEW, "RegionUpgradeHeld")
    assert found["waitsForPerson"] is True
    assert found["next"].startswith("osctl upgrade continue region-one")
    assert [one["name"] for one in found["steps"]][-1] == "networking/agents"


def test_a_wait_that_lasts_too_long_ends_with_4(region: UpgradingRegion) -> None:
    region.edit(openstackVersion=NEW)
    region.reconcile()
    assert osctl("upgrade", "status", "--wait", "--timeout", "90s").exit_code == 4


@pytest.mark.slow
def test_a_watch_goes_on_while_a_person_is_waited_for(region: UpgradingRegion) -> None:
    region.edit(openstackVersion=NEW, upgrade={"paused": True})
    region.reconcile()
    result = osctl("upgrade", "status", "--watch", "--timeout", "10m")
    assert result.exit_code == 4
    assert "spec.upgrade.paused is set" in result.stderr


def test_a_migration_of_data_that_failed_says_how_it_continues(region: UpgradingRegion) -> None:
    region.edit(openstackVersion=NEW)
    for _ in range(200):
        region.reconcile()
        if region.upgrade.get("phase") == "Finish" and region.upgrade.get("checks"):
            break
        region.deploy()
        region.clock.advance(31)
    job = next(job for job in region.kube.objects("Job") if "nova-data" in job["metadata"]["name"])
    play_end(region.kube, job, code=2, log="Some migrations failed unexpectedly.")
    region.reconcile()
    result = osctl("upgrade", "status")
    assert "failed  nova-data: exit code 2: Some migrations failed unexpectedly." in result.stdout
    assert "NEXT      correct the cause, then: osctl reconcile region-one -n openstack" in result.stdout
