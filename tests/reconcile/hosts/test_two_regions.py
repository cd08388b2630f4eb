"""Two installations in one cluster with the same Nodes: each does its own, and undoes only that."""

from __future__ import annotations

import pytest

from controller.domain.api.region_name import RegionName
from controller.domain.shared.cloud_facts import Agent
from controller.ports.kubernetes import COMPUTE_MAINTENANCE, OSDPL, PDB, POD
from tests.reconcile.node_world import NodeWorld

SECOND = "second"


@pytest.fixture
def one() -> NodeWorld:
    return NodeWorld("cmp1", "cmp2", "cmp3", nodes={"evacuation": "Auto"})


@pytest.fixture
def two(one: NodeWorld) -> NodeWorld:
    return NodeWorld("cmp1", "cmp2", "cmp3", beside=one, namespace=SECOND, nodes={"evacuation": "Auto"})


def both(one: NodeWorld, two: NodeWorld, times: int = 30, after: float = 3.0) -> None:
    for _ in range(times):
        one.reconcile(after=after)
        two.reconcile(after=after)


def finalizers(world: NodeWorld, name: str) -> list[str]:
    live = world.kube.get(COMPUTE_MAINTENANCE, name) or {"metadata": {}}
    return live["metadata"].get("finalizers") or []


@pytest.mark.slow
def test_a_maintenance_of_one_region_is_nothing_to_the_other(one: NodeWorld, two: NodeWorld) -> None:
    ids = one.cloud.boot(3, "cmp1")
    two.cloud.boot(3, "cmp1")
    one.maintain("work", "cmp1")
    both(one, two)
    assert one.maintenance("work")["progress"] == "3/3"
    assert sorted(entry["id"] for entry in one.maintenance("work")["servers"]) == sorted(ids)
    assert not [name for name, _ in two.cloud.writes if "migrate" in name]
    assert finalizers(one, "work") == [f"node.osctl.dev/openstack.{one.name.name}"]


@pytest.mark.slow
def test_a_maintenance_that_is_deleted_waits_for_the_region_that_began_it(
    one: NodeWorld, two: NodeWorld
) -> None:
    one.cloud.boot(3, "cmp1")
    one.maintain("work", "cmp1")
    both(one, two, 5)
    one.kube.delete(COMPUTE_MAINTENANCE, "work")
    two.reconcile(20)
    assert len(finalizers(two, "work")) == 1
    assert one.cloud.services["cmp1"].reason == "osctl.dev: maintenance work"
    both(one, two)
    assert one.kube.get(COMPUTE_MAINTENANCE, "work") is None
    assert one.cloud.services["cmp1"].enabled and two.cloud.services["cmp1"].enabled


def test_an_installation_whose_region_is_gone_leaves_those_of_others(one: NodeWorld, two: NodeWorld) -> None:
    one.cloud.boot(1, "cmp1")
    one.maintain("work", "cmp1")
    both(one, two, 5)
    two.kube.delete(OSDPL, two.name.name, SECOND)
    one.kube.delete(COMPUTE_MAINTENANCE, "work")
    two.reconcile(5, after=20)
    assert len(finalizers(two, "work")) == 1
    assert one.notes("cmp1")["cordoned-by"] == "work"


def test_a_region_that_is_gone_lets_its_own_go(one: NodeWorld, two: NodeWorld) -> None:
    two.maintain("work", "cmp1")
    both(one, two, 5)
    two.kube.delete(OSDPL, two.name.name, SECOND)
    two.kube.delete(COMPUTE_MAINTENANCE, "work")
    two.reconcile(3, after=20)
    assert two.kube.get(COMPUTE_MAINTENANCE, "work") is None
    assert not one.node("cmp1")["spec"].get("unschedulable")


def test_a_region_that_comes_back_under_its_name_goes_on_where_it_was(one: NodeWorld) -> None:
    ids = one.cloud.boot(2, "cmp1")
    one.maintain("work", "cmp1")
    one.reconcile(4)
    osdpl = one.kube.get(OSDPL, one.name.name, one.namespace)
    assert osdpl is not None
    one.kube.delete(OSDPL, one.name.name, one.namespace)
    one.reconcile(3, after=20)
    assert "there is no OpenStackDeployment" in one.maintenance("work")["conditions"][0]["message"]
    one.kube.create({key: part for key, part in osdpl.items() if key != "status"} | {"metadata": one.meta})
    one.restart()
    one.reconcile(30)
    assert one.maintenance("work")["progress"] == "2/2"
    moved = [subject for name, subject in one.cloud.writes if name == "live_migrate"]
    assert sorted(moved) == sorted(ids)


def test_one_that_names_a_region_without_a_controller_stays_as_it_was_made(one: NodeWorld) -> None:
    one.cloud.boot(1, "cmp1")
    two = RegionName("nowhere", "nothing")
    body = {"apiVersion": COMPUTE_MAINTENANCE.api_version, "kind": COMPUTE_MAINTENANCE.kind}
    spec = {"region": two.written(), "nodeName": "cmp1"}
    one.kube.create({**body, "metadata": {"name": "work"}, "spec": spec})
    made = one.kube.get(COMPUTE_MAINTENANCE, "work")
    one.reconcile(5, after=20)
    assert one.kube.get(COMPUTE_MAINTENANCE, "work") == made
    assert made is not None
    [ready] = made["status"]["conditions"]
    assert (ready["status"], ready["message"]) == (
        "Unknown",
        "No controller of that region has observed this yet.",
    )
    assert not one.cloud.writes


