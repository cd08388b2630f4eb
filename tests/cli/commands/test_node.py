"""osctl node: what it shows, and what it makes and deletes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

import controller.cli.commands.node as commands
from controller.cli.cluster import Cluster
from controller.cli.output import Cell
from controller.cli.views.node import node_causes, node_rows, plan_rows, plan_summary
from controller.domain.hosts.fencing_confirmation import Confirmation, given_as, machine_of
from controller.domain.shared.cloud_facts import Agent
from controller.ports.kubernetes import COMPUTE_MAINTENANCE, NODE
from tests.cli.objects import osctl
from tests.reconcile.node_world import COMPUTE, NodeWorld, fail

ENTRY = {
    "state": "Cordoned",
    "since": "2026-03-01T09:00:00Z",
    "reason": "InMaintenance",
    "message": "in maintenance by work",
    "compute": "disabled, up",
    "servers": 12,
    "maintenance": "work",
    "drainLocked": "12 servers are on it",
}


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> Iterator[NodeWorld]:
    """The commands find this cluster; while they wait, the node container does its work."""
    world = NodeWorld("cmp1", "cmp2")
    world.reconcile(2)
    monkeypatch.setattr(commands, "open_cluster", lambda *_: Cluster(world.kube, "openstack"))
    monkeypatch.setattr("time.sleep", lambda _: world.reconcile())
    yield world


def test_the_list_has_a_line_for_each_node(world: NodeWorld) -> None:
    lines = osctl("node", "list").stdout.splitlines()
    assert lines[0].split() == ["NODE", "STATE", "COMPUTE", "SERVERS", "MAINTENANCE", "REASON"]
    assert lines[1].split() == ["cmp1", "Ready", "enabled,", "up", "0", "-", "InService"]


def test_hosts_of_no_node_are_named_below_the_list(world: NodeWorld) -> None:
    world.cloud.add_host("somebody.example.org")
    world.reconcile(3)
    assert "somebody.example.org" in osctl("node", "list").stderr


def test_why_says_the_cause_first() -> None:
    maintenance: dict[str, Any] = {
        "metadata": {"name": "work"},
        "spec": {"mode": "Migrate"},
        "status": {
            "phase": "Blocked",
            "progress": "1/2",
            "conditions": [{"type": "Ready", "status": "False", "message": "1 server cannot be moved"}],
            "servers": [{"id": "1", "name": "vm", "state": "Blocked", "message": "the server has a vGPU"}],
        },
    }
    assert node_causes("cmp1", ENTRY, [maintenance]) == [
        "cmp1: Cordoned since 2026-03-01T09:00:00Z",
        "  InMaintenance: in maintenance by work",
        "  compute service disabled, up; 12 servers",
        "  drains are blocked: 12 servers are on it",
        "  maintenance work (Migrate): Blocked 1/2: 1 server cannot be moved",
        "    vm: Blocked: the server has a vGPU",
    ]


def test_a_node_that_is_nowhere_is_refused(world: NodeWorld) -> None:
    found = osctl("node", "why", "cmp9")
    assert found.exit_code == 6 and 'no node "cmp9"' in found.stderr


def test_rows_show_what_is_not_known_as_such() -> None:
    assert node_rows({"ctl1": {"state": "Ready"}}) == [("ctl1", Cell("Ready", "green"), "-", "-", "-", "-")]


def test_a_plan_shows_what_stands_in_the_way_first(world: NodeWorld) -> None:
    world.cloud.boot(1, "cmp1")
    world.cloud.boot(1, "cmp1", status="SUSPENDED")
    found = osctl("node", "plan", "cmp1")
    assert found.exit_code == 0, found.output
    lines = found.stdout.splitlines()
    assert lines[0].startswith("cmp1: 2 servers, 0 routers")
    assert "Blocked" in lines[2] and "suspended" in lines[2]
    assert lines[-1] == "2 servers: 1 Live, 1 Blocked; nothing was done"
    assert world.kube.list(COMPUTE_MAINTENANCE) == [] and world.cloud.writes == []


def test_a_plan_shows_what_it_would_stop_at_and_names_routers(world: NodeWorld) -> None:
    world.cloud.agents["l3"] = Agent("l3", "cmp1", "L3 agent", alive=True)
    world.cloud.on_agents = {"l3": ["r1"]}
    world.cloud.die("cmp1")
    found = osctl("node", "plan", "cmp1")
    lines = found.stdout.splitlines()
    assert lines[1].split() == ["KIND", "ID", "WHY"] and lines[2].split()[:2] == ["Router", "r1"]
    assert "without dryRun it would now stop at ComputeDown" in lines[-1]
    assert "ComputeDown" in json.loads(osctl("node", "plan", "cmp1", "-o", "json").stdout)["message"]


def test_a_plan_that_is_not_made_in_time_says_why(world: NodeWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("time.monotonic", world.clock.monotonic)
    world.cloud.before = fail("identity GET: ConnectFailure")
    found = osctl("node", "plan", "cmp1")
    assert found.exit_code == 6
    assert "after 60 s: waits for OpenStack: identity GET: ConnectFailure" in found.stderr
    assert world.kube.list(COMPUTE_MAINTENANCE) == []


def test_plan_rows_and_summary() -> None:
    rows = plan_rows([{"id": "2", "name": "b", "action": "Live"}, {"id": "1", "name": "a", "action": "Cold"}])
    assert [row[1] for row in rows] == ["1", "2"]
    network = [{"kind": "Router"}, {"kind": "Network"}, {"kind": "Network"}]
    assert plan_summary({"servers": [{}], "network": network, "volumes": 1}) == (
        "1 server, 1 router, 2 networks, 1 volume"
    )


def test_maintain_and_return(world: NodeWorld) -> None:
    world.cloud.boot(2, "cmp1")
    found = osctl("node", "maintain", "cmp1", "--wait")
    assert found.exit_code == 0, found.output
    assert "you may work on the node" in found.stderr
    assert {one.host for one in world.cloud.hosted.values()} == {"cmp2"}
    assert osctl("node", "return", "cmp1").exit_code == 0
    world.reconcile(4)
    assert world.kube.get(COMPUTE_MAINTENANCE, "node-cmp1") is None
    assert world.cloud.services["cmp1"].enabled


def test_maintain_writes_budgets_deadlines_and_choices(world: NodeWorld) -> None:
    budgets = ("--servers-per-node", "2", "--servers-per-region", "4", "--nodes-per-aggregate", "3")
    deadlines = ("--server-deadline", "1h30m", "--deadline", "2h", "--retries", "0")
    choices = ("--on-unmovable", "cold", "--local-disks", "rebuild")
    found = osctl("node", "maintain", "cmp1", *budgets, *deadlines, *choices)
    assert found.exit_code == 0, found.output
    live = world.kube.get(COMPUTE_MAINTENANCE, "node-cmp1")
    assert live is not None
    assert live["spec"] == {
        "region": world.name.written(),
        "nodeName": "cmp1",
        "mode": "Migrate",
        "budgets": {"serversPerNode": 2, "serversPerRegion": 4, "nodesPerAggregate": 3},
        "deadlines": {"server": "5400s", "whole": "7200s"},
        "retries": 0,
        "onUnmovable": "Cold",
        "localDisks": "Rebuild",
        "dryRun": False,
    }


def test_maintain_changes_the_budgets_of_a_running_one_and_keeps_the_others(world: NodeWorld) -> None:
    assert osctl("node", "maintain", "cmp1", "--servers-per-node", "1", "--deadline", "2h").exit_code == 0
    found = osctl("node", "maintain", "cmp1", "--servers-per-node", "2", "--deadline", "2h")
    assert found.exit_code == 0 and "is changed: budgets.serversPerNode 2\n" in found.stderr
    live = world.kube.get(COMPUTE_MAINTENANCE, "node-cmp1")
    assert live is not None and live["spec"]["budgets"] == {"serversPerNode": 2}
    assert live["spec"]["deadlines"] == {"whole": "7200s"}
    again = osctl("node", "maintain", "cmp1", "--servers-per-node", "2")
    assert "is there already" in again.stderr


def test_two_servers_at_a_time_are_two(world: NodeWorld) -> None:
    world.cloud.boot(5, "cmp1")
    assert osctl("node", "maintain", "cmp1", "--servers-per-node", "2").exit_code == 0
    world.reconcile(5, cloud_moves=False)
    live = world.kube.get(COMPUTE_MAINTENANCE, "node-cmp1")
    assert live is not None
    assert [one["state"] for one in live["status"]["servers"]].count("Moving") == 2


def test_return_aborts_a_maintenance_half_way_and_waits_for_its_end(world: NodeWorld) -> None:
    world.cloud.boot(5, "cmp1")
    assert osctl("node", "maintain", "cmp1", "--servers-per-node", "2").exit_code == 0
    world.reconcile(5, cloud_moves=False)
    found = osctl("node", "return", "cmp1", "--wait")
    assert found.exit_code == 0, found.output
    assert found.stderr.splitlines()[-1] == "computemaintenance/node-cmp1 is gone"
    world.reconcile(3)
    assert world.cloud.services["cmp1"].enabled
    assert {one.status for one in world.cloud.moves.values()} == {"cancelled"}
    assert {one.host for one in world.cloud.hosted.values()} == {"cmp1"}


def test_a_wait_for_the_end_of_a_rollback_has_a_deadline(
    world: NodeWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert osctl("node", "maintain", "cmp1").exit_code == 0
    world.reconcile(3)
    monkeypatch.setattr("time.monotonic", world.clock.monotonic)
    world.cloud.before = fail("identity GET: ConnectFailure")
    found = osctl("node", "return", "cmp1", "--wait", "--timeout", "1m")
    assert found.exit_code == 4 and world.kube.get(COMPUTE_MAINTENANCE, "node-cmp1") is not None


@pytest.mark.parametrize("given", [("--servers-per-node", "0"), ("--deadline", "soon"), ("--retries", "101")])
def test_a_number_out_of_its_range_is_a_wrong_command_line(world: NodeWorld, given: tuple[str, str]) -> None:
    assert osctl("node", "maintain", "cmp1", *given).exit_code == 2
    assert world.kube.list(COMPUTE_MAINTENANCE) == []


def test_a_plan_takes_the_choice_for_unmovable_servers(world: NodeWorld) -> None:
    world.cloud.boot(1, "cmp1", extra_specs={"resources:VGPU": "1"})
    found = osctl("node", "plan", "cmp1", "--on-unmovable", "leave")
    assert found.exit_code == 0 and "1 Leave" in found.stdout.splitlines()[-1]


def test_a_plan_for_a_node_that_is_nowhere_is_refused(world: NodeWorld) -> None:
    found = osctl("node", "plan", "cmp9")
    assert found.exit_code == 6 and 'no node "cmp9"' in found.stderr


def test_maintain_gives_a_maintenance_that_is_there_mode_and_fenced(world: NodeWorld) -> None:
    assert osctl("node", "maintain", "cmp1").exit_code == 0
    world.set_condition("cmp1", "Unknown", boot="boot-1")
    world.reconcile()
    report = world.notes("cmp1")["last-compute-report"]
    found = osctl("node", "maintain", "cmp1", "--mode", "evacuate", "--fenced")
    assert found.exit_code == 0 and "mode evacuate, fenced again" in found.stderr
    shown = machine_of(world.node("cmp1"))
    assert f"Node {shown.uid}, boot boot-1, last heartbeat of its kubelet {shown.heartbeat}" in found.stderr
    live = world.kube.get(COMPUTE_MAINTENANCE, "node-cmp1")
    assert live is not None and live["spec"]["mode"] == "Evacuate"
    assert live["spec"]["fenced"] == given_as(shown, live["spec"]["fenced"]["givenAt"], report)
    assert "is there already" in osctl("node", "maintain", "cmp1").stderr
    again = world.kube.get(COMPUTE_MAINTENANCE, "node-cmp1")
    assert again is not None and again["spec"]["mode"] == "Evacuate"


def test_maintain_does_not_take_one_that_is_rolled_back_for_its_own(world: NodeWorld) -> None:
    world.cloud.boot(1, "cmp1")
    assert osctl("node", "maintain", "cmp1").exit_code == 0
    world.reconcile(5)
    world.kube.delete(COMPUTE_MAINTENANCE, "node-cmp1")
    found = osctl("node", "maintain", "cmp1")
    assert found.exit_code == 6 and "rolled back" in found.stderr


def test_maintain_ends_with_needs_edit_when_a_person_is_needed(world: NodeWorld) -> None:
    world.cloud.boot(1, "cmp1", status="SUSPENDED")
    assert osctl("node", "maintain", "cmp1", "--wait").exit_code == 5


def test_only_a_node_that_is_not_ready_can_be_said_to_be_off(world: NodeWorld) -> None:
    assert osctl("node", "fenced", "cmp1").exit_code == 6
    world.set_ready("cmp1", False)
    world.reconcile()
    assert osctl("node", "fenced", "cmp1").exit_code == 0
    shown = machine_of(world.node("cmp1"))
    report = world.notes("cmp1")["last-compute-report"]
    assert world.notes("cmp1")["fenced"] == f"{shown.uid}//Unknown/{shown.heartbeat}/{report}"


@pytest.mark.parametrize(
    "given", [("fenced", "cmp1"), ("maintain", "cmp1", "--mode", "evacuate", "--fenced")]
)
def test_nothing_is_confirmed_before_it_is_noted_what_the_compute_reported(
    world: NodeWorld, given: tuple[str, ...]
) -> None:
    world.set_ready("cmp1", False)
    found = osctl("node", *given)
    assert found.exit_code == 6 and "run this again in half a minute" in " ".join(found.stderr.split())
    world.reconcile()
    assert osctl("node", *given).exit_code == 0


def test_a_machine_whose_node_is_gone_is_confirmed_with_what_its_maintenance_noted(world: NodeWorld) -> None:
    world.reconcile()
    world.kube.delete(NODE, "cmp1")
    for _ in range(2):
        assert osctl("node", "maintain", "cmp1", "--mode", "evacuate", "--fenced").exit_code == 0
        world.reconcile(3)
    live = world.kube.get(COMPUTE_MAINTENANCE, "node-cmp1")
    assert live is not None and live["spec"]["fenced"]["lastReport"] == live["status"]["lastReport"]


def test_a_machine_whose_node_has_no_role_any_more_is_confirmed_with_what_its_maintenance_noted(
    world: NodeWorld,
) -> None:
    world.cloud.boot(1, "cmp1")
    world.reconcile()
    world.set_ready("cmp1", False)
    world.reconcile(2)
    # What was noted on the Node is not kept up any more.
    world.edit_node("cmp1", {"metadata": {"labels": {COMPUTE: None}}})
    world.cloud.die("cmp1")
    assert osctl("node", "maintain", "cmp1", "--mode", "evacuate", "--fenced").exit_code == 0
    world.reconcile(3)
    noted = world.maintenance("node-cmp1")["lastReport"]
    assert osctl("node", "maintain", "cmp1", "--mode", "evacuate", "--fenced").exit_code == 0
    live = world.kube.get(COMPUTE_MAINTENANCE, "node-cmp1")
    assert live is not None and live["spec"]["fenced"]["lastReport"] == noted


def test_a_machine_that_is_ready_is_not_said_to_be_off_by_a_maintenance(world: NodeWorld) -> None:
    found = osctl("node", "maintain", "cmp1", "--mode", "evacuate", "--fenced")
    assert found.exit_code == 6 and "is Ready, so its machine is not off" in found.stderr
    assert world.kube.list(COMPUTE_MAINTENANCE) == []


def test_only_an_evacuation_needs_a_machine_to_be_off(world: NodeWorld) -> None:
    world.set_ready("cmp1", False)
    found = osctl("node", "maintain", "cmp1", "--fenced")
    assert found.exit_code == 6 and "--mode evacuate" in found.stderr
    assert world.kube.list(COMPUTE_MAINTENANCE) == []


def test_a_machine_whose_node_is_gone_is_confirmed_as_such(world: NodeWorld) -> None:
    world.kube.delete(NODE, "cmp1")
    found = osctl("node", "maintain", "cmp1", "--mode", "evacuate", "--fenced")
    assert found.exit_code == 0 and "there was no Node with that name" in found.stderr
    live = world.kube.get(COMPUTE_MAINTENANCE, "node-cmp1")
    assert live is not None and live["spec"]["fenced"]["nodeUID"] == ""


@pytest.fixture
def other(world: NodeWorld) -> NodeWorld:
    """Another region in the cluster, which has the same nodes."""
    return NodeWorld("cmp1", "cmp2", beside=world, namespace="second")


def test_the_only_region_is_filled_in(world: NodeWorld) -> None:
    assert osctl("node", "maintain", "cmp1").exit_code == 0
    live = world.kube.get(COMPUTE_MAINTENANCE, "node-cmp1")
    assert live is not None and live["spec"]["region"] == world.name.written()


@pytest.mark.parametrize("command", ["plan", "maintain", "return", "fenced"])
def test_of_several_regions_one_is_to_be_chosen(world: NodeWorld, other: NodeWorld, command: str) -> None:
    world.set_ready("cmp1", False)
    found = osctl("node", command, "cmp1")
    assert found.exit_code == 6
    assert f"choose one with --region: {world.name}, {other.name}" in " ".join(found.stderr.split())
    assert world.kube.list(COMPUTE_MAINTENANCE) == []
    assert "you confirm" not in found.stderr
    assert "fenced" not in other.notes("cmp1") | world.notes("cmp1")


def test_each_region_has_its_own_maintenance_of_a_node(world: NodeWorld, other: NodeWorld) -> None:
    for region in (world.name, other.name):
        assert osctl("node", "maintain", "cmp1", "--region", str(region)).exit_code == 0
    names = {
        one["spec"]["region"]["namespace"]: one["metadata"]["name"]
        for one in world.kube.list(COMPUTE_MAINTENANCE)
    }
    assert names == {"openstack": "node-cmp1", "second": "node-cmp1.second"}
    assert "is there already" in osctl("node", "maintain", "cmp1", "--region", str(other.name)).stderr
    assert osctl("node", "return", "cmp1", "--region", str(other.name)).exit_code == 0
    assert [one["metadata"]["name"] for one in world.kube.list(COMPUTE_MAINTENANCE)] == ["node-cmp1"]


def test_a_region_that_is_nowhere_is_refused(world: NodeWorld) -> None:
    for desired in ("nothing", "nowhere/nothing", f"nowhere/{world.name.name}"):
        found = osctl("node", "maintain", "cmp1", "--region", desired)
        assert found.exit_code == 6 and "there is no OpenStackDeployment" in found.stderr
    assert str(world.name) in osctl("node", "maintain", "cmp1", "--region", "nothing").stderr


def test_a_confirmation_on_a_node_is_given_to_one_region(world: NodeWorld, other: NodeWorld) -> None:
    given = ("node", "fenced", "cmp1", "--region", str(other.name))
    assert osctl(*given).exit_code == 6
    world.set_condition("cmp1", "Unknown", boot="boot-1")
    other.reconcile()
    found = osctl(*given)
    shown = machine_of(world.node("cmp1"))
    assert found.exit_code == 0 and shown.words in found.stderr
    report = other.notes("cmp1")["last-compute-report"]
    assert other.notes("cmp1")["fenced"] == Confirmation(shown, report=report).written()
    assert "fenced" not in world.notes("cmp1")


def test_a_confirmation_in_a_maintenance_is_given_to_its_region(world: NodeWorld, other: NodeWorld) -> None:
    for region in (world.name, other.name):
        assert osctl("node", "maintain", "cmp1", "--region", str(region)).exit_code == 0
    given = ("node", "maintain", "cmp1", "--mode", "evacuate", "--fenced", "--region", str(other.name))
    assert "is Ready, so its machine is not off" in osctl(*given).stderr
    world.set_condition("cmp1", "Unknown", boot="boot-1")
    other.reconcile()
    found = osctl(*given)
    assert found.exit_code == 0 and machine_of(world.node("cmp1")).words in found.stderr
    fenced = {
        one["spec"]["region"]["namespace"]: one["spec"].get("fenced", {}).get("bootID")
        for one in world.kube.list(COMPUTE_MAINTENANCE)
    }
    assert fenced == {"openstack": None, "second": "boot-1"}


def test_where_there_is_no_node_the_other_way_is_reported_for_the_same_region(
    world: NodeWorld, other: NodeWorld
) -> None:
    found = osctl("node", "fenced", "cmp9", "--region", str(other.name))
    assert found.exit_code == 6
    assert f"--mode evacuate --fenced --region {other.name}" in " ".join(found.stderr.split())


def test_a_maintenance_of_another_region_is_never_changed(world: NodeWorld, other: NodeWorld) -> None:
    """Though it has the name that this one's would have."""
    world.maintain("node-cmp1", "cmp1")
    world.maintain("node-cmp1.second", "cmp1")
    before = world.kube.list(COMPUTE_MAINTENANCE)
    found = osctl("node", "maintain", "cmp1", "--mode", "cordon", "--region", str(other.name))
    assert found.exit_code == 6 and f"belongs to the region {world.name}" in " ".join(found.stderr.split())
    assert world.kube.list(COMPUTE_MAINTENANCE) == before


def test_disks_are_confirmed_for_one_host_and_one_region(world: NodeWorld, other: NodeWorld) -> None:
    given = ("node", "disks-shared", "cmp1", "3f2a9c0d417b")
    assert osctl(*given).exit_code == 6
    assert osctl(*given, "--region", str(other.name)).exit_code == 0
    assert other.notes("cmp1")["disks-shared"] == "3f2a9c0d417b" and not world.notes("cmp1")
    assert osctl("node", "disks-shared", "cmp9", "x").exit_code == 6
