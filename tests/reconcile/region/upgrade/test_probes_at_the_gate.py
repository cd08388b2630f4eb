"""A step whose own workloads are healthy does not pass its gate while a probe of the region fails."""

from __future__ import annotations

from typing import Any

import pytest

from controller.domain.region.upgrade.upgrade_policy import UpgradePolicy
from controller.domain.region.upgrade.upgrade_state import upgrade_in
from controller.domain.region.upgrade.upgrade_steps import UpgradeStep
from controller.domain.releases.bundle_facts import bundle_mark, marks_digest
from controller.domain.values.upgrade_parts import UpgradePart
from controller.ports.kubernetes import OSDPL
from controller.reconcile.region.parts import RegionPorts
from controller.reconcile.region.upgrade.step_gate import GateView, step_facts
from tests.reconcile.region.test_deployment import CHARTS, KEY
from tests.reconcile.region.upgrade.upgrading_region import NEW, UpgradingRegion

pytestmark = pytest.mark.slow


def waiting(region: UpgradingRegion, probes: dict[str, Any], *, health: bool = True) -> str:
    """What the step of Keystone waits for, with these answers of the probes."""
    osdpl = region.kube.get(OSDPL, KEY[1], KEY[0])
    assert osdpl is not None
    bundles = region.kube.objects("HelmBundle")
    mark = marks_digest(bundle_mark(bundle) for bundle in bundles)
    ready = {"keystone": {"api": {"status": "Ready"}}, "probes": probes}
    osdpl = {**osdpl, "status": {**osdpl["status"], "healthOf": mark, "health": ready}}
    upgrade = upgrade_in(osdpl["status"])
    assert upgrade is not None
    step = UpgradeStep("identity", UpgradePart("", "ControlPlane", 20, ("keystone",)))
    view = GateView(osdpl, bundles, bundles, (step,), upgrade, health, region.clock.now())
    ports = RegionPorts(kube=region.kube, clock=region.clock, events=region.events, charts=CHARTS)
    return step_facts(ports, view, step, UpgradePolicy()).waiting


def test_a_probe_that_fails_holds_the_gate() -> None:
    region = UpgradingRegion()
    region.edit(openstackVersion=NEW)
    region.begin("identity")
    region.deploy()
    region.reconcile()
    region.deploy()
    fails = {"endpoints": {"status": "Unhealthy", "message": "image: 503"}}
    assert waiting(region, {"endpoints": {"status": "Ready"}}) == ""
    assert waiting(region, fails) == "probe endpoints: image: 503"
    assert waiting(region, fails, health=False) == ""
