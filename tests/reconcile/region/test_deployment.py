"""core: one osdpl in, HelmBundles out, and a summary that tells the truth."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from controller.adapters.charts.source import ChartStore
from controller.adapters.system.crd_files import load_schema
from controller.adapters.system.values_files import load_library
from controller.domain.api.conditions import find
from controller.domain.api.names import (
    AMPHORA_LABEL,
    CERTIFICATE_LABEL,
    CLOUDS_SECRET,
    CONTAINERS,
    DEPLOYMENT_LABEL,
    EXCHANGE_LABEL,
    RECONCILE_ANNOTATION,
    REGION_LABEL,
    REGION_RECONCILE_ANNOTATION,
    SERVICE_LABEL,
)
from controller.domain.region.deployment import parse_deployment
from controller.domain.releases.bundle_facts import bundle_mark, marks_digest
from controller.errors import Forbidden, ObjectRefused, ObjectTooLarge
from controller.ports.kubernetes import CONFIGMAP, HELMBUNDLE, NAMESPACE, OSDPL, SECRET, Resource
from controller.reconcile.region.deployment import DeploymentReconciler
from controller.reconcile.region.parts import RegionPorts, RegionSettings
from controller.reconcile.region.region_finalizer import REGION_FINALIZER
from controller.render.region import Region, render_region
from tests.fakes.held_rights import CONTROLLER, HeldRights
from tests.fakes.kube import FakeKube, Request
from tests.fakes.world import FakeClock
from tests.reconcile.watched import DEFINITIONS

ROOT = Path(__file__).parents[3]
CRDS = ROOT / "charts" / "openstack-controller" / "files" / "crds"
KEY = ("openstack", "region-one")
LIBRARY = load_library(ROOT / "values")
SCHEMA = load_schema(CRDS, OSDPL.plural)
CHARTS = ChartStore(ROOT / "charts")


_RENDERED: dict[str, Region] = {}


def render(osdpl: Mapping[str, Any]) -> Region:
    """The region of an osdpl, rendered once for all tests that ask for the same."""
    meta = osdpl["metadata"]
    asked = [osdpl["apiVersion"], osdpl["kind"], meta["name"], meta["namespace"], osdpl["spec"]]
    text = json.dumps(asked, sort_keys=True)
    if text not in _RENDERED:
        _RENDERED[text] = render_region(parse_deployment(osdpl, SCHEMA), LIBRARY, CHARTS)
    return _RENDERED[text]


class SilentEvents:
    """Remembers what was emitted."""

    def __init__(self) -> None:
        self.emitted: list[tuple[str, str]] = []

    def emit(self, obj: Mapping[str, Any], *, type_: str, reason: str, message: str) -> None:
        self.emitted.append((type_, reason))


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def kube(clock: FakeClock) -> FakeKube:
    fake = FakeKube(clock=clock)
    for definition in DEFINITIONS:
        fake.serve(definition)
    return fake


@pytest.fixture
def events() -> SilentEvents:
    return SilentEvents()


@pytest.fixture
def core(kube: FakeKube, clock: FakeClock, events: SilentEvents) -> DeploymentReconciler:
    return DeploymentReconciler(
        RegionPorts(kube=kube, clock=clock, events=events, charts=CHARTS),
        RegionSettings(containers=("core", "helmbundle"), version="0.1.0", resync=300),
        render=render,
    )


def osdpl(name: str = "region-one", **spec: Any) -> dict[str, Any]:
    base = {
        "openstackVersion": "2026.1",
        "preset": "core",
        "size": "single",
        "publicDomainName": "example.org",
    }
    return {
        "apiVersion": OSDPL.api_version,
        "kind": OSDPL.kind,
        "metadata": {"name": name, "namespace": "openstack"},
        "spec": {**base, **spec},
    }


def edit(kube: FakeKube, **spec: Any) -> None:
    assert kube.merge_patch(OSDPL, KEY[1], KEY[0], {"spec": spec})


def status(kube: FakeKube, name: str = "region-one") -> dict[str, Any]:
    obj = kube.get(OSDPL, name, "openstack")
    assert obj is not None
    return obj.get("status") or {}


def ready(kube: FakeKube, name: str = "region-one") -> tuple[str, str]:
    entry = find(status(kube, name)["conditions"], "Ready")
    return entry["status"], entry["reason"]


def bundle_names(kube: FakeKube) -> set[str]:
    return {bundle["metadata"]["name"] for bundle in kube.objects("HelmBundle")}


def health_of(kube: FakeKube) -> str:
    """What health says that it speaks of once it has seen what the bundles have brought about."""
    return marks_digest(bundle_mark(bundle) for bundle in kube.objects("HelmBundle"))


def deploy(kube: FakeKube, bundle: Mapping[str, Any]) -> None:
    """Plays helmbundle: the bundle says that its present spec is deployed."""
    generation = bundle["metadata"]["generation"]
    releases = [
        {
            "name": r["name"],
            "namespace": "openstack",
            "state": "Deployed",
            "reason": "InSync",
            "revision": 1,
        }
        for r in bundle["spec"]["releases"]
    ]
    entry = {
        "type": "Ready",
        "status": "True",
        "reason": "ReleasesDeployed",
        "message": "",
        "observedGeneration": generation,
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    }
    body = {
        "apiVersion": bundle["apiVersion"],
        "kind": bundle["kind"],
        "metadata": {"name": bundle["metadata"]["name"], "namespace": "openstack"},
        "status": {"observedGeneration": generation, "releases": releases, "conditions": [entry]},
    }
    kube.apply(body, manager="osctl-helmbundle", subresource="status")


def deploy_all(kube: FakeKube) -> None:
    """Plays helmbundle: every bundle says that its present spec is deployed."""
    for bundle in kube.objects("HelmBundle"):
        deploy(kube, bundle)
    generation = status(kube)["observedGeneration"]
    body = {
        "apiVersion": OSDPL.api_version,
        "kind": OSDPL.kind,
        "metadata": {"name": KEY[1], "namespace": KEY[0]},
        "status": {
            "conditions": [
                {
                    "type": "ReleasesReady",
                    "status": "True",
                    "reason": "ReleasesDeployed",
                    "message": "",
                    "observedGeneration": generation,
                    "lastTransitionTime": "2026-01-01T00:00:00Z",
                }
            ]
        },
    }
    kube.apply(body, manager="osctl-helmbundle", subresource="status")


def test_a_region_becomes_one_bundle_per_service(core: DeploymentReconciler, kube: FakeKube) -> None:
    kube.create(osdpl())
    core.reconcile(KEY)
    assert bundle_names(kube) == {
        *("database", "messaging", "cache", "identity", "placement", "image", "networking", "compute")
    }
    for bundle in kube.objects("HelmBundle"):
        assert bundle["metadata"]["labels"][DEPLOYMENT_LABEL] == "region-one"
    assert ready(kube) == ("False", "Applying")
    assert status(kube)["progress"] == "0/10"


def test_a_second_look_writes_nothing(core: DeploymentReconciler, kube: FakeKube) -> None:
    kube.create(osdpl())
    core.reconcile(KEY)
    core.reconcile(KEY)
    kube.forget_requests()
    core.reconcile(KEY)
    assert kube.writes == []


def test_the_region_is_ready_once_every_release_is(core: DeploymentReconciler, kube: FakeKube) -> None:
    kube.create(osdpl())
    core.reconcile(KEY)
    deploy_all(kube)
    core.reconcile(KEY)
    assert ready(kube) == ("True", "RegionReady")
    assert status(kube)["state"] == "Applied"
    assert status(kube)["progress"] == "10/10"
    assert status(kube)["openstackVersion"] == "2026.1"
    assert status(kube)["initialization"] == {"provisioned": True}
    assert not find(status(kube)["conditions"], "Reconciling")


@pytest.mark.slow
def test_ready_is_not_latched_but_provisioned_is(core: DeploymentReconciler, kube: FakeKube) -> None:
    kube.create(osdpl())
    core.reconcile(KEY)
    deploy_all(kube)
    core.reconcile(KEY)
    edit(kube, services={"identity": {"keystone": {"values": {"pod": {"replicas": {"api": 2}}}}}})
    core.reconcile(KEY)
    assert ready(kube) == ("False", "Applying")
    assert status(kube)["initialization"] == {"provisioned": True}


@pytest.mark.slow
def test_one_edited_value_changes_one_bundle(core: DeploymentReconciler, kube: FakeKube) -> None:
    kube.create(osdpl())
    core.reconcile(KEY)
    kube.forget_requests()
    edit(kube, services={"identity": {"keystone": {"values": {"pod": {"replicas": {"api": 2}}}}}})
    core.reconcile(KEY)
    changed = {request.name for request in kube.changes if request.kind == "HelmBundle"}
    assert changed == {"identity"}


@pytest.mark.slow
def test_a_disabled_service_loses_its_bundle_by_comparison_with_what_is_there(
    core: DeploymentReconciler, kube: FakeKube, clock: FakeClock, events: SilentEvents
) -> None:
    kube.create(osdpl())
    core.reconcile(KEY)
    edit(kube, features={"services": {"disabled": ["compute"]}})
    # A restarted container has seen no event and knows no former spec.
    restarted = DeploymentReconciler(
        RegionPorts(kube=kube, clock=clock, events=events, charts=CHARTS),
        RegionSettings(containers=CONTAINERS, version="1", resync=300),
        render=render,
    )
    restarted.reconcile(KEY)
    assert "compute" not in bundle_names(kube)
    assert "identity" in bundle_names(kube)


@pytest.mark.parametrize(
    ("spec", "path"),
    [
        ({"preset": "cor"}, "spec.preset"),
        ({"services": {"compute": {"nvoa": {"values": {}}}}}, "spec.services.compute.nvoa"),
        ({"services": {"compue": {"nova": {"values": {}}}}}, "spec.services.compue"),
        (
            {"services": {"identity": {"keystone": {"values": {"pod": "x"}}}}},
            "spec.services.identity.keystone",
        ),
    ],
)
def test_a_spec_that_cannot_be_served_is_reported_and_touches_nothing(
    core: DeploymentReconciler, kube: FakeKube, spec: dict[str, Any], path: str
) -> None:
    kube.create(osdpl())
    core.reconcile(KEY)
    deploy_all(kube)
    before = kube.objects("HelmBundle")
    kube._schemas.clear()  # as if an older definition let it through
    edit(kube, **spec)
    core.reconcile(KEY)
    entry = find(status(kube)["conditions"], "SpecValid")
    assert entry["status"] == "False"
    assert path in entry["message"]
    assert find(status(kube)["conditions"], "Stalled")["status"] == "True"
    assert kube.objects("HelmBundle") == before


def test_a_corrected_spec_is_taken_up(core: DeploymentReconciler, kube: FakeKube) -> None:
    bad = {"services": {"compute": {"nvoa": {"values": {}}}}}
    kube.create(osdpl(**bad))
    core.reconcile(KEY)
    assert ready(kube) == ("False", "SpecInvalid")
    edit(kube, services=None)
    core.reconcile(KEY)
    assert find(status(kube)["conditions"], "SpecValid")["status"] == "True"
    assert not find(status(kube)["conditions"], "Stalled")
    assert bundle_names(kube)


def test_a_second_deployment_is_left_alone_and_says_so(
    core: DeploymentReconciler, kube: FakeKube, clock: FakeClock
) -> None:
    kube.create(osdpl())
    clock.advance(10)
    kube.create(osdpl("region-two"))
    core.reconcile(("openstack", "region-two"))
    core.reconcile(KEY)
    assert ready(kube, "region-two") == ("False", "AnotherDeploymentManaged")
    second = kube.get(OSDPL, "region-two", "openstack")
    assert second is not None
    assert "finalizers" not in second["metadata"]
    owners = {b["metadata"]["labels"][DEPLOYMENT_LABEL] for b in kube.objects("HelmBundle")}
    assert owners == {"region-one"}


def test_a_refused_deployment_has_every_condition_and_is_written_once(
    core: DeploymentReconciler, kube: FakeKube, clock: FakeClock
) -> None:
    kube.create(osdpl())
    clock.advance(10)
    kube.create(osdpl("region-two"))
    core.reconcile(("openstack", "region-two"))
    reported = {entry["type"]: entry["status"] for entry in status(kube, "region-two")["conditions"]}
    assert reported == {
        **dict.fromkeys(("ReleasesReady", "WorkloadsHealthy", "SecretsExchanged", "NodesReady"), "Unknown"),
        **dict.fromkeys(("SpecValid", "Planned", "Paused", "Deleting"), "Unknown"),
        **{"Ready": "False", "Stalled": "True"},
    }
    kube.forget_requests()
    clock.advance(30)
    core.reconcile(("openstack", "region-two"))
    assert kube.writes == []


def test_a_deployment_that_was_served_before_is_refused_without_losing_what_is_latched(
    core: DeploymentReconciler, kube: FakeKube, clock: FakeClock
) -> None:
    kube.create(osdpl())
    core.reconcile(KEY)
    deploy_all(kube)
    core.reconcile(KEY)
    # An older one is there by now, as after a restore from a backup.
    kube.create(osdpl("a-region"))
    core.reconcile(KEY)
    assert ready(kube) == ("False", "AnotherDeploymentManaged")
    assert status(kube)["initialization"] == {"provisioned": True}
    kube.forget_requests()
    core.reconcile(KEY)
    assert kube.writes == []


def test_paused_stops_helmbundle_too_and_changes_nothing_else(
    core: DeploymentReconciler, kube: FakeKube
) -> None:
    kube.create(osdpl())
    core.reconcile(KEY)
    before = {b["metadata"]["name"]: b["spec"]["releases"] for b in kube.objects("HelmBundle")}
    edit(kube, mode="Paused", preset="compute")
    core.reconcile(KEY)
    after = kube.objects("HelmBundle")
    assert {b["metadata"]["name"]: b["spec"]["releases"] for b in after} == before
    assert {b["spec"]["mode"] for b in after} == {"Paused"}
    assert find(status(kube)["conditions"], "Paused")["status"] == "True"


@pytest.mark.slow
def test_what_was_edited_while_paused_is_applied_on_resume(
    core: DeploymentReconciler, kube: FakeKube
) -> None:
    kube.create(osdpl())
    core.reconcile(KEY)
    values = {"keystone": {"values": {"manifests": {"job_bootstrap": False}}}}
    edit(kube, mode="Paused", services={"identity": values})
    core.reconcile(KEY)

    def values_of_keystone() -> dict[str, Any]:
        found = kube.get(HELMBUNDLE, "identity", "openstack")
        assert found is not None
        return found["spec"]["releases"][0]["values"]

    before = values_of_keystone()
    assert "job_bootstrap" not in before.get("manifests", {})
    edit(kube, mode="Apply")
    core.reconcile(KEY)
    after = values_of_keystone()
    assert after.pop("manifests") == {**before.pop("manifests", {}), "job_bootstrap": False}
    assert after == before
    assert {one["spec"]["mode"] for one in kube.objects("HelmBundle")} == {"Apply"}
    assert find(status(kube)["conditions"], "Paused")["status"] == "False"


def test_a_request_for_another_look_is_handed_to_every_bundle_and_taken_back(
    core: DeploymentReconciler, kube: FakeKube
) -> None:
    def requests() -> set[str | None]:
        core.reconcile(KEY)
        found = [one["metadata"].get("annotations") or {} for one in kube.objects("HelmBundle")]
        return {one.get(REGION_RECONCILE_ANNOTATION) for one in found}

    kube.create(osdpl())
    assert requests() == {None}
    for asked in ("one", "two", None):
        meta = {"annotations": {RECONCILE_ANNOTATION: asked}}
        kube.merge_patch(OSDPL, KEY[1], KEY[0], {"metadata": meta})
        assert requests() == {asked}
    kube.forget_requests()
    assert requests() == {None}
    assert kube.writes == []


def test_what_needs_others_is_removed_before_them(core: DeploymentReconciler, kube: FakeKube) -> None:
    """Cut off in between and asked for again, nothing that is on its way out is needed by what stays."""
    kube.create(osdpl())
    core.reconcile(KEY)
    hold_bundles(kube)
    removed: list[str] = []

    def remember(request: Request) -> None:
        if request.verb == "delete":
            removed.append(request.name)

    kube.before_write = remember
    kube.delete(OSDPL, KEY[1], KEY[0])
    removed.clear()
    core.reconcile(KEY)
    assert removed.index("compute") < removed.index("identity") < removed.index("database")
    assert removed.index("image") < removed.index("identity")


@pytest.mark.slow
def test_deletion_waits_for_the_bundles_and_then_lets_go(core: DeploymentReconciler, kube: FakeKube) -> None:
    kube.create(osdpl(volumes="Delete"))
    core.reconcile(KEY)
    hold_bundles(kube)
    kube.delete(OSDPL, KEY[1], KEY[0])
    core.reconcile(KEY)
    assert all(b["metadata"].get("deletionTimestamp") for b in kube.objects("HelmBundle"))
    assert {b["spec"]["volumes"] for b in kube.objects("HelmBundle")} == {"Delete"}
    core.reconcile(KEY)
    assert status(kube)["state"] == "Deleting"
    kept = kube.get(OSDPL, KEY[1], KEY[0])
    assert kept is not None
    assert kept["metadata"]["finalizers"] == [REGION_FINALIZER.name]
    hold_bundles(kube, held=False)
    core.reconcile(KEY)
    assert kube.get(OSDPL, KEY[1], KEY[0]) is None


def test_in_a_namespace_that_is_being_deleted_it_lets_go_without_our_roles(
    kube: FakeKube, clock: FakeClock, events: SilentEvents
) -> None:
    account = HeldRights(kube, CONTROLLER, "openstack")
    core = DeploymentReconciler(
        RegionPorts(kube=account, clock=clock, events=events, charts=CHARTS),
        RegionSettings(containers=("core", "helmbundle", "secrets"), version="0.1.0", resync=300),
        render=render,
    )
    meta = {"name": "openstack", "finalizers": ["kubernetes"]}
    kube.create({"apiVersion": "v1", "kind": "Namespace", "metadata": meta})
    kube.create(osdpl())
    core.reconcile(KEY)
    hold_bundles(kube)
    account.lose_roles()
    kube.delete(OSDPL, KEY[1], KEY[0])
    with pytest.raises(Forbidden):
        core.reconcile(KEY)
    kube.delete(NAMESPACE, "openstack")
    for bundle in kube.objects("HelmBundle"):
        kube.delete(HELMBUNDLE, bundle["metadata"]["name"], "openstack")
    core.reconcile(KEY)
    kept = kube.get(OSDPL, KEY[1], KEY[0])
    assert kept is not None and kept["metadata"]["finalizers"] == [REGION_FINALIZER.name]
    hold_bundles(kube, held=False)
    core.reconcile(KEY)
    assert kube.get(OSDPL, KEY[1], KEY[0]) is None


@pytest.mark.slow
@pytest.mark.parametrize("region_too", [True, False])
def test_a_bundle_on_its_way_out_learns_that_its_volumes_are_to_stay(
    core: DeploymentReconciler, kube: FakeKube, region_too: bool
) -> None:
    """It may wait for others for long before it deletes anything."""
    kube.create(osdpl(volumes="Delete"))
    core.reconcile(KEY)
    hold_bundles(kube)
    if region_too:
        kube.delete(OSDPL, KEY[1], KEY[0])
    else:
        edit(kube, features={"services": {"disabled": ["compute"]}})
    core.reconcile(KEY)
    edit(kube, volumes="Retain")
    core.reconcile(KEY)
    leaving = [b for b in kube.objects("HelmBundle") if b["metadata"].get("deletionTimestamp")]
    assert leaving
    assert {b["spec"]["volumes"] for b in leaving} == {"Retain"}
    kube.forget_requests()
    core.reconcile(KEY)
    assert kube.writes == []


@pytest.mark.parametrize(
    "spec",
    [{"mode": "Paused"}, {"mode": "Plan"}, {"preset": "cor"}],
    ids=["paused", "planned", "refused"],
)
def test_that_volumes_are_to_stay_waits_for_no_approval(
    core: DeploymentReconciler, kube: FakeKube, spec: dict[str, Any]
) -> None:
    """Something that deletes them may be under way."""
    kube.create(osdpl(volumes="Delete"))
    core.reconcile(KEY)
    hold_bundles(kube)
    edit(kube, features={"services": {"disabled": ["compute"]}})
    core.reconcile(KEY)
    kube._schemas.clear()  # as if an older definition let a refused spec through
    edit(kube, volumes="Retain", **spec)
    core.reconcile(KEY)
    assert {b["spec"]["volumes"] for b in kube.objects("HelmBundle")} == {"Retain"}


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["Paused", "Plan"])
def test_that_volumes_are_to_go_waits_for_an_approval(
    core: DeploymentReconciler, kube: FakeKube, mode: str
) -> None:
    kube.create(osdpl())
    core.reconcile(KEY)
    hold_bundles(kube)
    edit(kube, features={"services": {"disabled": ["compute"]}})
    core.reconcile(KEY)
    edit(kube, volumes="Delete", mode=mode)
    core.reconcile(KEY)
    assert {b["spec"]["volumes"] for b in kube.objects("HelmBundle")} == {"Retain"}


def hold_bundles(kube: FakeKube, *, held: bool = True) -> None:
    """Plays helmbundle's finalizer."""
    for bundle in kube.objects("HelmBundle"):
        body = {
            "apiVersion": bundle["apiVersion"],
            "kind": bundle["kind"],
            "metadata": {
                "name": bundle["metadata"]["name"],
                "namespace": "openstack",
                "finalizers": ["helmbundle.osctl.dev/finalizer"] if held else [],
            },
        }
        kube.apply(body, manager="osctl-helmbundle")


