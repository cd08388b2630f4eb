"""Hosts whose Node is gone: what goes, what stays, and in which order; with lists that are too short."""

from __future__ import annotations

from dataclasses import replace

import pytest

from controller.domain.shared.cloud_facts import Agent, Migration
from controller.ports.kubernetes import COMPUTE_MAINTENANCE, NODE
from tests.reconcile.node_world import NodeWorld


@pytest.fixture
def world() -> NodeWorld:
    world = NodeWorld("cmp1", "cmp2", "cmp3", "cmp4", nodes={"evacuation": "Auto"})
    world.reconcile(2)
    return world


def remove(world: NodeWorld, name: str = "cmp1") -> None:
    world.kube.delete(NODE, name)
    world.cloud.die(name)


def evacuate(world: NodeWorld) -> list[str]:
    ids = world.cloud.boot(2, "cmp1", local_disk=False)
    world.set_ready("cmp1", False)
    world.cloud.die("cmp1")
    world.reconcile(20, after=10)
    world.fence("cmp1")
    world.reconcile(20)
    assert {world.cloud.hosted[id_].host for id_ in ids}.isdisjoint({"cmp1"})
    return ids


@pytest.mark.slow
def test_a_node_that_was_evacuated_and_deleted_is_removed_with_its_evacuation(world: NodeWorld) -> None:
    ids = evacuate(world)
    world.kube.delete(NODE, "cmp1")
    world.reconcile(12)
    assert "cmp1" not in world.cloud.services and "cmp1" not in world.cloud.held
    assert world.status("cmp1") == {}
    assert world.kube.objects("ComputeMaintenance") == []
    # What the servers hold on their new hosts is theirs.
    assert all(any(id_ in held for held in world.cloud.held.values()) for id_ in ids)


@pytest.mark.slow
def test_a_maintenance_of_a_person_outlives_its_dead_node_and_is_deleted_before_the_next(
    world: NodeWorld,
) -> None:
    """The steps of docs/nodes.md."""
    ids = world.cloud.boot(2, "cmp1", local_disk=False)
    world.set_ready("cmp1", False)
    world.cloud.die("cmp1")
    world.reconcile(4, after=10)
    world.maintain("node-cmp1", "cmp1", mode="Evacuate")
    world.fence("cmp1")
    world.reconcile(20, after=10)
    assert {world.cloud.hosted[id_].host for id_ in ids}.isdisjoint({"cmp1"})
    world.kube.delete(NODE, "cmp1")
    world.reconcile(12, after=10)
    assert "cmp1" not in world.cloud.services
    assert world.maintenance("node-cmp1")["phase"] == "Blocked"
    world.kube.delete(COMPUTE_MAINTENANCE, "node-cmp1")
    world.reconcile(3)
    assert world.kube.objects("ComputeMaintenance") == []
    world.add_node("cmp1")
    world.cloud.add_host("cmp1")
    world.reconcile(6, after=10)
    assert world.status("cmp1")["reason"] == "InService"


@pytest.mark.slow
def test_what_a_server_that_was_evacuated_holds_is_never_taken_from_it(world: NodeWorld) -> None:
    """Allocations go by their owner, on all hosts at once: Nova alone may take away those of one host."""
    ids = evacuate(world)

    def nova_frees_nothing(name: str, subject: str) -> None:
        if name == "delete_compute_service":
            world.cloud.held["cmp1"] = set(ids)

    world.cloud.after = nova_frees_nothing
    world.kube.delete(NODE, "cmp1")
    world.reconcile(12)
    assert not [subject for name, subject in world.cloud.writes if name == "delete_allocations"]
    assert "provider in use" in world.status("cmp1")["message"]


@pytest.mark.slow
def test_a_node_that_lost_its_role_does_not_end_its_evacuation_while_it_is_there(world: NodeWorld) -> None:
    evacuate(world)
    world.edit_node("cmp1", {"metadata": {"labels": {"openstack-compute-node": None}}})
    world.reconcile(2)
    [maintenance] = world.kube.objects("ComputeMaintenance")
    assert not maintenance["metadata"].get("deletionTimestamp")


