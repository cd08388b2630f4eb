"""Hosts that OpenStack calls otherwise than Kubernetes calls their Nodes, as `hostname --fqdn` does."""

from __future__ import annotations

import pytest

from controller.domain.shared.cloud_facts import Agent, ComputeService
from controller.ports.kubernetes import CRONJOB, JOB, NODE, POD
from tests.reconcile.node_world import NodeWorld

FQDN = "cmp1.example.org"


def world_of(**addresses: str) -> NodeWorld:
    """One with a host for each of these Nodes, called by its domain name, at the Node's address."""
    world = NodeWorld()
    for name, address in addresses.items():
        host = f"{name}.example.org"
        world.cloud.add_host(host)
        world.cloud.addresses[host] = address
        world.add_node(name)
        world.give_address(name, address)
    return world


def disabled_at_first(world: NodeWorld, host: str) -> None:
    world.cloud.services[host] = ComputeService(f"service-{host}", host, False, True, reason="osctl.dev: new")


def test_a_compute_with_its_domain_is_enabled() -> None:
    world = world_of(cmp1="10.0.0.1", cmp2="10.0.0.2")
    disabled_at_first(world, FQDN)
    world.cloud.agents["a"] = Agent("a", FQDN, "Open vSwitch agent", True)
    world.reconcile(3)
    assert world.cloud.services[FQDN].enabled
    assert world.status("cmp1")["host"] == FQDN


def test_it_follows_its_node_and_is_remembered() -> None:
    world = world_of(cmp1="10.0.0.1", cmp2="10.0.0.2")
    world.reconcile(3)
    world.cordon("cmp1")
    world.reconcile(3)
    assert not world.cloud.services[FQDN].enabled
    world.cordon("cmp1", False)
    world.reconcile(3)
    assert world.cloud.services[FQDN].enabled
    world.kube.delete(NODE, "cmp1")
    world.restart()
    world.reconcile(3)
    assert not world.cloud.services[FQDN].enabled


@pytest.mark.slow
def test_a_drain_of_it_is_held_back_and_a_maintenance_moves_its_servers() -> None:
    world = world_of(cmp1="10.0.0.1", cmp2="10.0.0.2")
    world.cloud.boot(2, FQDN)
    world.reconcile(3)
    assert world.kube.get(POD, "osctl-drain-lock-cmp1", world.namespace) is not None
    world.maintain("firmware", "cmp1", mode="Migrate")
    world.reconcile(30)
    assert world.maintenance("firmware")["progress"] == "2/2"
    assert {one.host for one in world.cloud.hosted.values()} == {"cmp2.example.org"}


@pytest.mark.slow
def test_a_host_of_two_possible_nodes_has_none_until_a_person_decides() -> None:
    """The machine of node-7 is called cmp1 by OpenStack, and another node has that name."""
    world = NodeWorld("cmp1", "node-7", nodes={"evacuation": "Auto", "holdDown": "60s"})
    del world.cloud.services["node-7"]
    world.cloud.addresses["cmp1"] = "10.0.0.7"
    world.give_address("cmp1", "10.0.0.1")
    world.give_address("node-7", "10.0.0.7")
    world.cloud.boot(1, "cmp1")
    world.cordon("cmp1")
    world.set_ready("node-7", False)
    world.fencing.answers = True
    world.reconcile(60)
    world.maintain("firmware", "cmp1", mode="Migrate")
    world.maintain("dead", "node-7", mode="Evacuate", fenced=True)
    world.reconcile(10)
    assert world.cloud.writes == []
    for name in ("cmp1", "node-7"):
        assert world.status(name)["reason"] == "HostAmbiguous"
        assert "osctl.dev/host=HOST" in world.status(name)["message"]
        # Whichever has the server: its pods are not to be drained away.
        assert world.kube.get(POD, f"osctl-drain-lock-{name}", world.namespace) is not None
    assert "HostAmbiguous" in str(world.maintenance("firmware")["conditions"])
    assert world.condition("NodesReady")["status"] == "False"

    world.annotate("node-7", host="cmp1")
    world.reconcile(3)
    assert world.status("node-7")["host"] == "cmp1"
    assert world.status("cmp1")["reason"] == "HostAmbiguous"


def test_a_node_for_networks_that_may_be_two_hosts_is_reported() -> None:
    world = NodeWorld("cmp1")
    world.add_node("net1", compute=False)
    world.give_address("net1", "10.0.0.5")
    for host, address in (("net1", ""), ("net1.example.org", "10.0.0.5")):
        world.cloud.agents[host] = Agent(host, host, "Open vSwitch agent", True, address=address)
    world.reconcile(3)
    assert world.status("net1")["reason"] == "HostAmbiguous"


