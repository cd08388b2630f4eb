"""How often a region is rendered: once for what it is made from, whatever is written into its status."""

from __future__ import annotations

import pytest

from controller.domain.api.names import RECONCILE_ANNOTATION, REGION_RECONCILE_ANNOTATION
from controller.ports.kubernetes import OSDPL
from tests.fakes.helm import Hook
from tests.reconcile.region.test_deployment import KEY
from tests.reconcile.region_world import RegionWorld, replicas


@pytest.fixture
def world() -> RegionWorld:
    """Deployed and Ready."""
    made = RegionWorld()
    made.turn()
    assert made.said("Ready") == ("True", "RegionReady")
    return made


def test_an_install_renders_once() -> None:
    """Four releases, whose states every container tells as they change."""
    world = RegionWorld()
    world.helm.hooks_of["keystone"] = [Hook("keystone-db-sync")]
    world.peek()
    world.wait(lambda: world.hook_runs("keystone-db-sync"), "keystone is being installed")
    world.peek()
    world.helm.finish("keystone-db-sync")
    world.turn()
    assert world.said("Ready") == ("True", "RegionReady")
    assert world.renders == [1]


def test_an_edit_renders_once_more(world: RegionWorld) -> None:
    world.edit(services=replicas(keystone=3))
    world.turn()
    assert world.said("Ready") == ("True", "RegionReady")
    assert world.renders == [1, 2]


def test_a_spec_with_mistakes_is_rendered_once_too(world: RegionWorld) -> None:
    world.edit(services={"compute": {"nvoa": {}}})
    world.turn()
    assert world.said("Ready") == ("False", "SpecInvalid")
    assert world.renders == [1, 2]


def test_other_content_of_a_chart_is_rendered(world: RegionWorld) -> None:
    world.charts.content = "2"  # type: ignore[attr-defined]
    world.turn()
    assert world.renders == [1, 1]


@pytest.mark.slow
def test_a_request_for_another_pass_is_handed_on_without_rendering(world: RegionWorld) -> None:
    asked = {"metadata": {"annotations": {RECONCILE_ANNOTATION: "now"}}}
    world.kube.merge_patch(OSDPL, KEY[1], KEY[0], asked)
    world.turn()
    handed_on = {b["metadata"]["annotations"][REGION_RECONCILE_ANNOTATION] for b in world.bundles()}
    assert handed_on == {"now"}
    assert world.renders == [1]


def test_a_killed_core_renders_once_more_and_writes_nothing(world: RegionWorld) -> None:
    before = [bundle["metadata"]["resourceVersion"] for bundle in world.bundles()]
    world.restart()
    world.turn()
    assert [bundle["metadata"]["resourceVersion"] for bundle in world.bundles()] == before
    assert world.renders == [1, 1]


@pytest.mark.slow
def test_a_plan_and_its_approval_render_once_each(world: RegionWorld) -> None:
    """An approval is an edit; what it brings about in the bundles is none."""
    world.edit(mode="Plan", services=replicas(keystone=3))
    world.turn()
    digest = world.region["status"]["plan"]["digest"]
    world.edit(approvedPlan=digest)
    world.turn(4)
    assert world.said("Ready") == ("True", "RegionReady")
    assert world.release("identity", "keystone")["revision"] == 2
    assert world.renders == [1, 2, 3]
