"""osctl upgrade check: before an upgrade, and of one that is under way."""

from __future__ import annotations

import json

import pytest

from tests.cli.commands.upgrade.conftest import found_by_osctl
from tests.cli.objects import osctl
from tests.reconcile.region.upgrade.upgrading_region import NEW, OLD, UpgradingRegion

PINNED = {"images": {"tags": {"keystone_api": f"registry.example.org/keystone:{OLD}-fixed"}}}


def states(*arguments: str) -> dict[str, str]:
    found = json.loads(osctl("upgrade", "check", *arguments, "-o", "json").stdout)
    return {one["name"]: one["state"] for one in found}


@pytest.mark.slow
def test_before_an_upgrade_checks_are_made_without_a_write(region: UpgradingRegion) -> None:
    region.kube.forget_requests()
    result = osctl("upgrade", "check", NEW)
    assert result.exit_code == 0, result.output
    assert f"region-one  {OLD} → {NEW}: checks as they are now" in result.stdout
    assert "osctl upgrade start VERSION --paused" in result.stdout
    found = states(NEW)
    known = ("version-step", "region-ready", "credential-rotation", "pinned-images")
    more = ("unknown-options", "version-pins", "compute-services")
    services = ("network-agents", "volume-services", "backup-age")
    assert {name for name, state in found.items() if state == "Passed"} == {*known, *more, *services}
    later = {name: state for name, state in found.items() if state != "Passed"}
    assert set(later.values()) == {"Later"}
    assert {"keystone-status", "placement-status", "glance-status", "nova-status"} <= later.keys()
    assert not [name for name in later if name.endswith("-data")], "migrations come after the last step"
    assert region.kube.writes == []


@pytest.mark.slow
def test_before_an_upgrade_a_pinned_image_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    found_by_osctl(UpgradingRegion(services={"identity": {"keystone": {"values": PINNED}}}), monkeypatch)
    result = osctl("upgrade", "check", NEW)
    assert result.exit_code == 5
    assert "images.tags.keystone_api of keystone" in result.stdout


def test_the_version_that_runs_already_has_no_checks(region: UpgradingRegion) -> None:
    result = osctl("upgrade", "check", OLD)
    assert (result.exit_code, result.stdout) == (0, f"region-one: its version is {OLD} already\n")


@pytest.mark.slow
def test_an_older_version_is_found(region: UpgradingRegion) -> None:
    assert osctl("upgrade", "check", "2025.1").exit_code == 5
    assert states("2025.1")["version-step"] == "Failed"


def test_the_checks_of_an_upgrade_that_is_under_way_are_shown(region: UpgradingRegion) -> None:
    region.edit(openstackVersion=NEW, upgrade={"paused": True})
    region.reconcile()
    assert osctl("upgrade", "check").exit_code == 4
    osctl("upgrade", "status", "--wait")
    result = osctl("upgrade", "check")
    assert result.exit_code == 0
    assert "checks of the upgrade that is under way" in result.stdout
    assert states() == {one["name"]: "Passed" for one in region.upgrade["checks"]}


def test_without_an_upgrade_the_version_is_needed(region: UpgradingRegion) -> None:
    result = osctl("upgrade", "check")
    assert result.exit_code == 2
    assert "VERSION" in result.stderr


@pytest.mark.slow
def test_a_paused_start_only_runs_the_checks(region: UpgradingRegion) -> None:
    result = osctl("upgrade", "start", NEW, "--yes", "--paused", "--wait")
    assert result.exit_code == 5
    assert "paused: the checks run, and no step begins" in result.stdout
    assert not any(one["state"] != "Pending" for one in region.upgrade["steps"])
    assert osctl("upgrade", "abort", "--yes", "--wait").exit_code == 0
    assert region.upgrade["phase"] == "Aborted"
