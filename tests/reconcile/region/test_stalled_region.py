"""Stalled is said once nothing goes on any more; until then a region with mistakes is still reconciling."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from controller.errors import ChartNotFound
from controller.render.chart_builds import ChartDefaults
from controller.render.region import Region
from tests.fakes.helm import Hook
from tests.reconcile.region_world import RegionWorld, replicas


class LacksGlance(RegionWorld):
    """A region whose chart of glance is not there, in the version that it asks for."""

    def render(self, obj: Mapping[str, Any], charts: ChartDefaults) -> Region:
        region = super().render(obj, charts)
        there = tuple(bundle for bundle in region.bundles if bundle.name != "image")
        missing = {"image": ChartNotFound('chart glance has no version "9.9.9"')}
        return replace(region, bundles=there, missing=missing)


def test_a_first_install_goes_on_beside_a_chart_that_is_not_there() -> None:
    world = LacksGlance()
    world.helm.hooks_of["keystone"] = [Hook("keystone-db-sync")]
    world.peek()
    world.wait(lambda: world.hook_runs("keystone-db-sync"), "keystone is being installed")
    world.peek()
    assert world.said("Ready") == ("False", "ChartNotFound")
    assert world.said("Reconciling") == ("True", "Applying")
    assert "nothing happens in image" in world.words("Reconciling")
    assert world.said("Stalled") == ("", "")
    assert world.region["status"]["state"] == "Applying"
    world.helm.finish("keystone-db-sync")
    world.turn()
    assert world.said("Reconciling") == ("", "")
    assert world.said("Stalled") == ("True", "ChartNotFound")
    assert world.words("Stalled").startswith("nothing happens in image until")
    # Of what is not rendered no one knows how many releases it has.
    assert world.region["status"]["progress"] == "3/4"


@pytest.mark.slow
def test_an_upgrade_that_runs_is_reported_beside_a_spec_with_mistakes() -> None:
    world = RegionWorld()
    world.turn()
    world.helm.hooks_of["keystone"] = [Hook("keystone-db-sync")]
    world.edit(services=replicas(keystone=3))
    world.peek()
    world.wait(lambda: world.hook_runs("keystone-db-sync"), "keystone is being upgraded")
    world.edit(services={"compute": {"nvoa": {}}})
    world.peek()
    assert world.said("Ready") == ("False", "SpecInvalid")
    assert world.said("SpecValid") == ("False", "SpecInvalid")
    assert world.said("Reconciling") == ("True", "Applying")
    assert world.said("Stalled") == ("", "")
    world.helm.finish("keystone-db-sync")
    world.turn()
    assert world.said("Reconciling") == ("", "")
    assert world.said("Stalled") == ("True", "SpecInvalid")


@pytest.mark.slow
def test_a_release_that_fails_again_and_again_does_not_hide_that_an_edit_is_needed() -> None:
    world = RegionWorld()
    world.turn()
    world.helm.fails["keystone"] = "boom"
    world.edit(services=replicas(keystone=3))
    world.turn()
    world.edit(services={"compute": {"nvoa": {}}})
    world.turn()
    assert world.release("identity", "keystone")["state"] == "Failed"
    assert world.said("Stalled") == ("True", "SpecInvalid")


def test_a_dead_helmbundle_brings_nothing_about() -> None:
    world = RegionWorld()
    world.turn()
    world.edit(services=replicas(keystone=3))
    world.core.reconcile(("openstack", "region-one"))
    world.silence = replace(world.silence, silent=frozenset({"helmbundle"}))
    world.edit(services={"compute": {"nvoa": {}}})
    world.core.reconcile(("openstack", "region-one"))
    assert world.said("Stalled") == ("True", "SpecInvalid")