def test_a_bundle_that_the_api_server_refuses_is_reported_in_the_spec(
    core: DeploymentReconciler, kube: FakeKube
) -> None:
    def refuse(request: Request) -> None:
        if request.kind == HELMBUNDLE.kind:
            raise ObjectRefused("PATCH: 413 Request entity too large: limit is 3145728")

    kube.create(osdpl())
    kube.before_write = refuse
    core.reconcile(KEY)
    entry = find(status(kube)["conditions"], "SpecValid")
    assert entry["status"] == "False"
    assert "too large" in entry["message"]


def test_events_are_emitted_on_transitions_only(
    core: DeploymentReconciler, kube: FakeKube, events: SilentEvents
) -> None:
    kube.create(osdpl())
    core.reconcile(KEY)
    core.reconcile(KEY)
    deploy_all(kube)
    core.reconcile(KEY)
    core.reconcile(KEY)
    assert events.emitted == [("Normal", "Applying"), ("Normal", "RegionReady")]


def let_bundles_go(kube: FakeKube, core: DeploymentReconciler) -> None:
    """Core deletes the bundles, those first that need others; helmbundle has nothing left to do for them."""
    for _ in range(3):
        core.reconcile(KEY)
        for bundle in kube.objects("HelmBundle"):
            name = bundle["metadata"]["name"]
            kube.merge_patch(HELMBUNDLE, name, KEY[0], {"metadata": {"finalizers": None}})


