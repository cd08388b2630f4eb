"""An edit of openstackVersion is carried out step by step. Each pass is the first of a new process."""

from __future__ import annotations

import pytest

from controller.domain.api.names import (
    ACCEPT_VERSION_ANNOTATION,
    RECONCILE_ANNOTATION,
    UPGRADE_STEP_ANNOTATION,
)
from controller.domain.region.upgrade.upgrade_checks import MIGRATED_WITHIN, MIGRATION_TRIES_AGAIN
from tests.reconcile.region.upgrade.played_checks import play_end
from tests.reconcile.region.upgrade.upgrading_region import NEW, OLD, UpgradingRegion

pytestmark = pytest.mark.slow

ORDER = ["identity", "placement", "image", "compute", "compute/computes", "networking/server"]


@pytest.fixture
def region() -> UpgradingRegion:
    return UpgradingRegion()


def test_nothing_changes_before_the_checks_are_reported(region: UpgradingRegion) -> None:
    region.edit(openstackVersion=NEW)
    region.kube.forget_requests()
    region.reconcile()
    assert {request.kind for request in region.kube.writes} == {"OpenStackDeployment"}
    assert (region.upgrade["from"], region.upgrade["to"]) == (OLD, NEW)
    assert region.status["state"] == "Upgrading"
    assert region.condition("Upgrading")["status"] == "True"


def test_services_are_upgraded_in_order_and_one_at_a_time(region: UpgradingRegion) -> None:
    region.edit(openstackVersion=NEW)
    region.reconcile()
    order = []
    while region.current:
        order.append(region.step())
        assert len(order) < 40
    assert [name for name in order if name in ORDER] == ORDER
    for _ in range(4):
        region.reconcile()
        region.deploy()
    assert region.upgrade["phase"] == "Finished"
    assert region.status["openstackVersion"] == NEW
    assert not region.condition("Upgrading")
    region.reconcile()
    region.kube.forget_requests()
    assert region.reconcile() == 300
    assert region.kube.writes == []


def test_services_whose_step_has_not_begun_stay_as_they_are(region: UpgradingRegion) -> None:
    region.edit(openstackVersion=NEW)
    region.begin("identity")
    region.reconcile()
    assert NEW in region.tags("identity", "keystone")["keystone_api"]
    assert OLD in region.tags("image", "glance")["glance_api"]
    assert OLD in region.tags("compute", "nova")["nova_api"]


def test_computes_keep_their_image_until_the_control_plane_is_done(region: UpgradingRegion) -> None:
    region.edit(openstackVersion=NEW)
    region.begin("compute")
    region.reconcile()
    tags = region.tags("compute", "nova")
    assert NEW in tags["nova_conductor"]
    assert OLD in tags["nova_compute"]
    strategy = region.release("compute", "nova")["values"]["pod"]["lifecycle"]["upgrades"]["daemonsets"]
    assert strategy["pod_replacement_strategy"] == "OnDelete"


def test_the_version_of_a_service_is_what_runs(region: UpgradingRegion) -> None:
    region.edit(openstackVersion=NEW)
    region.begin("compute/computes")
    region.reconcile()
    services = region.status["services"]
    assert services["identity"]["openstackVersion"] == NEW
    assert services["networking"]["openstackVersion"] == OLD
    assert region.status["openstackVersion"] == OLD


def test_a_service_is_half_way_until_all_its_workloads_run_the_new_version(region: UpgradingRegion) -> None:
    region.edit(openstackVersion=NEW)
    region.begin("compute")
    region.reconcile()
    services = region.status["services"]
    assert services["compute"] == {"state": "Upgrading", "openstackVersion": OLD}
    assert services["identity"] == {"state": "Applied", "openstackVersion": NEW}
    region.begin("networking/server")
    region.reconcile()
    assert region.status["services"]["compute"] == {"state": "Applied", "openstackVersion": NEW}


def test_an_edit_back_before_the_first_migration_aborts(region: UpgradingRegion) -> None:
    before = {one["metadata"]["name"]: one["spec"] for one in region.kube.objects("HelmBundle")}
    region.edit(openstackVersion=NEW)
    region.reconcile()
    region.edit(openstackVersion=OLD)
    for _ in range(3):
        region.reconcile()
        region.deploy()
    assert region.upgrade["phase"] == "Aborted"
    assert {one["metadata"]["name"]: one["spec"] for one in region.kube.objects("HelmBundle")} == before
    assert region.condition("Ready")["status"] == "True"


