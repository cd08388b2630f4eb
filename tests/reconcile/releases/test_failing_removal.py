"""A removal that fails again and again is reported as what it is: of a service, and of the whole region."""

from __future__ import annotations

import pytest

from controller.ports.kubernetes import OSDPL
from tests.fakes.helm import Hook
from tests.reconcile.region.test_deployment import KEY
from tests.reconcile.region_world import RegionWorld, replicas


@pytest.fixture
def world() -> RegionWorld:
    """Deployed, with a nova that cannot be uninstalled."""
    made = RegionWorld()
    made.turn()
    made.helm.hooks_of["nova"] = [Hook("nova-clean", "pre-delete")]
    made.helm.finish("nova-clean", "Failed")
    return made


def test_a_service_that_cannot_be_removed_is_a_failure_of_the_region(world: RegionWorld) -> None:
    world.edit(features={"services": {"disabled": ["compute"]}})
    world.turn(1)
    assert world.condition("compute", "Ready")["reason"] == "ReleasesFailing"
    assert world.said("ReleasesReady") == ("False", "ReleasesFailing")
    assert world.said("Ready") == ("False", "ReleasesFailing")
    assert "nova-clean" in world.words("Ready")
    assert world.region["status"]["state"] == "Failed"
    assert ("Warning", "ReleasesFailing") in {
        (kind, text.split(":")[0]) for kind, text in world.region_events.emitted
    }


def test_a_region_that_cannot_be_removed_names_what_fails(world: RegionWorld) -> None:
    world.kube.delete(OSDPL, KEY[1], KEY[0])
    world.turn(1)
    assert world.said("Ready") == ("False", "Deleting")
    assert world.words("Ready").startswith("still there: compute; nova Failed")
    assert "nova-clean" in world.words("Deleting")


@pytest.mark.slow
def test_a_failure_is_not_reported_a_bundle_that_has_not_taken_up_its_newest_spec(world: RegionWorld) -> None:
    world.helm.fails["keystone"] = "boom"
    world.edit(services=replicas(keystone=3))
    world.turn()
    assert world.said("Ready") == ("False", "ReleasesFailing")
    world.edit(services=replicas(keystone=2))
    world.core.reconcile(KEY)
    assert world.said("Ready") == ("False", "Applying")
