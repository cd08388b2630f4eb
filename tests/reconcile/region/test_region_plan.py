"""core with mode Plan: wishes beside what is applied, approvals that last, and nothing else."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

import pytest

from controller.domain.api.conditions import find
from controller.domain.api.region_spec import parse_region_spec
from controller.domain.region.plan_approval import awaits_approval
from controller.domain.releases.bundle import BundleSpec, ChartRef, ReleaseSpec
from controller.domain.releases.bundle_object import parse_bundle
from controller.domain.releases.digests import fingerprint
from controller.domain.releases.plan import (
    PlanAction,
    ReleaseEffects,
    bundle_plan,
    desired_digest,
    desired_of,
)
from controller.domain.values.layer import Layer
from controller.domain.values.merge import merge_layers
from controller.errors import ApiUnavailable, Problem, SpecInvalid
from controller.ports.kubernetes import HELMBUNDLE, OSDPL
from controller.reconcile.region.deployment import DeploymentReconciler
from controller.reconcile.region.parts import RegionPorts, RegionSettings
from controller.render.region import Region, RegionBundle, RegionRelease
from tests.fakes.kube import FakeKube, Request
from tests.fakes.world import FakeClock
from tests.reconcile.region.test_deployment import (
    KEY,
    SilentEvents,
    clock,
    edit,
    events,
    kube,
    osdpl,
    ready,
    status,
)

__all__ = ["clock", "events", "kube"]

DEFAULTS: dict[str, Any] = {"pod": {"replicas": {"api": 1}}, "conf": {}}
SERVICES = {"identity": ("keystone",), "image": ("glance",), "compute": ("libvirt", "nova")}


class Charts:
    """Every chart is there. `content` is what the image ships."""

    def __init__(self) -> None:
        self.content = "1"

    def locate(self, chart: ChartRef) -> str:
        return chart.path

    def digest(self, chart: ChartRef) -> str:
        return f"sha256:{chart.name} {self.content}"

    def build(self, chart: ChartRef) -> str:
        return ""

    def defaults(self, chart: ChartRef) -> Mapping[str, Any]:
        return DEFAULTS

    def files(self, chart: ChartRef) -> Mapping[str, bytes]:
        return {}


CHARTS = Charts()


def render(obj: Mapping[str, Any]) -> Region:
    """A small region, as the real one is rendered: services, and what the spec says of their values."""
    spec = obj["spec"]
    if "nvoa" in (spec.get("services") or {}).get("compute", {}):
        raise SpecInvalid([Problem("spec.services.compute.nvoa", "no such chart")])
    disabled = ((spec.get("features") or {}).get("services") or {}).get("disabled") or ()
    bundles = []
    for service in (name for name in SERVICES if name not in disabled):
        releases = []
        for chart in SERVICES[service]:
            values = ((spec.get("services") or {}).get(service, {}).get(chart) or {}).get("values") or {}
            layer = Layer("services", values, root=("spec", "services", service, chart, "values"))
            merged = merge_layers(DEFAULTS, [layer])
            repository = (spec.get("charts") or {}).get("repository")
            ref = (
                ChartRef(chart, version="1", repository=repository)
                if repository
                else ChartRef(chart, path=chart)
            )
            drift = spec.get("drift") or "Correct"
            one = ReleaseSpec(chart, "openstack", ref, merged.overlay, drift=drift)
            releases.append(RegionRelease(one, merged))
        desired = BundleSpec(tuple(one.spec for one in releases), volumes=spec.get("volumes") or "Retain")
        bundles.append(RegionBundle(service, service, tuple(releases), desired))
    return Region(tuple(bundles), ())


def make_core(kube: FakeKube, clock: FakeClock, events: SilentEvents) -> DeploymentReconciler:
    return DeploymentReconciler(
        RegionPorts(kube=kube, clock=clock, events=events, charts=CHARTS),
        RegionSettings(containers=("core", "helmbundle"), version="0.1.0", resync=300),
        render=render,
    )


@pytest.fixture
def core(kube: FakeKube, clock: FakeClock, events: SilentEvents) -> DeploymentReconciler:
    return make_core(kube, clock, events)


REPLICAS = {"identity": {"keystone": {"values": {"pod": {"replicas": {"api": 2}}}}}}
DEBUG = {"identity": {"keystone": {"values": {"conf": {"keystone": {"DEFAULT": {"debug": True}}}}}}}


class Helm:
    """Plays helmbundle: carries out what bundles with mode Apply say, and plans for the others."""

    def __init__(self, kube: FakeKube) -> None:
        self.kube = kube
        self.deployed: dict[str, str] = {}
        self.problem: dict[str, str] = {}

    def reconcile(self, *names: str) -> None:
        for obj in self.kube.objects(HELMBUNDLE.kind):
            if not names or obj["metadata"]["name"] in names:
                self._reconcile(obj)
        self._report()

    def _reconcile(self, obj: dict[str, Any]) -> None:
        spec = parse_bundle(obj).spec
        generation = obj["metadata"]["generation"]
        before = [str(one["name"]) for one in (obj.get("status") or {}).get("releases") or []]
        if spec.mode == "Apply":
            gone = [name for name in before if name not in {one.name for one in spec.releases}]
            for name in gone:
                self.deployed.pop(name, None)
            self.deployed.update({one.name: fingerprint(dict(one.values)) for one in spec.releases})
        releases = [
            {"name": name, "state": "Deployed", "reason": "InSync", "revision": 1}
            for name in dict.fromkeys([*(one.name for one in spec.releases), *before])
            if name in self.deployed
        ]
        reported: dict[str, Any] = {
            "observedGeneration": generation,
            "releases": releases,
            "conditions": [
                {
                    "type": "Ready",
                    "status": "True",
                    "reason": "ReleasesDeployed",
                    "message": "",
                    "observedGeneration": generation,
                    "lastTransitionTime": "2026-01-01T00:00:00Z",
                }
            ],
        }
        if spec.mode == "Plan":
            reported["plan"] = self._plan(obj, [one["name"] for one in releases])
        meta = {"name": obj["metadata"]["name"], "namespace": "openstack"}
        body = {"apiVersion": obj["apiVersion"], "kind": obj["kind"], "metadata": meta, "status": reported}
        self.kube.apply(body, manager="osctl-helmbundle", subresource="status")

    def _plan(self, obj: Mapping[str, Any], there: list[str]) -> dict[str, Any]:
        spec = parse_bundle(obj).spec
        target = spec.planned or spec
        effects = []
        for one in target.releases:
            wanted = fingerprint(dict(one.values))
            if self.deployed.get(one.name) != wanted:
                action = PlanAction.UPGRADE if one.name in self.deployed else PlanAction.INSTALL
                problem = self.problem.get(one.name, "")
                effects.append(ReleaseEffects(one.name, action, desired=wanted, problem=problem))
        kept = {one.name for one in target.releases}
        effects += [ReleaseEffects(name, PlanAction.UNINSTALL) for name in there if name not in kept]
        charts = [CHARTS.digest(one.chart) for one in target.releases]
        desired = desired_digest(desired_of(obj["spec"].get("planned") or obj["spec"]), charts)
        return bundle_plan(effects, obj["metadata"]["generation"], desired)

    def _report(self) -> None:
        """helmbundle's word on the region, so that Ready can become True."""
        entry = {
            "type": "ReleasesReady",
            "status": "True",
            "reason": "ReleasesDeployed",
            "message": "",
            "observedGeneration": status(self.kube).get("observedGeneration", 0),
            "lastTransitionTime": "2026-01-01T00:00:00Z",
        }
        meta = {"name": KEY[1], "namespace": KEY[0]}
        body = {"apiVersion": OSDPL.api_version, "kind": OSDPL.kind, "metadata": meta}
        conditions = {"status": {"conditions": [entry]}}
        self.kube.apply({**body, **conditions}, manager="osctl-helmbundle", subresource="status")


