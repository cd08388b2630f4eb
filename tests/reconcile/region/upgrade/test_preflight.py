"""The checks before an upgrade that need no Job: each passes, and each finds what it is for."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from controller.domain.api.conditions import timestamp
from controller.domain.region.upgrade.next_step import new_upgrade
from controller.domain.region.upgrade.upgrade_state import Check
from controller.errors import Problem
from controller.ports.kubernetes import CRONJOB, KubeObjects
from controller.reconcile.region.upgrade.preflight import PreflightView, preflight_checks
from tests.fakes.kube import FakeKube
from tests.reconcile.region.test_deployment import LIBRARY, ROOT

NOW = 1_800_000_000.0
HOUR = 3600.0


def check(
    name: str,
    *,
    kube: FakeKube | None = None,
    warnings: tuple[Problem, ...] = (),
    desired: KubeObjects | None = None,
    status: dict[str, Any] | None = None,
    features: dict[str, Any] | None = None,
    **upgrade: Any,
) -> Check:
    osdpl = {
        "metadata": {"name": "region-one", "namespace": "openstack"},
        "spec": {"upgrade": upgrade, "features": features or {}},
        "status": status or {},
    }
    view = PreflightView(osdpl, new_upgrade("2025.2", "2026.1", (), NOW), desired or [], [], (), warnings)
    [found] = [one for one in preflight_checks(kube or FakeKube(), view, NOW) if one.name == name]
    return found


def backups(last: float | None) -> FakeKube:
    kube = FakeKube()
    status = {} if last is None else {"lastSuccessfulTime": timestamp(last)}
    meta = {"name": "mariadb-backup", "namespace": "openstack"}
    kube.create({"apiVersion": "batch/v1", "kind": "CronJob", "metadata": meta})
    kube.merge_patch(CRONJOB, "mariadb-backup", "openstack", {"status": status}, subresource="status")
    return kube


@pytest.mark.parametrize(
    ("last", "age", "state", "message"),
    [
        (NOW - HOUR, "24h", "Passed", "the last backup is from"),
        (NOW - 25 * HOUR, "24h", "Failed", "create job --from=cronjob/mariadb-backup"),
        (None, "24h", "Failed", "no backup has succeeded yet"),
        (NOW - 25 * HOUR, "", "Passed", "backupMaxAge is not set"),
    ],
)
def test_the_last_backup_must_be_young_enough(last: float | None, age: str, state: str, message: str) -> None:
    found = check("backup-age", kube=backups(last), backupMaxAge=age)
    assert (found.state, message in found.message) == (state, True), found


def test_without_backups_their_age_cannot_be_asked_for() -> None:
    found = check("backup-age", backupMaxAge="24h")
    assert found.state == "Failed"
    assert "set spec.features.backup" in found.message


@pytest.mark.parametrize(
    ("status", "state", "message"),
    [
        ({"lastGood": {"id": "x", "ended": timestamp(NOW - HOUR)}}, "Passed", "the last backup is from"),
        ({"lastGood": {"id": "x", "ended": timestamp(NOW - 25 * HOUR)}}, "Failed", "osctl backup now"),
        ({}, "Failed", "no backup has succeeded yet"),
        (
            {
                "lastGood": {"id": "x", "ended": timestamp(NOW - HOUR)},
                "drill": {"ended": timestamp(NOW), "result": "Failed", "message": "rows differ"},
            },
            "Failed",
            "the last drill has failed: rows differ",
        ),
    ],
)
def test_the_last_good_backup_of_the_region_counts(status: dict[str, Any], state: str, message: str) -> None:
    # A dump of the chart is not what a restore loads.
    dumps = backups(NOW - HOUR)
    feature = {"backup": {"destination": {"claim": {}}}}
    found = check("backup-age", kube=dumps, status={"backup": status}, backupMaxAge="24h", features=feature)
    assert (found.state, message in found.message) == (state, True), found


@pytest.mark.parametrize(
    ("status", "state", "message"),
    [
        ({"nodes": {"cmp1": {"compute": "enabled, up"}, "ctl1": {}}}, "Passed", ""),
        ({"nodes": {"cmp1": {"compute": "enabled, down"}}}, "Failed", "down on cmp1: correct it"),
        ({"nodes": {"cmp1": {"compute": "disabled, down"}}}, "Warning", "disabled and down on cmp1"),
        ({"hostsWithoutNode": ["old1"]}, "Warning", "no Node for old1"),
    ],
)
def test_compute_services_that_are_down_or_stale_are_found(
    status: dict[str, Any], state: str, message: str
) -> None:
    found = check("compute-services", status=status)
    assert (found.state, message in found.message) == (state, True), found


def test_options_that_the_target_does_not_have_are_found() -> None:
    path = "spec.services.compute.nova.values.conf.nova.DEFAULT.gone"
    gone = Problem(path, 'no package of OpenStack 2026.1 has an option "gone"', rule="option-unknown")
    found = check("unknown-options", warnings=(gone, Problem("spec", "another", rule="other")))
    assert found.state == "Warning"
    assert found.message == f"{path}: {gone.message}"
    assert check("unknown-options", warnings=(Problem("spec", "another"),)).state == "Passed"


@pytest.mark.parametrize(
    ("conf", "state", "message"),
    [
        (
            {"nova": {"upgrade_levels": {"compute": "2025.1"}}},
            "Warning",
            "upgrade_levels.compute of one (2025.1)",
        ),
        ({"ironic": {"DEFAULT": {"pin_release_version": "2025.1"}}}, "Warning", "conf.ironic.DEFAULT.pin_"),
        ({"nova": {"upgrade_levels": {"compute": "auto"}, "DEFAULT": {"debug": True}}}, "Passed", ""),
        ({"nova": "[upgrade_levels]", "policy": None}, "Passed", ""),
    ],
)
def test_pins_of_rpc_that_the_spec_has_kept_are_found(conf: dict[str, Any], state: str, message: str) -> None:
    release = {"name": "one", "chart": {"name": "one"}, "values": {"conf": conf}}
    found = check("version-pins", desired=[{"spec": {"releases": [release, {"name": "bare"}]}}])
    assert (found.state, message in found.message) == (state, True), found


def test_every_program_that_checks_has_an_image_of_every_version() -> None:
    found = 0
    for entry in LIBRARY.catalogue.services.values():
        path = ROOT / "values" / "services" / entry.name / "versions.yaml"
        for one in entry.upgrade_checks:
            assert one.chart in entry.charts
            for version, charts in yaml.safe_load(path.read_text()).items():
                assert one.tag in charts[one.chart]["images"]["tags"], (one.name, version)
                found += 1
    assert found > 30


@pytest.mark.parametrize("name", ["network-agents", "volume-services"])
@pytest.mark.parametrize(
    ("entry", "state", "message"),
    [
        ({"status": "Ready"}, "Passed", ""),
        ({}, "Passed", "no probe"),
        ({"status": "Unknown", "message": "Neutron does not answer"}, "Warning", "does not answer"),
        (
            {"status": "Unhealthy", "message": "1 of 9 down: x on cmp1"},
            "Failed",
            "down: x on cmp1; correct it",
        ),
    ],
)
def test_agents_and_services_that_are_down_are_found(
    name: str, entry: dict[str, str], state: str, message: str
) -> None:
    found = check(name, status={"health": {"probes": {name: entry}}} if entry else {})
    assert (found.state, message in found.message) == (state, True)
