"""core and health together: Ready is never about pods that a rollout is about to replace."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

import pytest

from controller.domain.api.conditions import find
from controller.errors import SecretMissing
from controller.ports.kubernetes import HELMBUNDLE, OSDPL
from controller.reconcile.health.status import WORKLOADS
from controller.reconcile.region.deployment import DeploymentReconciler
from controller.reconcile.region.parts import RegionPorts, RegionSettings
from controller.render.region import Region
from tests.domain.health_objects import deployment
from tests.fakes.kube import Request
from tests.reconcile.health.test_health import Health
from tests.reconcile.region.test_deployment import CHARTS, KEY, SilentEvents, deploy_all, osdpl, render


class Pair:
    """core and health on one cluster: a region that is deployed, seen and ready."""

    def __init__(self) -> None:
        self.health = Health()
        self.cluster = self.health.cluster
        self.kube = self.cluster.kube
        self.trouble: Exception | None = None
        self.defaults: dict[str, Any] = {}
        self.core = DeploymentReconciler(
            RegionPorts(kube=self.kube, clock=self.health.clock, events=SilentEvents(), charts=CHARTS),
            RegionSettings(containers=("core", "helmbundle", "health"), version="0.1.0", resync=300),
            render=self.render,
        )
        self.kube.create(osdpl())
        self.apply()
        self.cluster.put(deployment())
        self.deployed()
        self.seen()
        assert self.ready() == ("True", "RegionReady")

    def render(self, osdpl: Mapping[str, Any]) -> Region:
        if self.trouble:
            raise self.trouble
        obj = copy.deepcopy(dict(osdpl))
        obj["spec"] |= self.defaults
        return render(obj)

    def apply(self) -> None:
        """core looks, and health's watches tell of the bundles."""
        self.core.reconcile(KEY)
        self.cluster.relist(HELMBUNDLE)

    def deployed(self, *, revision: int = 1) -> None:
        """Every release is deployed, and its bundle says so."""
        deploy_all(self.kube)
        for bundle in self.kube.objects("HelmBundle"):
            status = copy.deepcopy(bundle["status"])
            for release in status["releases"]:
                release["revision"] = revision
            self.kube.replace({**bundle, "status": status}, subresource="status")
        self.apply()

    def rollout(self) -> None:
        """What the releases bring about, before health's watches have reported it."""
        self.cluster.cut = True
        self.cluster.put(deployment(2, updatedReplicas=0, readyReplicas=0, availableReplicas=0))
        self.cluster.cut = False

    def reconcile(self) -> float | None:
        again = self.health.reconcile()
        self.core.reconcile(KEY)
        return again

    def seen(self) -> None:
        """Health's watches have reported everything."""
        self.cluster.relist(*WORKLOADS)
        self.reconcile()

    def condition(self, type_: str) -> Mapping[str, Any]:
        return find(self.cluster.status()["conditions"], type_)

    def ready(self) -> tuple[str, str]:
        entry = self.condition("Ready")
        return entry["status"], entry["reason"]

    def edit(self) -> None:
        patch = {"spec": {"publicDomainName": "other.example"}}
        assert self.kube.merge_patch(OSDPL, KEY[1], KEY[0], patch)

    def writes_of_health(self) -> list[Request]:
        return [one for one in self.kube.writes if one.manager == "osctl-health"]


@pytest.fixture
def pair() -> Pair:
    return Pair()


def test_a_verdict_is_not_about_a_spec_that_waits_for_a_secret(pair: Pair) -> None:
    pair.edit()
    pair.trouble = SecretMissing("mine", "password")
    pair.apply()
    pair.reconcile()
    assert pair.condition("Ready")["observedGeneration"] == 2
    assert pair.condition("WorkloadsHealthy")["observedGeneration"] == 1


@pytest.mark.slow
def test_a_spec_that_is_applied_late_is_ready_only_when_its_rollout_was_seen(pair: Pair) -> None:
    pair.edit()
    pair.trouble = SecretMissing("mine", "password")
    pair.apply()
    pair.reconcile()
    pair.trouble = None
    pair.apply()
    pair.rollout()
    pair.deployed(revision=2)
    pair.reconcile()
    assert pair.ready() == ("False", "Applying")
    pair.seen()
    assert pair.ready() == ("False", "WorkloadsProgressing")
    assert pair.condition("WorkloadsHealthy")["observedGeneration"] == 2


@pytest.mark.slow
def test_what_a_new_controller_makes_of_the_same_spec_is_ready_only_when_seen(pair: Pair) -> None:
    pair.defaults = {"publicDomainName": "other.example"}
    pair.apply()
    pair.rollout()
    pair.deployed(revision=2)
    pair.reconcile()
    assert pair.ready() == ("False", "Applying")
    pair.seen()
    assert pair.ready() == ("False", "WorkloadsProgressing")


def test_an_upgrade_that_no_spec_asked_for_is_ready_only_when_seen(pair: Pair) -> None:
    """As when a Secret changes that values refer to: the bundle stays, and Helm has a revision more."""
    pair.rollout()
    pair.deployed(revision=2)
    pair.reconcile()
    assert pair.ready() == ("False", "Applying")
    pair.seen()
    assert pair.ready() == ("False", "WorkloadsProgressing")


def test_it_is_ready_with_the_look_that_has_seen_the_last_of_it(pair: Pair) -> None:
    pair.deployed(revision=2)
    assert pair.ready() == ("False", "Applying")
    pair.reconcile()
    assert pair.ready() == ("True", "RegionReady")


def test_health_looks_again_at_once_while_its_watches_lag_behind(pair: Pair) -> None:
    pair.rollout()
    pair.deployed(revision=2)
    again = pair.reconcile()
    assert again is not None
    assert again < 1


def test_health_says_once_what_it_speaks_of(pair: Pair) -> None:
    pair.deployed(revision=2)
    pair.kube.forget_requests()
    pair.reconcile()
    pair.reconcile()
    assert len(pair.writes_of_health()) == 1


@pytest.mark.slow
def test_a_health_that_was_killed_in_between_says_nothing_before_it_has_seen_it(pair: Pair) -> None:
    pair.rollout()
    pair.deployed(revision=2)
    pair.health.start()
    pair.cluster.relist(HELMBUNDLE)
    pair.reconcile()
    assert pair.ready() == ("False", "Applying")
    pair.cluster.relist(*pair.health.store.resources)
    pair.reconcile()
    assert pair.ready() == ("False", "WorkloadsProgressing")


@pytest.mark.slow
def test_a_core_that_was_killed_after_the_bundles_believes_no_older_verdict(pair: Pair) -> None:
    pair.edit()
    before = pair.cluster.status()
    pair.apply()
    # As if it had died before it wrote its status.
    live = pair.kube.get(OSDPL, KEY[1], KEY[0])
    assert live is not None
    pair.kube.replace({**live, "status": before}, subresource="status")
    pair.rollout()
    pair.cluster.relist(HELMBUNDLE)
    pair.reconcile()
    assert pair.ready()[0] == "False"
    pair.deployed(revision=2)
    pair.reconcile()
    assert pair.ready() == ("False", "Applying")
