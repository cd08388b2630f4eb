"""node: from watched Nodes to the region's status; it changes nothing else."""

from __future__ import annotations

from typing import Any

import pytest

from controller.reconcile.hosts.last_host_findings import HostFindings, LastHostFindings
from controller.reconcile.hosts.nodes_status import FIRST_OBSERVATION_SECONDS, NodesReconciler, node_parsers
from controller.reconcile.shared.object_store import ObjectStore
from tests.domain.hosts.test_nodes import CORDONED, node
from tests.fakes.world import FakeClock
from tests.reconcile.health.test_health import SilentEvents
from tests.reconcile.watched import NAME, WatchedCluster

KEY = ("openstack", NAME)


class Nodes:
    def __init__(self, findings: LastHostFindings | None = None) -> None:
        self.clock = FakeClock(start=1_780_000_000.0)
        self.cluster = WatchedCluster(self.clock)
        self.events = SilentEvents()
        self.cluster.store = ObjectStore(self.cluster.kube, self.clock, None, node_parsers("openstack"))
        self.reconciler = NodesReconciler(
            kube=self.cluster.kube,
            clock=self.clock,
            events=self.events,
            store=self.cluster.store,
            resync=300,
            findings=findings,
        )
        self.cluster.region()

    def put(self, *args: Any, **fields: Any) -> None:
        self.cluster.put({"apiVersion": "v1", "kind": "Node", **node(*args, **fields)})

    def reconcile(self, after: float = 2.0) -> float | None:
        self.clock.advance(after)
        return self.reconciler.reconcile(KEY)


@pytest.fixture
def nodes() -> Nodes:
    return Nodes()


def test_nodes_are_listed_with_role_and_state(nodes: Nodes) -> None:
    nodes.put("cmp1")
    nodes.put("cmp2", spec=CORDONED)
    nodes.reconcile()
    shown = nodes.cluster.status()["nodes"]
    assert {name: (entry["roles"], entry["state"]) for name, entry in shown.items()} == {
        "cmp1": (["openstack-compute-node"], "Ready"),
        "cmp2": (["openstack-compute-node"], "Cordoned"),
    }
    reported = nodes.cluster.condition("NodesReady")
    assert (reported["status"], reported["reason"], reported["observedGeneration"]) == (
        "True",
        "NodesReady",
        1,
    )


def test_a_node_that_falls_silent_and_returns_turns_the_condition_over(nodes: Nodes) -> None:
    nodes.put("cmp1")
    nodes.reconcile()
    nodes.put("cmp1", "Unknown")
    nodes.reconcile()
    assert nodes.cluster.condition("NodesReady")["reason"] == "NodesNotReady"
    nodes.put("cmp1")
    nodes.reconcile()
    assert nodes.cluster.condition("NodesReady")["status"] == "True"
    assert [reason for _, reason in nodes.events.emitted] == ["NodesReady", "NodesNotReady", "NodesReady"]


def test_a_removed_node_leaves_the_status(nodes: Nodes) -> None:
    nodes.put("cmp1")
    nodes.put("cmp2")
    nodes.reconcile()
    nodes.cluster.remove("Node", "cmp2", None)
    nodes.reconcile()
    assert set(nodes.cluster.status()["nodes"]) == {"cmp1"}


def test_nothing_new_writes_nothing(nodes: Nodes) -> None:
    nodes.put("cmp1")
    nodes.reconcile()
    nodes.cluster.kube.forget_requests()
    nodes.reconcile()
    assert nodes.cluster.kube.writes == []


def test_a_storm_of_events_is_written_at_most_once_a_second(nodes: Nodes) -> None:
    nodes.put("cmp1")
    nodes.reconcile()
    nodes.cluster.kube.forget_requests()
    for number in range(30):
        nodes.put("cmp1", "Unknown" if number % 2 == 0 else "True")
        nodes.reconcile(after=0.1)
    assert 1 <= sum(request.manager == "osctl-node" for request in nodes.cluster.kube.writes) <= 3


def test_nothing_is_said_before_the_first_list_is_complete(nodes: Nodes) -> None:
    nodes.cluster.cut = True
    nodes.put("cmp1")
    again = nodes.reconcile()
    assert again is not None
    assert again < 1
    assert nodes.cluster.condition("NodesReady")["status"] == "Unknown"


def test_nothing_is_said_before_the_first_look_at_compute_hosts() -> None:
    findings = LastHostFindings()
    nodes = Nodes(findings)
    nodes.put("cmp1")
    nodes.reconcile()
    assert "nodes" not in nodes.cluster.status()
    findings.write(HostFindings(unknown="no credentials yet"))
    nodes.reconcile()
    assert "cmp1" in nodes.cluster.status()["nodes"]


def test_a_first_look_that_takes_long_hides_nothing() -> None:
    nodes = Nodes(LastHostFindings())
    nodes.put("cmp1")
    nodes.reconcile()
    nodes.reconcile(after=FIRST_OBSERVATION_SECONDS)
    assert "cmp1" in nodes.cluster.status()["nodes"]


def test_a_second_osdpl_is_left_alone(nodes: Nodes) -> None:
    nodes.put("cmp1")
    nodes.clock.advance(5)
    second = {
        "apiVersion": "osctl.dev/v1alpha1",
        "kind": "OpenStackDeployment",
        "metadata": {"name": "other", "namespace": "openstack"},
        "spec": {
            "openstackVersion": "2026.1",
            "preset": "core",
            "size": "single",
            "publicDomainName": "x.org",
        },
    }
    nodes.cluster.kube.create(second)
    nodes.cluster.kube.forget_requests()
    nodes.reconciler.reconcile(("openstack", "other"))
    assert nodes.cluster.kube.writes == []


def test_a_loss_is_reported_before_the_first_look_at_compute_hosts() -> None:
    nodes = Nodes(LastHostFindings())
    nodes.put("cmp1", "Unknown")
    nodes.reconcile()
    assert nodes.cluster.condition("NodesReady")["status"] == "False"