def test_an_edit_back_after_a_migration_is_refused(region: UpgradingRegion) -> None:
    region.edit(openstackVersion=NEW)
    region.begin("image")
    assert region.upgrade["pointOfNoReturn"]
    region.edit(openstackVersion=OLD)
    region.reconcile()
    assert region.condition("Ready")["reason"] == "VersionStepRefused"
    assert region.upgrade["phase"] == "ControlPlane"
    assert NEW in region.tags("identity", "keystone")["keystone_api"]


def test_a_pause_lets_no_other_step_begin(region: UpgradingRegion) -> None:
    region.edit(openstackVersion=NEW)
    region.begin("identity")
    region.edit(upgrade={"paused": True})
    for _ in range(6):
        region.reconcile()
        region.deploy()
        region.clock.advance(60)
    assert region.current == "placement"
    assert region.condition("Upgrading")["reason"] == "RegionUpgradeHeld"
    region.kube.forget_requests()
    assert region.reconcile() == 5
    assert region.kube.writes == []
    region.edit(upgrade={"paused": False})
    assert region.step() == "placement"


def test_a_manual_gate_waits_for_the_step_that_a_person_names(region: UpgradingRegion) -> None:
    region.edit(openstackVersion=NEW, upgrade={"gates": "Manual"})
    for _ in range(12):
        region.reconcile()
        region.deploy()
        region.clock.advance(60)
    waiting = region.current
    assert region.condition("Upgrading")["reason"] == "RegionUpgradeHeld"
    region.annotate(**{UPGRADE_STEP_ANNOTATION: waiting})  # of no upgrade
    region.reconcile()
    assert region.condition("Upgrading")["reason"] == "RegionUpgradeHeld"
    region.annotate(**{UPGRADE_STEP_ANNOTATION: f"{NEW}/{waiting}"})
    region.begin(waiting)


def test_an_image_that_the_spec_pins_fails_the_checks() -> None:
    pinned = {"images": {"tags": {"keystone_api": f"registry.example.org/keystone:{OLD}-fixed"}}}
    region = UpgradingRegion(services={"identity": {"keystone": {"values": pinned}}})
    region.edit(openstackVersion=NEW)
    for _ in range(3):
        region.reconcile()
    assert region.condition("Upgrading")["reason"] == "UpgradeChecksFailed"
    assert "images.tags.keystone_api of keystone" in region.condition("Ready")["message"]
    region.edit(upgrade={"skipChecks": ["pinned-images"]})
    region.begin("identity")


def test_a_step_whose_release_fails_lets_no_other_begin_and_continues_when_it_is_corrected(
    region: UpgradingRegion,
) -> None:
    region.edit(openstackVersion=NEW)
    region.begin("identity")
    region.reconcile()
    region.fail("identity", "Job keystone-db-sync: no such column")
    for _ in range(4):
        region.reconcile()
        region.clock.advance(60)
    assert region.condition("Upgrading")["reason"] == "UpgradeStepFailed"
    assert "no such column" in region.condition("Ready")["message"]
    assert region.current == "identity"
    assert OLD in region.tags("placement", "placement")["placement"]
    assert region.step() == "identity"


def test_another_target_is_refused_while_an_upgrade_runs(region: UpgradingRegion) -> None:
    region.edit(openstackVersion=NEW)
    region.begin("identity")
    region.edit(openstackVersion="2025.1")
    region.reconcile()
    assert region.condition("Ready")["reason"] == "VersionStepRefused"
    assert f"from {OLD} to {NEW} is not finished" in region.condition("Ready")["message"]
    region.edit(openstackVersion=NEW)
    assert region.step() == "identity"


def test_edits_of_a_service_whose_step_has_not_begun_arrive_with_it(region: UpgradingRegion) -> None:
    region.edit(openstackVersion=NEW)
    region.begin("identity")
    before = region.release("image", "glance")["values"]
    region.edit(services={"image": {"glance": {"values": {"pod": {"replicas": {"api": 2}}}}}})
    region.reconcile()
    assert region.release("image", "glance")["values"] == before
    region.begin("image")
    region.reconcile()
    assert region.release("image", "glance")["values"]["pod"]["replicas"]["api"] == 2