def credentials(kube: FakeKube) -> None:
    """What secrets has made: credentials, the clouds.yaml, and what is no business of a removal."""
    labels = {DEPLOYMENT_LABEL: KEY[1], "app.kubernetes.io/managed-by": "openstack-controller"}
    ours = {**labels, SERVICE_LABEL: "identity"}
    for name, marks in (("identity-credentials", ours), ("identity-tls", ours), ("openstack-clouds", labels)):
        meta = {"name": name, "namespace": KEY[0], "labels": marks}
        kube.create({"apiVersion": "v1", "kind": "Secret", "metadata": meta})


def with_secrets(kube: FakeKube, clock: FakeClock, events: SilentEvents) -> DeploymentReconciler:
    return DeploymentReconciler(
        RegionPorts(kube=kube, clock=clock, events=events, charts=CHARTS),
        RegionSettings(containers=CONTAINERS, version="1", resync=300),
        render=render,
    )


def test_a_region_that_is_deleted_stays_until_secrets_has_removed_its_certificates(
    kube: FakeKube, clock: FakeClock, events: SilentEvents
) -> None:
    kube.create(osdpl())
    core = with_secrets(kube, clock, events)
    core.reconcile(KEY)
    labels = {DEPLOYMENT_LABEL: KEY[1], "app.kubernetes.io/managed-by": "openstack-controller"}
    meta = {
        "name": "osctl-authority",
        "namespace": KEY[0],
        "labels": {**labels, CERTIFICATE_LABEL: "authority"},
    }
    kube.create({"apiVersion": "v1", "kind": "Secret", "metadata": meta})
    kube.delete(OSDPL, KEY[1], KEY[0])
    let_bundles_go(kube, core)
    assert kube.get(OSDPL, KEY[1], KEY[0]) is not None
    kube.delete(SECRET, "osctl-authority", KEY[0])
    core.reconcile(KEY)
    assert kube.get(OSDPL, KEY[1], KEY[0]) is None


