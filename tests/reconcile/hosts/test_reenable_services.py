"""What a maintenance disabled is enabled again, also where the maintenance is no more and had missed it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from controller.domain.shared.cloud_facts import Agent, VolumeService
from controller.ports.kubernetes import COMPUTE_MAINTENANCE, OSDPL
from tests.reconcile.node_world import NAMESPACE, NodeWorld, fail
from tests.reconcile.watched import NAME

AGENT, VOLUME = "l3-cmp1", "cmp1@lvm"


@pytest.fixture
def world() -> NodeWorld:
    world = NodeWorld("cmp1", "cmp2", "cmp3")
    world.cloud.agents[AGENT] = Agent(AGENT, "cmp1", "L3 agent", alive=True, description="rack 4; left")
    world.cloud.agents["l3-cmp2"] = Agent("l3-cmp2", "cmp2", "L3 agent", alive=True)
    world.cloud.volumes[VOLUME] = VolumeService("cinder-volume", VOLUME, enabled=True, up=True)
    world.reconcile(2)
    return world


def leave_marks(world: NodeWorld, name: str = "work") -> None:
    """A maintenance ended in the very look in which Neutron and Cinder listed nothing."""
    world.maintain(name, "cmp1")
    world.reconcile(8)
    world.kube.delete(COMPUTE_MAINTENANCE, name)
    agents, world.cloud.agents = world.cloud.agents, {}
    volumes, world.cloud.volumes = world.cloud.volumes, {}
    world.reconcile()
    world.cloud.agents, world.cloud.volumes = agents, volumes
    assert world.kube.get(COMPUTE_MAINTENANCE, name) is None
    assert not (agents[AGENT].enabled or volumes[VOLUME].enabled)
    world.cloud.calls.clear()


def writes(world: NodeWorld) -> list[tuple[str, str]]:
    return [call for call in world.cloud.writes if call[0] in ("set_agent", "set_volume_service")]


def test_what_one_empty_list_hid_is_enabled_in_the_next_look(world: NodeWorld) -> None:
    leave_marks(world)
    world.reconcile(3)
    assert world.cloud.agents[AGENT].enabled and world.cloud.agents[AGENT].description == "rack 4; left"
    assert world.cloud.volumes[VOLUME].enabled
    assert writes(world) == [("set_volume_service", VOLUME), ("set_agent", AGENT)]


def test_the_mark_of_a_maintenance_that_is_there_stays(world: NodeWorld) -> None:
    world.maintain("work", "cmp1")
    world.reconcile(8)
    world.cloud.calls.clear()
    world.reconcile(5)
    assert not (world.cloud.agents[AGENT].enabled or world.cloud.volumes[VOLUME].enabled)
    assert writes(world) == []


def test_a_maintenance_with_a_long_name_is_known_by_its_mark(world: NodeWorld) -> None:
    leave_marks(world, "firmware-" * 20)
    world.reconcile(3)
    assert world.cloud.agents[AGENT].enabled and world.cloud.volumes[VOLUME].enabled


def test_while_another_maintenance_is_at_work_nothing_is_enabled_on_its_host(world: NodeWorld) -> None:
    leave_marks(world)
    world.maintain("next", "cmp1")
    world.reconcile(1)
    world.cloud.calls.clear()
    world.reconcile(5)
    assert not (world.cloud.agents[AGENT].enabled or world.cloud.volumes[VOLUME].enabled)
    world.kube.delete(COMPUTE_MAINTENANCE, "next")
    world.reconcile(8)
    assert world.cloud.agents[AGENT].enabled and world.cloud.volumes[VOLUME].enabled


def test_what_is_silent_is_enabled_when_it_reports(world: NodeWorld) -> None:
    leave_marks(world)
    agent = world.cloud.agents[AGENT]
    world.cloud.agents[AGENT] = replace(agent, alive=False)
    world.reconcile(3)
    assert not world.cloud.agents[AGENT].enabled
    world.cloud.agents[AGENT] = agent
    world.reconcile(3)
    assert world.cloud.agents[AGENT].enabled


def test_what_a_person_disabled_stays_so(world: NodeWorld) -> None:
    theirs = replace(world.cloud.agents[AGENT], enabled=False, description="maintenance of the rack")
    world.cloud.agents[AGENT] = theirs
    world.reconcile(5)
    assert world.cloud.agents[AGENT] == theirs


def test_a_refusal_is_asked_ever_more_seldom(world: NodeWorld) -> None:
    leave_marks(world)
    tried = []

    def refuse(name: str, subject: str) -> None:
        if name == "set_agent":
            tried.append(subject)
            fail()(name, subject)

    world.cloud.before = refuse
    world.reconcile(30, after=10)
    assert 3 <= len(tried) <= 7


def test_in_a_region_that_is_paused_nothing_is_enabled(world: NodeWorld) -> None:
    leave_marks(world)
    world.kube.merge_patch(OSDPL, NAME, NAMESPACE, {"spec": {"mode": "Paused"}})
    world.reconcile(3)
    assert not world.cloud.agents[AGENT].enabled