def test_a_node_that_both_took_out_is_uncordoned_by_the_last(one: NodeWorld, two: NodeWorld) -> None:
    one.maintain("first", "cmp1", mode="Cordon")
    both(one, two, 5)
    two.maintain("other", "cmp1", mode="Cordon")
    both(one, two, 5)
    assert (one.notes("cmp1")["cordoned-by"], two.notes("cmp1")["cordoned-by"]) == ("first", "other")
    one.kube.delete(COMPUTE_MAINTENANCE, "first")
    both(one, two, 5)
    assert one.kube.get(COMPUTE_MAINTENANCE, "first") is None
    assert one.node("cmp1")["spec"].get("unschedulable")
    assert not two.cloud.services["cmp1"].enabled
    two.kube.delete(COMPUTE_MAINTENANCE, "other")
    both(one, two, 5)
    assert not one.node("cmp1")["spec"].get("unschedulable")
    assert one.cloud.services["cmp1"].enabled and two.cloud.services["cmp1"].enabled


def test_a_human_cordon_outlasts_the_maintenances_of_both(one: NodeWorld, two: NodeWorld) -> None:
    one.cordon("cmp1")
    one.maintain("first", "cmp1", mode="Cordon")
    two.maintain("other", "cmp1", mode="Cordon")
    both(one, two, 5)
    for name in ("first", "other"):
        one.kube.delete(COMPUTE_MAINTENANCE, name)
    both(one, two, 5)
    assert one.kube.objects("ComputeMaintenance") == []
    assert one.node("cmp1")["spec"]["unschedulable"] is True


@pytest.mark.slow
def test_each_has_its_own_word_that_a_node_is_off_and_its_own_evacuation(
    one: NodeWorld, two: NodeWorld
) -> None:
    for world in (one, two):
        world.cloud.boot(1, "cmp1", local_disk=False)
    both(one, two, 3)
    one.set_ready("cmp1", False)
    for world in (one, two):
        world.cloud.die("cmp1")
    both(one, two, 10, after=10)
    one.fence("cmp1")
    both(one, two, 10)
    assert [name for name, _ in one.cloud.writes if name == "evacuate"]
    assert not [name for name, _ in two.cloud.writes if name == "evacuate"]
    assert two.status("cmp1")["reason"] == "FencingAwaited"
    two.fence("cmp1")
    both(one, two, 10)
    assert [name for name, _ in two.cloud.writes if name == "evacuate"]
    made = one.kube.objects("ComputeMaintenance")
    assert sorted(each["spec"]["region"]["namespace"] for each in made) == ["openstack", SECOND]
    one.set_ready("cmp1", True)
    both(one, two, 10)
    assert not {"fenced", "last-compute-report"} & (one.notes("cmp1") | two.notes("cmp1")).keys()
    assert one.kube.objects("ComputeMaintenance") == []


@pytest.mark.slow
@pytest.mark.parametrize("by", ["maintenance", "node"])
def test_a_confirmation_given_to_one_region_does_not_count_in_the_other(
    one: NodeWorld, two: NodeWorld, by: str
) -> None:
    """The other has a maintenance of its own, which waits for its own; it has seen the same machine go."""
    for world in (one, two):
        world.cloud.boot(3, "cmp1", local_disk=False)
    both(one, two, 3)
    one.set_condition("cmp1", "Unknown", boot="first")
    for world in (one, two):
        world.cloud.die("cmp1")
    one.maintain("work", "cmp1", mode="Evacuate", **({"fenced": True} if by == "maintenance" else {}))
    two.maintain("other", "cmp1", mode="Evacuate")
    if by == "node":
        one.fence("cmp1")
    both(one, two, 60)
    two.restart()
    both(one, two, 20)
    assert all(server.host != "cmp1" for server in one.cloud.hosted.values())
    assert not [name for name, _ in two.cloud.writes if name in ("evacuate", "force_down")]
    assert two.maintenance("other")["conditions"][0]["reason"] == "FencingAwaited"
    assert "fenced" not in two.maintenance("other") and "fenced" not in two.notes("cmp1")
    # Each Nova has its own report: that of one says nothing of the other's.
    assert one.notes("cmp1")["last-compute-report"] != two.notes("cmp1")["last-compute-report"]
    two.fence("cmp1")
    both(one, two, 60)
    assert all(server.host != "cmp1" for server in two.cloud.hosted.values())


def test_each_has_its_own_lock_against_a_drain(one: NodeWorld, two: NodeWorld) -> None:
    one.cloud.boot(1, "cmp1")
    [server] = two.cloud.boot(1, "cmp1")
    both(one, two, 4)
    for world in (one, two):
        for resource in (POD, PDB):
            assert len(world.kube.list(resource, world.namespace, labels="osctl.dev/drain-lock")) == 1
    two.cloud.hosted.pop(server)
    both(one, two, 8)
    assert len(one.kube.list(POD, one.namespace, labels="osctl.dev/drain-lock")) == 1
    assert two.kube.list(POD, SECOND, labels="osctl.dev/drain-lock") == []


def test_the_mark_of_a_maintenance_is_given_back_though_another_region_has_one_of_its_name(
    one: NodeWorld, two: NodeWorld
) -> None:
    mark = "osctl.dev: maintenance work"
    one.cloud.agents["l3"] = Agent("l3", "cmp1", "L3 agent", alive=True, enabled=False, description=mark)
    two.maintain("work", "cmp2", mode="Cordon")
    both(one, two, 5)
    assert one.cloud.agents["l3"].enabled
