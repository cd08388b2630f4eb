"""A region that a newer controller has served stays as it is under an older one, which says why."""

from __future__ import annotations

import pytest

from controller.domain.api.conditions import find
from controller.domain.region.controller_skew import refused_controller
from controller.ports.kubernetes import OSDPL
from controller.reconcile.region.deployment import DeploymentReconciler
from controller.reconcile.region.older_controller import OlderController
from controller.reconcile.region.parts import RegionPorts, RegionSettings
from tests.fakes.kube import FakeKube
from tests.fakes.world import FakeClock
from tests.reconcile.region.test_deployment import KEY, SilentEvents, deploy_all, edit, osdpl, status
from tests.reconcile.region.test_region_plan import CHARTS
from tests.reconcile.region.test_version_gate import render


class Cluster:
    """A region that a controller of version 0.2.0 has served."""

    def __init__(self) -> None:
        self.clock = FakeClock()
        self.kube = FakeKube(self.clock)
        self.kube.create(osdpl(openstackVersion="2025.1"))
        for _ in range(2):
            self.core("0.2.0")
            deploy_all(self.kube)
        self.core("0.2.0")

    def core(self, version: str) -> float | None:
        """One pass of core of this version; which objects it wrote is known after it."""
        self.kube.forget_requests()
        return DeploymentReconciler(
            RegionPorts(kube=self.kube, clock=self.clock, events=SilentEvents(), charts=CHARTS),
            RegionSettings(containers=("core", "helmbundle"), version=version, resync=300),
            render=render,
        ).reconcile(KEY)

    def accept(self, version: str) -> None:
        note = {"metadata": {"annotations": {"osctl.dev/accept-version": f"controller={version}"}}}
        assert self.kube.merge_patch(OSDPL, KEY[1], KEY[0], note)

    @property
    def written(self) -> set[str]:
        return {write.kind for write in self.kube.changes}

    def ready(self) -> tuple[str, str]:
        entry = find(status(self.kube)["conditions"], "Ready")
        return entry["status"], entry["reason"]


@pytest.fixture
def cluster() -> Cluster:
    return Cluster()


REFUSED = ("False", "NewerController")


def test_an_older_controller_touches_nothing_and_says_why(cluster: Cluster) -> None:
    before = status(cluster.kube)
    edit(cluster.kube, openstackVersion="2025.1", common={"openstack": {"values": {"debug": 1}}})
    cluster.core("0.1.9")
    assert cluster.written == {"OpenStackDeployment"}
    assert cluster.ready() == REFUSED
    message = find(status(cluster.kube)["conditions"], "Ready")["message"]
    assert "controller 0.2.0 has served this region, and this controller is 0.1.9" in message
    assert "osctl.dev/accept-version=controller=0.1" in message
    after = status(cluster.kube)
    for field in ("version", "openstackVersion", "services", "fingerprint", "appliedGeneration"):
        assert after[field] == before[field]


def test_it_writes_nothing_at_rest(cluster: Cluster) -> None:
    cluster.core("0.1.0")
    cluster.core("0.1.0")
    assert cluster.written == set()
    assert cluster.ready() == REFUSED


def test_it_removes_nothing_of_a_region_that_is_deleted(cluster: Cluster) -> None:
    cluster.kube.delete(OSDPL, KEY[1], KEY[0])
    cluster.core("0.1.0")
    assert cluster.written <= {"OpenStackDeployment"}
    assert cluster.kube.get(OSDPL, KEY[1], KEY[0]) is not None
    assert cluster.ready() == REFUSED


def test_the_newer_controller_continues_by_itself(cluster: Cluster) -> None:
    cluster.core("0.1.0")
    cluster.core("0.2.1")
    assert cluster.ready()[1] != "NewerController"
    assert status(cluster.kube)["version"] == "0.2.1"


@pytest.mark.parametrize("version", ["0.2.5", "0.3.0"])
def test_the_same_and_the_next_minor_version_serve_it_without_a_question(
    cluster: Cluster, version: str
) -> None:
    cluster.core(version)
    assert cluster.written == {"OpenStackDeployment"}
    assert cluster.ready()[1] != "NewerController"
    assert status(cluster.kube)["version"] == version


def test_an_operator_accepts_an_older_controller_by_its_version(cluster: Cluster) -> None:
    cluster.core("0.1.0")
    cluster.accept("0.0")
    cluster.core("0.1.0")
    assert cluster.ready() == REFUSED
    cluster.accept("0.1")
    cluster.core("0.1.0")
    assert cluster.ready()[1] != "NewerController"
    assert status(cluster.kube)["version"] == "0.1.0"


def test_every_other_container_waits_for_it_too(cluster: Cluster) -> None:
    passes: list[tuple[str, ...]] = []

    def reconcile(*key: str) -> float | None:
        passes.append(key)
        return None

    held = OlderController(cluster.kube, KEY[0], "0.1.0").hold(reconcile)
    assert held(*KEY) == 15
    assert passes == []
    cluster.accept("0.1")
    assert held(*KEY) is None
    assert passes == [KEY]


def test_a_container_that_may_act_does_not_read_the_region_at_every_pass(cluster: Cluster) -> None:
    held = OlderController(cluster.kube, KEY[0], "0.2.0").hold(lambda *key: None)
    held(*KEY)
    cluster.kube.forget_requests()
    held(*KEY)
    assert cluster.kube.requests == []


@pytest.mark.parametrize(
    ("known", "own"),
    [
        *(("", "0.1.0"), ("0.2.0", "unknown"), ("main", "0.1.0"), ("0.9.0", "0.10.0")),
        *(("0.9.0", "1.0.0"), ("0.2.0", "1.5.0")),
    ],
)
def test_what_is_no_newer_version_is_not_refused(known: str, own: str) -> None:
    region = {"metadata": {"name": "region-one", "namespace": "openstack"}, "status": {"version": known}}
    assert refused_controller(region, own) is None


@pytest.mark.parametrize(("own", "between"), [("0.4.0", "0.3"), ("0.10.2", "0.3")])
def test_a_controller_that_skips_a_minor_version_touches_nothing_and_says_why(
    cluster: Cluster, own: str, between: str
) -> None:
    edit(cluster.kube, common={"openstack": {"values": {"debug": 1}}})
    cluster.core(own)
    assert cluster.written == {"OpenStackDeployment"}
    assert cluster.ready() == ("False", "ControllerSkipsVersion")
    message = find(status(cluster.kube)["conditions"], "Ready")["message"]
    assert f"a minor version was skipped; install {between} first" in message
    assert status(cluster.kube)["version"] == "0.2.0"
    cluster.core("0.3.0")
    assert status(cluster.kube)["version"] == "0.3.0"


def test_an_operator_accepts_a_controller_that_skips_a_version(cluster: Cluster) -> None:
    cluster.core("0.4.0")
    cluster.accept("0.4")
    cluster.core("0.4.0")
    assert cluster.ready()[1] != "ControllerSkipsVersion"
    assert status(cluster.kube)["version"] == "0.4.0"
