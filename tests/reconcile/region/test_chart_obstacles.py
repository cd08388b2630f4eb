"""A chart that cannot be had: what the region and the release say, and when another pass is due."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import pytest

from controller.domain.api.conditions import find
from controller.domain.api.reasons import Reason
from controller.domain.releases.actions import Action
from controller.domain.releases.bundle import ChartRef, ReleaseSpec
from controller.domain.values.chart_values import Values
from controller.errors import (
    ChartInvalid,
    ChartNotFound,
    ChartPending,
    ChartUntrusted,
    RepositoryDenied,
    RepositoryUnavailable,
    RepositoryUntrusted,
    SecretMissing,
)
from controller.ports.kubernetes import HELMBUNDLE, OSDPL
from controller.reconcile.region.deployment import DeploymentReconciler
from controller.reconcile.region.parts import RegionPorts, RegionSettings
from controller.reconcile.releases.observe_release import resolve_release
from controller.reconcile.shared.chart_errors import LONGEST, RETRY_SECONDS
from controller.reconcile.shared.secret_values import SecretValues
from controller.render.region import Region
from tests.fakes.kube import FakeKube
from tests.fakes.option_files import option_files
from tests.fakes.world import FakeClock
from tests.reconcile.region.test_deployment import (
    KEY,
    SilentEvents,
    bundle_names,
    clock,  # noqa: F401 - a fixture
    deploy_all,
    edit,
    events,  # noqa: F401 - a fixture
    kube,  # noqa: F401 - a fixture
    osdpl,
    own,
    owners,
    render,
    status,
)

# Error, reason, and whether only an edit of something can help.
CASES = [
    (ChartInvalid("broken"), Reason.CHART_INVALID, True),
    (ChartNotFound("no such version", 40.0), Reason.CHART_NOT_FOUND, True),
    (ChartPending("being pulled", 1.0), Reason.CHART_PENDING, False),
    (ChartUntrusted("another digest", 7.0), Reason.CHART_UNTRUSTED, True),
    (RepositoryDenied("401", 7.0), Reason.REPOSITORY_DENIED, True),
    (RepositoryUnavailable("503", 120.0), Reason.REPOSITORY_UNAVAILABLE, False),
    (RepositoryUntrusted("unknown CA", 7.0), Reason.REPOSITORY_UNTRUSTED, True),
    (SecretMissing("login", "password"), Reason.SECRET_MISSING, False),
]
IDS = [str(reason) for _, reason, _ in CASES]


class Fickle:
    """Renders the region, or raises what a test says."""

    error: Exception | None = None
    lacks: Mapping[str, ChartInvalid] = MappingProxyType({})

    def __call__(self, obj: Mapping[str, Any]) -> Region:
        if self.error is not None:
            raise self.error
        region = render(obj)
        there = tuple(bundle for bundle in region.bundles if bundle.name not in self.lacks)
        return replace(region, bundles=there, missing=self.lacks)

    def locate(self, chart: ChartRef) -> str:
        raise AssertionError(chart)

    def digest(self, chart: ChartRef) -> str:
        assert self.error is not None
        raise self.error

    def build(self, chart: ChartRef) -> str:
        raise AssertionError(chart)

    def defaults(self, chart: ChartRef) -> Values:
        raise AssertionError(chart)


@pytest.fixture
def charts() -> Fickle:
    return Fickle()


@pytest.fixture
def core(kube: FakeKube, clock: FakeClock, events: SilentEvents, charts: Fickle) -> DeploymentReconciler:  # noqa: F811
    return reconciler(RegionPorts(kube=kube, clock=clock, events=events, charts=charts), charts)


@pytest.fixture
def accepted(core: DeploymentReconciler, kube: FakeKube) -> DeploymentReconciler:  # noqa: F811
    """After its first pass over the region."""
    kube.create(osdpl())
    core.reconcile(KEY)
    return core


def reconciler(ports: RegionPorts, charts: Fickle, version: str = "0.1.0") -> DeploymentReconciler:
    settings = RegionSettings(containers=("core", "helmbundle"), version=version, resync=300)
    return DeploymentReconciler(ports, settings, render=charts)


@pytest.mark.slow
@pytest.mark.parametrize("error", [error for error, _, _ in CASES], ids=IDS)
def test_a_region_that_comes_back_is_held_and_owns_nothing_also_without_its_charts(
    accepted: DeploymentReconciler,
    kube: FakeKube,  # noqa: F811
    charts: Fickle,
    error: Exception,
) -> None:
    own(kube)
    kube.merge_patch(OSDPL, KEY[1], KEY[0], {"metadata": {"finalizers": None}})
    kube.delete(OSDPL, KEY[1], KEY[0])
    kube.create(osdpl())
    charts.error = error
    accepted.reconcile(KEY)
    assert owners(kube) == []
    kube.delete(OSDPL, KEY[1], KEY[0])
    assert kube.get(OSDPL, KEY[1], KEY[0]) is not None


@pytest.mark.slow
@pytest.mark.parametrize(("error", "reason", "stalls"), CASES, ids=IDS)
def test_the_region_says_why_and_what_runs_is_untouched(
    accepted: DeploymentReconciler,
    kube: FakeKube,  # noqa: F811
    charts: Fickle,
    error: Exception,
    reason: Reason,
    stalls: bool,
) -> None:
    deploy_all(kube)
    before = [bundle["spec"] for bundle in kube.objects("HelmBundle")]
    charts.error = error
    edit(kube, size="small")
    again = accepted.reconcile(KEY)
    conditions = status(kube)["conditions"]
    assert find(conditions, "Ready")["reason"] == reason
    assert find(conditions, "SpecValid")["status"] == ("False" if stalls else "Unknown")
    assert find(conditions, "SpecValid")["message"] == str(error)
    assert bool(find(conditions, "Stalled")) is stalls
    assert bool(find(conditions, "Reconciling")) is not stalls
    assert [bundle["spec"] for bundle in kube.objects("HelmBundle")] == before
    asked = getattr(error, "retry_after", None)
    assert again == (RETRY_SECONDS if asked is None else min(asked, LONGEST))


@pytest.mark.parametrize(("error", "reason", "stalls"), CASES, ids=IDS)
def test_a_spec_that_was_accepted_stays_so_while_its_charts_cannot_be_looked_at_once_more(
    accepted: DeploymentReconciler,
    kube: FakeKube,  # noqa: F811
    charts: Fickle,
    error: Exception,
    reason: Reason,
    stalls: bool,
) -> None:
    """As with a pod that has lost its cache on a move while the repository is away."""
    del stalls
    before = status(kube)
    charts.error = error
    for _ in range(2):
        again = accepted.reconcile(KEY)
        conditions = status(kube)["conditions"]
        if reason in (Reason.CHART_PENDING, Reason.REPOSITORY_UNAVAILABLE):
            assert find(conditions, "SpecValid")["status"] == "True"
            assert str(error) in find(conditions, "SpecValid")["message"]
            assert find(conditions, "Ready") == find(before["conditions"], "Ready")
            assert status(kube)["state"] == before["state"]
        else:
            assert find(conditions, "Ready")["reason"] == reason
    assert again is not None and again <= LONGEST
    charts.error = None
    accepted.reconcile(KEY)
    assert status(kube) == before


@pytest.mark.parametrize("gone", [1, None], ids=["one", "all"])
def test_a_bundle_that_is_gone_is_missed_while_charts_cannot_be_looked_at(
    accepted: DeploymentReconciler,
    kube: FakeKube,  # noqa: F811
    charts: Fickle,
    gone: int | None,
) -> None:
    deploy_all(kube)
    accepted.reconcile(KEY)
    charts.error = RepositoryUnavailable("503", 120.0)
    accepted.reconcile(KEY)
    assert find(status(kube)["conditions"], "Ready")["status"] == "True"
    for bundle in sorted(bundle_names(kube))[:gone]:
        kube.delete(HELMBUNDLE, bundle, KEY[0])
    for _ in range(3):
        accepted.reconcile(KEY)
        ready = find(status(kube)["conditions"], "Ready")
        assert (ready["status"], ready["reason"]) == ("False", Reason.REPOSITORY_UNAVAILABLE)
    charts.error = None
    accepted.reconcile(KEY)
    assert find(status(kube)["conditions"], "Ready")["reason"] == Reason.APPLYING


def test_a_region_with_nothing_left_to_plan_stays_ready_while_its_charts_cannot_be_looked_at(
    accepted: DeploymentReconciler,
    kube: FakeKube,  # noqa: F811
    charts: Fickle,
) -> None:
    deploy_all(kube)
    plan = {"plan": {"observedGeneration": 1, "accepted": {"digest": "d", "desired": "e", "done": True}}}
    before = status(kube)
    body = {"apiVersion": OSDPL.api_version, "kind": OSDPL.kind, "metadata": osdpl()["metadata"]}
    kube.apply({**body, "status": {**before, **plan}}, manager="test", force=True, subresource="status")
    charts.error = RepositoryUnavailable("503", 120.0)
    accepted.reconcile(KEY)
    assert find(status(kube)["conditions"], "Ready")["status"] == "True"
    assert find(status(kube)["conditions"], "SpecValid")["status"] == "True"


def test_a_reworded_refusal_of_a_repository_causes_no_write(
    accepted: DeploymentReconciler,
    kube: FakeKube,  # noqa: F811
    charts: Fickle,
) -> None:
    charts.error = RepositoryUnavailable("503", 120.0)
    accepted.reconcile(KEY)
    kube.forget_requests()
    for text in ("timed out", "503", "refused"):
        charts.error = RepositoryUnavailable(text, 120.0)
        accepted.reconcile(KEY)
    assert kube.writes == []


def test_another_version_of_the_controller_does_not_trust_what_this_one_accepted(
    accepted: DeploymentReconciler,
    kube: FakeKube,  # noqa: F811
    clock: FakeClock,  # noqa: F811
    events: SilentEvents,  # noqa: F811
    charts: Fickle,
) -> None:
    charts.error = RepositoryUnavailable("503", 120.0)
    reconciler(RegionPorts(kube, clock, events, charts), charts, version="0.2.0").reconcile(KEY)
    assert find(status(kube)["conditions"], "Ready")["reason"] == Reason.REPOSITORY_UNAVAILABLE


def test_the_region_goes_on_once_its_charts_are_there(
    core: DeploymentReconciler,
    kube: FakeKube,  # noqa: F811
    charts: Fickle,
) -> None:
    kube.create(osdpl())
    charts.error = ChartPending("being pulled", 1.0)
    core.reconcile(KEY)
    assert bundle_names(kube) == set()
    charts.error = None
    core.reconcile(KEY)
    assert "identity" in bundle_names(kube)
    assert find(status(kube)["conditions"], "SpecValid")["status"] == "True"


@pytest.mark.parametrize(("error", "reason", "stalls"), CASES, ids=IDS)
def test_the_release_waits_and_says_why(
    kube: FakeKube,  # noqa: F811
    charts: Fickle,
    error: Exception,
    reason: Reason,
    stalls: bool,
) -> None:
    del stalls
    charts.error = error
    spec = ReleaseSpec("web", "openstack", ChartRef("web", "1.0.0", repository="https://charts.example"))
    desired = resolve_release(spec, SecretValues(kube, "openstack"), charts, lambda: b"key", option_files())
    assert desired.obstacle is not None
    assert (desired.obstacle.action, desired.obstacle.reason) == (Action.WAIT, reason)
    assert desired.obstacle.message == str(error)
    assert desired.obstacle.again_after is not None
    assert desired.obstacle.again_after <= LONGEST


@pytest.mark.slow
def test_other_services_are_served_while_one_lacks_its_chart(
    accepted: DeploymentReconciler,
    kube: FakeKube,  # noqa: F811
    charts: Fickle,
) -> None:
    before = {bundle["metadata"]["name"]: bundle["spec"] for bundle in kube.objects("HelmBundle")}
    charts.lacks = {"image": ChartNotFound("no version 9.9.9", 40.0)}
    edit(kube, size="small")
    assert accepted.reconcile(KEY) == LONGEST
    after = {bundle["metadata"]["name"]: bundle["spec"] for bundle in kube.objects("HelmBundle")}
    assert after["image"] == before["image"]
    assert after["identity"] != before["identity"]
    ready = find(status(kube)["conditions"], "Ready")
    assert ready["reason"] == Reason.CHART_NOT_FOUND
    assert "9.9.9" in ready["message"] and "image" in ready["message"]
    charts.lacks = {}
    accepted.reconcile(KEY)
    assert find(status(kube)["conditions"], "SpecValid")["status"] == "True"
    image = next(one for one in kube.objects("HelmBundle") if one["metadata"]["name"] == "image")
    assert image["spec"] != before["image"]
