"""Fields of the spec that reach no release are planned, approved and held back as releases are."""

from __future__ import annotations

import pytest

from controller.domain.api.region_spec import parse_region_spec, spec_in_force
from controller.domain.region.deployment import parse_deployment
from controller.domain.region.plan_approval import awaits_approval
from controller.domain.region.spec_changes import pending_changes
from controller.reconcile.region.deployment import DeploymentReconciler
from controller.reconcile.region.parts import RegionPorts, RegionSettings
from tests.fakes.kube import FakeKube
from tests.fakes.world import FakeClock
from tests.reconcile.region.test_deployment import SilentEvents, clock, edit, events, kube, osdpl, ready
from tests.reconcile.region.test_region_plan import (
    CHARTS,
    REPLICAS,
    Helm,
    get_osdpl,
    helm,
    plan,
    planned,
    render,
    settle,
)
from tests.render.region import schema

__all__ = ["clock", "events", "helm", "kube"]
AUTO = {"nodes": {"evacuation": "Auto"}}


@pytest.fixture
def core(kube: FakeKube, clock: FakeClock, events: SilentEvents) -> DeploymentReconciler:
    return DeploymentReconciler(
        RegionPorts(kube=kube, clock=clock, events=events, charts=CHARTS),
        RegionSettings(containers=("core", "helmbundle"), version="0.1.0", resync=300),
        render=render,
        pending=lambda obj: pending_changes(obj, schema(), lambda one: parse_deployment(one, schema())),
    )


@pytest.fixture
def running(core: DeploymentReconciler, kube: FakeKube, helm: Helm) -> Helm:
    kube.create(osdpl())
    settle(core, helm)
    return helm


def evacuation(kube: FakeKube) -> str:
    """What container node goes by."""
    return parse_region_spec(spec_in_force(get_osdpl(kube))).features.nodes.evacuation


def test_a_field_that_reaches_no_release_waits_for_approval(
    core: DeploymentReconciler, running: Helm, kube: FakeKube
) -> None:
    edit(kube, mode="Plan", features=AUTO)
    settle(core, running)
    [entry] = plan(kube)["settings"]
    assert (entry["path"], entry["before"], entry["after"]) == ("features.nodes.evacuation", "Never", "Auto")
    assert "starts the servers of a dead node on other nodes" in entry["does"]
    assert planned(kube) == ("True", "PlanPending")
    assert "changes 1 field of the spec" in plan(kube)["message"]
    assert evacuation(kube) == "Never"
    assert _awaits_approval(kube)
    edit(kube, approvedPlan=plan(kube)["digest"])
    settle(core, running)
    assert (planned(kube), ready(kube)) == (("True", "PlanEmpty"), ("True", "RegionReady"))
    assert evacuation(kube) == "Auto"
    assert not _awaits_approval(kube)


@pytest.mark.slow
def test_a_field_is_no_part_of_what_was_approved_before(
    core: DeploymentReconciler, running: Helm, kube: FakeKube
) -> None:
    edit(kube, mode="Plan", services=REPLICAS)
    settle(core, running)
    edit(kube, approvedPlan=plan(kube)["digest"])
    settle(core, running)
    edit(kube, features=AUTO)
    settle(core, running)
    assert planned(kube) == ("True", "PlanDiffers") or planned(kube) == ("True", "PlanPending")
    assert (evacuation(kube), _awaits_approval(kube)) == ("Never", True)


def test_a_field_that_is_taken_back_leaves_nothing_to_approve(
    core: DeploymentReconciler, running: Helm, kube: FakeKube
) -> None:
    edit(kube, mode="Plan", features=AUTO)
    settle(core, running)
    edit(kube, features=None)
    settle(core, running)
    assert planned(kube) == ("True", "PlanEmpty")
    assert ready(kube) == ("True", "RegionReady")


def test_with_mode_apply_an_edit_is_in_force_at_once(
    core: DeploymentReconciler, running: Helm, kube: FakeKube
) -> None:
    edit(kube, features=AUTO)
    assert evacuation(kube) == "Auto"
    settle(core, running)
    edit(kube, mode="Plan")
    settle(core, running)
    assert planned(kube) == ("True", "PlanEmpty")
    assert evacuation(kube) == "Auto"


@pytest.mark.slow
def test_a_plan_of_releases_and_fields_is_one(
    core: DeploymentReconciler, running: Helm, kube: FakeKube
) -> None:
    edit(kube, mode="Plan", services=REPLICAS)
    settle(core, running)
    before = plan(kube)["digest"]
    edit(kube, features=AUTO)
    settle(core, running)
    assert plan(kube)["digest"] != before
    edit(kube, approvedPlan=before)
    settle(core, running)
    assert (planned(kube), evacuation(kube)) == (("True", "PlanDiffers"), "Never")
    edit(kube, approvedPlan=plan(kube)["digest"])
    settle(core, running)
    assert (planned(kube), evacuation(kube)) == (("True", "PlanEmpty"), "Auto")


def _awaits_approval(kube: FakeKube) -> bool:
    found = get_osdpl(kube)
    return awaits_approval(found, parse_region_spec(found["spec"]))
