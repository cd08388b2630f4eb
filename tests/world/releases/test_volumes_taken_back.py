"""A person takes `volumes: Delete` back while something is under way that would delete claims."""

from __future__ import annotations

from typing import Any

import pytest

from controller.adapters.helm.cancellation import CancellationToken
from controller.ports.kubernetes import OSDPL, KubeObject
from tests.world.releases.process import Container
from tests.world.releases.region import NAME, NAMESPACE
from tests.world.releases.world import Setting, World

pytestmark = pytest.mark.slow

WITHOUT_CLAIM: dict[str, Any] = {"services": {"image": {"glance": {"values": {"claim": False}}}}}


def edit_during(world: World, hook: str, **spec: Any) -> None:
    """The person edits the region while Helm waits for the hook, the first time that it does."""
    await_hook, edits = world.await_hook, [spec]

    def awaited(container: Container, job: KubeObject, timeout: float, token: CancellationToken) -> str:
        if edits and job["metadata"]["name"] == hook:
            world.cluster.edit_region(edits.pop())
        return await_hook(container, job, timeout, token)

    world.cluster.hook_seconds[hook] = 100.0
    world.await_hook = awaited  # type: ignore[method-assign]


@pytest.fixture
def world() -> World:
    made = World(Setting(volumes="Delete"))
    made.begin()
    return made


@pytest.mark.parametrize("mode", ["Apply", "Paused", "Plan"])
def test_an_upgrade_that_would_delete_a_claim_is_ended(world: World, mode: str) -> None:
    """Helm runs the hooks first, for minutes, and then deletes what the release does not have any more."""
    claim = world.cluster.volume("glance-images")
    edit_during(world, "glance-storage", volumes="Retain", mode=mode)
    world.cluster.edit_region(WITHOUT_CLAIM)
    world.live(200.0)
    assert world.cluster.volume("glance-images") is claim is not None


def test_the_upgrade_is_made_again_and_keeps_the_claim(world: World) -> None:
    claim = world.cluster.volume("glance-images")
    edit_during(world, "glance-storage", volumes="Retain")
    world.cluster.edit_region(WITHOUT_CLAIM)
    world.live(600.0)
    assert world.cluster.volume("glance-images") is claim is not None
    live = world.cluster.raw("PersistentVolumeClaim", "glance-images")
    assert live is not None
    assert live["metadata"]["labels"]["osctl.dev/kept"] == "glance"
    [glance] = [one for one in world.cluster.all_of("HelmBundle") if one["metadata"]["name"] == "image"]
    assert glance["status"]["releases"][0]["state"] == "Deployed"


@pytest.mark.parametrize("region_too", [True, False])
def test_a_release_whose_removal_waits_for_others_keeps_its_claims(world: World, region_too: bool) -> None:
    claim = world.cluster.volume("data-mariadb-0")
    edit_during(world, "glance-clean", volumes="Retain")
    if region_too:
        world.cluster.kube.delete(OSDPL, NAME, NAMESPACE)
    else:
        world.cluster.edit_region({"features": {"services": {"disabled": ["image", "identity", "database"]}}})
    world.live(600.0)
    assert not [one for one in world.cluster.all_of("HelmBundle") if one["metadata"]["name"] == "database"]
    assert world.cluster.volume("data-mariadb-0") is claim is not None