@pytest.mark.parametrize(("volumes", "waits"), [("Delete", True), ("Retain", False)])
def test_what_amphorae_know_goes_with_volumes_alone(
    kube: FakeKube, clock: FakeClock, events: SilentEvents, volumes: str, waits: bool
) -> None:
    kube.create(osdpl(volumes=volumes))
    core = with_secrets(kube, clock, events)
    core.reconcile(KEY)
    labels = {DEPLOYMENT_LABEL: KEY[1], "app.kubernetes.io/managed-by": "openstack-controller"}
    labels |= {SERVICE_LABEL: "load-balancer", AMPHORA_LABEL: "authority"}
    meta = {"name": "octavia-client-authority", "namespace": KEY[0], "labels": labels}
    kube.create({"apiVersion": "v1", "kind": "Secret", "metadata": meta})
    kube.delete(OSDPL, KEY[1], KEY[0])
    let_bundles_go(kube, core)
    assert (kube.get(OSDPL, KEY[1], KEY[0]) is not None) is waits


def leaves_after(kube: FakeKube, core: DeploymentReconciler, *held: tuple[Resource, str]) -> None:
    """The region is deleted, and stays until the last of these objects is gone."""
    kube.delete(OSDPL, KEY[1], KEY[0])
    let_bundles_go(kube, core)
    for resource, name in held:
        assert kube.get(OSDPL, KEY[1], KEY[0]) is not None
        kube.delete(resource, name, KEY[0])
        core.reconcile(KEY)
    assert kube.get(OSDPL, KEY[1], KEY[0]) is None


