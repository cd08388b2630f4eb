"""A broker that is there keeps the size of its volume while no one asks for one."""

from __future__ import annotations

from typing import Any

import pytest

from controller.domain.values.chart_values import lookup
from controller.errors import Forbidden
from controller.ports.kubernetes import STATEFULSET
from controller.reconcile.region.deployment import DeploymentReconciler
from controller.reconcile.region.parts import RegionPorts, RegionSettings
from tests.fakes.kube import FakeKube
from tests.fakes.world import FakeClock
from tests.reconcile.region.test_deployment import KEY, SilentEvents, edit, osdpl
from tests.reconcile.region.test_region_plan import CHARTS
from tests.render.region import render


class World:
    """A region of a controller that left the size of brokers' volumes to the chart."""

    def __init__(self, *, live: bool = True, dedicated: tuple[str, ...] = ()) -> None:
        clock = FakeClock()
        self.kube = FakeKube(clock)
        self.core = DeploymentReconciler(
            RegionPorts(kube=self.kube, clock=clock, events=SilentEvents(), charts=CHARTS),
            RegionSettings(containers=("core", "helmbundle"), version="0.1.0", resync=300),
            render=lambda obj: render(obj["spec"]),
        )
        messaging = {"dedicatedBrokers": list(dedicated)}
        self.kube.create(osdpl(features={"messaging": messaging} if dedicated else {}))
        self.core.reconcile(KEY)
        bundles = self.kube.objects("HelmBundle")
        bundle = next(one for one in bundles if one["metadata"]["name"] == "messaging")
        for release in bundle["spec"]["releases"]:
            del release["values"]["volume"]["size"]
        self.kube.replace(bundle)
        if live:
            self.stateful_set("rabbitmq", "768Mi")

    def stateful_set(self, release: str, size: str) -> None:
        claim = {
            "metadata": {"name": "rabbitmq-data"},
            "spec": {"resources": {"requests": {"storage": size}}},
        }
        note = {"meta.helm.sh/release-name": release}
        container = {"name": "rabbitmq", "image": "docker.io/rabbitmq"}
        self.kube.create(
            {
                "apiVersion": STATEFULSET.api_version,
                "kind": STATEFULSET.kind,
                "metadata": {"name": f"{release}-rabbitmq", "namespace": KEY[0], "annotations": note},
                "spec": {
                    "template": {"spec": {"containers": [container]}},
                    "volumeClaimTemplates": [claim],
                },
            }
        )

    def sizes(self) -> dict[str, str]:
        """By release, after a pass."""
        self.core.reconcile(KEY)
        return {
            release["name"]: lookup(release["values"], ("volume", "size"))
            for bundle in self.kube.objects("HelmBundle")
            if bundle["metadata"]["name"] == "messaging"
            for release in bundle["spec"]["releases"]
        }


@pytest.mark.slow
def test_a_broker_of_an_earlier_controller_goes_on_without_an_edit() -> None:
    world = World()
    assert world.sizes() == {"rabbitmq": "768Mi"}
    world.kube.forget_requests()
    assert world.sizes() == {"rabbitmq": "768Mi"}
    assert world.kube.writes == []


@pytest.mark.slow
def test_a_broker_that_is_not_there_yet_gets_the_controller_s_size() -> None:
    assert World(live=False).sizes() == {"rabbitmq": "10Gi"}


@pytest.mark.slow
def test_each_broker_keeps_its_own() -> None:
    world = World(dedicated=("compute", "networking"))
    world.stateful_set("rabbitmq-compute", "2Gi")
    assert world.sizes() == {
        "rabbitmq": "768Mi",
        "rabbitmq-compute": "2Gi",
        "rabbitmq-networking": "10Gi",
    }


@pytest.mark.parametrize("size", ["10Gi", "20Gi"])
def test_who_asks_for_a_size_gets_it(size: str) -> None:
    """helmbundle says what stands in its way."""
    world = World()
    edit(world.kube, features={"messaging": {"volumeSize": size}})
    assert world.sizes() == {"rabbitmq": size}


def test_a_size_among_the_values_of_the_spec_may_not_be_changed() -> None:
    world = World()
    values = {"volume": {"size": "30Gi"}}
    edit(world.kube, services={"messaging": {"rabbitmq": {"values": values}}})
    assert world.sizes() == {"rabbitmq": "30Gi"}


def test_brokers_with_the_controller_s_size_are_not_looked_at() -> None:
    world = World(live=False)
    world.sizes()
    world.kube.forget_requests()
    world.sizes()
    assert [one for one in world.kube.requests if one.kind == STATEFULSET.kind] == []


def test_who_may_see_no_stateful_sets_has_none(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World()
    listed = world.kube.list

    def denied(resource: Any, *arguments: Any, **more: Any) -> Any:
        if resource is STATEFULSET:
            raise Forbidden("statefulsets: list")
        return listed(resource, *arguments, **more)

    monkeypatch.setattr(world.kube, "list", denied)
    assert world.sizes() == {"rabbitmq": "10Gi"}
