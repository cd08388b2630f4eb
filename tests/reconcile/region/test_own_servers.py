"""A region that runs its own database or broker does not change over to another one by an edit alone."""

from __future__ import annotations

from typing import Any

import pytest

from controller.domain.api.conditions import find
from controller.ports.kubernetes import SERVICE
from controller.reconcile.region.deployment import DeploymentReconciler
from controller.reconcile.region.parts import RegionPorts, RegionSettings
from tests.fakes.kube import FakeKube
from tests.fakes.world import FakeClock
from tests.reconcile.region.test_deployment import KEY, SilentEvents, edit, osdpl, status
from tests.reconcile.region.test_region_plan import CHARTS
from tests.render.region import render

OTHERS: dict[str, Any] = {
    "database": {"external": {"address": "192.0.2.10", "administrator": "cloud"}},
    "messaging": {"external": {"addresses": ["192.0.2.11"], "administrator": "cloud"}},
    "credentials": {
        "database": {"root-password": {"name": "servers", "key": "database"}},
        "messaging": {"admin-password": {"name": "servers", "key": "broker"}},
    },
}


class World:
    """A region that runs its own servers."""

    def __init__(self) -> None:
        clock = FakeClock()
        self.kube = FakeKube(clock)
        self.core = DeploymentReconciler(
            RegionPorts(kube=self.kube, clock=clock, events=SilentEvents(), charts=CHARTS),
            RegionSettings(containers=("core", "helmbundle"), version="0.1.0", resync=300),
            render=lambda obj: render(obj["spec"]),
        )
        self.kube.create(osdpl())
        self.core.reconcile(KEY)
        self.service("mariadb", {"application": "mariadb"})
        self.service("rabbitmq", {"application": "rabbitmq"})

    def service(self, name: str, selector: dict[str, str] | None) -> None:
        self.kube.delete(SERVICE, name, KEY[0])
        meta = {"name": name, "namespace": KEY[0]}
        spec = {"selector": selector} if selector else {}
        self.kube.create({"apiVersion": "v1", "kind": "Service", "metadata": meta, "spec": spec})

    def edited(self, **features: Any) -> float | None:
        self.kube.forget_requests()
        edit(self.kube, features=features)
        return self.core.reconcile(KEY)

    @property
    def spec_valid(self) -> dict[str, Any]:
        return find(status(self.kube)["conditions"], "SpecValid")

    @property
    def bundles_written(self) -> list[str]:
        return [write.name for write in self.kube.changes if write.kind == "HelmBundle"]


@pytest.fixture
def world() -> World:
    return World()


@pytest.mark.slow
def test_nothing_of_the_edit_is_begun_while_the_region_s_own_servers_are_there(world: World) -> None:
    again = world.edited(**OTHERS)
    assert (world.spec_valid["status"], world.spec_valid["reason"]) == ("False", "SpecInvalid")
    message = world.spec_valid["message"]
    assert "spec.features.database.external: the region still has its own mariadb" in message
    assert "kubectl -n openstack delete service mariadb" in message
    assert "spec.features.messaging.external: the region still has its own rabbitmq" in message
    assert world.bundles_written == []
    # Nothing tells that someone has deleted a Service.
    assert again is not None and again <= 15


@pytest.mark.slow
def test_it_goes_on_once_their_services_are_gone(world: World) -> None:
    world.edited(**OTHERS)
    for name in ("mariadb", "rabbitmq"):
        world.kube.delete(SERVICE, name, KEY[0])
    world.core.reconcile(KEY)
    assert world.spec_valid["status"] == "True"
    assert {"database", "messaging"} <= set(world.bundles_written)


def test_the_service_of_a_server_elsewhere_is_in_no_way(world: World) -> None:
    for name in ("mariadb", "rabbitmq"):
        world.service(name, None)
    world.edited(**OTHERS)
    assert world.spec_valid["status"] == "True"


@pytest.mark.slow
def test_a_region_with_its_own_servers_is_not_questioned(world: World) -> None:
    world.edited(messaging={"notifications": {"enabled": True}})
    assert world.spec_valid["status"] == "True"
    assert [one for one in world.kube.requests if one.kind == SERVICE.kind] == []