@pytest.mark.parametrize("resource", [SECRET, CONFIGMAP])
def test_a_region_that_is_deleted_stays_until_secrets_has_removed_what_it_exchanged(
    kube: FakeKube, clock: FakeClock, events: SilentEvents, resource: Resource
) -> None:
    kube.create(osdpl())
    core = with_secrets(kube, clock, events)
    core.reconcile(KEY)
    labels = {
        DEPLOYMENT_LABEL: KEY[1],
        "app.kubernetes.io/managed-by": "openstack-controller",
        EXCHANGE_LABEL: "ceph",
    }
    told = {**labels, REGION_LABEL: KEY[0]}
    for name, marks in (("ceph-etc", labels), ("openstack-ceph-request", told)):
        meta = {"name": name, "namespace": KEY[0], "labels": marks}
        kube.create({"apiVersion": "v1", "kind": resource.kind, "metadata": meta})
    leaves_after(kube, core, (resource, "ceph-etc"))


@pytest.mark.parametrize("volumes", ["Delete", "Retain"])
def test_a_region_takes_its_credentials_along_only_with_its_volumes(
    kube: FakeKube, clock: FakeClock, events: SilentEvents, volumes: str
) -> None:
    kube.create(osdpl(volumes=volumes))
    core = with_secrets(kube, clock, events)
    core.reconcile(KEY)
    credentials(kube)
    goes = [(SECRET, "identity-credentials")] if volumes == "Delete" else []
    leaves_after(kube, core, (SECRET, CLOUDS_SECRET), *goes)
    assert (kube.get(SECRET, "identity-credentials", KEY[0]) is None) is bool(goes)


