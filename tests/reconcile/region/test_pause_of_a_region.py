"""What a paused region says of releases: failures, what the pause holds back, and what goes on."""

from __future__ import annotations

import pytest

from controller.domain.api.conditions import find
from controller.ports.kubernetes import SECRET
from tests.fakes.helm import Hook
from tests.reconcile.region_world import RegionWorld, replicas


@pytest.fixture
def world() -> RegionWorld:
    """Deployed and Ready."""
    made = RegionWorld()
    made.turn()
    assert made.said("Ready") == ("True", "RegionReady")
    return made


def password(world: RegionWorld, word: str) -> None:
    """A Secret that keystone refers to, as someone writes it."""
    meta = {"name": "admin", "namespace": "openstack"}
    body = {"apiVersion": "v1", "kind": "Secret", "metadata": meta, "data": {"password": word}}
    there = world.kube.get(SECRET, "admin", "openstack")
    if there:
        world.kube.replace({**there, "data": body["data"]})
    else:
        world.kube.create(body)


@pytest.mark.slow
def test_a_failure_is_still_reported_when_the_region_is_paused_to_look_into_it(world: RegionWorld) -> None:
    world.helm.fails["keystone"] = "boom"
    world.edit(services=replicas(keystone=3))
    world.turn()
    assert world.said("Ready") == ("False", "ReleasesFailing")
    world.pause()
    world.turn()
    assert world.said("Ready") == ("False", "ReleasesFailing")
    assert "boom" in world.words("Ready")
    assert "boom" in world.words("ReleasesReady")
    assert world.said("Paused") == ("True", "HeldBackByPause")
    assert world.release("identity", "keystone")["state"] == "Failed"


@pytest.mark.slow
def test_a_failure_that_is_suspended_is_not_said_to_be_worked_on(world: RegionWorld) -> None:
    world.helm.fails["keystone"] = "boom"
    world.edit(services=replicas(keystone=3))
    world.turn()
    assert world.condition("identity", "Reconciling")["status"] == "True"
    world.pause()
    world.turn()
    assert world.condition("identity", "Reconciling") == {}
    assert world.said("Reconciling") == ("", "")


@pytest.mark.slow
def test_a_secret_that_changes_in_a_pause_is_held_back_by_it() -> None:
    reference = {"$secretRef": {"name": "admin", "key": "password"}}
    world = RegionWorld(services={"identity": {"keystone": {"values": {"password": reference}}}})
    password(world, "c2VzYW1lLW9wZW4=")
    world.turn()
    world.pause()
    world.turn()
    assert world.said("Ready") == ("True", "RegionReady")
    password(world, "YW5vdGhlci1vbmU=")
    world.turn()
    assert world.said("Paused") == ("True", "HeldBackByPause")
    assert world.said("Ready") == ("False", "PausedBySpec")
    assert "keystone" in world.words("Ready")
    password(world, "c2VzYW1lLW9wZW4=")
    world.turn()
    assert world.said("Ready") == ("True", "RegionReady")


@pytest.mark.slow
def test_an_action_that_a_pause_lets_end_is_reported(world: RegionWorld) -> None:
    world.helm.hooks_of["keystone"] = [Hook("keystone-db-sync")]
    world.edit(services=replicas(keystone=3))
    world.peek()
    world.wait(lambda: world.hook_runs("keystone-db-sync"), "keystone is being upgraded")
    world.pause()
    world.peek()
    assert world.said("Reconciling") == ("True", "Applying")
    assert "keystone" in world.words("Paused")
    world.helm.finish("keystone-db-sync")
    world.turn()
    assert not find(world.region["status"]["conditions"], "Reconciling")
    assert world.words("Paused") == "spec.mode is Paused: nothing is changed"
    assert world.said("Ready") == ("True", "RegionReady")