@pytest.fixture(autouse=True)
def same_charts() -> None:
    """A controller's image as it was."""
    CHARTS.content = "1"


@pytest.fixture
def helm(kube: FakeKube) -> Helm:
    return Helm(kube)


def settle(core: DeploymentReconciler, helm: Helm) -> None:
    """Looks until nothing is written any more."""
    for _ in range(12):
        helm.kube.forget_requests()
        core.reconcile(KEY)
        helm.reconcile()
        if not helm.kube.changes:
            return
    pytest.fail(f"never settles: {helm.kube.changes}")


@pytest.fixture
def running(core: DeploymentReconciler, kube: FakeKube, helm: Helm) -> Helm:
    """A region that runs, with mode Plan and nothing to do."""
    kube.create(osdpl())
    settle(core, helm)
    assert ready(kube) == ("True", "RegionReady")
    edit(kube, mode="Plan")
    settle(core, helm)
    return helm


def planned(kube: FakeKube) -> tuple[str, str]:
    entry = find(status(kube)["conditions"], "Planned")
    return entry["status"], entry["reason"]


def plan(kube: FakeKube) -> dict[str, Any]:
    found: dict[str, Any] = status(kube).get("plan") or {}
    return found


def bundle(kube: FakeKube, name: str = "identity") -> dict[str, Any]:
    found = kube.get(HELMBUNDLE, name, "openstack")
    assert found is not None
    return found


