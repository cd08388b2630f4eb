"""Regions and bundles in the states that a person meets, as the real reconcilers publish them."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

import yaml

from controller.domain.api.conditions import Condition, entries
from controller.domain.api.reasons import Reason
from controller.domain.releases.bundle_status import ReleaseView, bundle_conditions
from controller.domain.releases.reported_state import ReportedState
from controller.domain.servers.cloud_resources import Kind
from controller.ports.kubernetes import COMPUTE_MAINTENANCE, HELMBUNDLE, OSDPL, KubeObject
from controller.reconcile.region.deployment import DeploymentReconciler
from controller.reconcile.region.parts import RegionPorts, RegionSettings
from tests.fakes.kube import FakeKube
from tests.fakes.world import FakeClock
from tests.reconcile.node_world import NodeWorld
from tests.reconcile.region.test_deployment import (
    CHARTS,
    CRDS,
    KEY,
    SilentEvents,
    deploy_all,
    edit,
    health_of,
    osdpl,
    render,
)
from tests.reconcile.region.test_region_plan import DEBUG, REPLICAS, Helm, make_core, settle
from tests.reconcile.servers.server_world import ServerWorld


class Stage:
    """One region; every step is made by what makes it in a cluster, or said as the containers say it."""

    def __init__(self) -> None:
        clock = FakeClock()
        self.kube = FakeKube(clock=clock)
        for path in sorted(CRDS.glob("*.yaml")):
            self.kube.serve(yaml.load(path.read_text(encoding="utf-8"), Loader=yaml.CSafeLoader))
        self.core = DeploymentReconciler(
            RegionPorts(kube=self.kube, clock=clock, events=SilentEvents(), charts=CHARTS),
            RegionSettings(containers=("core", "helmbundle", "health"), version="0.1.0", resync=300),
            render=render,
        )
        self.kube.create(osdpl())

    def reconcile(self) -> None:
        self.core.reconcile(KEY)

    def deploy(self) -> None:
        self.reconcile()
        deploy_all(self.kube)
        self.reconcile()

    def workloads(self, status: str, reason: Reason) -> None:
        """Plays health."""
        found = self.region()
        condition = Condition(
            "WorkloadsHealthy",
            status,  # type: ignore[arg-type]
            reason,
            f"so says {reason}",
            found["status"]["appliedGeneration"],
        )
        known = found["status"]["conditions"]
        body = {
            "apiVersion": found["apiVersion"],
            "kind": found["kind"],
            "metadata": {"name": KEY[1], "namespace": KEY[0]},
            "status": {"conditions": entries([condition], known, 1.8e9), "healthOf": health_of(self.kube)},
        }
        self.kube.apply(body, manager="osctl-health", subresource="status")
        self.reconcile()

    def region(self) -> KubeObject:
        found = self.kube.get(OSDPL, KEY[1], KEY[0])
        assert found is not None
        return found

    def bundle(self) -> KubeObject:
        found = self.kube.get(HELMBUNDLE, "identity", KEY[0])
        assert found is not None
        return found


@cache
def region_states() -> Mapping[str, KubeObject]:
    """An osdpl in each state, by a name of the state."""
    states: dict[str, KubeObject] = {}
    stage = Stage()
    states["created"] = stage.region()
    stage.reconcile()
    states["being applied"] = stage.region()
    stage.deploy()
    states["deployed, not judged yet"] = stage.region()
    stage.workloads("True", Reason.WORKLOADS_HEALTHY)
    states["ready"] = stage.region()
    stage.workloads("False", Reason.WORKLOADS_FAILING)
    states["a workload fails"] = stage.region()
    stage.workloads("False", Reason.WORKLOADS_PROGRESSING)
    states["a workload rolls out"] = stage.region()
    stage.workloads("True", Reason.WORKLOADS_HEALTHY)
    edit(stage.kube, publicDomainName="example.net")
    states["edited, not looked at yet"] = stage.region()
    edit(stage.kube, publicDomainName="example.org", services={"compute": {"nvoa": {}}})
    stage.reconcile()
    states["not to be served"] = stage.region()
    edit(stage.kube, services=None, mode="Paused")
    stage.reconcile()
    states["paused"] = stage.region()
    deploy_all(stage.kube)
    stage.workloads("True", Reason.WORKLOADS_HEALTHY)
    edit(stage.kube, publicDomainName="example.net")
    stage.reconcile()
    states["edited in a pause"] = stage.region()
    edit(stage.kube, publicDomainName="example.org", mode="Apply")
    stage.reconcile()
    stage.kube.delete(OSDPL, KEY[1], KEY[0])
    stage.reconcile()
    states["being removed"] = stage.region()
    return states


@cache
def bundle_states() -> Mapping[str, KubeObject]:
    """A HelmBundle in each state, by a name of the state."""
    stage = Stage()
    stage.reconcile()
    created = stage.bundle()
    generation = int(created["metadata"]["generation"])

    def shown(state: ReportedState, reason: Reason, *, deleting: bool = False) -> KubeObject:
        views = [ReleaseView("keystone", KEY[0], state, reason)]
        conditions = bundle_conditions(views, generation, deleting=deleting)
        status = {"observedGeneration": generation, "conditions": entries(conditions, [], 1.8e9)}
        meta = {**created["metadata"], **({"deletionTimestamp": "2026-01-01T00:00:00Z"} if deleting else {})}
        return {**created, "metadata": meta, "status": status}

    return {
        "created": created,
        "being installed": shown(ReportedState.INSTALLING, Reason.INSTALLING),
        "failed": shown(ReportedState.FAILED, Reason.BACKING_OFF),
        "deployed": shown(ReportedState.DEPLOYED, Reason.IN_SYNC),
        "waits for somebody": shown(ReportedState.SUSPENDED, Reason.PLAN_PENDING),
        "being removed": shown(ReportedState.UNINSTALLING, Reason.UNINSTALLING, deleting=True),
    }


@cache
def plan_states() -> Mapping[str, KubeObject]:
    """An osdpl with mode Plan in each state, by a name of the state."""
    clock = FakeClock()
    kube = FakeKube(clock=clock)
    for path in sorted(CRDS.glob("*.yaml")):
        kube.serve(yaml.load(path.read_text(encoding="utf-8"), Loader=yaml.CSafeLoader))
    core, helm = make_core(kube, clock, SilentEvents()), Helm(kube)

    def shown(**spec: Any) -> KubeObject:
        edit(kube, **spec)
        settle(core, helm)
        found = kube.get(OSDPL, KEY[1], KEY[0])
        assert found is not None
        return found

    kube.create(osdpl())
    settle(core, helm)
    states = {"nothing to do": shown(mode="Plan"), "waits for approval": shown(services=REPLICAS)}
    helm.problem["keystone"] = "Service/keystone-api would be refused: clusterIP is immutable"
    states["would fail"] = shown(services=DEBUG)
    helm.problem.clear()
    states["of another plan"] = shown(services=REPLICAS, approvedPlan="sha256:" + 64 * "0")
    return states


@cache
def maintenance_states() -> Mapping[str, KubeObject]:
    """A ComputeMaintenance in each state, by a name of the state."""
    world = NodeWorld("cmp1", "cmp2", "cmp3")
    _, bad = world.cloud.boot(2, "cmp1")
    world.cloud.failing.add(bad)

    def shown(name: str = "work") -> KubeObject:
        found = world.kube.get(COMPUTE_MAINTENANCE, name)
        assert found is not None
        return found

    world.maintain("dry", "cmp2", dryRun=True)
    world.maintain("work", "cmp1", retries=1)
    states = {"created": shown()}
    while shown()["status"].get("phase") != "Moving":
        world.reconcile()
    states["moving"] = shown()
    world.reconcile(60)
    states["blocked"] = shown()
    states["planned only"] = shown("dry")
    world.kube.merge_patch(COMPUTE_MAINTENANCE, "work", None, {"spec": {"retries": 2}})
    states["edited, not looked at yet"] = shown()
    world.cloud.failing.clear()
    while shown()["status"]["phase"] != "Completed":
        world.reconcile()
    states["may work on the node"] = shown()
    world.kube.delete(COMPUTE_MAINTENANCE, "work")
    states["being removed"] = shown()
    return states


@cache
def server_states() -> Mapping[str, KubeObject]:
    """An OpenStackServer in each state, by a name of the state."""
    world = ServerWorld()
    world.create(update="Replace")
    states = {"created": world.live()}
    while world.reason("InstanceReady") != "InstanceBuilding":
        world.step()
        states["being made"] = world.live()
        world.cloud.pass_time() if not world.cloud.of(Kind.SERVER) else None
    world.settle()
    states["ready"] = world.live()
    world.edit(sshKeyName="other")
    states["edited, not looked at yet"] = world.live()
    world.step()
    states["being replaced"] = world.live()
    world.settle()
    world.cloud.change(world.only(Kind.SERVER).id, status="ERROR", fault="No valid host was found")
    world.settle()
    states["in error"] = world.live()
    world.annotate("true")
    world.edit(sshKeyName="third")
    world.step()
    states["edited while suspended"] = world.live()
    world.annotate(None)
    world.edit(enabled=False)
    world.settle()
    states["disabled"] = world.live()
    world.edit(enabled=True)
    world.settle()
    world.delete()
    world.step()
    states["being removed"] = world.live()
    return states
