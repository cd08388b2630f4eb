"""Hosts in the aggregates of their Nodes' labels: refusals reported, interruptions survived."""

from __future__ import annotations

from dataclasses import replace

import pytest

from controller.domain.shared.cloud_facts import Aggregate
from controller.errors import CloudRefused, CloudUnavailable
from tests.reconcile.node_world import NodeWorld

ZONE = {"metadata": {"labels": {"osctl.dev/availability-zone": "az1"}}}


@pytest.fixture
def world() -> NodeWorld:
    world = NodeWorld("cmp1", "cmp2", "cmp3")
    world.reconcile(2)
    return world


def refuse(name: str, subject: str) -> None:
    if name == "place_host":
        raise CloudRefused("409 one of its servers is in another zone", 409)


def made_by_somebody(world: NodeWorld) -> None:
    """As `openstack aggregate create az1 --zone az1` leaves it."""
    now = world.clock.now()
    world.cloud.groups[1] = Aggregate(1, "az1", frozenset(), "az1", bare=True, created=now)


def is_theirs(world: NodeWorld) -> bool:
    """Whether the hosts that someone puts into it stay there."""
    known = world.cloud.groups[1]
    world.cloud.groups[1] = replace(known, hosts=known.hosts | {"cmp2", "cmp3"})
    world.reconcile(3)
    return world.cloud.groups[1].hosts == {"cmp1", "cmp2", "cmp3"} and not world.cloud.groups[1].ours


@pytest.mark.slow
def test_what_nova_refuses_is_reported_and_tried_ever_more_seldom(world: NodeWorld) -> None:
    world.edit_node("cmp1", ZONE)
    asked = 0

    def counted(name: str, subject: str) -> None:
        nonlocal asked
        asked += name == "place_host"
        refuse(name, subject)

    world.cloud.before = counted
    world.reconcile(60, after=10)
    assert (
        "the controller cannot add the host to the aggregates in the labels of the node: 409 one of "
        "its servers" in world.status("cmp1")["message"]
    )
    assert 4 <= asked <= 9
    world.cloud.before = lambda *_: None
    world.reconcile(60, after=10)
    assert [one.hosts for one in world.cloud.groups.values()] == [{"cmp1"}]
    assert "labels say" not in world.status("cmp1").get("message", "")


def test_a_refusal_for_one_host_does_not_hold_up_another(world: NodeWorld) -> None:
    for name in ("cmp1", "cmp2"):
        world.edit_node(name, ZONE)
    world.cloud.before = lambda name, subject: refuse(name, subject) if subject == "cmp1" else None
    world.reconcile(3)
    assert [one.hosts for one in world.cloud.groups.values()] == [{"cmp2"}]


def test_an_aggregate_that_we_made_and_could_not_mark_is_ours_anyway(world: NodeWorld) -> None:
    world.edit_node("cmp1", ZONE)

    def killed(name: str, subject: str) -> None:
        if name == "ensure_aggregate":
            made_by_somebody(world)
            raise CloudUnavailable("503")

    world.cloud.before = killed
    world.reconcile(1)
    assert world.notes("cmp1")["making-aggregate"].startswith("az1 ")
    world.cloud.before = lambda *_: None
    world.restart()
    world.reconcile(3)
    assert world.cloud.groups[1].ours
    assert world.cloud.groups[1].hosts == {"cmp1"}
    assert "making-aggregate" not in world.notes("cmp1")


def test_an_aggregate_that_a_person_has_just_made_stays_theirs(world: NodeWorld) -> None:
    made_by_somebody(world)
    world.edit_node("cmp1", ZONE)
    world.reconcile(2)
    assert is_theirs(world)


def test_an_aggregate_that_a_person_makes_since_we_may_not_is_theirs(world: NodeWorld) -> None:
    def refused(name: str, subject: str) -> None:
        if name == "ensure_aggregate":
            raise CloudRefused("403 Policy does not allow os-aggregates:create", 403)

    world.edit_node("cmp1", ZONE)
    world.cloud.before = refused
    world.reconcile(3)
    assert "os-aggregates:create" in world.status("cmp1")["message"]
    assert "making-aggregate" not in world.notes("cmp1")
    world.cloud.before = lambda *_: None
    made_by_somebody(world)
    world.reconcile(10, after=10)
    assert is_theirs(world)


def test_an_aggregate_that_a_person_makes_long_after_a_kill_is_theirs(world: NodeWorld) -> None:
    class Killed(BaseException):
        """The process ends here."""

    def killed(name: str, subject: str) -> None:
        if name == "ensure_aggregate":
            raise Killed

    world.edit_node("cmp1", ZONE)
    world.cloud.before = killed
    with pytest.raises(Killed):
        world.reconcile(1)
    world.cloud.before = lambda *_: None
    world.restart()
    world.clock.advance(600)
    made_by_somebody(world)
    world.reconcile(10, after=10)
    assert is_theirs(world)


def test_after_an_outcome_that_is_not_known_the_next_look_goes_on(world: NodeWorld) -> None:
    def lost(name: str, subject: str) -> None:
        raise CloudUnavailable("503")

    world.edit_node("cmp1", ZONE)
    world.cloud.after = lambda name, subject: lost(name, subject) if name == "ensure_aggregate" else None
    world.reconcile(1)
    world.cloud.after = lambda *_: None
    world.reconcile(2)
    assert [one.hosts for one in world.cloud.groups.values()] == [{"cmp1"}]


def test_what_another_process_notes_of_a_node_meanwhile_is_not_taken_off(world: NodeWorld) -> None:
    """It is about to make that one, and may be killed before it has marked it."""

    def noted(name: str, subject: str) -> None:
        if name == "ensure_aggregate":
            world.annotate("cmp1", **{"making-aggregate": "rack1 2026-06-01T00:00:00Z"})

    world.edit_node("cmp1", ZONE)
    world.cloud.after = noted
    world.reconcile(1)
    assert world.cloud.groups[1].ours
    assert world.notes("cmp1")["making-aggregate"].startswith("rack1 ")
