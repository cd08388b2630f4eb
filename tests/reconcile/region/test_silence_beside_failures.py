"""A dead container is also reported where something else keeps the region from being ready."""

from __future__ import annotations

import pytest

from controller.domain.region.facts import SilentContainers
from tests.reconcile.region.test_deployment import KEY
from tests.reconcile.region_world import RegionWorld, replicas


@pytest.fixture
def world() -> RegionWorld:
    """Deployed; then helmbundle dies."""
    made = RegionWorld()
    made.turn()
    made.silence = SilentContainers(silent=frozenset({"helmbundle"}))
    return made


def test_a_spec_with_errors_does_not_hide_that_helmbundle_is_dead(world: RegionWorld) -> None:
    world.edit(services={"compute": {"nvoa": {}}})
    world.core.reconcile(KEY)
    assert world.said("Ready") == ("False", "SpecInvalid")
    assert "no such chart" in world.words("Ready")
    assert "no sign of life or progress from helmbundle" in world.words("Ready")


def test_a_listener_that_begins_late_still_reports_it(world: RegionWorld) -> None:
    world.edit(services={"compute": {"nvoa": {}}})
    world.core.reconcile(KEY)
    world.silence = SilentContainers(unheard=frozenset({"helmbundle"}))
    world.core.reconcile(KEY)
    assert world.words("Ready").count("no sign of life") == 1
    world.silence = SilentContainers()
    world.core.reconcile(KEY)
    assert "no sign of life" not in world.words("Ready")


def test_releases_not_yet_compared_with_an_edit_do_not_count_as_deployed(
    world: RegionWorld,
) -> None:
    assert world.region["status"]["progress"] == "4/4"
    world.edit(services=replicas(keystone=3))
    world.core.reconcile(KEY)
    assert world.region["status"]["progress"] == "3/4"
    assert world.words("Reconciling") == "3 of 4 releases deployed"
    assert world.region["status"]["state"] == "Applying"
