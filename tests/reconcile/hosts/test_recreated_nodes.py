"""Nodes that are made again under the same name: whose compute service it is."""

from __future__ import annotations

import pytest

from controller.ports.kubernetes import NODE
from tests.reconcile.compute_pods import CEPH, configure, end, run
from tests.reconcile.node_world import NodeWorld


@pytest.fixture
def world() -> NodeWorld:
    world = NodeWorld("cmp1", "cmp2", "cmp3", "cmp4", nodes={"evacuation": "Auto"})
    world.reconcile(2)
    return world


def make_again(world: NodeWorld) -> None:
    world.kube.delete(NODE, "cmp1")
    world.add_node("cmp1")


@pytest.mark.parametrize("hours", [-2, 2])
def test_another_machine_may_register_whatever_our_clock_says(world: NodeWorld, hours: int) -> None:
    world.clock.jump(3600.0 * hours)
    world.kube.delete(NODE, "cmp1")
    world.clock.jump(-3600.0 * hours)
    world.add_node("cmp1")
    world.clock.jump(3600.0 * hours)
    # What the old machine reported last still counts for a while.
    world.reconcile(5, after=10)
    world.cloud.die("cmp1")
    world.reconcile(40, after=10)
    assert "cmp1" not in world.cloud.services


@pytest.mark.slow
def test_a_compute_service_that_is_forced_down_and_reports_is_not_removed(world: NodeWorld) -> None:
    """Of a machine that was evacuated and has joined again as another Node."""
    world.cloud.boot(1, "cmp1", local_disk=False)
    world.set_ready("cmp1", False)
    world.cloud.die("cmp1")
    world.reconcile(20, after=10)
    world.fence("cmp1")
    world.reconcile(20)
    assert world.cloud.services["cmp1"].forced_down
    make_again(world)
    service = world.cloud.services["cmp1"].id
    world.cloud.restart("cmp1")
    for _ in range(30):
        world.cloud.report("cmp1")
        world.reconcile(after=10)
    found = world.cloud.services["cmp1"]
    assert (found.id, found.enabled, found.forced_down) == (service, True, False)


@pytest.mark.slow
def test_servers_are_not_evacuated_by_themselves_on_the_word_of_another_machine_of_that_name() -> None:
    """The one before may only be cut off: what is off is the machine of the new Node."""
    world = NodeWorld(
        "cmp1", "cmp2", "cmp3", nodes={"evacuation": "Auto"}, compute={"images": {"backend": "ceph"}}
    )
    world.cloud.boot(2, "cmp1", local_disk=False)
    world.reconcile(2)
    world.cloud.die("cmp1")
    make_again(world)
    world.reconcile(5, after=10)
    world.set_ready("cmp1", False)
    world.fence("cmp1")
    world.reconcile(40, after=10)
    assert not [name for name, _ in world.cloud.writes if name in ("force_down", "evacuate")]
    assert world.status("cmp1")["reason"] == "ServersLeft"


@pytest.fixture
def twice() -> NodeWorld:
    """Another machine has joined as cmp1. The first one is cut off from Kubernetes, and reports to Nova."""
    world = NodeWorld(
        "cmp1", "cmp2", "cmp3", nodes={"evacuation": "Auto"}, compute={"images": {"backend": "ceph"}}
    )
    configure(world, "nova-compute-default", CEPH)
    for host in ("cmp1", "cmp2", "cmp3"):
        run(world, host)
    world.cloud.boot(2, "cmp1", local_disk=False)
    world.reconcile(10, after=10)
    end(world, "cmp1")
    make_again(world)
    return world


def lose_both(world: NodeWorld) -> None:
    """The second machine is off, and Nova hears the first one no more."""
    world.set_ready("cmp1", False)
    world.cloud.die("cmp1")
    world.reconcile(14, after=10)
    world.fence("cmp1")
    world.reconcile(20, after=10)


@pytest.mark.slow
@pytest.mark.parametrize("restarts", [0, 1])
def test_what_the_machine_before_still_reports_is_not_taken_for_the_new_ones(
    twice: NodeWorld, restarts: int
) -> None:
    """Nova refuses the nova-compute of another machine, which ends and is started again, or never runs."""
    for number in range(20):
        if restarts:
            run(twice, "cmp1", restarts=number)
        twice.cloud.report("cmp1")
        twice.reconcile(after=10)
    lose_both(twice)
    assert "evacuate" not in [name for name, _ in twice.cloud.writes]
    assert twice.status("cmp1")["reason"] == "ServersLeft"


@pytest.mark.slow
def test_once_its_own_compute_has_run_for_a_minute_they_are_the_new_ones(twice: NodeWorld) -> None:
    """The same machine, whose Node someone had deleted."""
    run(twice, "cmp1")
    for _ in range(20):
        twice.cloud.report("cmp1")
        twice.reconcile(after=10)
    lose_both(twice)
    assert [name for name, _ in twice.cloud.writes].count("evacuate") == 2
