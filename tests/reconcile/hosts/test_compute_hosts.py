"""The care for compute hosts: from Nodes and OpenStack to the next step, whatever happens in between."""

from __future__ import annotations

from dataclasses import replace

import pytest

from controller.domain.shared.cloud_facts import MARK, Agent, VolumeService
from controller.errors import CloudUnavailable
from controller.ports.kubernetes import COMPUTE_MAINTENANCE, NODE, POD
from tests.reconcile.node_world import NAMESPACE, NodeWorld, fail

HARMFUL = {"force_down", "evacuate", "delete_compute_service", "delete_agent", "delete_provider"}


@pytest.fixture
def world() -> NodeWorld:
    return NodeWorld("cmp1", "cmp2", "cmp3", "cmp4", "cmp5", nodes={"evacuation": "Auto"})


def harm(world: NodeWorld) -> list[tuple[str, str]]:
    return [call for call in world.cloud.writes if call[0] in HARMFUL]


def test_a_quiet_cloud_gets_no_writes(world: NodeWorld) -> None:
    world.reconcile(3)
    world.kube.forget_requests()
    world.reconcile(5)
    assert world.cloud.writes == []
    assert world.kube.writes == []
    assert world.status("cmp1")["compute"] == "enabled, up"


def test_cordon_and_uncordon(world: NodeWorld) -> None:
    world.cordon("cmp1")
    world.reconcile(3)
    assert world.cloud.services["cmp1"].reason == f"{MARK}node cordoned"
    world.cordon("cmp1", False)
    world.reconcile(3)
    assert world.cloud.services["cmp1"].enabled
    assert [name for name, _ in world.cloud.writes] == ["set_compute_service"] * 2


def test_a_moment_of_silence_does_nothing(world: NodeWorld) -> None:
    world.set_ready("cmp1", False)
    world.reconcile(10, after=10)
    world.set_ready("cmp1", True)
    world.reconcile(10, after=30)
    assert world.cloud.writes == []


@pytest.mark.slow
def test_a_lost_node_is_disabled_and_evacuated_only_after_fencing(world: NodeWorld) -> None:
    ids = world.cloud.boot(3, "cmp1", local_disk=False)
    world.set_ready("cmp1", False)
    world.cloud.die("cmp1")
    world.reconcile(30, after=10)
    assert not world.cloud.services["cmp1"].enabled
    assert world.status("cmp1")["reason"] == "FencingAwaited"
    assert harm(world) == []
    world.fence("cmp1")
    world.reconcile(25)
    assert {world.cloud.hosted[id_].host for id_ in ids} & {"cmp1"} == set()
    assert world.cloud.services["cmp1"].forced_down
    [maintenance] = world.kube.objects("ComputeMaintenance")
    assert maintenance["status"]["phase"] == "Completed"
    assert sorted(subject for name, subject in world.cloud.writes if name == "evacuate") == sorted(ids)


@pytest.mark.slow
def test_a_node_that_returns_is_freed_when_its_compute_cleaned_up(world: NodeWorld) -> None:
    test_a_lost_node_is_disabled_and_evacuated_only_after_fencing(world)
    world.set_ready("cmp1", True)
    world.reconcile(5)
    assert world.kube.objects("ComputeMaintenance") == []
    assert world.cloud.services["cmp1"].forced_down
    assert world.status("cmp1")["reason"] == "CleanupAwaited"
    world.cloud.restart("cmp1")
    world.reconcile(3)
    world.cloud.restart("cmp1")
    world.reconcile(3)
    service = world.cloud.services["cmp1"]
    assert service.enabled and service.up and not service.forced_down


