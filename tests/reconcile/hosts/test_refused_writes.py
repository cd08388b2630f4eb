"""What an admission or a missing right refuses is reported where it belongs, and holds up nothing else."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from controller.domain.api.names import AGGREGATE_LABEL
from controller.domain.hosts.next_step import MISSING_OBSERVATIONS
from controller.domain.shared.cloud_facts import Agent
from controller.errors import CloudUnavailable, Forbidden, KubeError, ObjectRefused
from controller.ports.kubernetes import COMPUTE_MAINTENANCE, OSDPL, PDB, POD
from tests.fakes.kube import Request
from tests.reconcile.node_world import NAMESPACE, NodeWorld
from tests.reconcile.watched import NAME

DENIED = "admission webhook denied the request"
REFUSALS = [Forbidden(DENIED), ObjectRefused(DENIED), KubeError(DENIED)]


@pytest.fixture
def world() -> NodeWorld:
    return NodeWorld("cmp1", "cmp2", "cmp3", "cmp4")


def refusing(
    verb: str, kind: str, name: str = "", error: KubeError = REFUSALS[0]
) -> Callable[[Request], None]:
    def refuse(request: Request) -> None:
        if request.verb == verb and request.kind == kind and name in request.name:
            raise error

    return refuse


def no_router_is_added(name: str, subject: str) -> None:
    if name == "add_to_agent":
        raise CloudUnavailable("503")


def allow(world: NodeWorld) -> None:
    world.kube.before_write = lambda _: None


def reported(world: NodeWorld, name: str) -> tuple[str, str, str]:
    """Phase, reason and message of a maintenance."""
    status = world.maintenance(name)
    ready = next(one for one in status["conditions"] if one["type"] == "Ready")
    return status["phase"], ready["reason"], ready["message"]


# -- maintenances


@pytest.mark.slow
@pytest.mark.parametrize("error", REFUSALS, ids=lambda error: type(error).__name__)
def test_a_cordon_that_is_refused_is_said_and_holds_up_no_other_maintenance(
    world: NodeWorld, error: KubeError
) -> None:
    world.cloud.boot(2, "cmp1")
    world.cloud.boot(2, "cmp2")
    world.kube.before_write = refusing("patch", "Node", "cmp1", error)
    world.maintain("one", "cmp1", mode="Migrate", budgets={"nodesPerAggregate": 2})
    world.maintain("two", "cmp2", mode="Migrate", budgets={"nodesPerAggregate": 2})
    world.reconcile(20)
    assert (
        reported(world, "one")[:2] == ("Blocked", "ApiServerRefused") and DENIED in reported(world, "one")[2]
    )
    assert reported(world, "two")[0] == "Completed"
    assert world.cloud.services["cmp1"].enabled and len(world.cloud.servers_on("cmp1")) == 2
    allow(world)
    world.reconcile(20)
    assert reported(world, "one")[0] == "Completed"


def test_an_uncordon_that_is_refused_is_said_and_done_when_it_may_be(world: NodeWorld) -> None:
    world.maintain("work", "cmp1", mode="Migrate")
    world.reconcile(6)
    assert reported(world, "work")[0] == "Completed"
    world.kube.before_write = refusing("patch", "Node", "cmp1")
    world.kube.delete(COMPUTE_MAINTENANCE, "work")
    world.reconcile(3)
    phase, reason, message = reported(world, "work")
    assert (phase, reason) == ("Blocked", "ApiServerRefused")
    assert (
        message.startswith("the maintenance is being rolled back, and the API server refused")
        and DENIED in message
    )
    allow(world)
    world.reconcile(3)
    assert world.maintenance("work") == {}
    assert not world.node("cmp1")["spec"].get("unschedulable")


def test_a_router_on_no_agent_does_not_wait_for_an_uncordon_that_is_refused(world: NodeWorld) -> None:
    for host in ("cmp1", "cmp2"):
        world.cloud.agents[host] = Agent(host, host, "L3 agent", alive=True)
    world.cloud.on_agents = {"cmp1": ["r1"]}
    world.cloud.before = no_router_is_added
    world.maintain("work", "cmp1", mode="Migrate")
    world.reconcile(6)
    assert not any(world.cloud.on_agents.values())
    world.cloud.before = lambda *_: None
    world.kube.before_write = refusing("patch", "Node", "cmp1")
    world.kube.delete(COMPUTE_MAINTENANCE, "work")
    world.reconcile(6)
    assert [one for one in world.cloud.on_agents.values() if one] == [["r1"]]
    assert reported(world, "work")[:2] == ("Blocked", "ApiServerRefused")


def test_a_maintenance_that_may_not_be_held_says_so_and_does_nothing(world: NodeWorld) -> None:
    world.kube.before_write = refusing("patch", "ComputeMaintenance")
    world.maintain("work", "cmp1", mode="Migrate")
    world.reconcile(3)
    assert reported(world, "work")[:2] == ("Blocked", "ApiServerRefused")
    assert world.cloud.services["cmp1"].enabled


def test_without_a_region_a_refusal_for_one_maintenance_holds_up_no_other(world: NodeWorld) -> None:
    for number in ("1", "2"):
        world.maintain(f"work{number}", f"cmp{number}", mode="Migrate", budgets={"nodesPerAggregate": 2})
    world.reconcile(6)
    world.kube.delete(OSDPL, NAME, NAMESPACE)
    world.kube.before_write = refusing("patch", "Node", "cmp1")
    for number in ("1", "2"):
        world.kube.delete(COMPUTE_MAINTENANCE, f"work{number}")
    world.maintenances.reconcile()
    assert reported(world, "work1")[:2] == ("Blocked", "ApiServerRefused")
    assert world.maintenance("work2") == {}


# -- the care for hosts


def lost(name: str) -> NodeWorld:
    """A node is lost, confirmed to be off, and evacuated."""
    world = NodeWorld(
        *(f"cmp{number}" for number in range(1, 7)),
        nodes={"evacuation": "Auto"},
        compute={"images": {"backend": "ceph"}},
    )
    world.cloud.boot(2, name)
    world.reconcile(1)
    world.set_ready(name, False)
    world.cloud.die(name)
    world.reconcile(20, after=10)
    world.fence(name)
    world.reconcile(4)
    [evacuation] = world.kube.list(COMPUTE_MAINTENANCE)
    assert evacuation["spec"]["nodeName"] == name
    return world


def serves_the_others(world: NodeWorld) -> bool:
    """Whether a lock is made, a cordon followed and the status written, as when nothing is refused."""
    world.cloud.boot(2, "cmp3")
    world.cordon("cmp2")
    world.reconcile(3)
    locked = world.status("cmp3").get("drainLocked") == "2 servers are on it"
    return locked and world.status("cmp2")["reason"] == "NodeCordoned"


@pytest.mark.slow
def test_an_evacuation_that_may_not_be_deleted_is_informed_of_its_node_only() -> None:
    world = lost("cmp1")
    world.kube.before_write = refusing("delete", "ComputeMaintenance")
    world.set_ready("cmp1", True)
    world.cloud.restart("cmp1")
    world.reconcile(3)
    message = world.status("cmp1")["message"]
    assert "ComputeMaintenance evacuate-cmp1" in message and DENIED in message
    assert serves_the_others(world)
    allow(world)
    world.reconcile(2, after=60)
    assert world.kube.list(COMPUTE_MAINTENANCE) == []
    world.reconcile(1)
    assert DENIED not in world.status("cmp1").get("message", "")


@pytest.mark.slow
def test_a_pod_that_may_not_be_removed_holds_up_no_other() -> None:
    world = lost("cmp1")
    for name in ("held", "stuck"):
        meta = {"name": name, "namespace": NAMESPACE, "finalizers": ["example.org/kept"]}
        spec = {"nodeName": "cmp1", "containers": []}
        world.kube.create({"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec})
        world.kube.delete(POD, name, NAMESPACE)
    refuse, tried = refusing("delete", "Pod", "held"), []

    def before_write(request: Request) -> None:
        if (request.verb, request.kind) == ("delete", "Pod"):
            tried.append(request.name)
        refuse(request)

    world.kube.before_write = before_write
    world.reconcile(60, after=10)
    assert "stuck" in tried
    assert 5 <= tried.count("held") <= 30
    assert "the Pod held cannot be deleted" in world.status("cmp1")["message"]
    assert serves_the_others(world)


def test_a_note_that_a_node_may_not_have_holds_up_only_the_aggregates_of_its_host(world: NodeWorld) -> None:
    for name in ("1", "4"):
        world.edit_node(f"cmp{name}", {"metadata": {"labels": {AGGREGATE_LABEL: f"rack{name}"}}})
    world.kube.before_write = refusing("patch", "Node", "cmp1")
    world.reconcile(3)
    assert (
        "the controller cannot add the host to the aggregates in the labels of the node"
        in world.status("cmp1")["message"]
    )
    assert DENIED in world.status("cmp1")["message"]
    assert [one.name for one in world.cloud.aggregates()] == ["rack4"]
    assert serves_the_others(world)
    allow(world)
    world.reconcile(2, after=60)
    assert sorted(one.name for one in world.cloud.aggregates()) == ["rack1", "rack4"]


@pytest.mark.parametrize("kind", ["PodDisruptionBudget", "Pod"])
def test_a_lock_that_may_not_be_released_is_reported_and_holds_up_no_other(
    world: NodeWorld, kind: str
) -> None:
    world.cloud.boot(1, "cmp1")
    world.cloud.boot(1, "cmp4")
    world.reconcile(2)
    world.cloud.hosted.clear()
    for held in world.cloud.held.values():
        held.clear()
    world.kube.before_write = refusing("delete", kind, "osctl-drain-lock-cmp1")
    world.reconcile(MISSING_OBSERVATIONS + 1)
    nodes = [one["metadata"]["annotations"]["osctl.dev/node"] for one in world.kube.list(POD, NAMESPACE)]
    assert nodes == ["cmp1"]
    reported = world.status("cmp1").get("drainLocked", "")
    # A pod without a budget holds nothing back.
    assert ("the drain lock could not be released" in reported and DENIED in reported) == (
        kind == "PodDisruptionBudget"
    )
    assert "drains should be blocked" not in world.status("cmp1").get("message", "")
    assert serves_the_others(world)
    allow(world)
    world.reconcile(MISSING_OBSERVATIONS + 1)
    assert "osctl-drain-lock-cmp1" not in [one["metadata"]["name"] for one in world.kube.list(POD, NAMESPACE)]


def test_a_lock_whose_budget_may_not_be_made_again_is_not_said_to_hold(world: NodeWorld) -> None:
    world.cloud.boot(2, "cmp1")
    world.reconcile(2)
    assert world.status("cmp1")["drainLocked"] == "2 servers are on it"
    world.kube.delete(PDB, "osctl-drain-lock-cmp1", NAMESPACE)
    world.kube.before_write = refusing("create", "PodDisruptionBudget")
    world.reconcile(2)
    assert "drainLocked" not in world.status("cmp1")
    assert (
        f"drains should be blocked, but are not: Kubernetes refuses the drain lock: {DENIED}"
        in (world.status("cmp1")["message"])
    )
