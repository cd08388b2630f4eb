"""With mode Plan, an upgrade begins with the approval of its plan, and then goes step by step."""

from __future__ import annotations

import pytest

from controller.ports.kubernetes import HELMBUNDLE
from controller.reconcile.region.deployment import DeploymentReconciler
from controller.reconcile.region.parts import RegionPorts, RegionSettings
from tests.fakes.kube import FakeKube
from tests.fakes.world import FakeClock
from tests.reconcile.region.test_deployment import KEY, SilentEvents, clock, edit, events, kube, osdpl, status
from tests.reconcile.region.test_region_plan import CHARTS, Helm, plan, planned, settle
from tests.world.upgrades.small_region import NEW, OLD, render

__all__ = ["clock", "events", "kube"]


def _tags(kube: FakeKube) -> set[str]:
    """The versions that bundles apply, of all but the database."""
    return {
        str(tag).rpartition(":")[2]
        for bundle in kube.objects(HELMBUNDLE.kind)
        for release in bundle["spec"]["releases"]
        for name, tag in release["values"]["images"]["tags"].items()
        if name != "mariadb"
    }


@pytest.mark.slow
def test_nothing_begins_before_the_approval_and_everything_follows_it(
    kube: FakeKube, clock: FakeClock, events: SilentEvents
) -> None:
    core = DeploymentReconciler(
        RegionPorts(kube=kube, clock=clock, events=events, charts=CHARTS),
        RegionSettings(containers=("core", "helmbundle"), version="0.1.0", resync=300),
        render=render,
    )
    helm = Helm(kube)
    kube.create(osdpl(openstackVersion=OLD))
    settle(core, helm)
    edit(kube, mode="Plan")
    settle(core, helm)
    edit(kube, openstackVersion=NEW)
    settle(core, helm)
    assert planned(kube) == ("True", "PlanPending")
    assert _tags(kube) == {OLD}
    assert "upgrade" not in status(kube)
    edit(kube, approvedPlan=plan(kube)["digest"])
    seen = []
    for _ in range(120):
        core.reconcile(KEY)
        helm.reconcile()
        clock.advance(31)
        seen.append(frozenset(_tags(kube)))
        phase = (status(kube).get("upgrade") or {}).get("phase")
        if phase == "Finished" and planned(kube)[1] == "PlanEmpty":
            break
    assert {OLD, NEW} in seen, "releases became new one after the other"
    assert _tags(kube) == {NEW}
    assert planned(kube) == ("True", "PlanEmpty")
    assert status(kube)["openstackVersion"] == NEW