@pytest.mark.slow
def test_the_fencing_service_is_asked_and_believed() -> None:
    features = {"evacuation": "Auto", "fencing": {"url": "http://127.0.0.1/"}}
    world = NodeWorld("cmp1", "cmp2", nodes=features)
    world.cloud.boot(1, "cmp1", local_disk=False)
    world.set_ready("cmp1", False)
    world.cloud.die("cmp1")
    world.reconcile(20, after=10)
    assert world.fencing.asked and harm(world) == []
    world.fencing.off.add("cmp1")
    world.reconcile(20)
    assert ("evacuate", "cmp1-0000") in world.cloud.writes


@pytest.mark.slow
def test_an_evacuation_that_was_taken_back_is_not_begun_again(world: NodeWorld) -> None:
    world.cloud.boot(2, "cmp1", local_disk=True)
    world.set_ready("cmp1", False)
    world.cloud.die("cmp1")
    world.reconcile(20, after=10)
    world.fence("cmp1")
    world.reconcile(5)
    [maintenance] = world.kube.objects("ComputeMaintenance")
    assert maintenance["status"]["phase"] == "Blocked"  # local disks
    world.kube.delete(COMPUTE_MAINTENANCE, maintenance["metadata"]["name"])
    world.reconcile(10)
    assert world.kube.objects("ComputeMaintenance") == []
    assert "automatic evacuation was deleted" in world.status("cmp1")["message"]


@pytest.mark.slow
def test_too_many_lost_at_once_stop_everything(world: NodeWorld) -> None:
    for host in ("cmp1", "cmp2"):
        world.cloud.boot(2, host, local_disk=False)
        world.set_ready(host, False)
        world.cloud.die(host)
        world.fence(host)
    world.reconcile(30, after=10)
    assert world.cloud.writes == []
    reported = world.condition("NodesReady")
    assert (reported["status"], reported["reason"]) == ("False", "TooManyUnhealthy")
    world.set_ready("cmp2", True)
    world.cloud.restart("cmp2")
    world.reconcile(30, after=10)
    assert not world.cloud.services["cmp1"].enabled


@pytest.mark.slow
def test_hosts_that_die_one_by_one_stop_everything_too() -> None:
    hosts = [f"cmp{number}" for number in range(10)]
    world = NodeWorld(*hosts, nodes={"evacuation": "Auto", "fencing": {"url": "https://fencing"}})
    world.fencing.off |= set(hosts)
    for host in hosts:
        world.cloud.boot(1, host, local_disk=False)
    world.reconcile(2)
    for host in hosts[:7]:
        world.set_ready(host, False)
        world.cloud.die(host)
        world.reconcile(25, after=10)
    assert sum(one.forced_down for one in world.cloud.services.values()) == 2
    assert world.condition("NodesReady")["reason"] == "TooManyUnhealthy"


@pytest.mark.slow
def test_the_circuit_breaker_stops_evacuations_that_have_begun(world: NodeWorld) -> None:
    world.cloud.boot(20, "cmp1", local_disk=False)
    world.set_ready("cmp1", False)
    world.cloud.die("cmp1")
    world.reconcile(20, after=10)
    world.fence("cmp1")
    world.reconcile(4)
    begun = [call for call in world.cloud.writes if call[0] == "evacuate"]
    assert 0 < len(begun) < 20
    for host in ("cmp2", "cmp3"):
        world.set_ready(host, False)
    world.reconcile(12)
    assert [call for call in world.cloud.writes if call[0] == "evacuate"] == begun
    [maintenance] = world.kube.objects("ComputeMaintenance")
    assert maintenance["status"]["conditions"][0]["reason"] == "TooManyUnhealthy"
    for host in ("cmp2", "cmp3"):
        world.set_ready(host, True)
    world.reconcile(60)
    assert all(one.host != "cmp1" for one in world.cloud.hosted.values())


def test_before_the_first_whole_look_nothing_is_begun_by_itself(world: NodeWorld) -> None:
    assert world.findings.stopped()
    world.cloud.before = fail()
    world.reconcile(1)
    assert world.findings.stopped()
    world.cloud.before = lambda *_: None
    world.reconcile(1, after=20)
    assert not world.findings.stopped()