def get_osdpl(kube: FakeKube) -> dict[str, Any]:
    found = kube.get(OSDPL, *reversed(KEY))
    assert found is not None
    return found


def test_a_running_region_that_is_as_described_stays_ready(running: Helm, kube: FakeKube) -> None:
    assert ready(kube) == ("True", "RegionReady")
    assert planned(kube) == ("True", "PlanEmpty")
    assert (status(kube)["state"], "releases" in plan(kube)) == ("Applied", False)


def test_an_edit_leaves_what_is_applied_and_is_planned_beside_it(
    core: DeploymentReconciler, running: Helm, kube: FakeKube
) -> None:
    before = bundle(kube)["spec"]["releases"]
    deployed = dict(running.deployed)
    edit(kube, services=REPLICAS)
    settle(core, running)
    spec = bundle(kube)["spec"]
    assert (spec["mode"], spec["releases"]) == ("Plan", before)
    assert spec["planned"]["releases"] != before
    assert running.deployed == deployed
    [entry] = plan(kube)["releases"]
    assert (entry["name"], entry["service"], entry["action"]) == ("keystone", "identity", "Upgrade")
    assert entry["changes"][0]["setBy"].startswith("spec.services.identity.keystone.values.pod")
    assert planned(kube) == ("True", "PlanPending")
    assert ready(kube) == ("False", "PlanPending")
    assert status(kube)["state"] == "Planned"
    assert plan(kube)["digest"] in find(status(kube)["conditions"], "Planned")["message"]


def test_a_plan_that_waits_is_no_cause_for_alarm(
    core: DeploymentReconciler, running: Helm, kube: FakeKube, events: SilentEvents
) -> None:
    events.emitted.clear()
    edit(kube, services=REPLICAS)
    settle(core, running)
    assert events.emitted[-1] == ("Normal", "PlanPending")
    assert {kind for kind, _ in events.emitted} == {"Normal"}


def test_a_planned_edit_can_be_taken_back(core: DeploymentReconciler, running: Helm, kube: FakeKube) -> None:
    edit(kube, services=REPLICAS)
    settle(core, running)
    edit(kube, services=None)
    settle(core, running)
    assert "planned" not in bundle(kube)["spec"]
    assert ready(kube) == ("True", "RegionReady")


@pytest.mark.slow
def test_the_same_wish_has_the_same_digest_after_a_restart_and_another_one_not(
    core: DeploymentReconciler, running: Helm, kube: FakeKube
) -> None:
    digests = []
    for services in (REPLICAS, DEBUG, REPLICAS):
        edit(kube, services=None)
        edit(kube, services=services)
        settle(core, running)
        digests.append(plan(kube)["digest"])
    assert digests[0] == digests[2] != digests[1]