def test_a_region_that_is_deleted_stays_until_what_others_read_with_is_gone(
    kube: FakeKube, clock: FakeClock, events: SilentEvents
) -> None:
    kube.create(osdpl())
    core = with_secrets(kube, clock, events)
    core.reconcile(KEY)
    labels = {DEPLOYMENT_LABEL: KEY[1], "app.kubernetes.io/managed-by": "openstack-controller"}
    meta = {"name": "openstack-reader", "namespace": KEY[0], "labels": labels}
    kube.create({"apiVersion": "v1", "kind": "Secret", "metadata": meta})
    leaves_after(kube, core, (SECRET, "openstack-reader"))


def test_a_region_that_comes_back_under_another_uid_takes_up_its_bundles_as_they_are(
    core: DeploymentReconciler, kube: FakeKube
) -> None:
    kube.create(osdpl())
    core.reconcile(KEY)
    before = {b["metadata"]["name"]: b for b in kube.objects("HelmBundle")}
    kube.merge_patch(OSDPL, KEY[1], KEY[0], {"metadata": {"finalizers": None}})
    kube.delete(OSDPL, KEY[1], KEY[0])
    kube.collect_garbage()
    kube.create(osdpl())
    kube.collect_garbage()
    core.reconcile(KEY)
    assert {b["metadata"]["name"]: b for b in kube.objects("HelmBundle")} == before