def test_what_has_begun_goes_no_further_in_doubt_and_is_rolled_back() -> None:
    world = NodeWorld("cmp1", "cmp2")
    world.cloud.boot(3, "cmp1")
    world.reconcile(3)
    world.maintain("firmware", "cmp1", mode="Cordon")
    world.reconcile(5)
    assert not world.cloud.services["cmp1"].enabled
    world.add_node("node-7")
    world.give_address("node-7", "10.0.0.7")
    world.cloud.addresses["cmp1"] = "10.0.0.7"
    world.reconcile(5)
    assert "HostAmbiguous" in str(world.maintenance("firmware")["conditions"])
    world.kube.delete(NODE, "node-7")
    world.restart()
    world.reconcile(5)
    assert "HostAmbiguous" not in str(world.maintenance("firmware")["conditions"])


def test_a_node_without_a_host_and_a_host_without_a_node_are_named() -> None:
    world = world_of(cmp2="10.0.0.2")
    world.add_node("cmp1")
    world.cloud.add_host(FQDN)
    world.cloud.addresses[FQDN] = "172.16.0.1"
    world.reconcile(3)
    world.clock.advance(700)
    world.reconcile(3)
    message = world.status("cmp1")["message"]
    assert world.status("cmp1")["reason"] == "ComputeMissing"
    assert FQDN in message and f"kubectl annotate node cmp1 {world.namespace}.osctl.dev/host=HOST" in message
    assert world.region_status()["hostsWithoutNode"] == [FQDN]
    world.annotate("cmp1", host=FQDN)
    world.reconcile(3)
    assert world.status("cmp1")["reason"] == "InService"
    assert "hostsWithoutNode" not in world.region_status()


def test_a_host_of_no_node_is_reported_and_no_fault() -> None:
    world = world_of(cmp1="10.0.0.1")
    world.cloud.add_host("somebody.example.org")
    world.reconcile(3)
    reported = world.condition("NodesReady")
    assert reported["status"] == "True" and "somebody.example.org" in reported["message"]
    assert world.cloud.writes == []


def test_a_compute_that_only_its_address_identifies_is_mapped_to_a_cell() -> None:
    """Nova has no address of a host before it is mapped."""
    world = NodeWorld("cmp2")
    world.add_node("cmp1")
    world.give_address("cmp1", "10.0.0.1")
    world.cloud.add_host(FQDN)
    world.cloud.unmapped.add(FQDN)
    job = {"metadata": {}, "spec": {"template": {"spec": {"containers": []}}}}
    world.kube.create(
        {
            "apiVersion": CRONJOB.api_version,
            "kind": CRONJOB.kind,
            "metadata": {"name": "nova-cell-setup", "namespace": world.namespace},
            "spec": {"schedule": "0 * * * *", "jobTemplate": job},
        }
    )
    world.reconcile(40)
    assert len(world.kube.list(JOB, world.namespace)) == 1
    world.cloud.unmapped.clear()
    world.cloud.addresses[FQDN] = "10.0.0.1"
    world.reconcile(3)
    assert world.status("cmp1")["host"] == FQDN


def a_machine_at_the_address_of_one_that_is_cut_off() -> NodeWorld:
    """The Node cmp1 was removed while its machine ran on; cmp3 has its address, and no nova-compute yet."""
    world = NodeWorld("cmp1", "cmp2", compute={"images": {"backend": "ceph"}})
    world.cloud.addresses["cmp1"] = "10.0.0.1"
    world.give_address("cmp1", "10.0.0.1")
    world.cloud.boot(1, "cmp1", local_disk=False)
    world.reconcile(3)
    world.cloud.die("cmp1")
    world.kube.delete(NODE, "cmp1")
    world.reconcile(3)
    world.add_node("cmp3")
    world.give_address("cmp3", "10.0.0.1")
    world.reconcile(5)
    return world


def test_a_new_machine_does_not_take_the_host_of_one_that_is_only_cut_off() -> None:
    world = a_machine_at_the_address_of_one_that_is_cut_off()
    assert world.status("cmp3")["reason"] == "HostAmbiguous"
    assert "host" not in world.status("cmp3")
    assert world.status("cmp1")["host"] == "cmp1"
    world.cloud.add_host("cmp3")
    world.cloud.addresses["cmp3"] = "10.0.0.1"
    disabled_at_first(world, "cmp3")
    world.reconcile(5)
    assert world.status("cmp3")["host"] == "cmp3"
    assert world.cloud.services["cmp3"].enabled


@pytest.mark.slow
def test_nothing_of_a_machine_that_is_cut_off_is_evacuated_on_the_word_of_another() -> None:
    world = a_machine_at_the_address_of_one_that_is_cut_off()
    world.cloud.add_host("cmp3")
    world.cloud.addresses["cmp3"] = "10.0.0.1"
    world.reconcile(5)
    world.set_condition("cmp3", "Unknown", boot="first")
    world.cloud.die("cmp3")
    world.reconcile(2)
    world.fence("cmp3")
    world.maintain("dead", "cmp3", mode="Evacuate", fenced=True)
    world.reconcile(60)
    assert "evacuate" not in [one for one, _ in world.cloud.writes]