@pytest.mark.slow
def test_an_approved_plan_is_applied_and_used_up(
    core: DeploymentReconciler, running: Helm, kube: FakeKube
) -> None:
    edit(kube, services=REPLICAS)
    settle(core, running)
    old = dict(running.deployed)
    edit(kube, approvedPlan=plan(kube)["digest"])
    settle(core, running)
    assert {name for name in old if running.deployed[name] != old[name]} == {"keystone"}
    assert ready(kube) == ("True", "RegionReady")
    assert planned(kube) == ("True", "PlanEmpty")
    assert plan(kube)["accepted"]["done"] is True
    assert {one["spec"]["mode"] for one in kube.objects("HelmBundle")} == {"Plan"}
    new = dict(running.deployed)
    edit(kube, services=DEBUG)
    settle(core, running)
    assert running.deployed == new
    assert planned(kube) == ("True", "PlanPending")


def test_another_plan_than_the_approved_one_is_not_applied_and_says_so(
    core: DeploymentReconciler, running: Helm, kube: FakeKube
) -> None:
    edit(kube, services=REPLICAS)
    settle(core, running)
    old = dict(running.deployed)
    approved = plan(kube)["digest"]
    edit(kube, services=DEBUG, approvedPlan=approved)
    settle(core, running)
    assert running.deployed == old
    assert planned(kube) == ("True", "PlanDiffers")
    assert ready(kube) == ("False", "PlanDiffers")


def approve_until(kube: FakeKube, core: DeploymentReconciler, helm: Helm) -> None:
    """An approved plan of two services, of which one is applied when core dies."""
    edit(kube, services={**REPLICAS, "image": {"glance": {"values": {"pod": {"replicas": {"api": 2}}}}}})
    settle(core, helm)
    edit(kube, approvedPlan=plan(kube)["digest"])
    core.reconcile(KEY)  # takes it up
    writes = 0

    def die(request: Request) -> None:
        nonlocal writes
        writes += request.kind == HELMBUNDLE.kind and not request.dry_run
        if writes > 1:
            raise ApiUnavailable("the process ends here")

    kube.before_write = die
    with pytest.raises(ApiUnavailable):
        core.reconcile(KEY)
    kube.before_write = lambda request: None


@pytest.mark.slow
def test_a_crash_in_the_middle_of_an_approved_plan_goes_on(
    core: DeploymentReconciler, running: Helm, kube: FakeKube, clock: FakeClock, events: SilentEvents
) -> None:
    old = dict(running.deployed)
    approve_until(kube, core, running)
    # The first half is applied meanwhile: what is left to do is another, smaller plan.
    running.reconcile()
    assert [name for name in old if running.deployed[name] != old[name]] in (["keystone"], ["glance"])
    restarted = make_core(kube, clock, events)
    settle(restarted, running)
    assert {name for name in old if running.deployed[name] != old[name]} == {"keystone", "glance"}
    assert ready(kube) == ("True", "RegionReady")


@pytest.mark.slow
def test_an_edit_in_the_middle_of_an_approved_plan_needs_another_approval(
    core: DeploymentReconciler, running: Helm, kube: FakeKube
) -> None:
    approve_until(kube, core, running)
    edit(kube, services=DEBUG)
    settle(core, running)
    assert planned(kube) == ("True", "PlanDiffers")
    assert "accepted" not in plan(kube)


@pytest.mark.slow
def test_an_approval_taken_back_in_the_middle_holds_what_has_not_begun(
    core: DeploymentReconciler, running: Helm, kube: FakeKube
) -> None:
    approve_until(kube, core, running)
    edit(kube, approvedPlan=None)
    settle(core, running)
    assert planned(kube) == ("True", "PlanPending")
    assert {one["spec"]["mode"] for one in kube.objects("HelmBundle")} == {"Plan"}
    assert plan(kube)["releases"]


@pytest.mark.slow
def test_a_pause_in_the_middle_of_an_approved_plan_keeps_the_approval(
    core: DeploymentReconciler, running: Helm, kube: FakeKube
) -> None:
    old = dict(running.deployed)
    approve_until(kube, core, running)
    edit(kube, mode="Paused")
    settle(core, running)
    assert status(kube)["state"] == "Paused"
    edit(kube, mode="Plan")
    settle(core, running)
    assert {name for name in old if running.deployed[name] != old[name]} == {"keystone", "glance"}