def own(kube: FakeKube, *others: dict[str, str]) -> None:
    """Gives a bundle the owner that earlier versions gave to all of them."""
    former = {"apiVersion": OSDPL.api_version, "kind": OSDPL.kind, "name": KEY[1], "uid": "2"}
    patch = {"metadata": {"ownerReferences": [former, *others]}}
    kube.merge_patch(HELMBUNDLE, "identity", KEY[0], patch)


def owners(kube: FakeKube) -> list[dict[str, Any]]:
    found = kube.get(HELMBUNDLE, "identity", KEY[0])
    assert found is not None
    return list(found["metadata"].get("ownerReferences") or [])


def test_a_bundle_that_an_earlier_version_gave_an_owner_loses_it(
    core: DeploymentReconciler, kube: FakeKube
) -> None:
    kube.create(osdpl())
    core.reconcile(KEY)
    theirs = {"apiVersion": "v1", "kind": "ConfigMap", "name": "theirs", "uid": "1"}
    own(kube, theirs)
    core.reconcile(KEY)
    assert owners(kube) == [theirs]


# A region of which nothing is applied at present: as if an older definition let the second one through.
HELD_UP: dict[str, dict[str, Any]] = {
    "paused": {"mode": "Paused"},
    "refused": {"services": {"compute": {"nvoa": {"values": {}}}}},
    "paused and refused": {"mode": "Paused", "services": {"compute": {"nvoa": {"values": {}}}}},
    "planned": {"mode": "Plan"},
}


