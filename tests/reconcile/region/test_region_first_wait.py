"""A region that is created with a mode which lets nothing begin: it says so, with all containers deployed."""

from __future__ import annotations

import pytest

from tests.reconcile.region_world import RegionWorld


def test_a_region_created_paused_says_that_the_pause_holds_it_back() -> None:
    world = RegionWorld(mode="Paused")
    world.turn()
    assert world.said("Ready") == ("False", "PausedBySpec")
    assert world.said("ReleasesReady") == ("Unknown", "Initializing")


def test_a_region_created_with_mode_plan_says_that_its_plan_waits() -> None:
    world = RegionWorld(mode="Plan")
    world.turn()
    assert world.said("Planned") == ("True", "PlanPending")
    assert world.said("Ready") == ("False", "PlanPending")
    assert world.said("WorkloadsHealthy") == ("Unknown", "Initializing")


@pytest.mark.slow
def test_bundles_without_releases_are_not_said_to_be_deployed() -> None:
    world = RegionWorld(mode="Plan")
    world.turn()
    assert world.said("ReleasesReady") == ("Unknown", "Initializing")
    world.edit(mode="Apply")
    world.turn()
    assert world.said("ReleasesReady") == ("True", "ReleasesDeployed")
    assert all(child["deployed"] for child in world.region["status"]["children"].values())
    assert world.said("Ready") == ("True", "RegionReady")


@pytest.mark.slow
def test_a_planned_bundle_beside_deployed_ones_is_not_counted_as_deployed() -> None:
    world = RegionWorld(features={"services": {"disabled": ["compute"]}})
    world.turn()
    world.edit(mode="Plan", features=None)
    world.turn()
    assert world.said("ReleasesReady") == ("True", "ReleasesDeployed")
    assert world.words("ReleasesReady").startswith("2 bundles deployed")
    assert world.said("Ready") == ("False", "PlanPending")
