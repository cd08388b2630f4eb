"""Which nodes' drains are held back, and when that ends."""

from __future__ import annotations

import pytest

from controller.domain.cloud_facts import Hypervisor
from controller.domain.compute_node import LOOKS
from controller.ports import NODE, OSDPL, PDB, POD
from tests.reconcile.node_world import NAMESPACE, NodeWorld, fail
from tests.reconcile.watched import NAME

ROLE = "openstack-compute-node"


@pytest.fixture
def world() -> NodeWorld:
    world = NodeWorld("cmp1", "cmp2")
    world.cloud.boot(2, "cmp1")
    world.look(2)
    assert locked(world) == ({"cmp1"}, {"cmp1"})
    return world


def locked(world: NodeWorld) -> tuple[set[str], set[str]]:
    """Nodes with a lock's pod, and with its budget."""
    found = [world.kube.list(resource, NAMESPACE) for resource in (POD, PDB)]
    pods, budgets = ({one["metadata"]["annotations"]["osctl.dev/node"] for one in kind} for kind in found)
    return pods, budgets


def test_hypervisors_that_all_say_none_release_nothing(world: NodeWorld) -> None:
    world.cloud.hypervisors = lambda: tuple(  # type: ignore[method-assign]
        Hypervisor(host, 0) for host in world.cloud.services
    )
    world.look(LOOKS + 2)
    assert locked(world) == ({"cmp1"}, {"cmp1"})
    assert "2 servers" in world.status("cmp1")["drainLocked"]


def test_what_placement_holds_for_a_server_there_releases_nothing(world: NodeWorld) -> None:
    hidden = dict(world.cloud.hosted)
    world.cloud.hosted.clear()
    whole = world.cloud.server
    world.cloud.server = lambda id_: hidden.get(id_) or whole(id_)  # type: ignore[method-assign]
    world.look(LOOKS + 2)
    assert locked(world) == ({"cmp1"}, {"cmp1"})
    assert "Placement" in world.status("cmp1")["drainLocked"]


def test_a_look_that_is_not_answered_in_the_end_releases_nothing(world: NodeWorld) -> None:
    world.cloud.hosted.clear()

    def before(name: str, subject: str) -> None:
        if name == "servers_on":
            fail()(name, subject)

    world.cloud.before = before
    world.look(LOOKS + 2)
    assert locked(world) == ({"cmp1"}, {"cmp1"})


def test_a_node_that_lost_its_role_stays_locked_while_servers_are_on_it(world: NodeWorld) -> None:
    world.edit_node("cmp1", {"metadata": {"labels": {ROLE: None}}})
    world.look(LOOKS + 2)
    assert locked(world) == ({"cmp1"}, {"cmp1"})
    world.cloud.hosted.clear()
    world.cloud.held["cmp1"].clear()
    world.look(LOOKS + 2)
    assert locked(world) == (set(), set())


def test_nothing_is_kept_for_a_node_that_is_gone(world: NodeWorld) -> None:
    world.kube.delete(NODE, "cmp1")
    world.look(LOOKS + 2)
    assert locked(world)[1] == set()


def test_locks_go_with_the_region(world: NodeWorld) -> None:
    world.kube.delete(OSDPL, NAME, NAMESPACE)
    world.clock.advance(30)
    world.hosts.reconcile()
    assert locked(world) == (set(), set())