@pytest.mark.slow
@pytest.mark.parametrize("spec", HELD_UP.values(), ids=HELD_UP)
def test_also_while_nothing_is_applied_no_bundle_keeps_an_owner(
    core: DeploymentReconciler, kube: FakeKube, spec: dict[str, Any]
) -> None:
    """Kubernetes deletes what an osdpl owned that came back under another uid, and no pause holds that."""
    kube.create(osdpl())
    core.reconcile(KEY)
    own(kube)
    kube._schemas.clear()
    edit(kube, **spec)
    core.reconcile(KEY)
    assert owners(kube) == []


@pytest.mark.slow
@pytest.mark.parametrize("spec", HELD_UP.values(), ids=HELD_UP)
def test_a_region_that_comes_back_is_held_by_its_bundles_whatever_its_spec(
    core: DeploymentReconciler, kube: FakeKube, spec: dict[str, Any]
) -> None:
    """Deleted at once, it would leave its releases to no one, and its volumes whatever spec.volumes says."""
    kube.create(osdpl())
    core.reconcile(KEY)
    kube.merge_patch(OSDPL, KEY[1], KEY[0], {"metadata": {"finalizers": None}})
    kube.delete(OSDPL, KEY[1], KEY[0])
    kube._schemas.clear()
    kube.create(osdpl(volumes="Delete", **spec))
    core.reconcile(KEY)
    kube.delete(OSDPL, KEY[1], KEY[0])
    hold_bundles(kube)
    core.reconcile(KEY)
    assert kube.get(OSDPL, KEY[1], KEY[0]) is not None
    bundles = kube.objects("HelmBundle")
    assert bundles
    assert all(bundle["metadata"].get("deletionTimestamp") for bundle in bundles)
    assert {bundle["spec"]["volumes"] for bundle in bundles} == {"Delete"}
    hold_bundles(kube, held=False)
    core.reconcile(KEY)
    assert kube.get(OSDPL, KEY[1], KEY[0]) is None


def test_a_region_that_was_never_served_can_go_at_once(core: DeploymentReconciler, kube: FakeKube) -> None:
    kube.create(osdpl(services={"compute": {"nvoa": {"values": {}}}}))
    core.reconcile(KEY)
    kube.delete(OSDPL, KEY[1], KEY[0])
    assert kube.get(OSDPL, KEY[1], KEY[0]) is None


@pytest.mark.parametrize(
    "error",
    [
        ObjectTooLarge("PATCH /helmbundles/compute: 500 etcdserver: request is too large"),
        ObjectRefused("PATCH /helmbundles/compute: 422 spec.releases: Invalid value"),
        Forbidden("PATCH /helmbundles/compute: 403 denied by policy"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_a_bundle_that_no_other_try_gets_stored_is_reported_within_the_pass(
    core: DeploymentReconciler, kube: FakeKube, error: Exception
) -> None:
    kube.create(osdpl())

    def refuse(request: Request) -> None:
        if request.kind == HELMBUNDLE.kind and not request.dry_run:
            raise error

    kube.before_write = refuse
    core.reconcile(KEY)
    told = find(status(kube)["conditions"], "Ready")
    assert told["status"] == "False"
    assert str(error) in told["message"]


def test_a_bundle_that_is_too_large_is_reported_before_any_is_written(
    core: DeploymentReconciler, kube: FakeKube, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("controller.domain.releases.sizes.bundle_size.MOST", 2048)
    monkeypatch.setattr("controller.render.region.size_problem", lambda *_: None)
    kube.create(osdpl())
    core.reconcile(KEY)
    assert kube.objects("HelmBundle") == []
    assert "etcd can store at most 2 KiB" in find(status(kube)["conditions"], "Ready")["message"]


def test_a_status_that_finds_no_room_beside_the_spec_is_reported_by_an_event(
    core: DeploymentReconciler, kube: FakeKube, events: SilentEvents
) -> None:
    kube.create(osdpl())

    def refuse(request: Request) -> None:
        if request.subresource == "status":
            raise ObjectTooLarge("PATCH: 500 etcdserver: request is too large")

    kube.before_write = refuse
    with pytest.raises(ObjectTooLarge):
        core.reconcile(KEY)
    assert events.emitted[-1] == ("Warning", "SpecInvalid")