def test_a_first_install_is_planned_without_a_release(
    core: DeploymentReconciler, kube: FakeKube, helm: Helm
) -> None:
    kube.create(osdpl(mode="Plan"))
    settle(core, helm)
    assert helm.deployed == {}
    assert {one["action"] for one in plan(kube)["releases"]} == {"Install"}
    assert len(plan(kube)["releases"]) == 4
    assert all(one["spec"]["releases"] == [] for one in kube.objects("HelmBundle"))
    assert {one["state"] for one in status(kube)["services"].values()} == {"Planned"}
    assert "openstackVersion" not in status(kube)
    assert _awaits_approval(kube)
    edit(kube, approvedPlan=plan(kube)["digest"])
    settle(core, helm)
    assert ready(kube) == ("True", "RegionReady")
    assert len(helm.deployed) == 4
    assert not _awaits_approval(kube)


def test_a_service_that_goes_is_planned_and_goes_once_approved(
    core: DeploymentReconciler, running: Helm, kube: FakeKube
) -> None:
    edit(kube, features={"services": {"disabled": ["compute"]}})
    settle(core, running)
    assert {(one["name"], one["action"]) for one in plan(kube)["releases"]} >= {
        ("nova", "Uninstall"),
        ("libvirt", "Uninstall"),
    }
    assert "nova" in running.deployed
    edit(kube, approvedPlan=plan(kube)["digest"])
    settle(core, running)
    assert "compute" not in {one["metadata"]["name"] for one in kube.objects("HelmBundle")}
    assert ready(kube) == ("True", "RegionReady")


def test_a_planned_service_that_is_not_wanted_any_more_leaves_no_object(
    core: DeploymentReconciler, kube: FakeKube, helm: Helm
) -> None:
    kube.create(osdpl(mode="Plan"))
    settle(core, helm)
    edit(kube, features={"services": {"disabled": ["compute"]}})
    settle(core, helm)
    assert "compute" not in {one["metadata"]["name"] for one in kube.objects("HelmBundle")}
    assert planned(kube) == ("True", "PlanPending")


def test_mode_apply_applies_what_was_planned(
    core: DeploymentReconciler, running: Helm, kube: FakeKube
) -> None:
    edit(kube, services=REPLICAS)
    settle(core, running)
    old = running.deployed["keystone"]
    edit(kube, mode="Apply")
    settle(core, running)
    assert running.deployed["keystone"] != old
    assert "plan" not in status(kube)
    assert planned(kube) == ("False", "NotPlanned")
    assert "planned" not in bundle(kube)["spec"]


def test_a_spec_with_errors_is_not_planned_and_touches_nothing(
    core: DeploymentReconciler, running: Helm, kube: FakeKube
) -> None:
    before = [copy.deepcopy(one["spec"]) for one in kube.objects("HelmBundle")]
    edit(kube, services={"compute": {"nvoa": {"values": {}}}})
    settle(core, running)
    assert planned(kube) == ("False", "SpecInvalid")
    assert ready(kube) == ("False", "SpecInvalid")
    assert "releases" not in plan(kube)
    assert [one["spec"] for one in kube.objects("HelmBundle")] == before


def test_a_plan_that_would_fail_cannot_be_approved(
    core: DeploymentReconciler, running: Helm, kube: FakeKube
) -> None:
    running.problem["keystone"] = "Service/keystone-api would be refused: clusterIP is immutable"
    edit(kube, services=REPLICAS)
    settle(core, running)
    assert planned(kube) == ("False", "PlanFailed")
    assert ready(kube) == ("False", "PlanFailed")
    assert "digest" not in plan(kube)
    assert plan(kube)["releases"][0]["problem"] == running.problem["keystone"]


def test_a_region_with_mode_plan_can_be_deleted(
    core: DeploymentReconciler, running: Helm, kube: FakeKube
) -> None:
    edit(kube, services=REPLICAS)
    settle(core, running)
    kube.delete(OSDPL, KEY[1], KEY[0])
    core.reconcile(KEY)
    core.reconcile(KEY)
    assert kube.objects("HelmBundle") == []
    assert kube.get(OSDPL, KEY[1], KEY[0]) is None


