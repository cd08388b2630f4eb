"""While OpenStack does not answer, what it said last is reported as that, and not as the present."""

from __future__ import annotations

import pytest

from controller.cli.views.node import node_causes, node_rows
from controller.domain.api.conditions import timestamp
from tests.reconcile.node_world import NodeWorld, fail

SILENT = "identity GET: ConnectFailure"


def well(name: str, subject: str) -> None:
    """OpenStack answers."""


@pytest.fixture
def world() -> NodeWorld:
    world = NodeWorld("cmp1", "cmp2")
    world.cloud.boot(2, "cmp1")
    world.reconcile(3)
    return world


def test_what_is_not_known_any_more_is_reported_as_of_the_last_look(world: NodeWorld) -> None:
    last = timestamp(world.clock.now())
    known = world.status("cmp1")
    world.cloud.before = fail(SILENT)
    world.reconcile(5, after=20)
    reported = world.status("cmp1")
    assert (reported["reason"], reported["asOf"]) == ("CloudUnknown", last)
    assert SILENT in reported["message"]
    kept = ("host", "uid", "compute", "servers")
    assert [reported[key] for key in kept] == [known[key] for key in kept]


def test_a_new_process_that_hears_nothing_makes_nothing_younger(world: NodeWorld) -> None:
    last = timestamp(world.clock.now())
    world.cloud.before = fail(SILENT)
    world.reconcile(2, after=20)
    world.restart()
    world.reconcile(3, after=20)
    reported = world.status("cmp1")
    assert (reported["reason"], reported["asOf"], reported["servers"]) == ("CloudUnknown", last, 2)


def test_a_node_that_is_not_ready_meanwhile_is_reported_with_both(world: NodeWorld) -> None:
    world.cloud.before = fail(SILENT)
    world.set_ready("cmp1", False)
    world.reconcile(2, after=20)
    reported = world.status("cmp1")
    assert reported["state"] == "NotReady"
    assert "kubelet" in reported["message"] and SILENT in reported["message"]


def test_when_openstack_answers_again_everything_is_of_now(world: NodeWorld) -> None:
    world.cloud.before = fail(SILENT)
    world.reconcile(2, after=20)
    world.cloud.before = well
    world.reconcile(2, after=20)
    reported = world.status("cmp1")
    assert reported["reason"] == "InService" and "asOf" not in reported and "message" not in reported


def test_a_host_that_failed_before_is_not_said_to_fail_now(world: NodeWorld) -> None:
    world.cloud.die("cmp2")
    world.reconcile(2)
    assert world.condition("NodesReady")["reason"] == "HostsFailing"
    world.cloud.before = fail(SILENT)
    world.reconcile(2, after=20)
    reported = world.condition("NodesReady")
    assert reported["reason"] == "HostsFailing"
    assert f"state from before OpenStack stopped answering: {SILENT}" in reported["message"]


def test_the_command_line_says_of_when_it_is(world: NodeWorld) -> None:
    last = timestamp(world.clock.now())
    world.cloud.before = fail(SILENT)
    world.reconcile(2, after=20)
    entry = world.status("cmp1")
    lines = node_causes("cmp1", entry, [])
    assert lines[1:] == [
        f"  CloudUnknown: {SILENT}",
        f"  compute service enabled, up; 2 servers, as of {last}",
        "  drains are blocked: the controller does not know whether servers are on the node",
    ]
    [row] = node_rows({"cmp1": entry})
    assert row[2] == f"enabled, up (as of {last})"
