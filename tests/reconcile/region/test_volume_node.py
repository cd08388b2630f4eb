"""cinder-volume with a store of type lvm: a region that ran before the node had a label goes on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from controller.domain.api.conditions import find
from controller.domain.values.chart_values import lookup
from controller.errors import Forbidden
from controller.ports.kubernetes import NODE, Resource
from controller.reconcile.region.deployment import DeploymentReconciler
from controller.reconcile.region.parts import RegionPorts, RegionSettings
from tests.fakes.kube import FakeKube
from tests.fakes.world import FakeClock
from tests.reconcile.region.test_deployment import KEY, SilentEvents, edit, osdpl, status
from tests.reconcile.region.test_region_plan import CHARTS
from tests.render.region import UPSTREAM_REPOSITORY, render

LVM = {"blockStorage": {"backends": [{"name": "disk", "type": "lvm"}]}}
COMMAND = "kubectl label node NAME openstack-volume-node=enabled"


def chosen(values: Mapping[str, Any]) -> str | None:
    return lookup(values, ("labels", "volume", "node_selector_key"))


class World:
    """A region with a store of type lvm."""

    def __init__(self, *, before: bool = True) -> None:
        """`before`: of a controller that left the place of cinder-volume to the chart."""
        clock = FakeClock()
        self.kube = FakeKube(clock)
        self.core = DeploymentReconciler(
            RegionPorts(kube=self.kube, clock=clock, events=SilentEvents(), charts=CHARTS),
            RegionSettings(containers=("core", "helmbundle"), version="0.1.0", resync=300),
            render=lambda obj: render(obj["spec"]),
        )
        charts = {"repository": UPSTREAM_REPOSITORY}
        self.kube.create(osdpl(preset="compute", charts=charts, features=LVM))
        self.core.reconcile(KEY)
        if before:
            bundle = self.bundle()
            self.release(bundle)["values"].pop("labels")
            self.kube.replace(bundle)

    def bundle(self) -> dict[str, Any]:
        return next(
            one for one in self.kube.objects("HelmBundle") if one["metadata"]["name"] == "block-storage"
        )

    def release(self, bundle: Mapping[str, Any]) -> dict[str, Any]:
        return next(one for one in bundle["spec"]["releases"] if one["name"] == "cinder")

    def node(self, name: str, **labels: str) -> None:
        meta = {"name": name, "labels": {key.replace("_", "-"): text for key, text in labels.items()}}
        self.kube.create({"apiVersion": "v1", "kind": "Node", "metadata": meta})

    def place(self) -> str | None:
        """The label that cinder-volume's node is to have, after a pass."""
        self.core.reconcile(KEY)
        return chosen(self.release(self.bundle())["values"])

    @property
    def warning(self) -> str:
        return str(find(status(self.kube)["conditions"], "SpecValid")["message"])


OURS = "openstack-volume-node"


@pytest.mark.slow
def test_without_a_node_for_it_cinder_volume_stays_where_it_is_and_that_is_reported() -> None:
    world = World()
    world.node("ctl1", openstack_control_plane="enabled")
    assert world.place() != OURS
    assert COMMAND in world.warning
    world.kube.forget_requests()
    assert world.place() != OURS
    assert world.kube.writes == []


@pytest.mark.slow
def test_it_goes_to_its_node_once_that_is_labelled() -> None:
    world = World()
    world.place()
    world.node("ctl1", openstack_volume_node="enabled")
    assert world.place() == OURS
    assert COMMAND not in world.warning


def test_it_does_not_leave_its_disks_when_the_node_is_gone() -> None:
    world = World(before=False)
    world.kube.forget_requests()
    assert world.place() == OURS
    assert [one for one in world.kube.requests if one.kind == NODE.kind] == []


@pytest.mark.slow
def test_a_selector_of_the_spec_s_values_may_not_be_changed() -> None:
    world = World()
    labels = {"volume": {"node_selector_key": "disks", "node_selector_value": "here"}}
    edit(world.kube, services={"block-storage": {"cinder": {"values": {"labels": labels}}}})
    assert world.place() == "disks"


def test_who_may_see_no_nodes_knows_of_none(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World()

    listed = world.kube.list_metadata

    def denied(resource: Resource, *arguments: Any, **more: Any) -> Any:
        if resource == NODE:
            raise Forbidden("nodes: list")
        return listed(resource, *arguments, **more)

    monkeypatch.setattr(world.kube, "list_metadata", denied)
    assert world.place() != OURS
