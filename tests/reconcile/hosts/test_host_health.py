"""A fault of a host of a ready node is reported, in its entry and in NodesReady; nothing is done."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from controller.domain.hosts.cordon_and_return import MAP_AFTER
from controller.domain.hosts.next_step import REGISTER_WITHIN
from controller.domain.shared.backoff import SHORT_PAUSES
from controller.domain.shared.cloud_facts import Agent
from controller.ports.kubernetes import CRONJOB, JOB, NODE
from tests.reconcile.node_world import COMPUTE, NAMESPACE, NodeWorld


@pytest.fixture
def world() -> NodeWorld:
    world = NodeWorld("cmp1", "cmp2", "cmp3")
    world.cloud.agents["a"] = Agent("a", "cmp1", "Open vSwitch agent", alive=True)
    world.reconcile(2)
    assert world.condition("NodesReady")["status"] == "True"
    return world


def failing(world: NodeWorld, reason: str) -> bool:
    """Whether it is reported for cmp1, and for the nodes together; and nothing was done."""
    reported = world.condition("NodesReady")
    assert world.cloud.writes == []
    assert world.status("cmp1")["reason"] == reason
    return (
        reported["status"] == "False"
        and reported["reason"] == "HostsFailing"
        and "cmp1" in reported["message"]
    )


def test_a_compute_service_that_does_not_report(world: NodeWorld) -> None:
    world.cloud.die("cmp1")
    world.reconcile(2)
    assert failing(world, "ComputeDown")
    world.cloud.restart("cmp1")
    world.reconcile(5)
    assert world.condition("NodesReady")["status"] == "True"


def test_an_agent_that_does_not_report(world: NodeWorld) -> None:
    world.cloud.agents["a"] = replace(world.cloud.agents["a"], alive=False)
    world.reconcile(2)
    assert failing(world, "AgentsDown")


def test_an_old_node_that_is_labelled_has_all_its_time(world: NodeWorld) -> None:
    world.add_node("old", compute=False)
    world.clock.advance(100_000)
    world.edit_node("old", {"metadata": {"labels": {COMPUTE: "enabled"}}})
    world.reconcile(2)
    assert world.status("old")["reason"] == "ComputeAwaited"
    world.reconcile(1, after=REGISTER_WITHIN)
    assert world.status("old")["reason"] == "ComputeMissing"
    assert world.condition("NodesReady")["reason"] == "HostsFailing"
    world.restart()
    world.reconcile(2)
    assert world.status("old")["reason"] == "ComputeMissing"


def test_servers_left_on_a_node_that_is_gone(world: NodeWorld) -> None:
    world.cloud.boot(1, "cmp1")
    world.reconcile(1)
    world.kube.delete(NODE, "cmp1")
    world.cloud.die("cmp1")
    world.reconcile(4)
    assert world.condition("NodesReady")["reason"] == "HostsFailing"


def test_a_new_host_takes_servers_once_it_is_healthy(world: NodeWorld) -> None:
    world.cloud.add_host("cmp4")
    nova = "New compute service disabled due to config option."
    world.cloud.services["cmp4"] = replace(world.cloud.services["cmp4"], enabled=False, reason=nova)
    world.cloud.agents["b"] = Agent("b", "cmp4", "Open vSwitch agent", alive=False)
    world.add_node("cmp4")
    world.reconcile(4, after=10)
    assert not world.cloud.services["cmp4"].enabled
    assert world.status("cmp4")["reason"] == "AgentsDown"
    world.cloud.agents["b"] = replace(world.cloud.agents["b"], alive=True)
    world.reconcile(2)
    assert world.cloud.services["cmp4"].enabled


def test_a_node_whose_pods_have_not_come_yet_waits_for_them(world: NodeWorld) -> None:
    owner = {"apiVersion": "apps/v1", "kind": "DaemonSet", "name": "nova-compute", "uid": "x"}

    def add_pod(host: str) -> None:
        meta = {"name": f"nova-compute-{host}", "namespace": NAMESPACE}
        meta |= {"ownerReferences": [{**owner, "controller": True}]}  # type: ignore[dict-item]
        made = world.kube.create(
            {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": {"nodeName": host}}
        )
        ready = {"conditions": [{"type": "Ready", "status": "True"}]}
        world.kube.replace({**made, "status": ready}, subresource="status")

    add_pod("cmp2")
    world.cordon("cmp1")
    world.reconcile(2)
    world.cordon("cmp1", False)
    world.reconcile(3)
    assert world.status("cmp1")["reason"] == "PodsNotReady"
    add_pod("cmp1")
    world.reconcile(2)
    assert world.cloud.services["cmp1"].enabled


def test_what_is_reported_a_host_is_as_it_is_after_the_step(world: NodeWorld) -> None:
    world.reconcile(1)
    world.cordon("cmp1")
    world.reconcile(1)
    assert (world.status("cmp1")["reason"], world.status("cmp1")["compute"]) == (
        "NodeCordoned",
        "disabled, up",
    )
    world.cordon("cmp1", False)
    world.reconcile(1)
    assert (world.status("cmp1")["reason"], world.status("cmp1")["compute"]) == ("InService", "enabled, up")


# -- the Job that maps hosts to cells


@pytest.fixture
def unmapped(world: NodeWorld) -> NodeWorld:
    job = {"metadata": {"labels": {"a": "b"}}, "spec": {"template": {"spec": {"containers": []}}}}
    meta = {"name": "nova-cell-setup", "namespace": NAMESPACE}
    cron = {"schedule": "@hourly", "jobTemplate": job}
    world.kube.create(
        {"apiVersion": CRONJOB.api_version, "kind": CRONJOB.kind, "metadata": meta, "spec": cron}
    )
    whole = world.cloud.hypervisors
    world.cloud.hypervisors = lambda: tuple(  # type: ignore[method-assign]
        one for one in whole() if one.host != "cmp1"
    )
    world.reconcile(2)
    world.reconcile(2, after=MAP_AFTER)
    return world


def end(world: NodeWorld, kind: str) -> None:
    [job] = world.kube.list(JOB, NAMESPACE)
    status: dict[str, Any] = {"conditions": [{"type": kind, "status": "True"}]}
    world.kube.replace({**job, "status": status}, subresource="status")
    world.reconcile(1, after=SHORT_PAUSES.cap)


def test_the_job_is_reported_while_it_works(unmapped: NodeWorld) -> None:
    unmapped.reconcile(1)
    [job] = unmapped.kube.list(JOB, NAMESPACE)
    assert job["spec"]["ttlSecondsAfterFinished"] == 3600
    assert unmapped.status("cmp1")["message"] == f'the Job "{job["metadata"]["name"]}" maps it'


@pytest.mark.parametrize(("kind", "words"), [("Failed", "failed, see its log"), ("Complete", "succeeded")])
def test_how_the_job_ended_is_reported(unmapped: NodeWorld, kind: str, words: str) -> None:
    end(unmapped, kind)
    assert words in unmapped.status("cmp1")["message"]
    assert len(unmapped.kube.list(JOB, NAMESPACE)) == 1


def test_one_job_maps_all_hosts(unmapped: NodeWorld) -> None:
    unmapped.cloud.hypervisors = tuple  # type: ignore[method-assign, assignment]
    unmapped.reconcile(2)
    unmapped.reconcile(3, after=MAP_AFTER)
    [job] = unmapped.kube.list(JOB, NAMESPACE)
    assert job["spec"]["activeDeadlineSeconds"] == 900
    assert unmapped.status("cmp2")["message"] == f'the Job "{job["metadata"]["name"]}" maps all hosts'


def test_a_host_that_is_not_mapped_for_long_is_complained_of(unmapped: NodeWorld) -> None:
    unmapped.reconcile(20, after=MAP_AFTER)
    assert unmapped.status("cmp1")["reason"] == "CellNotMapped"
    assert unmapped.condition("NodesReady")["reason"] == "HostsFailing"