def test_pods_that_hang_on_a_fenced_node_are_freed(world: NodeWorld) -> None:
    world.set_ready("cmp1", False)
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "mariadb-0", "namespace": NAMESPACE, "finalizers": ["x/y"]},
        "spec": {"nodeName": "cmp1"},
    }
    world.kube.create(pod)
    world.kube.delete(POD, "mariadb-0", NAMESPACE)

    def deletions() -> int:
        return sum(one.verb == "delete" and one.name == "mariadb-0" for one in world.kube.requests)

    world.reconcile(20, after=10)
    assert deletions() == 1
    world.fence("cmp1")
    world.reconcile(2)
    assert deletions() == 1, "its compute still reports"
    world.cloud.die("cmp1")
    world.reconcile(1)
    assert deletions() == 2


# -- removal


def test_a_removed_node_leaves_nothing_behind(world: NodeWorld) -> None:
    world.cloud.agents["a"] = Agent("a", "cmp1", "Open vSwitch agent", alive=True)
    world.reconcile(2)
    world.kube.delete(NODE, "cmp1")
    world.reconcile(3)
    assert not world.cloud.services["cmp1"].enabled
    assert world.status("cmp1")["reason"] == "ComputeStillReports"
    world.cloud.die("cmp1")
    world.cloud.agents["a"] = replace(world.cloud.agents["a"], alive=False)
    world.reconcile(6)
    assert "cmp1" not in world.cloud.services and world.cloud.agents == {} and "cmp1" not in world.cloud.held
    assert world.status("cmp1") == {}


def test_a_removed_node_with_servers_blocks_and_says_so(world: NodeWorld) -> None:
    world.cloud.boot(2, "cmp1")
    world.reconcile(2)
    world.kube.delete(NODE, "cmp1")
    world.cloud.die("cmp1")
    world.reconcile(10)
    assert harm(world) == []
    assert world.status("cmp1")["reason"] == "ServersLeft"
    assert world.status("cmp1")["state"] == "Removed"


def test_a_list_of_hosts_without_servers_is_not_believed_alone(world: NodeWorld) -> None:
    """The truncated answer of a broken proxy: Placement and the server itself say otherwise."""
    world.reconcile(2)
    ids = world.cloud.boot(1, "cmp1")
    hidden = world.cloud.hosted.pop(ids[0])
    world.cloud.before = lambda name, subject: (
        world.cloud.hosted.__setitem__(hidden.id, hidden)
        if name == "server"
        else world.cloud.hosted.pop(hidden.id, None)
    )
    world.kube.delete(NODE, "cmp1")
    world.cloud.die("cmp1")
    world.reconcile(6)
    assert harm(world) == []
    assert "Placement" in world.status("cmp1")["message"]


def test_what_moves_left_in_placement_is_cleaned_away(world: NodeWorld) -> None:
    world.reconcile(2)
    world.cloud.held["cmp1"].add("a-migration-of-old")
    world.kube.delete(NODE, "cmp1")
    world.cloud.die("cmp1")
    world.reconcile(6)
    assert "cmp1" not in world.cloud.services


def test_a_node_that_lost_its_role_is_removed_from_openstack(world: NodeWorld) -> None:
    world.reconcile(2)
    world.edit_node("cmp1", {"metadata": {"labels": {"openstack-compute-node": None}}})
    world.cloud.die("cmp1")
    world.reconcile(6)
    assert "cmp1" not in world.cloud.services


def test_a_machine_under_an_old_name_gets_a_new_service(world: NodeWorld) -> None:
    world.reconcile(2)
    world.kube.delete(NODE, "cmp1")
    world.cloud.die("cmp1")
    world.add_node("cmp1")
    world.reconcile(4, after=10)
    assert "cmp1" in world.cloud.services
    world.reconcile(20, after=10)
    assert "cmp1" not in world.cloud.services