def test_a_service_is_neither_of_the_one_version_nor_of_the_other_while_its_step_runs(
    region: UpgradingRegion,
) -> None:
    region.edit(openstackVersion=NEW)
    region.begin("identity")
    region.reconcile()
    region.deploy()
    region.reconcile()
    assert region.status["services"]["identity"] == {"state": "Upgrading", "openstackVersion": OLD}
    assert region.status["services"]["image"] == {"state": "Applied", "openstackVersion": OLD}


def test_restored_databases_can_be_accepted_after_the_point_of_no_return(region: UpgradingRegion) -> None:
    region.edit(openstackVersion=NEW)
    region.begin("image")
    region.annotate(**{ACCEPT_VERSION_ANNOTATION: f"openstack={OLD}"})
    region.edit(openstackVersion=OLD)
    for _ in range(3):
        region.reconcile()
        region.deploy()
    assert region.upgrade["phase"] == "Aborted"
    assert OLD in region.tags("identity", "keystone")["keystone_api"]
    assert region.condition("Ready")["status"] == "True"


def test_data_are_migrated_by_the_new_version_after_the_last_step(region: UpgradingRegion) -> None:
    region.edit(openstackVersion=NEW)
    for _ in range(200):
        if region.upgrade.get("phase") == "Finish" and region.upgrade.get("checks"):
            break
        region.reconcile()
        region.deploy()
        region.clock.advance(31)
    job = next(job for job in region.kube.objects("Job") if "nova-data" in job["metadata"]["name"])
    [container] = job["spec"]["template"]["spec"]["containers"]
    assert container["command"] == ["nova-manage", "db", "online_data_migrations"]
    assert NEW in container["image"]
    assert "READ ONLY" not in str(container["env"])
    # While something is left the program ends with another code than 0.
    assert job["spec"]["backoffLimit"] == MIGRATION_TRIES_AGAIN
    assert job["spec"]["activeDeadlineSeconds"] == MIGRATED_WITHIN
    assert region.upgrade["phase"] == "Finish"
    region.deploy()
    region.reconcile()
    assert region.upgrade["phase"] == "Finished"


def test_a_migration_of_data_that_fails_keeps_the_region_at_finish_until_it_succeeds(
    region: UpgradingRegion,
) -> None:
    region.edit(openstackVersion=NEW)
    for _ in range(200):
        region.reconcile()
        if region.upgrade.get("phase") == "Finish" and region.upgrade.get("checks"):
            break
        region.deploy()
        region.clock.advance(31)
    job = next(job for job in region.kube.objects("Job") if "nova-data" in job["metadata"]["name"])
    play_end(region.kube, job, code=2, log="Some migrations failed unexpectedly. Check log for details.")
    region.deploy()
    region.reconcile()
    [found] = [one for one in region.upgrade["checks"] if one["name"] == "nova-data"]
    assert found["state"] == "Failed"
    assert "Some migrations failed unexpectedly" in found["message"]
    assert "let it continue: osctl reconcile region-one -n openstack" in found["message"]
    assert region.upgrade["phase"] == "Finish"
    assert region.condition("Upgrading")["reason"] == "UpgradeStepFailed"
    region.annotate(**{RECONCILE_ANNOTATION: "now"})
    region.reconcile()
    region.deploy()
    region.reconcile()
    assert region.upgrade["phase"] == "Finished"


def test_a_step_says_which_job_of_its_release_it_waits_for(region: UpgradingRegion) -> None:
    region.edit(openstackVersion=NEW)
    region.begin("identity")
    region.reconcile()
    cause = "waits for its hook: Job keystone-db-sync failed and is tried again"
    region.fail("identity", cause, state="Upgrading")
    region.reconcile()
    assert f"keystone Upgrading: {cause}" in region.upgrade["message"]
    [step] = [one for one in region.upgrade["steps"] if one["name"] == "identity"]
    assert (step["state"], cause in step["message"]) == ("Running", True)
