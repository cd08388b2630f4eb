"""A paused region goes on telling what runs, and says so when its spec asks for something else."""

from __future__ import annotations

from typing import Any

import pytest

from controller.domain.api.conditions import find
from controller.errors import ChartPending, RepositoryUnavailable
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
    ready,
    render,
    status,
)
from tests.reconcile.watched import DEFINITIONS


class Paused:
    """A region that was deployed with 2026.1 and is paused since."""

    def __init__(self) -> None:
        self.clock = FakeClock()
        self.kube = FakeKube(clock=self.clock)
        for definition in DEFINITIONS:
            self.kube.serve(definition)
        self.events = SilentEvents()
        self.trouble: Exception | None = None
        self.beyond: dict[str, Any] = {}
        self.core = self.begin("0.1.0")
        self.kube.create(osdpl())
        self.serve()
        self.edit(mode="Paused")

    def begin(self, version: str) -> DeploymentReconciler:
        return DeploymentReconciler(
            RegionPorts(kube=self.kube, clock=self.clock, events=self.events, charts=CHARTS),
            RegionSettings(containers=("core", "helmbundle"), version=version, resync=300),
            render=self.render,
        )

    def render(self, osdpl: Any) -> Any:
        if self.trouble:
            raise self.trouble
        return render({**osdpl, "spec": {**osdpl["spec"], **self.beyond}})

    def make_otherwise(self) -> None:
        """A newer version of the controller begins, and makes something else of the same spec."""
        self.beyond = {"publicDomainName": "other.example"}
        self.core = self.begin("0.2.0")
        self.core.reconcile(KEY)

    def say_of_releases(self, status: str, reason: str) -> None:
        """What helmbundle says of them, and a pass of core at that."""
        entry = {**find(self.status["conditions"], "ReleasesReady"), "status": status, "reason": reason}
        body = {"apiVersion": OSDPL.api_version, "kind": OSDPL.kind, "status": {"conditions": [entry]}}
        meta = {"name": KEY[1], "namespace": KEY[0]}
        self.kube.apply({**body, "metadata": meta}, manager="osctl-helmbundle", subresource="status")
        self.core.reconcile(KEY)

    def serve(self) -> None:
        """core looks, helmbundle does what it has to do and says so, core looks again."""
        self.core.reconcile(KEY)
        deploy_all(self.kube)
        self.core.reconcile(KEY)

    def edit(self, **spec: Any) -> None:
        edit(self.kube, **spec)
        self.serve()

    @property
    def status(self) -> dict[str, Any]:
        return status(self.kube)

    def versions(self) -> set[str]:
        """What the status says that runs: of the region, and of each service."""
        services = {one["openstackVersion"] for one in self.status["services"].values()}
        return services | {self.status["openstackVersion"]}


@pytest.fixture
def region() -> Paused:
    return Paused()


@pytest.mark.slow
def test_a_paused_region_whose_spec_is_what_runs_stays_ready(region: Paused) -> None:
    assert ready(region.kube) == ("True", "RegionReady")
    assert find(region.status["conditions"], "Paused")["status"] == "True"
    assert region.status["appliedGeneration"] == region.status["observedGeneration"] == 2


@pytest.mark.slow
def test_what_is_edited_during_a_pause_is_not_said_to_run(region: Paused) -> None:
    before = region.status
    region.edit(openstackVersion="2025.2", publicDomainName="other.example")
    assert region.versions() == {"2026.1"}
    assert region.status["fingerprint"] == before["fingerprint"]
    assert (region.status["observedGeneration"], region.status["appliedGeneration"]) == (3, 2)


@pytest.mark.slow
def test_an_edit_that_a_pause_holds_back_makes_it_unready_and_says_what_to_do(region: Paused) -> None:
    region.edit(publicDomainName="other.example")
    assert ready(region.kube) == ("False", "PausedBySpec")
    said = {one["type"]: one for one in region.status["conditions"]}
    assert "spec.mode is Apply" in said["Ready"]["message"]
    # A person has decided so: nothing is under way, and nothing is wrong (kstatus: InProgress).
    assert not {"Reconciling", "Stalled"} & said.keys()
    assert region.events.emitted[-1] == ("Normal", "PausedBySpec")


@pytest.mark.slow
def test_what_is_held_back_is_reported_once(region: Paused) -> None:
    region.edit(publicDomainName="other.example")
    region.kube.forget_requests()
    region.core.reconcile(KEY)
    assert region.kube.writes == []


def test_the_removal_of_a_service_is_held_back_too(region: Paused) -> None:
    region.edit(features={"services": {"disabled": ["compute"]}})
    assert ready(region.kube) == ("False", "PausedBySpec")


@pytest.mark.slow
@pytest.mark.parametrize("after", [{"publicDomainName": "example.org"}, {"mode": "Apply"}])
def test_it_is_ready_again_once_the_edit_is_taken_back_or_applied(
    region: Paused, after: dict[str, Any]
) -> None:
    region.edit(publicDomainName="other.example")
    region.edit(**after)
    assert ready(region.kube) == ("True", "RegionReady")
    assert region.status["appliedGeneration"] == region.status["observedGeneration"] == 4


def test_what_fails_of_what_runs_is_reported_before_the_pause(region: Paused) -> None:
    region.edit(publicDomainName="other.example")
    region.say_of_releases("False", "ReleasesFailing")
    assert ready(region.kube) == ("False", "ReleasesFailing")


def test_an_edit_stays_held_back_while_the_charts_cannot_be_looked_at(region: Paused) -> None:
    region.edit(publicDomainName="other.example")
    region.trouble = ChartPending("keystone is being pulled")
    region.core.reconcile(KEY)
    assert ready(region.kube) == ("False", "PausedBySpec")


def test_what_is_held_back_is_remembered_while_something_worse_is_reported(region: Paused) -> None:
    """A newer version of the controller makes something else of the same spec, then a release fails, and
    then core starts again without its charts."""
    region.make_otherwise()
    assert ready(region.kube) == ("False", "PausedBySpec")
    region.say_of_releases("False", "ReleasesFailing")
    region.trouble = RepositoryUnavailable("the repository does not answer")
    region.core.reconcile(KEY)
    assert ready(region.kube) == ("False", "ReleasesFailing")
    assert find(region.status["conditions"], "Paused")["reason"] == "HeldBackByPause"
    region.say_of_releases("True", "ReleasesDeployed")
    assert ready(region.kube) == ("False", "PausedBySpec")
