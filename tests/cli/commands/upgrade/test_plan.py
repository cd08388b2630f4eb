"""osctl upgrade plan: the steps of an upgrade, before it begins and without a cluster."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.objects import example_text, osctl
from tests.reconcile.region.upgrade.upgrading_region import NEW, OLD, UpgradingRegion

pytestmark = pytest.mark.slow


@pytest.fixture
def path(tmp_path: Path) -> Path:
    found = tmp_path / "region.yaml"
    found.write_text(example_text(openstackVersion=OLD), encoding="utf-8")
    return found


def test_a_file_is_enough_to_see_the_steps_in_order(path: Path) -> None:
    result = osctl("upgrade", "plan", NEW, "-f", str(path), "-o", "json")
    assert result.exit_code == 1, result.output
    found = json.loads(result.stdout)
    changing = {one["name"]: one for one in found["steps"] if one["changes"]}
    assert list(changing) == [
        *("identity", "placement", "image", "compute", "compute/computes"),
        *("networking/server", "networking/agents"),
    ]
    assert found["pointOfNoReturn"] == "identity"
    assert changing["compute"]["restarts"] == [
        "Deployment nova-api-osapi",
        "Deployment nova-api-metadata",
        "Deployment nova-conductor",
        "Deployment nova-scheduler",
        "Deployment nova-novncproxy",
    ]
    assert changing["compute/computes"]["restarts"] == [
        "DaemonSet libvirt-libvirt-default",
        "DaemonSet nova-compute-default",
    ]
    assert "neutron-db-sync" in changing["networking/server"]["jobs"]


def test_the_table_says_what_cannot_be_undone_and_what_is_next(path: Path) -> None:
    result = osctl("upgrade", "plan", NEW, "-f", str(path), "--no-manifests")
    assert result.exit_code == 1
    assert f"{OLD} → {NEW}: 7 steps change something" in result.stdout
    assert "before step identity begins" in result.stdout
    assert f"osctl upgrade start {NEW} region-one -n openstack" in result.stdout


def test_a_file_that_names_the_version_already_needs_the_one_before(path: Path) -> None:
    same = osctl("upgrade", "plan", OLD, "-f", str(path))
    assert same.exit_code == 2
    assert "--from" in same.stdout
    given = osctl("upgrade", "plan", OLD, "-f", str(path), "--from", "2025.1", "--no-manifests")
    assert "2025.1 → 2025.2" in given.stdout


def test_a_version_that_is_older_is_refused(path: Path) -> None:
    result = osctl("upgrade", "plan", "2025.1", "-f", str(path), "--no-manifests")
    assert result.exit_code == 5
    assert "refused" in result.stdout


def test_an_image_of_the_version_before_in_the_file_is_refused_with_what_to_do(path: Path) -> None:
    image = f"registry.example.org/keystone:{OLD}"
    pinned = {"identity": {"keystone": {"values": {"images": {"tags": {"keystone_api": image}}}}}}
    path.write_text(example_text(openstackVersion=OLD, services=pinned), encoding="utf-8")
    result = osctl("upgrade", "plan", NEW, "-f", str(path), "--no-manifests", "-o", "json")
    assert result.exit_code == 5
    [refused] = json.loads(result.stdout)["refused"]
    assert "images.tags.keystone_api of keystone" in refused
    assert f"use images of {NEW}" in refused
    skipped = {"skipChecks": ["pinned-images"]}
    path.write_text(example_text(openstackVersion=OLD, services=pinned, upgrade=skipped), encoding="utf-8")
    assert osctl("upgrade", "plan", NEW, "-f", str(path), "--no-manifests").exit_code == 1


def test_the_region_of_a_cluster_is_planned_without_a_write(region: UpgradingRegion) -> None:
    region.kube.forget_requests()
    result = osctl("upgrade", "plan", NEW, "--no-manifests")
    assert result.exit_code == 1, result.output
    assert f"{OLD} → {NEW}" in result.stdout
    assert region.kube.writes == []


def test_beside_an_upgrade_that_runs_there_is_no_other_plan(region: UpgradingRegion) -> None:
    region.edit(openstackVersion=NEW)
    region.reconcile()
    result = osctl("upgrade", "plan", NEW)
    assert result.exit_code == 5
    assert "osctl upgrade status region-one" in result.stderr