def test_after_a_restart_a_removed_node_is_still_known(world: NodeWorld) -> None:
    world.reconcile(3)
    world.kube.delete(NODE, "cmp1")
    world.cloud.die("cmp1")
    world.restart()
    world.reconcile(6)
    assert "cmp1" not in world.cloud.services


def test_a_compute_that_never_was_a_node_is_left_alone(world: NodeWorld) -> None:
    other = NodeWorld("cmp1", "elsewhere")
    other.kube.delete(NODE, "elsewhere")
    other.restart()
    other.cloud.die("elsewhere")
    other.reconcile(10)
    assert other.cloud.writes == []


def test_a_host_with_another_name_than_its_node_is_found_and_remembered(world: NodeWorld) -> None:
    world.cloud.add_host("machine")
    world.add_node("node-1", **{"kubernetes.io/hostname": "machine"})
    world.cloud.boot(1, "machine")
    world.reconcile(3)
    assert (world.status("node-1")["host"], world.status("node-1")["servers"]) == ("machine", 1)
    world.kube.delete(NODE, "node-1")
    world.restart()
    world.reconcile(3)
    assert world.status("node-1")["reason"] == "ServersLeft"
    assert not world.cloud.services["machine"].enabled
    world.cloud.hosted.clear()
    world.cloud.held["machine"].clear()
    world.cloud.die("machine")
    world.reconcile(10)
    assert "machine" not in world.cloud.services
    assert world.status("node-1") == {}


# -- nothing on partial knowledge


@pytest.fixture
def many_unhealthy() -> NodeWorld:
    """Three hosts of twenty, so that the circuit breaker stays closed.

    One is cordoned, one dead and fenced, one removed.
    """
    world = NodeWorld(
        *(f"cmp{number}" for number in range(1, 21)),
        nodes={"evacuation": "Auto"},
        compute={"images": {"backend": "ceph"}},
    )
    world.cloud.boot(2, "cmp2")
    world.reconcile(2)
    for lost in ("cmp2", "cmp3"):
        world.cloud.die(lost)
    world.set_ready("cmp2", False)
    world.clock.advance(1)
    world.fence("cmp2")
    world.cloud.calls.clear()
    world.cordon("cmp1")
    world.kube.delete(NODE, "cmp3")
    return world


@pytest.mark.slow
def test_with_complete_looks_each_host_in_trouble_is_cared_for(many_unhealthy: NodeWorld) -> None:
    many_unhealthy.reconcile(40, after=10)
    assert not many_unhealthy.cloud.services["cmp1"].enabled
    assert "cmp3" not in many_unhealthy.cloud.services
    done = {name for name, _ in harm(many_unhealthy)}
    assert done == {"force_down", "evacuate", "delete_compute_service"}


@pytest.mark.slow
@pytest.mark.parametrize(
    "broken", ["compute_services", "hypervisors", "network_agents", "volume_services", "aggregates"]
)
def test_without_a_complete_look_nothing_is_done(many_unhealthy: NodeWorld, broken: str) -> None:
    def before(name: str, subject: str) -> None:
        if name == broken:
            raise CloudUnavailable("503")

    many_unhealthy.cloud.before = before
    many_unhealthy.reconcile(40, after=10)
    assert many_unhealthy.cloud.writes == []
    many_unhealthy.cloud.before = lambda *_: None
    many_unhealthy.cordon("cmp1", False)
    many_unhealthy.reconcile(2)
    assert many_unhealthy.status("cmp1")["reason"] == "InService"


def test_a_list_without_any_agent_enables_no_host_that_waits_for_agents(world: NodeWorld) -> None:
    for host in ("cmp1", "cmp2"):
        world.cloud.agents[host] = Agent(host, host, "Open vSwitch agent", alive=host == "cmp2")
    world.cordon("cmp1")
    world.reconcile(3)
    world.cordon("cmp1", False)
    world.reconcile(3)
    assert world.status("cmp1")["reason"] == "AgentsDown"
    whole = dict(world.cloud.agents)
    world.cloud.agents.clear()
    world.reconcile(2)
    assert not world.cloud.services["cmp1"].enabled
    world.cloud.agents.update(whole)
    world.reconcile(2)
    assert world.status("cmp1")["reason"] == "AgentsDown"