def test_a_look_at_a_planned_region_writes_nothing(
    core: DeploymentReconciler, running: Helm, kube: FakeKube
) -> None:
    edit(kube, services=REPLICAS)
    settle(core, running)
    kube.forget_requests()
    core.reconcile(KEY)
    assert kube.writes == []


@pytest.mark.slow
def test_settings_that_helm_does_not_see_are_planned_too(
    core: DeploymentReconciler, running: Helm, kube: FakeKube
) -> None:
    edit(kube, drift="Warn")
    settle(core, running)
    assert {one["action"] for one in plan(kube)["releases"]} == {"Settings"}
    edit(kube, approvedPlan=plan(kube)["digest"])
    settle(core, running)
    assert bundle(kube)["spec"]["releases"][0]["drift"] == "Warn"
    assert ready(kube) == ("True", "RegionReady")


def test_other_charts_in_a_newer_controller_do_not_make_use_of_an_older_approval(
    core: DeploymentReconciler, running: Helm, kube: FakeKube
) -> None:
    approve_until(kube, core, running)
    CHARTS.content = "2"
    settle(core, running)
    assert planned(kube) == ("True", "PlanDiffers")
    assert {one["spec"]["mode"] for one in kube.objects("HelmBundle")} == {"Plan"}


def test_a_plan_of_charts_that_core_does_not_have_is_not_approved(
    core: DeploymentReconciler, running: Helm, kube: FakeKube
) -> None:
    edit(kube, services=REPLICAS)
    settle(core, running)
    old = dict(running.deployed)
    CHARTS.content = "2"
    edit(kube, approvedPlan=plan(kube)["digest"])
    core.reconcile(KEY)
    assert planned(kube) == ("False", "Planning")
    assert running.deployed == old


LABELLED = [{"label": {"key": "gpu", "values": ["yes"]}, "conf": {}}]
RENAMING = {"compute": {"nova": {"values": {"conf": {"overrides": {"nova_compute": {"labels": LABELLED}}}}}}}


def test_a_daemonset_that_gets_another_name_is_warned_of_in_the_plan(
    core: DeploymentReconciler, kube: FakeKube, helm: Helm
) -> None:
    kube.create(osdpl(charts={"repository": "https://charts.example.org"}))
    settle(core, helm)
    edit(kube, mode="Plan", services=RENAMING)
    settle(core, helm)
    [warning] = plan(kube)["warnings"]
    assert "DaemonSet nova-compute gets another name" in warning


def test_a_daemonset_that_gets_another_name_is_reported_by_an_event_with_mode_apply(
    core: DeploymentReconciler, kube: FakeKube, helm: Helm, events: SilentEvents
) -> None:
    kube.create(osdpl(charts={"repository": "https://charts.example.org"}))
    settle(core, helm)
    edit(kube, services=RENAMING)
    settle(core, helm)
    assert events.emitted.count(("Warning", "DaemonSetsRenamed")) == 1


def with_password(secret: str) -> dict[str, Any]:
    account = {
        "username": {"$secretRef": {"name": secret, "key": "account-suffix", "prefix": "nova"}},
        "password": {"$secretRef": {"name": secret, "key": "password"}},
    }
    return {"compute": {"nova": {"values": {"endpoints": {"oslo_db": {"auth": {"nova": account}}}}}}}


def test_a_password_that_the_database_does_not_learn_is_warned_of_in_the_plan(
    core: DeploymentReconciler, kube: FakeKube, helm: Helm
) -> None:
    kube.create(
        osdpl(
            charts={"repository": "https://charts.example.org"}, services=with_password("compute-credentials")
        )
    )
    settle(core, helm)
    edit(kube, mode="Plan", services=with_password("mine"))
    settle(core, helm)
    [warning] = plan(kube)["warnings"]
    assert "release nova: the database password now comes from Secret mine" in warning


def _awaits_approval(kube: FakeKube) -> bool:
    found = get_osdpl(kube)
    return awaits_approval(found, parse_region_spec(found["spec"]))