def test_a_move_that_is_not_over_keeps_everything(world: NodeWorld) -> None:
    """An unconfirmed migration away: Placement has what it held under the id of the move itself."""
    [id_] = world.cloud.boot(1, "cmp2", status="VERIFY_RESIZE")
    world.cloud.moves[7] = Migration(7, id_, "migration", "finished", "cmp1", "cmp2")
    world.cloud.held["cmp1"].add("id-of-the-move")
    remove(world)
    world.reconcile(10, after=10)
    assert "cmp1" in world.cloud.services and world.cloud.held["cmp1"] == {"id-of-the-move"}
    assert world.status("cmp1")["reason"] == "ServersLeft"
    assert "in-progress migrations" in world.status("cmp1")["message"]
    world.cloud.moves[7] = replace(world.cloud.moves[7], status="confirmed")
    world.reconcile(10, after=10)
    assert "cmp1" not in world.cloud.services and "cmp1" not in world.cloud.held


@pytest.mark.parametrize("kind", ["live-migration", "evacuation"])
def test_resources_of_a_server_elsewhere_block_unless_it_was_evacuated(world: NodeWorld, kind: str) -> None:
    [id_] = world.cloud.boot(1, "cmp2")
    world.cloud.moves[7] = Migration(7, id_, kind, "error", "cmp1", "cmp2")
    world.cloud.held["cmp1"].add(id_)
    remove(world)
    world.reconcile(10, after=10)
    assert "cmp1" in world.cloud.services
    assert world.status("cmp1")["reason"] == "ServersLeft"


def shorten(world: NodeWorld, host: str = "cmp1") -> object:
    """The list of compute services leaves one out; gives what brings it back."""
    whole = world.cloud.compute_services
    world.cloud.compute_services = lambda: tuple(  # type: ignore[method-assign]
        one for one in whole() if one.host != host
    )
    return whole


@pytest.mark.parametrize("restarted", [False, True])
def test_a_list_of_services_that_is_too_short_makes_us_neither_act_nor_forget(
    world: NodeWorld, restarted: bool
) -> None:
    world.cloud.boot(2, "cmp1")
    world.cloud.agents["a"] = Agent("a", "cmp1", "Open vSwitch agent", alive=False)
    world.reconcile(1)
    world.cloud.die("cmp1")
    whole = shorten(world)
    world.kube.delete(NODE, "cmp1")
    world.cloud.calls.clear()
    world.reconcile(8, after=10)
    assert world.cloud.writes == []
    world.cloud.compute_services = whole  # type: ignore[method-assign, assignment]
    if restarted:
        world.restart()
    world.reconcile(4, after=10)
    assert not world.cloud.services["cmp1"].enabled
    assert world.status("cmp1")["reason"] == "ServersLeft"


def test_a_service_and_its_hypervisor_missing_from_lists_are_not_believed_against_servers(
    world: NodeWorld,
) -> None:
    world.cloud.boot(2, "cmp1")
    world.cloud.agents["a"] = Agent("a", "cmp1", "Open vSwitch agent", alive=False)
    whole = world.cloud.hypervisors
    shorten(world)
    world.cloud.compute_service = lambda host: None  # type: ignore[method-assign, assignment, misc]
    world.cloud.hypervisors = lambda: tuple(  # type: ignore[method-assign]
        one for one in whole() if one.host != "cmp1"
    )
    remove(world)
    world.cloud.calls.clear()
    world.reconcile(10, after=10)
    assert world.cloud.writes == []
    assert world.status("cmp1")["reason"] == "ServersLeft"


def test_a_removal_that_was_interrupted_is_finished(world: NodeWorld) -> None:
    world.cloud.held["cmp1"].add("a-migration-of-old")
    remove(world)

    def killed(name: str, subject: str) -> None:
        if name == "delete_compute_service":
            raise KeyboardInterrupt

    world.cloud.after = killed
    with pytest.raises(KeyboardInterrupt):
        world.reconcile(10, after=10)
    world.cloud.after = lambda *_: None
    assert "cmp1" in world.cloud.held
    world.restart()
    world.reconcile(8, after=10)
    assert "cmp1" not in world.cloud.held and world.status("cmp1") == {}


