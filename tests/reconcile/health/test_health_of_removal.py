"""What health says while a region, or all that it asked for, goes away: neither well nor broken."""

from __future__ import annotations

import pytest

from controller.ports.kubernetes import HELMBUNDLE, OSDPL
from tests.domain.health_objects import crashing, deployment, pod
from tests.reconcile.health.test_health import BROKEN, KEY, Health


@pytest.fixture
def health() -> Health:
    """A region whose one component crashes, and whose objects have finalizers."""
    world = Health()
    world.cluster.region()
    world.cluster.bundle("nova")
    world.cluster.put(deployment())
    world.reconcile()
    world.cluster.put(deployment(2, **BROKEN))
    world.cluster.put(pod("nova-api-bbb-1", ("ReplicaSet", "nova-api-bbb"), **crashing("no such filter")))
    world.reconcile()
    assert world.cluster.condition("WorkloadsHealthy")["reason"] == "WorkloadsFailing"
    for resource, name in ((HELMBUNDLE, "compute"), (OSDPL, KEY[1])):
        meta = {"name": name, "namespace": "openstack", "finalizers": ["osctl.dev/test"]}
        body = {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": meta}
        world.cluster.kube.apply(body, manager="test")
    return world


def remove_bundle(health: Health) -> None:
    """The bundle is asked to go, and its pods still run."""
    health.cluster.kube.delete(HELMBUNDLE, "compute", "openstack")
    going = health.cluster.kube.get(HELMBUNDLE, "compute", "openstack")
    assert going is not None
    health.cluster.deliver("MODIFIED", going)


def test_a_region_that_is_removed_is_not_said_to_be_well(health: Health) -> None:
    reported = len(health.events.emitted)
    health.cluster.kube.delete(OSDPL, KEY[1], KEY[0])
    remove_bundle(health)
    health.reconcile()
    said = health.cluster.condition("WorkloadsHealthy")
    assert (said["status"], said["reason"]) == ("Unknown", "Deleting")
    assert said["message"] == "the region is being removed"
    assert len(health.events.emitted) == reported


def test_a_region_of_which_every_bundle_goes_is_not_said_to_be_well(health: Health) -> None:
    reported = len(health.events.emitted)
    remove_bundle(health)
    health.reconcile()
    said = health.cluster.condition("WorkloadsHealthy")
    assert (said["status"], said["reason"]) == ("Unknown", "Initializing")
    assert len(health.events.emitted) == reported