def test_without_credentials_the_region_still_reports_its_nodes_anyway(world: NodeWorld) -> None:
    world.cloud.before = fail()
    world.reconcile(3)
    assert world.condition("NodesReady")["status"] == "True"
    assert world.status("cmp1")["state"] == "Ready"


def test_new_credentials_are_used_without_a_restart(world: NodeWorld) -> None:
    world.reconcile(2)
    assert len(world.clouds.opened) == 1
    world.give_credentials(b"clouds: {other: {}}")
    world.reconcile(1)
    assert world.clouds.opened[-1] == b"clouds: {other: {}}"
    world.reconcile(2)
    assert len(world.clouds.opened) == 2


# -- aggregates, flapping, volumes


def test_labels_put_hosts_into_aggregates_and_take_them_out(world: NodeWorld) -> None:
    label = {"osctl.dev/availability-zone": "az1"}
    world.edit_node("cmp1", {"metadata": {"labels": label}})
    world.reconcile(2)
    [group] = world.cloud.groups.values()
    assert (group.name, group.zone, group.hosts) == ("az1", "az1", {"cmp1"})
    world.cloud.groups[9] = replace(group, id=9, name="by hand", hosts=frozenset(("cmp1",)), ours=False)
    world.edit_node("cmp1", {"metadata": {"labels": {"osctl.dev/availability-zone": None}}})
    world.reconcile(2)
    assert world.cloud.groups[group.id].hosts == frozenset()
    assert world.cloud.groups[9].hosts == {"cmp1"}


def test_flapping_is_remembered_over_a_restart(world: NodeWorld) -> None:
    for _ in range(3):
        world.set_ready("cmp1", False)
        world.reconcile(2, after=10)
        world.set_ready("cmp1", True)
        world.reconcile(1, after=10)
    world.cordon("cmp1")
    world.reconcile(2)
    world.cordon("cmp1", False)
    world.restart()
    world.reconcile(3)
    assert world.status("cmp1")["reason"] == "NodeFlapping"
    world.reconcile(20, after=20)
    assert world.cloud.services["cmp1"].enabled


def test_the_volume_service_of_a_removed_node_is_disabled_with_our_mark(world: NodeWorld) -> None:
    world.cloud.volumes["cmp1@lvm"] = VolumeService("cinder-volume", "cmp1@lvm", True, up=False)
    world.reconcile(2)
    world.kube.delete(NODE, "cmp1")
    world.cloud.die("cmp1")
    world.reconcile(6)
    assert world.cloud.volumes["cmp1@lvm"].reason == f"{MARK}node removed"


def test_why_openstack_cannot_be_looked_at_is_reported(world: NodeWorld) -> None:
    world.cloud.before = fail("compute GET /os-services: 503")
    world.reconcile(2)
    reported = world.condition("NodesReady")
    assert (
        reported["status"] == "True"
        and "they stay as they are: compute GET /os-services: 503" in reported["message"]
    )
    world.cloud.before = lambda *_: None
    world.reconcile(10)
    assert "503" not in world.condition("NodesReady")["message"]


def test_a_maintenance_that_waits_for_its_turn_leaves_its_node_to_others(
    world: NodeWorld,
) -> None:
    world.cloud.boot(1, "cmp1")
    world.maintain("first", "cmp1")
    world.maintain("second", "cmp2")
    world.reconcile(3)
    assert world.maintenance("second")["phase"] == "Waiting"
    world.cordon("cmp2")
    world.reconcile(3)
    assert not world.cloud.services["cmp2"].enabled
    assert world.status("cmp2")["reason"] == "NodeCordoned"