def test_a_node_that_goes_before_the_status_was_written_is_known_anyway(world: NodeWorld) -> None:
    world.cloud.add_host("cmp5")
    world.add_node("cmp5")
    world.clock.advance(10)
    world.watch()
    world.hosts.reconcile()
    assert world.status("cmp5") == {}
    remove(world, "cmp5")
    world.reconcile(8, after=10)
    assert "cmp5" not in world.cloud.services


def test_a_person_who_disables_a_host_during_a_look_is_not_overwritten(world: NodeWorld) -> None:
    world.cordon("cmp1")

    def meanwhile(name: str, subject: str) -> None:
        if name == "aggregates":
            service = world.cloud.services["cmp1"]
            world.cloud.services["cmp1"] = replace(service, enabled=False, reason="broken fan")

    world.cloud.before = meanwhile
    world.reconcile(2)
    assert world.cloud.writes == []
    assert world.cloud.services["cmp1"].reason == "broken fan"


def test_a_node_under_a_new_name_keeps_its_host(world: NodeWorld) -> None:
    world.cloud.boot(2, "cmp1")
    world.reconcile(2)
    world.kube.delete(NODE, "cmp1")
    world.add_node("new-name", **{"kubernetes.io/hostname": "cmp1"})
    world.cloud.calls.clear()
    world.reconcile(6, after=10)
    assert world.cloud.writes == []
    assert world.status("cmp1") == {}
    assert (world.status("new-name")["host"], world.status("new-name")["reason"]) == ("cmp1", "InService")


# -- nodes for networks only


@pytest.fixture
def network_node(world: NodeWorld) -> NodeWorld:
    roles = {"l3-agent": "enabled", "openstack-network-node": "enabled"}
    world.add_node("net1", compute=False, **roles)
    for host in ("net1", "cmp2"):
        id_ = f"L3 agent {host}"
        world.cloud.agents[id_] = Agent(id_, host, "L3 agent", alive=True)
    world.cloud.on_agents = {"L3 agent net1": ["router-1"]}
    world.reconcile(2)
    return world


def test_a_network_node_is_migrated_by_its_agents(network_node: NodeWorld) -> None:
    network_node.maintain("work", "net1")
    network_node.reconcile(20)
    assert network_node.maintenance("work")["phase"] == "Completed"
    assert network_node.cloud.on_agents["L3 agent cmp2"] == ["router-1"]


def test_a_network_node_that_is_cordoned_takes_no_routers_and_is_put_back(network_node: NodeWorld) -> None:
    network_node.maintain("work", "net1", mode="Cordon")
    network_node.reconcile(6)
    assert network_node.maintenance("work")["phase"] == "Completed"
    assert not network_node.cloud.agents["L3 agent net1"].enabled
    network_node.kube.delete(COMPUTE_MAINTENANCE, "work")
    network_node.reconcile(4)
    assert network_node.cloud.agents["L3 agent net1"].enabled


def test_the_agents_of_a_removed_network_node_are_removed_once_they_are_silent(
    network_node: NodeWorld,
) -> None:
    network_node.kube.delete(NODE, "net1")
    network_node.reconcile(6, after=10)
    assert "L3 agent net1" in network_node.cloud.agents
    agent = network_node.cloud.agents["L3 agent net1"]
    network_node.cloud.agents["L3 agent net1"] = replace(agent, alive=False)
    network_node.cloud.on_agents = {"L3 agent cmp2": ["router-1"]}
    network_node.reconcile(6, after=10)
    assert list(network_node.cloud.agents) == ["L3 agent cmp2"]
    assert network_node.status("net1") == {}


