"""A service that another controller's presets brought, and this one's do not, is not taken away unasked."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from controller.domain.api.conditions import find
from controller.domain.releases.bundle import BundleSpec, ChartRef, ReleaseSpec
from controller.domain.values.layer import Layer
from controller.domain.values.merge import merge_layers
from controller.ports.kubernetes import HELMBUNDLE
from controller.reconcile.region.deployment import DeploymentReconciler
from controller.reconcile.region.parts import RegionPorts, RegionSettings
from controller.render.region import Region, RegionBundle, RegionRelease
from tests.fakes.kube import FakeKube
from tests.fakes.world import FakeClock
from tests.reconcile.region.test_deployment import KEY, SilentEvents, deploy_all, edit, osdpl, status
from tests.reconcile.region.test_region_plan import CHARTS

BEFORE, AFTER = ("identity", "dns"), ("identity",)
CHART = {"identity": "keystone", "dns": "designate"}


class Events(SilentEvents):
    def __init__(self) -> None:
        self.reasons: list[str] = []

    def emit(self, obj: Mapping[str, Any], *, reason: str, **more: Any) -> None:
        self.reasons.append(reason)


class World:
    """A region that is Ready, with dns, which its preset brings until `upgrade` starts another controller."""

    def __init__(self) -> None:
        self.clock = FakeClock()
        self.kube = FakeKube(self.clock)
        self.events = Events()
        self.preset = BEFORE
        self.restart("0.1.0")
        self.kube.create(osdpl())
        self.core.reconcile(KEY)
        deploy_all(self.kube)
        self.core.reconcile(KEY)

    def restart(self, version: str) -> None:
        self.core = DeploymentReconciler(
            RegionPorts(kube=self.kube, clock=self.clock, events=self.events, charts=CHARTS),
            RegionSettings(containers=("core", "helmbundle"), version=version, resync=300),
            render=self.render,
        )

    def upgrade(self) -> None:
        self.preset = AFTER
        self.restart("0.2.0")
        self.core.reconcile(KEY)

    def render(self, obj: Mapping[str, Any]) -> Region:
        chosen = obj["spec"].get("features", {}).get("services", {})
        names = {*self.preset, *chosen.get("enabled", ())} - {*chosen.get("disabled", ())}
        bundles = []
        for service in sorted(names):
            chart = CHART[service]
            merged = merge_layers({}, [Layer("service", {"size": obj["spec"]["size"]})])
            release = ReleaseSpec(chart, "openstack", ChartRef(chart, path=chart), merged.overlay)
            bundles.append(
                RegionBundle(service, service, (RegionRelease(release, merged),), BundleSpec((release,)))
            )
        return Region(tuple(bundles), ())

    def edited(self, **spec: Any) -> None:
        edit(self.kube, **spec)
        self.core.reconcile(KEY)

    def dns(self) -> str:
        """What is with the bundle: there, leaving or gone."""
        bundle = self.kube.get(HELMBUNDLE, "dns", KEY[0])
        if bundle is None:
            return "gone"
        return "leaving" if bundle["metadata"].get("deletionTimestamp") else "there"

    @property
    def mode(self) -> str:
        bundle = self.kube.get(HELMBUNDLE, "dns", KEY[0])
        assert bundle is not None
        return str(bundle["spec"]["mode"])

    def said(self, type_: str) -> tuple[str, str]:
        entry = find(status(self.kube)["conditions"], type_)
        return entry["status"], entry["message"]


@pytest.fixture
def world() -> World:
    return World()


def chosen(**lists: list[str]) -> dict[str, Any]:
    return {"services": lists}


GONE = ("leaving", "gone")


def test_an_entry_that_was_not_taken_out_stays_and_is_reported(world: World) -> None:
    world.upgrade()
    assert world.dns() == "there"
    valid, message = world.said("SpecValid")
    assert valid == "True"
    assert '"dns" runs, but this version of the controller does not derive this service' in message
    assert 'add "dns" to spec.features.services.enabled' in message
    assert world.events.reasons.count("ServiceKept") == 1
    assert world.said("Ready")[0] == "True"


def test_a_second_look_writes_nothing(world: World) -> None:
    world.upgrade()
    world.core.reconcile(KEY)
    world.kube.forget_requests()
    world.core.reconcile(KEY)
    assert world.kube.writes == []
    assert world.events.reasons.count("ServiceKept") == 1


def test_an_edit_of_something_else_does_not_take_it_away_either(world: World) -> None:
    world.upgrade()
    world.edited(size="small")
    world.restart("0.2.1")
    world.edited(size="medium")
    assert world.dns() == "there"


def test_it_goes_once_it_is_disabled_by_name(world: World) -> None:
    world.upgrade()
    world.edited(features=chosen(disabled=["dns"]))
    assert world.dns() in GONE
    assert "dns" not in world.said("SpecValid")[1]


def test_enabled_by_name_it_is_a_service_like_others(world: World) -> None:
    world.upgrade()
    world.edited(features=chosen(enabled=["dns"]))
    assert world.dns() == "there"
    assert "dns" not in world.said("SpecValid")[1]
    deploy_all(world.kube)
    world.core.reconcile(KEY)
    world.edited(features=chosen(enabled=[]))
    assert world.dns() in GONE


def test_an_edit_that_leaves_it_out_removes_it(world: World) -> None:
    world.preset = AFTER
    world.edited(features=chosen(enabled=["dns"]))
    deploy_all(world.kube)
    world.core.reconcile(KEY)
    world.edited(features=chosen(enabled=[]))
    assert world.dns() in GONE
    assert "ServiceKept" not in world.events.reasons


def test_paused_and_resumed_with_its_region_it_goes_on(world: World) -> None:
    world.upgrade()
    world.edited(mode="Paused")
    assert world.mode == "Paused"
    world.edited(mode="Apply")
    assert (world.dns(), world.mode) == ("there", "Apply")


def test_a_region_that_was_paused_over_the_upgrade_keeps_it_too(world: World) -> None:
    world.edited(mode="Paused")
    world.upgrade()
    world.edited(mode="Apply")
    assert world.dns() == "there"


def test_a_plan_shows_that_it_leaves_and_keeps_nothing(world: World) -> None:
    world.edited(mode="Plan")
    world.upgrade()
    assert world.dns() == "there"
    assert "ServiceKept" not in world.events.reasons
