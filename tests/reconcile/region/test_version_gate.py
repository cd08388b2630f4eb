"""A region whose broker or OpenStack cannot become what is asked for stays as it is, and says why."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from controller.domain.api.conditions import find
from controller.domain.releases.bundle import BundleSpec, ChartRef, ReleaseSpec
from controller.domain.values.layer import Layer
from controller.domain.values.merge import merge_layers
from controller.errors import Forbidden
from controller.ports.kubernetes import OSDPL, STATEFULSET
from controller.reconcile.region.deployment import DeploymentReconciler
from controller.reconcile.region.parts import RegionPorts, RegionSettings
from controller.render.region import Region, RegionBundle, RegionRelease
from tests.fakes.kube import FakeKube
from tests.fakes.world import FakeClock
from tests.reconcile.region.test_deployment import KEY, SilentEvents, deploy_all, edit, osdpl, status
from tests.reconcile.region.test_region_plan import CHARTS

BROKERS = {"2025.1": "docker.io/rabbitmq:3.13", "2025.2": "docker.io/rabbitmq:4.3.5"}


def render(obj: Mapping[str, Any]) -> Region:
    """A broker with the image of the region's version, or that of the spec, and keystone beside it."""
    spec = obj["spec"]
    asked = (spec.get("images") or {}).get("overrides", {}).get("rabbitmq")
    image = asked or BROKERS[spec["openstackVersion"]]
    bundles = []
    for service, chart, values in (
        ("messaging", "rabbitmq", {"images": {"tags": {"rabbitmq": image}}}),
        ("identity", "keystone", {"conf": {"version": spec["openstackVersion"]}}),
    ):
        merged = merge_layers({}, [Layer("service", values)])
        release = ReleaseSpec(chart, "openstack", ChartRef(chart, path=chart), merged.overlay)
        bundles.append(
            RegionBundle(service, service, (RegionRelease(release, merged),), BundleSpec((release,)))
        )
    return Region(tuple(bundles), ())


class World:
    """A region of 2025.1 that is Ready, with its broker."""

    def __init__(self) -> None:
        clock = FakeClock()
        self.kube = FakeKube(clock)
        self.core = DeploymentReconciler(
            RegionPorts(kube=self.kube, clock=clock, events=SilentEvents(), charts=CHARTS),
            RegionSettings(containers=("core", "helmbundle"), version="0.1.0", resync=300),
            render=render,
        )
        self.kube.create(osdpl(openstackVersion="2025.1"))
        self.core.reconcile(KEY)
        deploy_all(self.kube)
        self.core.reconcile(KEY)
        self.broker("3.13")

    def broker(self, version: str) -> None:
        """What Helm has made of the release of this broker."""
        self.kube.delete(STATEFULSET, "rabbitmq-rabbitmq", KEY[0])
        container = {"name": "rabbitmq", "image": f"registry.example.org:5000/rabbitmq:{version}"}
        annotations = {"meta.helm.sh/release-name": "rabbitmq"}
        self.kube.create(
            {
                "apiVersion": STATEFULSET.api_version,
                "kind": STATEFULSET.kind,
                "metadata": {"name": "rabbitmq-rabbitmq", "namespace": KEY[0], "annotations": annotations},
                "spec": {"template": {"spec": {"containers": [container]}}},
            }
        )

    def edited(self, **spec: Any) -> float | None:
        self.kube.forget_requests()
        edit(self.kube, **spec)
        return self.core.reconcile(KEY)

    def said(self, type_: str = "SpecValid") -> tuple[str, str]:
        entry = find(status(self.kube)["conditions"], type_)
        return entry["status"], entry["reason"]

    @property
    def bundles_written(self) -> list[str]:
        return [write.name for write in self.kube.changes if write.kind == "HelmBundle"]


@pytest.fixture
def world() -> World:
    return World()


REFUSED = ("False", "VersionStepRefused")


def test_a_broker_that_would_not_start_is_not_begun_and_nothing_of_the_edit_is(world: World) -> None:
    again = world.edited(openstackVersion="2025.2")
    assert world.said() == world.said("Ready") == REFUSED
    assert world.bundles_written == []
    message = find(status(world.kube)["conditions"], "Ready")["message"]
    assert "RabbitMQ 3.13 runs in release rabbitmq, and 4.3 is requested" in message
    assert "osctl.dev/accept-version=rabbitmq=4.3" in message
    assert status(world.kube)["openstackVersion"] == "2025.1"
    # Nothing tells that someone has emptied the broker.
    assert again is not None and again <= 15


def test_it_goes_on_once_the_broker_is_emptied(world: World) -> None:
    world.edited(openstackVersion="2025.2")
    world.kube.delete(STATEFULSET, "rabbitmq-rabbitmq", KEY[0])
    world.core.reconcile(KEY)
    assert world.said()[0] == "True"
    assert sorted(world.bundles_written) == ["identity", "messaging"]


def test_it_goes_on_once_an_operator_answers_for_it(world: World) -> None:
    world.edited(openstackVersion="2025.2")
    note = {"metadata": {"annotations": {"osctl.dev/accept-version": "rabbitmq=4.3"}}}
    assert world.kube.merge_patch(OSDPL, KEY[1], KEY[0], note)
    world.core.reconcile(KEY)
    assert world.said()[0] == "True"
    assert sorted(world.bundles_written) == ["identity", "messaging"]


def test_a_step_that_the_broker_supports_needs_no_word(world: World) -> None:
    world.edited(images={"overrides": {"rabbitmq": "docker.io/rabbitmq:4.2"}})
    assert world.said()[0] == "True"
    assert world.bundles_written == ["messaging"]


def test_what_cannot_be_begun_is_not_planned(world: World) -> None:
    world.edited(openstackVersion="2025.2", mode="Plan")
    assert world.said("Planned") == REFUSED
    assert world.bundles_written == []


def test_an_older_openstack_is_refused_whatever_the_broker_is(world: World) -> None:
    world.kube.delete(STATEFULSET, "rabbitmq-rabbitmq", KEY[0])
    world.edited(openstackVersion="2025.2")
    deploy_all(world.kube)
    world.core.reconcile(KEY)
    world.edited(openstackVersion="2025.1")
    assert world.said() == REFUSED
    assert world.bundles_written == []


def test_the_edit_taken_back_is_served_again(world: World) -> None:
    world.edited(openstackVersion="2025.2")
    world.edited(openstackVersion="2025.1")
    assert world.said()[0] == "True"
    assert world.bundles_written == []


def test_a_region_that_is_as_its_spec_asks_is_not_questioned(world: World) -> None:
    world.broker("4.3")  # someone has gone on by hand, or its update is under way
    world.kube.forget_requests()
    world.core.reconcile(KEY)
    assert [one for one in world.kube.requests if one.kind == STATEFULSET.kind] == []
    assert world.said()[0] == "True"


def test_who_may_see_no_stateful_sets_has_none(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    listed = world.kube.list

    def denied(resource: Any, *arguments: Any, **more: Any) -> Any:
        if resource is STATEFULSET:
            raise Forbidden("statefulsets: list")
        return listed(resource, *arguments, **more)

    monkeypatch.setattr(world.kube, "list", denied)
    world.edited(openstackVersion="2025.2")
    assert world.said()[0] == "True"
