"""A region in memory that is upgraded; what helmbundle and the nodes do is played."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from controller.domain.api.conditions import Condition, entries, find
from controller.domain.api.names import UPGRADE_CHECK_LABEL
from controller.domain.api.reasons import Reason
from controller.ports.brokers import Brokers, NoBrokers
from controller.ports.kubernetes import OSDPL
from controller.reconcile.region.deployment import DeploymentReconciler
from controller.reconcile.region.parts import RegionPorts, RegionSettings
from tests.fakes.kube import FakeKube
from tests.fakes.world import FakeClock
from tests.reconcile.region.test_deployment import (
    CHARTS,
    KEY,
    SilentEvents,
    deploy_all,
    edit,
    osdpl,
    render,
    status,
)
from tests.reconcile.region.upgrade.played_checks import play_end, play_workloads
from tests.reconcile.watched import DEFINITIONS

OLD, NEW = "2025.2", "2026.1"
# Passes that a step takes at most, with all that it waits for.
PASSES = 12


class UpgradingRegion:
    """core with a region that runs OLD, and is deployed."""

    old = OLD
    brokers: Brokers = NoBrokers()

    def __init__(self, **spec: Any) -> None:
        self.clock, self.events = FakeClock(), SilentEvents()
        self.kube = FakeKube(clock=self.clock)
        for definition in DEFINITIONS:
            self.kube.serve(definition)
        play_workloads(self.kube)
        self.core = self.process()
        self.kube.create(osdpl(openstackVersion=self.old, **spec))
        self.core.reconcile(KEY)
        deploy_all(self.kube)
        self.core.reconcile(KEY)
        assert status(self.kube)["openstackVersion"] == self.old

    def process(self) -> DeploymentReconciler:
        """A process of core that remembers nothing."""
        return DeploymentReconciler(
            RegionPorts(
                kube=self.kube,
                clock=self.clock,
                events=self.events,
                charts=CHARTS,
                brokers=self.brokers,
            ),
            RegionSettings(containers=("core", "helmbundle"), version="0.1.0", resync=300),
            render=render,
        )

    def edit(self, **spec: Any) -> None:
        edit(self.kube, **spec)

    def reconcile(self) -> float | None:
        """One pass of a process that has just begun: it may have been killed anywhere."""
        return self.process().reconcile(KEY)

    def deploy(self) -> None:
        """helmbundle has deployed what the bundles ask for now, and the checks have passed."""
        deploy_all(self.kube)
        for job in self.kube.objects("Job"):
            if UPGRADE_CHECK_LABEL in job["metadata"]["labels"]:
                play_end(self.kube, job)

    def fail(self, name: str, message: str, state: str = "Failed") -> None:
        """helmbundle reports that the releases of a bundle fail, or that they are in this state."""
        [bundle] = [one for one in self.kube.objects("HelmBundle") if one["metadata"]["name"] == name]
        generation = bundle["metadata"]["generation"]
        ready = Condition("Ready", "False", Reason.RELEASES_FAILING, message, generation)
        releases = [
            {
                "name": one["name"],
                "namespace": KEY[0],
                "state": state,
                "reason": "UpgradeFailed" if state == "Failed" else state,
                "message": message,
            }
            for one in bundle["spec"]["releases"]
        ]
        body = {
            "apiVersion": bundle["apiVersion"],
            "kind": bundle["kind"],
            "metadata": {"name": name, "namespace": KEY[0]},
            "status": {
                "observedGeneration": generation,
                "releases": releases,
                "conditions": entries([ready], (), self.clock.now()),
            },
        }
        self.kube.apply(body, manager="osctl-helmbundle", subresource="status")

    def step(self) -> str:
        """Passes until the present step is done; its name."""
        name = self.current
        for _ in range(PASSES):
            if self.current != name:
                break
            self.reconcile()
            self.deploy()
            self.clock.advance(31)
        return name

    @property
    def status(self) -> Mapping[str, Any]:
        found: Mapping[str, Any] = status(self.kube)
        return found

    @property
    def upgrade(self) -> Mapping[str, Any]:
        found: Mapping[str, Any] = self.status.get("upgrade") or {}
        return found

    @property
    def current(self) -> str:
        """The first step that is not done; empty if none is left."""
        return next((one["name"] for one in self.upgrade.get("steps", ()) if one["state"] != "Done"), "")

    def begin(self, name: str) -> None:
        """Passes until the step of that name runs."""
        for _ in range(200):
            states = {one["name"]: one["state"] for one in self.upgrade.get("steps", ())}
            if states.get(name) == "Running":
                return
            self.reconcile()
            self.deploy()
            self.clock.advance(31)
        raise AssertionError(f"{name} did not begin: {self.upgrade}")

    def condition(self, type_: str) -> Mapping[str, Any]:
        return find(self.status.get("conditions") or [], type_)

    def tags(self, bundle: str, release: str) -> Mapping[str, str]:
        """The images of a release that its bundle asks for."""
        found = self.release(bundle, release)["values"]["images"]["tags"]
        assert isinstance(found, dict)
        return found

    def release(self, bundle: str, release: str) -> Mapping[str, Any]:
        [there] = [one for one in self.kube.objects("HelmBundle") if one["metadata"]["name"] == bundle]
        found: Mapping[str, Any] = next(one for one in there["spec"]["releases"] if one["name"] == release)
        return found

    def annotate(self, **notes: str) -> None:
        assert self.kube.merge_patch(OSDPL, KEY[1], KEY[0], {"metadata": {"annotations": notes}})
