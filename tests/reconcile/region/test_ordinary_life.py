"""Installs, upgrades, removals and maintenances without faults: their Events are Normal, all of them.

Whoever is called for a Warning must find something to look at.
"""

from __future__ import annotations

import pytest

from controller.domain.api.conditions import Condition, entries
from controller.domain.api.reasons import NORMAL, WARNING, Reason
from controller.ports.kubernetes import COMPUTE_MAINTENANCE, HELMBUNDLE, OSDPL, KubeObject
from controller.reconcile.region.deployment import DeploymentReconciler
from controller.reconcile.region.parts import RegionPorts, RegionSettings
from controller.reconcile.releases.children_status import ChildrenReporter
from tests.domain.health_objects import deployment
from tests.fakes.kube import FakeKube
from tests.fakes.world import FakeClock
from tests.reconcile.bundles import NAMESPACE, Bench
from tests.reconcile.health.test_health import Health
from tests.reconcile.node_world import NodeWorld
from tests.reconcile.region.test_deployment import (
    CHARTS,
    KEY,
    SilentEvents,
    deploy_all,
    edit,
    hold_bundles,
    osdpl,
    ready,
    render,
)
from tests.reconcile.watched import DEFINITIONS


class _Region:
    """core and helmbundle's report of the region; what happens to bundles is played."""

    def __init__(self) -> None:
        self.clock, self.events = FakeClock(), SilentEvents()
        self.kube = FakeKube(clock=self.clock)
        for definition in DEFINITIONS:
            self.kube.serve(definition)
        self.core = DeploymentReconciler(
            RegionPorts(kube=self.kube, clock=self.clock, events=self.events, charts=CHARTS),
            RegionSettings(containers=("core", "helmbundle"), version="0.1.0", resync=300),
            render=render,
        )
        self.children = ChildrenReporter(self.kube, self.clock)

    def reconcile(self) -> None:
        self.core.reconcile(KEY)
        self.children.reconcile(KEY)
        self.core.reconcile(KEY)

    def work(self, state: str) -> None:
        """Every bundle is at it."""
        for bundle in self.kube.objects("HelmBundle"):
            generation = bundle["metadata"]["generation"]
            text = f"{bundle['metadata']['name']} {state}"
            pending = [Condition("Ready", "False", Reason.RELEASES_PENDING, text, generation)]
            releases = [
                {"name": one["name"], "namespace": KEY[0], "state": state, "reason": state}
                for one in bundle["spec"]["releases"]
            ]
            self._write(
                bundle,
                {
                    "observedGeneration": generation,
                    "conditions": entries(pending, (), self.clock.now()),
                    "releases": releases,
                },
            )
        self.reconcile()

    def _write(self, bundle: KubeObject, status: KubeObject) -> None:
        meta = {key: bundle["metadata"][key] for key in ("name", "namespace")}
        body = {"apiVersion": bundle["apiVersion"], "kind": bundle["kind"], "metadata": meta}
        self.kube.apply({**body, "status": status}, manager="osctl-helmbundle", subresource="status")

    def are_deployed(self) -> None:
        deploy_all(self.kube)
        self.reconcile()
        assert ready(self.kube) == ("True", "RegionReady")


@pytest.mark.slow
def test_a_region_is_installed_upgraded_paused_and_deleted_without_a_warning() -> None:
    region = _Region()
    region.kube.create(osdpl())
    region.reconcile()
    region.work("Installing")
    region.are_deployed()
    edit(region.kube, publicDomainName="example.net")
    region.reconcile()
    region.work("Upgrading")
    region.are_deployed()
    edit(region.kube, mode="Paused")
    region.reconcile()
    edit(region.kube, mode="Apply")
    region.reconcile()
    region.are_deployed()
    hold_bundles(region.kube)
    region.kube.delete(OSDPL, KEY[1], KEY[0])
    region.reconcile()
    assert ("Normal", "Deleting") in region.events.emitted
    assert ("Normal", "ReleasesPending") in region.events.emitted
    assert {kind for kind, _ in region.events.emitted} == {"Normal"}


def test_a_bundle_is_installed_upgraded_and_deleted_without_a_warning() -> None:
    bench = Bench()
    bench.bundle("compute", "nova", "placement")
    bench.settle()
    bench.bundle("compute", {"name": "nova", "values": {"replicas": 2}}, "placement")
    bench.settle()
    bench.kube.delete(HELMBUNDLE, "compute", NAMESPACE)
    bench.until(lambda: not bench.kube.get(HELMBUNDLE, "compute", NAMESPACE), "it is gone")
    reported = {text.partition(":")[0] for _, text in bench.events.emitted}
    assert reported == {"InstallSucceeded", "UpgradeSucceeded", "UninstallSucceeded"}
    assert {kind for kind, _ in bench.events.emitted} == {"Normal"}


def test_a_rollout_is_reported_without_a_warning() -> None:
    health = Health()
    health.cluster.region()
    health.cluster.bundle("nova")
    for ready_pods in (2, 1, 2):
        health.cluster.put(deployment(2, readyReplicas=ready_pods, availableReplicas=ready_pods))
        health.reconcile()
    reported = [reason for _, reason in health.events.emitted]
    assert reported == ["WorkloadsHealthy", "WorkloadsProgressing", "WorkloadsHealthy"]
    assert {kind for kind, _ in health.events.emitted} == {"Normal"}


def test_a_maintenance_is_begun_and_ended_without_a_warning() -> None:
    world = NodeWorld("cmp1", "cmp2")
    world.reconcile()
    world.maintain("m", "cmp1", mode="Migrate")
    for _ in range(20):
        world.reconcile()
        world.clock.advance(20)
    assert world.maintenance("m")["phase"] == "Completed"
    world.kube.delete(COMPUTE_MAINTENANCE, "m")
    for _ in range(20):
        world.reconcile()
        world.clock.advance(20)
    assert "MaintenanceEnded" in {reason for _, reason in world.events.emitted}
    assert {kind for kind, _ in world.events.emitted} == {"Normal"}


def test_a_node_that_is_lost_is_a_warning() -> None:
    world = NodeWorld("cmp1", "cmp2", "cmp3")
    world.reconcile()
    world.set_ready("cmp1", False)
    for _ in range(20):
        world.reconcile()
        world.clock.advance(20)
    assert ("Warning", "NodeNotReady") in world.events.emitted


@pytest.mark.parametrize("reason", Reason)
def test_every_reason_says_what_its_events_are(reason: Reason) -> None:
    assert reason.event in (NORMAL, WARNING)
    assert Reason(str(reason)) is reason
    assert not str(reason).endswith("Failed") or reason.event == WARNING
