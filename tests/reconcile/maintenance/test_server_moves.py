"""Servers that Nova does not take on: requests lost, conflicts, attempts spent, tasks that a host died in."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest

from controller.domain.shared.cloud_facts import Migration
from controller.errors import CloudRefused, CloudUnavailable
from tests.reconcile.node_world import NodeWorld

MINUTE = 60.0
VTPM = "compute POST: 409 Operation 'live-migration' not supported for vTPM-enabled instance"


class Killed(BaseException):
    """The process ends here."""


@pytest.fixture
def world() -> NodeWorld:
    return NodeWorld("cmp1", "cmp2", "cmp3")


def nothing(name: str, subject: str) -> None:
    """OpenStack is well again."""


def failing(name: str, error: Exception) -> Callable[[str, str], None]:
    def before(called: str, subject: str) -> None:
        if called == name:
            raise error

    return before


def phase(world: NodeWorld) -> str:
    return str(world.maintenance("work").get("phase"))


def message(world: NodeWorld) -> str:
    found = world.maintenance("work")["conditions"]
    return str(next(one["message"] for one in found if one["type"] == "Ready"))


def until(world: NodeWorld, desired: str, looks: int = 80, after: float = 3.0) -> None:
    for _ in range(looks):
        if phase(world) == desired:
            return
        world.reconcile(after=after)
    raise AssertionError(world.maintenance("work"))


def evacuated(world: NodeWorld) -> Counter[str]:
    return Counter(one.server for one in world.cloud.moves.values() if one.kind == "evacuation")


# -- requests that did not arrive


@pytest.mark.slow
def test_a_nova_that_takes_no_request_for_an_hour_blocks_nothing_for_good(world: NodeWorld) -> None:
    ids = world.cloud.boot(3, "cmp1")
    world.cloud.before = failing("live_migrate", CloudUnavailable("compute POST /servers: 429"))
    world.maintain("work", "cmp1")
    world.reconcile(240, after=15)
    assert phase(world) == "Moving" and "compute POST /servers: 429" in message(world)
    world.cloud.before = nothing
    until(world, "Completed")
    assert Counter(one.server for one in world.cloud.moves.values()) == dict.fromkeys(ids, 1)


@pytest.mark.slow
def test_requests_that_are_lost_are_repeated_with_growing_pauses(world: NodeWorld) -> None:
    world.cloud.boot(1, "cmp1")
    asked: list[float] = []

    def before(name: str, subject: str) -> None:
        if name == "live_migrate":
            asked.append(world.clock.now())
            raise CloudUnavailable("503")

    world.cloud.before = before
    world.maintain("work", "cmp1")
    world.reconcile(180, after=10)
    pauses = [later - earlier for earlier, later in pairwise(asked)]
    assert pauses[0] < 30 and max(pauses) < 140 and min(pauses[4:]) > 60


@pytest.mark.slow
def test_at_the_deadline_the_last_cause_is_said(world: NodeWorld) -> None:
    world.cloud.boot(1, "cmp1")
    world.cloud.before = failing("live_migrate", CloudUnavailable("compute POST /servers: 503"))
    world.maintain("work", "cmp1", deadlines={"whole": "10m"})
    until(world, "Blocked", looks=90, after=10)
    assert "the deadline has passed" in message(world)
    assert "compute POST /servers: 503" in message(world)


@pytest.mark.slow
def test_a_process_that_dies_before_each_request_uses_up_no_attempts(world: NodeWorld) -> None:
    world.cloud.boot(1, "cmp1")
    deaths = 0

    def before(name: str, subject: str) -> None:
        nonlocal deaths
        if name == "live_migrate" and deaths < 6:
            deaths += 1
            raise Killed

    world.cloud.before = before
    world.maintain("work", "cmp1", retries=0)
    for _ in range(100):
        try:
            world.reconcile(after=10)
        except Killed:
            world.restart()
    assert (deaths, phase(world), len(world.cloud.moves)) == (6, "Completed", 1)


@pytest.mark.slow
def test_a_lost_request_is_no_excuse_for_a_move_that_failed(world: NodeWorld) -> None:
    [id_] = world.cloud.boot(1, "cmp1")
    world.cloud.failing.add(id_)
    lost: list[str] = []

    def before(name: str, subject: str) -> None:
        if name == "live_migrate" and len(lost) < 3:
            lost.append(subject)
            raise CloudUnavailable("503")

    world.cloud.before = before
    world.maintain("work", "cmp1", retries=1)
    until(world, "Blocked", looks=200)
    assert "ended as error; 2 attempts failed" in message(world)
    [server] = world.maintenance("work")["servers"]
    assert (server["attempts"], server["unseen"]) == (5, 3)


# -- conflicts


def test_a_refusal_that_nova_calls_a_conflict_is_reported_in_its_words(world: NodeWorld) -> None:
    world.cloud.boot(1, "cmp1")
    world.cloud.before = failing("live_migrate", CloudRefused(VTPM, 409))
    world.maintain("work", "cmp1", retries=1)
    until(world, "Blocked", looks=100)
    assert f"{VTPM}; 2 attempts failed" in message(world)


def test_a_conflict_with_what_we_asked_for_ourselves_is_followed(world: NodeWorld) -> None:
    """The request before it was late, and arrived."""
    [id_] = world.cloud.boot(1, "cmp1")

    def after(name: str, subject: str) -> None:
        if name == "live_migrate":
            raise CloudRefused("compute POST: 409 while the instance is in this state", 409)

    world.cloud.after = after
    world.maintain("work", "cmp1", retries=0)
    while not world.cloud.moves:
        world.reconcile()
    assert world.maintenance("work")["servers"][0]["state"] == "Requested"
    until(world, "Completed")
    assert [one.server for one in world.cloud.moves.values()] == [id_]
    [server] = world.maintenance("work")["servers"]
    assert "message" not in server and "refused" not in server


# -- attempts that are spent


def change(world: NodeWorld, id_: str, **what: Any) -> None:
    world.cloud.hosted[id_] = replace(world.cloud.hosted[id_], **what)


def given_up(world: NodeWorld) -> str:
    """A server whose live migrations all failed."""
    [id_] = world.cloud.boot(1, "cmp1")
    world.cloud.failing.add(id_)
    world.maintain("work", "cmp1", retries=1)
    until(world, "Blocked")
    world.cloud.failing.clear()
    return id_


@pytest.mark.parametrize("what", [{"metadata": {"maintenance": "cold"}}, {"status": "SHUTOFF"}])
def test_a_server_that_was_given_up_goes_on_when_it_is_to_move_in_another_way(
    world: NodeWorld, what: dict[str, Any]
) -> None:
    id_ = given_up(world)
    change(world, id_, **what)
    until(world, "Completed")
    assert world.cloud.hosted[id_].host != "cmp1"
    assert world.maintenance("work")["servers"][0]["attempts"] == 1


@pytest.mark.slow
def test_in_another_way_a_server_has_all_its_attempts_again(world: NodeWorld) -> None:
    id_ = given_up(world)
    world.cloud.failing.add(id_)
    change(world, id_, metadata={"maintenance": "cold"})
    world.reconcile(40)
    names = [name for name, subject in world.cloud.writes if subject == id_]
    assert names == ["live_migrate"] * 2 + ["cold_migrate"] * 2 and phase(world) == "Blocked"


@pytest.mark.slow
def test_a_server_that_was_given_up_stays_so_whatever_nova_does_with_it_in_between(world: NodeWorld) -> None:
    id_ = given_up(world)
    asked = len(world.cloud.writes)
    change(world, id_, task="image_snapshot")
    world.reconcile(5)
    change(world, id_, task="")
    world.reconcile(40)
    assert phase(world) == "Blocked" and len(world.cloud.writes) == asked


# -- a host that died in the middle of something


@pytest.fixture
def dead(world: NodeWorld) -> NodeWorld:
    """cmp1 is off; two servers were on it, whose disks are elsewhere."""
    world.cloud.boot(2, "cmp1", local_disk=False)
    world.cloud.die("cmp1")
    world.set_ready("cmp1", False)
    return world


TASKS = [
    ("rebooting_hard", "HARD_REBOOT"),
    ("migrating", "MIGRATING"),
    ("powering-off", "ACTIVE"),
    ("image_snapshot", "ACTIVE"),
    ("resize_migrating", "RESIZE"),
]


@pytest.mark.parametrize(("task", "status"), TASKS)
def test_a_server_is_evacuated_whatever_its_host_died_in(dead: NodeWorld, task: str, status: str) -> None:
    caught, other = dead.cloud.hosted
    dead.cloud.catch(caught, task, status)
    dead.maintain("work", "cmp1", mode="Evacuate", fenced=True)
    until(dead, "Completed")
    assert evacuated(dead) == {caught: 1, other: 1}
    assert "cmp1" not in {one.host for one in dead.cloud.hosted.values()}


@pytest.mark.slow
def test_what_a_host_died_in_does_not_hide_that_a_request_was_lost(dead: NodeWorld) -> None:
    caught, other = dead.cloud.hosted
    dead.cloud.catch(caught)
    lost: list[str] = []

    def before(name: str, subject: str) -> None:
        if name == "evacuate" and subject == caught and not lost:
            lost.append(subject)
            raise CloudUnavailable("503")

    dead.cloud.before = before
    dead.maintain("work", "cmp1", mode="Evacuate", fenced=True)
    until(dead, "Completed", looks=60)
    assert lost == [caught] and evacuated(dead) == {caught: 1, other: 1}


@pytest.mark.slow
def test_an_evacuation_that_may_still_arrive_is_not_asked_for_again_beside_it(dead: NodeWorld) -> None:
    """Nova would carry out both."""
    late, _ = dead.cloud.hosted
    asked: list[float] = []

    def before(name: str, subject: str) -> None:
        if name == "evacuate" and subject == late:
            asked.append(dead.clock.now())
            if len(asked) == 1:
                raise CloudUnavailable("no answer within 30 s")

    dead.cloud.before = before
    dead.maintain("work", "cmp1", mode="Evacuate", fenced=True)
    until(dead, "Completed", looks=60)
    assert asked[1] - asked[0] > MINUTE


def test_an_evacuation_that_others_began_is_waited_for(dead: NodeWorld) -> None:
    by_hand, other = dead.cloud.hosted
    dead.cloud.force_down("service-cmp1", down=True)
    dead.cloud.evacuate(by_hand)
    dead.maintain("work", "cmp1", mode="Evacuate", fenced=True)
    dead.reconcile(5, cloud_moves=False)
    assert "Nova already evacuates it" in message(dead)
    until(dead, "Completed")
    assert evacuated(dead) == {by_hand: 1, other: 1}


def test_an_evacuation_to_the_host_that_died_is_over_with_it(dead: NodeWorld) -> None:
    twice, _ = dead.cloud.hosted
    dead.cloud.catch(twice, "rebuild_spawning", "REBUILD")
    dead.cloud.moves[90] = Migration(90, twice, "evacuation", "pre-migrating", "cmp0", "cmp1")
    dead.cloud._next = 90
    dead.maintain("work", "cmp1", mode="Evacuate", fenced=True)
    until(dead, "Completed")
    assert dead.cloud.hosted[twice].host != "cmp1"


def test_a_server_that_was_being_deleted_is_not_brought_back(dead: NodeWorld) -> None:
    going, other = dead.cloud.hosted
    dead.cloud.catch(going, "deleting", "ACTIVE")
    dead.maintain("work", "cmp1", mode="Evacuate", fenced=True)
    until(dead, "Completed")
    assert evacuated(dead) == {other: 1}


def test_a_server_that_nova_cannot_evacuate_is_said_with_its_state(dead: NodeWorld) -> None:
    paused, _ = dead.cloud.hosted
    change(dead, paused, status="MIGRATING", task="migrating", state="paused")
    dead.maintain("work", "cmp1", mode="Evacuate", fenced=True)
    until(dead, "Blocked")
    assert "Nova evacuates no server that is paused" in message(dead)
