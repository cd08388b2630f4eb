"""ComputeMaintenances in trouble: cut off in the middle, refused, edited, without their node or region."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from controller.domain.shared.cloud_facts import MARK, Agent, Migration, VolumeService
from controller.errors import CloudRefused, CloudUnavailable
from controller.ports.kubernetes import COMPUTE_MAINTENANCE, NODE, OSDPL
from tests.reconcile.node_world import NAMESPACE, NodeWorld
from tests.reconcile.watched import NAME

LONG = 3600.0


@pytest.fixture
def world() -> NodeWorld:
    return NodeWorld("cmp1", "cmp2", "cmp3")


def phase(world: NodeWorld, name: str = "work") -> str:
    return str(world.maintenance(name).get("phase"))


def message(world: NodeWorld, name: str = "work") -> str:
    found = world.maintenance(name)["conditions"]
    return str(next(one["message"] for one in found if one["type"] == "Ready"))


def until(world: NodeWorld, reached: Callable[[], bool], looks: int = 80) -> None:
    for _ in range(looks):
        if reached():
            return
        world.reconcile()
    raise AssertionError(world.kube.objects("ComputeMaintenance"))


def add_agents(world: NodeWorld, kind: str = "L3 agent", hosts: tuple[str, ...] = ("cmp1", "cmp2")) -> None:
    for host in hosts:
        world.cloud.agents[f"{kind} {host}"] = Agent(f"{kind} {host}", host, kind, alive=True)


def failing(name: str, error: Exception) -> Callable[[str, str], None]:
    def before(called: str, subject: str) -> None:
        if called == name:
            raise error

    return before


def nothing(name: str, subject: str) -> None:
    """OpenStack is well again."""


def holders(world: NodeWorld, item: str) -> list[str]:
    return [agent for agent, items in world.cloud.on_agents.items() if item in items]


# -- routers


def router_between_agents(world: NodeWorld) -> None:
    """It was taken off its agent, and could not be put on another."""
    add_agents(world)
    world.cloud.on_agents = {"L3 agent cmp1": ["r1"]}
    world.cloud.before = failing("add_to_agent", CloudUnavailable("503"))
    world.maintain("work", "cmp1")
    until(world, lambda: holders(world, "r1") == [])


def test_a_router_between_two_agents_is_not_forgotten_while_something_is_in_the_way(world: NodeWorld) -> None:
    router_between_agents(world)
    world.cloud.die("cmp1")
    world.reconcile(3)
    assert phase(world) == "Blocked"
    world.cloud.restart("cmp1")
    world.cloud.before = nothing
    until(world, lambda: phase(world) == "Completed")
    assert holders(world, "r1") == ["L3 agent cmp2"]


@pytest.mark.parametrize("change", [{"mode": "Cordon"}, {"mode": "Evacuate"}, {"retries": 1}])
def test_a_router_between_two_agents_is_not_forgotten_by_an_edit(
    world: NodeWorld, change: dict[str, Any]
) -> None:
    router_between_agents(world)
    live = world.kube.get(COMPUTE_MAINTENANCE, "work")
    assert live is not None
    world.kube.replace({**live, "spec": {**live["spec"], **change}})
    world.reconcile(3)
    world.cloud.before = nothing
    world.reconcile(3)
    if change.get("mode") == "Evacuate":
        # Blocked, since the node is alive; it is put back with the rest.
        world.kube.delete(COMPUTE_MAINTENANCE, "work")
        world.reconcile(6)
    assert len(holders(world, "r1")) == 1


@pytest.mark.parametrize("target_lives", [True, False])
def test_a_maintenance_does_not_go_before_its_routers_are_on_an_agent(
    world: NodeWorld, target_lives: bool
) -> None:
    router_between_agents(world)
    world.kube.delete(COMPUTE_MAINTENANCE, "work")
    world.reconcile(4)
    assert world.kube.get(COMPUTE_MAINTENANCE, "work") is not None
    target = world.cloud.agents["L3 agent cmp2"]
    world.cloud.agents["L3 agent cmp2"] = replace(target, alive=target_lives)
    world.cloud.before = nothing
    until(world, lambda: world.kube.get(COMPUTE_MAINTENANCE, "work") is None)
    assert holders(world, "r1") == ["L3 agent cmp2" if target_lives else "L3 agent cmp1"]


@pytest.mark.slow
def test_a_router_that_no_agent_takes_keeps_its_maintenance_and_is_named(world: NodeWorld) -> None:
    router_between_agents(world)
    world.cloud.before = failing("add_to_agent", CloudRefused("network POST: 409 no", 400))
    world.kube.delete(COMPUTE_MAINTENANCE, "work")
    world.reconcile(3)
    world.reconcile(35, after=30)
    assert phase(world) == "Blocked" and "r1" in message(world)
    world.cloud.on_agents["L3 agent cmp2"] = ["r1"]  # by hand
    world.reconcile(3)
    assert world.kube.get(COMPUTE_MAINTENANCE, "work") is None


def test_a_router_whose_new_agent_dies_goes_to_a_third(world: NodeWorld) -> None:
    router_between_agents(world)
    add_agents(world, hosts=("cmp3",))
    world.cloud.agents["L3 agent cmp2"] = replace(world.cloud.agents["L3 agent cmp2"], alive=False)
    world.cloud.before = nothing
    until(world, lambda: phase(world) == "Completed")
    assert holders(world, "r1") == ["L3 agent cmp3"]


def test_a_router_deleted_on_the_way_is_done(world: NodeWorld) -> None:
    router_between_agents(world)
    error = CloudRefused("network POST: 404 Router r1 could not be found", 404)
    world.cloud.before = failing("add_to_agent", error)
    until(world, lambda: phase(world) == "Completed")


def test_a_router_that_an_agent_refuses_is_given_to_another(world: NodeWorld) -> None:
    add_agents(world, hosts=("cmp1", "cmp2", "cmp3"))
    world.cloud.on_agents = {"L3 agent cmp1": ["r1"]}

    def before(name: str, subject: str) -> None:
        if (name, subject) == ("add_to_agent", "L3 agent cmp2"):
            raise CloudRefused("network POST: 409 its kind does not suit the agent", 409)

    world.cloud.before = before
    world.maintain("work", "cmp1")
    until(world, lambda: phase(world) == "Completed")
    assert holders(world, "r1") == ["L3 agent cmp3"]


def test_no_router_goes_to_an_agent_that_routes_only_for_its_own_host(world: NodeWorld) -> None:
    add_agents(world, hosts=("cmp1", "cmp2", "cmp3"))
    local = world.cloud.agents["L3 agent cmp2"]
    world.cloud.agents[local.id] = replace(local, mode="dvr")
    world.cloud.on_agents = {"L3 agent cmp1": ["r1"]}
    world.maintain("work", "cmp1")
    until(world, lambda: phase(world) == "Completed")
    assert holders(world, "r1") == ["L3 agent cmp3"]
    assert ("add_to_agent", local.id) not in world.cloud.writes


def test_a_network_leaves_an_agent_only_when_another_is_seen_to_have_it(world: NodeWorld) -> None:
    add_agents(world, "DHCP agent")
    world.cloud.on_agents = {"DHCP agent cmp1": ["n1"]}
    world.cloud.before = failing("add_to_agent", CloudRefused("network POST: 409 no", 409))
    world.maintain("work", "cmp1")
    world.reconcile(8)
    assert holders(world, "n1") == ["DHCP agent cmp1"] and phase(world) == "Moving"
    world.cloud.before = nothing
    until(world, lambda: phase(world) == "Completed")
    assert holders(world, "n1") == ["DHCP agent cmp2"]


@pytest.mark.slow
def test_a_router_that_does_not_leave_is_said_within_its_deadline(world: NodeWorld) -> None:
    add_agents(world)
    world.cloud.on_agents = {"L3 agent cmp1": ["r1"]}
    world.cloud.before = failing("remove_from_agent", CloudRefused("network DELETE: 409 gateway in use", 409))
    world.maintain("work", "cmp1", deadlines={"server": "5m"})
    until(world, lambda: phase(world) == "Blocked", looks=130)
    assert "r1" in message(world) and "gateway in use" in message(world)


def test_networks_without_another_agent_are_named(world: NodeWorld) -> None:
    add_agents(world, "DHCP agent", hosts=("cmp1",))
    world.cloud.on_agents = {"DHCP agent cmp1": ["n1"]}
    world.maintain("work", "cmp1")
    until(world, lambda: phase(world) == "Blocked")
    assert "Network n1" in message(world) and holders(world, "n1") == ["DHCP agent cmp1"]


class Killed(BaseException):
    """The process ends here."""


@pytest.mark.slow
@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("rolled_back", [False, True])
def test_killed_at_every_write_routers_are_on_one_agent_and_networks_never_on_none(
    when: str, rolled_back: bool
) -> None:
    number = 1
    while killed_while_routers_move(number, when, rolled_back=rolled_back):
        number += 1
    assert number > 10


def killed_while_routers_move(number: int, when: str, *, rolled_back: bool) -> bool:
    """One maintenance whose process is killed at one write, perhaps deleted then; whether it had that."""
    world = NodeWorld("cmp1", "cmp2")
    add_agents(world)
    add_agents(world, "DHCP agent")
    world.cloud.on_agents = {"L3 agent cmp1": ["r1", "r2"], "DHCP agent cmp1": ["n1"]}
    world.maintain("work", "cmp1")
    seen = 0

    def here(*_: object) -> None:
        nonlocal seen
        seen += 1
        if seen == number:
            raise Killed

    def on_cloud(name: str, subject: str) -> None:
        if name in ("add_to_agent", "remove_from_agent", "set_agent"):
            here()
        assert holders(world, "n1")

    if when == "before":
        world.cloud.before, world.kube.before_write = on_cloud, here
    else:
        world.cloud.after, world.kube.after_write = on_cloud, here
    deleted = False
    for _ in range(60):
        if world.kube.get(COMPUTE_MAINTENANCE, "work") is None or (
            not deleted and phase(world) == "Completed"
        ):
            break
        try:
            world.reconcile()
        except Killed:
            world.restart()
            deleted = rolled_back
            if deleted:
                world.kube.delete(COMPUTE_MAINTENANCE, "work")
    else:
        raise AssertionError((number, when, world.maintenance("work")))
    assert len(holders(world, "r1")) == len(holders(world, "r2")) == 1, number
    # Both agents have the network where its move was taken back in the middle.
    assert len(holders(world, "n1")) <= 1 + rolled_back, number
    if deleted:
        assert all(one.enabled for one in world.cloud.agents.values())
    return seen >= number


# -- nodes without compute, and nodes under another name


def test_a_node_for_networks_only_is_emptied_of_routers(world: NodeWorld) -> None:
    world.add_node("net1", compute=False, **{"l3-agent": "enabled"})
    add_agents(world, hosts=("net1", "cmp2"))
    world.cloud.on_agents = {"L3 agent net1": ["r1"]}
    world.maintain("work", "net1")
    until(world, lambda: phase(world) == "Completed")
    assert holders(world, "r1") == ["L3 agent cmp2"]
    assert not world.cloud.agents["L3 agent net1"].enabled
    world.kube.delete(COMPUTE_MAINTENANCE, "work")
    world.reconcile(3)
    assert world.cloud.agents["L3 agent net1"].enabled


def test_a_cordon_disables_the_agents_of_a_node_without_compute(world: NodeWorld) -> None:
    world.add_node("net1", compute=False, **{"l3-agent": "enabled"})
    add_agents(world, hosts=("net1", "cmp2"))
    world.maintain("work", "net1", mode="Cordon")
    until(world, lambda: phase(world) == "Completed")
    assert not world.cloud.agents["L3 agent net1"].enabled


@pytest.fixture
def renamed() -> NodeWorld:
    """The Node ip-10-0-0-9, whose machine OpenStack knows as cmp9."""
    world = NodeWorld("cmp1", "cmp2")
    world.add_node("ip-10-0-0-9", **{"kubernetes.io/hostname": "cmp9"})
    world.cloud.add_host("cmp9")
    world.cloud.boot(2, "cmp9")
    world.reconcile(2)
    return world


def test_servers_leave_a_host_that_has_another_name_than_its_node(renamed: NodeWorld) -> None:
    renamed.maintain("work", "ip-10-0-0-9")
    until(renamed, lambda: phase(renamed) == "Completed")
    assert renamed.maintenance("work")["progress"] == "2/2"
    assert "cmp9" not in {one.host for one in renamed.cloud.hosted.values()}
    assert renamed.cloud.services["cmp9"].reason == f"{MARK}maintenance work"
    renamed.kube.delete(COMPUTE_MAINTENANCE, "work")
    renamed.reconcile(4)
    assert renamed.cloud.services["cmp9"].enabled


def test_a_cordon_and_a_plan_know_the_host_of_a_node(renamed: NodeWorld) -> None:
    renamed.maintain("plan", "ip-10-0-0-9", dryRun=True)
    renamed.maintain("work", "ip-10-0-0-9", mode="Cordon")
    until(renamed, lambda: phase(renamed) == "Completed")
    assert message(renamed, "plan").startswith("2 servers")
    assert not renamed.cloud.services["cmp9"].enabled


@pytest.mark.slow
def test_the_host_of_a_node_that_is_gone_is_remembered(renamed: NodeWorld) -> None:
    for id_, one in renamed.cloud.hosted.items():
        renamed.cloud.hosted[id_] = replace(one, local_disk=False)
    renamed.cloud.die("cmp9")
    renamed.kube.delete(NODE, "ip-10-0-0-9")
    renamed.maintain("work", "ip-10-0-0-9", mode="Evacuate")
    renamed.reconcile(2)
    patch = {"spec": {"fenced": renamed.confirmed("ip-10-0-0-9")}}
    renamed.kube.merge_patch(COMPUTE_MAINTENANCE, "work", None, patch)
    until(renamed, lambda: phase(renamed) == "Completed")
    assert "cmp9" not in {one.host for one in renamed.cloud.hosted.values()}


# -- whose turn it is


def test_a_maintenance_of_a_node_that_is_nowhere_holds_up_no_other(world: NodeWorld) -> None:
    world.maintain("slip", "cmpp7")
    world.reconcile(3)
    assert phase(world, "slip") == "Blocked" and 'no node "cmpp7"' in message(world, "slip")
    world.maintain("work", "cmp1")
    until(world, lambda: phase(world) == "Completed")


def test_a_plan_for_a_node_that_is_nowhere_says_so(world: NodeWorld) -> None:
    world.maintain("work", "cmpp7", dryRun=True)
    world.reconcile(2)
    assert phase(world) == "Blocked" and "no host with that name" in message(world)


def test_the_next_begins_only_when_the_host_before_is_in_service_again(world: NodeWorld) -> None:
    world.maintain("first", "cmp1")
    world.reconcile(8)
    world.maintain("second", "cmp2")
    add_agents(world, "Open vSwitch agent", hosts=("cmp1",))
    agent = world.cloud.agents["Open vSwitch agent cmp1"]
    world.cloud.agents[agent.id] = replace(agent, alive=False)
    world.kube.delete(COMPUTE_MAINTENANCE, "first")
    world.reconcile(8)
    assert world.kube.get(COMPUTE_MAINTENANCE, "first") is None
    assert not world.cloud.services["cmp1"].enabled and phase(world, "second") == "Waiting"
    world.cloud.agents[agent.id] = agent
    until(world, lambda: phase(world, "second") == "Completed")


def test_while_one_is_rolled_back_the_next_waits(world: NodeWorld) -> None:
    world.cloud.boot(2, "cmp1")
    world.maintain("first", "cmp1")
    until(world, lambda: any(one.task for one in world.cloud.hosted.values()))
    world.maintain("second", "cmp2")
    world.kube.delete(COMPUTE_MAINTENANCE, "first")
    world.reconcile(3, cloud_moves=False)
    assert world.kube.get(COMPUTE_MAINTENANCE, "first") is not None and phase(world, "second") == "Waiting"


def test_two_of_one_node_go_one_after_the_other(world: NodeWorld) -> None:
    world.cloud.boot(2, "cmp1")
    world.maintain("first", "cmp1")
    world.clock.advance(2)
    world.maintain("second", "cmp1")
    until(world, lambda: phase(world, "first") == "Completed")
    assert phase(world, "second") == "Waiting" and "first" in message(world, "second")


# -- refusals, and what takes too long


def test_a_refusal_concerns_only_the_maintenance_that_it_was_given_to(world: NodeWorld) -> None:
    world.cloud.boot(2, "cmp2")
    world.cloud.volumes["cmp1@lvm"] = VolumeService("cinder-volume", "cmp1@lvm", True, True)
    world.cloud.before = failing("set_volume_service", CloudRefused("block_storage PUT: 404", 404))
    world.maintain("refused", "cmp1")
    world.clock.advance(2)
    world.maintain("work", "cmp2", budgets={"nodesPerAggregate": 3})
    until(world, lambda: phase(world) == "Completed")
    assert phase(world, "refused") == "Blocked" and "block_storage PUT" in message(world, "refused")
    world.kube.delete(COMPUTE_MAINTENANCE, "refused")
    world.cloud.before = nothing
    until(world, lambda: world.kube.get(COMPUTE_MAINTENANCE, "refused") is None)


def test_a_description_that_is_long_already_can_be_marked(world: NodeWorld) -> None:
    add_agents(world)
    agent = replace(world.cloud.agents["L3 agent cmp1"], description="x" * 250)
    world.cloud.agents[agent.id] = agent
    world.maintain("work", "cmp1", mode="Cordon")
    until(world, lambda: phase(world) == "Completed")
    assert len(world.cloud.agents[agent.id].description) == 255
    world.kube.delete(COMPUTE_MAINTENANCE, "work")
    world.reconcile(3)
    assert world.cloud.agents[agent.id].description.strip("x") == ""


def test_a_maintenance_with_a_long_name_puts_back_what_it_disabled(world: NodeWorld) -> None:
    name = ".".join(("x" * 60, "y" * 60, "z" * 60, "q" * 60))
    world.cloud.volumes["cmp1@lvm"] = VolumeService("cinder-volume", "cmp1@lvm", True, True)
    world.maintain(name, "cmp1", mode="Cordon")
    until(world, lambda: phase(world, name) == "Completed")
    found = world.cloud.volumes["cmp1@lvm"]
    assert not found.enabled and len(found.reason) <= 255
    world.kube.delete(COMPUTE_MAINTENANCE, name)
    world.reconcile(3)
    assert world.cloud.volumes["cmp1@lvm"].enabled


@pytest.mark.slow
def test_a_move_that_is_stuck_frees_its_slot_and_is_said(world: NodeWorld) -> None:
    stuck, other = world.cloud.boot(2, "cmp1")
    world.maintain("work", "cmp1", budgets={"serversPerNode": 1}, deadlines={"server": "5m"})
    until(world, lambda: bool(world.cloud.hosted[stuck].task))
    world.reconcile(110, cloud_moves=False)
    assert world.cloud.hosted[other].task, "the slot is free"
    until(world, lambda: phase(world) == "Completed")
    assert world.maintenance("work")["progress"] == "2/2"


def test_a_server_that_is_shelved_meanwhile_is_not_waited_for(world: NodeWorld) -> None:
    ids = world.cloud.boot(3, "cmp1")
    world.maintain("work", "cmp1", budgets={"serversPerNode": 1})
    until(world, lambda: any(one.task for one in world.cloud.hosted.values()))
    waiting = next(id_ for id_ in ids if not world.cloud.hosted[id_].task)
    world.cloud.hosted[waiting] = replace(world.cloud.hosted[waiting], host="", status="SHELVED_OFFLOADED")
    world.cloud.held["cmp1"].discard(waiting)
    until(world, lambda: phase(world) == "Completed")
    assert not [name for name, subject in world.cloud.writes if subject == waiting]


def test_a_resize_of_a_tenant_is_left_to_the_tenant(world: NodeWorld) -> None:
    [id_] = world.cloud.boot(1, "cmp1")
    world.cloud.hosted[id_] = replace(world.cloud.hosted[id_], status="RESIZE", task="resize_migrating")
    world.maintain("work", "cmp1")
    world.reconcile(5)
    world.cloud.hosted[id_] = replace(world.cloud.hosted[id_], host="cmp2", status="VERIFY_RESIZE", task="")
    world.cloud.moves[99] = Migration(99, id_, "resize", "finished", "cmp1", "cmp2")
    world.reconcile(5)
    assert phase(world) == "Blocked" and "resize waits" in message(world)
    assert world.cloud.writes[-1][0] != "confirm_resize"
    world.cloud.confirm_resize(id_)
    until(world, lambda: phase(world) == "Completed")


@pytest.mark.slow
def test_what_placement_still_has_is_named_soon(world: NodeWorld) -> None:
    world.cloud.held["cmp1"].add("a-migration")
    world.maintain("work", "cmp1")
    world.reconcile(60)
    assert phase(world) == "Blocked" and "a-migration" in message(world)
    world.cloud.held["cmp1"].clear()
    until(world, lambda: phase(world) == "Completed")


# -- without a region


def test_a_started_maintenance_goes_when_its_region_is_gone(world: NodeWorld) -> None:
    world.maintain("work", "cmp1")
    world.reconcile(5)
    assert world.node("cmp1")["spec"]["unschedulable"] is True
    world.kube.delete(OSDPL, NAME, NAMESPACE)
    world.cloud.before = failing("compute_services", CloudUnavailable("nobody listens"))
    world.kube.delete(COMPUTE_MAINTENANCE, "work")
    world.clock.advance(20)
    world.maintenances.reconcile()
    assert world.kube.get(COMPUTE_MAINTENANCE, "work") is None
    assert not world.node("cmp1")["spec"].get("unschedulable")


def test_while_its_region_answers_no_more_a_started_maintenance_waits_with_a_reason(world: NodeWorld) -> None:
    world.maintain("work", "cmp1")
    world.reconcile(5)
    world.kube.delete(COMPUTE_MAINTENANCE, "work")
    world.cloud.before = failing("compute_services", CloudUnavailable("503"))
    world.reconcile(2)
    assert phase(world) == "RollingBack" and "waits for OpenStack: 503" in message(world)


# -- conditions


def test_reconciling_and_stalled_are_there_only_while_they_are_true(world: NodeWorld) -> None:
    world.cloud.boot(1, "cmp1", status="SUSPENDED")
    seen: dict[str, set[str]] = {}

    def note() -> bool:
        status = world.maintenance("work")
        kinds = {one["type"] for one in status.get("conditions") or () if one["status"] == "True"}
        assert {one["type"] for one in status.get("conditions") or ()} <= kinds | {"Ready"}
        seen.setdefault(phase(world), set()).update(kinds)
        return phase(world) == "Completed"

    world.maintain("work", "cmp1")
    for _ in range(6):
        world.reconcile()
        note()
    world.cloud.hosted.clear()
    world.cloud.held["cmp1"].clear()
    until(world, note)
    assert seen["Blocked"] == {"Stalled"} and seen["Moving"] == {"Reconciling"}
    assert seen["Completed"] == {"Ready"}