def test_a_compute_that_becomes_a_network_node_keeps_its_agents(network_node: NodeWorld) -> None:
    world = network_node
    world.edit_node("cmp2", {"metadata": {"labels": {"openstack-compute-node": None, "l3-agent": "enabled"}}})
    world.cloud.die("cmp2")
    world.reconcile(12, after=10)
    assert "cmp2" not in world.cloud.services
    assert "L3 agent cmp2" in world.cloud.agents
    assert world.status("cmp2")["state"] == "Ready" and "compute" not in world.status("cmp2")


def test_a_provider_that_placement_does_not_show_is_not_taken_for_an_empty_one(world: NodeWorld) -> None:
    """Nova calls it by a domain name, and nothing is known of that name."""
    world.cloud.allocations = lambda host: None  # type: ignore[method-assign, assignment, misc]
    remove(world)
    world.reconcile(10, after=10)
    assert "cmp1" in world.cloud.services
    assert "no provider" in world.status("cmp1")["message"]


def test_an_agent_is_not_removed_while_it_alone_has_a_router(network_node: NodeWorld) -> None:
    world = network_node
    world.cloud.on_agents["L3 agent cmp2"] = ["router-1"]
    world.cloud.on_agents["L3 agent net1"] = ["router-1", "router-2"]
    world.kube.delete(NODE, "net1")
    world.cloud.agents["L3 agent net1"] = replace(world.cloud.agents["L3 agent net1"], alive=False)
    world.reconcile(8, after=10)
    assert "L3 agent net1" in world.cloud.agents
    assert world.status("net1")["reason"] == "ServersLeft"
    assert "no living agent serves: router-2;" in world.status("net1")["message"]
    world.cloud.on_agents["L3 agent cmp2"] = ["router-1", "router-2"]
    world.reconcile(3, after=10)
    assert "L3 agent net1" not in world.cloud.agents and world.status("net1") == {}


def test_network_nodes_that_all_lose_their_role_keep_the_agents_that_have_routers(world: NodeWorld) -> None:
    gateways = ("gtw1", "gtw2", "gtw3")
    for name in gateways:
        world.add_node(name, compute=False, **{"openstack-network-node": "enabled"})
        world.cloud.agents[name] = Agent(name, name, "L3 agent", alive=True)
        world.cloud.on_agents[name] = ["of all three", f"of {name}"]
    world.reconcile(2)
    for name in gateways:
        labels = {"openstack-network-node": None, "openstack-control-plane": None}
        world.edit_node(name, {"metadata": {"labels": labels}})
        world.cloud.agents[name] = replace(world.cloud.agents[name], alive=False)
    world.reconcile(10)
    assert world.cloud.writes == []


def test_hosts_that_were_given_up_for_good_are_removed_however_many(world: NodeWorld) -> None:
    for name in ("cmp1", "cmp2", "cmp3"):
        remove(world, name)
    world.reconcile(12, after=10)
    assert list(world.cloud.services) == ["cmp4"]


def test_a_list_without_agents_leaves_those_of_a_removed_network_node(network_node: NodeWorld) -> None:
    whole = dict(network_node.cloud.agents)
    network_node.cloud.agents.clear()
    network_node.kube.delete(NODE, "net1")
    network_node.reconcile(2, after=10)
    network_node.cloud.agents.update(whole)
    network_node.reconcile(4, after=10)
    assert network_node.status("net1")["reason"] == "ComputeStillReports"


def test_placement_is_left_alone_while_nova_still_lists_the_service(world: NodeWorld) -> None:
    """A deletion that was answered by something else than Nova: its own check was never made."""
    kept = world.cloud.services["cmp1"]

    def never_arrived(name: str, subject: str) -> None:
        if name == "delete_compute_service":
            world.cloud.services["cmp1"] = replace(kept, up=False)
            world.cloud.held["cmp1"] = {"id-of-a-move"}

    world.cloud.after = never_arrived
    remove(world)
    world.reconcile(10, after=10)
    written = {name for name, _ in world.cloud.writes}
    assert "delete_compute_service" in written
    assert written.isdisjoint({"delete_allocations", "delete_provider"})
    assert "still lists" in world.status("cmp1")["message"]
