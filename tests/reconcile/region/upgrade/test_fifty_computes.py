"""Fifty nodes by ten: never more at once, by zone if asked for, and none after the second failure."""

from __future__ import annotations

from typing import Any

import pytest

from controller.domain.region.upgrade.next_step import StepFacts
from controller.domain.region.upgrade.upgrade_policy import UpgradePolicy
from controller.domain.shared.max_unhealthy import MaxUnhealthy
from controller.ports.kubernetes import DAEMONSET, POD
from controller.reconcile.region.upgrade.node_batches import replace_pods
from tests.fakes.kube import FakeKube
from tests.fakes.world import FakeClock

NAMESPACE, RELEASE, NAME = "openstack", "nova", "nova-compute-default"
NODES = tuple(f"cmp{number:02}" for number in range(50))
ZONE = "topology.kubernetes.io/zone"
OSDPL = {"metadata": {"name": "region-one", "namespace": NAMESPACE}}
GENERATION = "deprecated.daemonset.template.generation"


class Computes:
    """A DaemonSet whose template is new, and kubelets that bring its pods back, but not on `broken`."""

    def __init__(self, *broken: str) -> None:
        self.clock = FakeClock()
        self.kube = FakeKube(self.clock)
        self.broken = broken
        self.begun: list[list[str]] = []
        meta = {
            "name": NAME,
            "namespace": NAMESPACE,
            "annotations": {"meta.helm.sh/release-name": RELEASE, GENERATION: "2"},
        }
        made = self.kube.create({"apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": meta, "spec": {}})
        self.kube.replace({**made, "status": {"desiredNumberScheduled": len(NODES)}}, subresource="status")
        for number, node in enumerate(NODES):
            labels = {ZONE: f"zone-{number % 2}"}
            self.kube.create(
                {"apiVersion": "v1", "kind": "Node", "metadata": {"name": node, "labels": labels}}
            )
            self._pod(node, "1", {"conditions": [{"type": "Ready", "status": "True"}]})

    def _pod(self, node: str, generation: str, status: dict[str, Any]) -> None:
        owner = self.kube.get(DAEMONSET, NAME, NAMESPACE)
        assert owner is not None
        reference = {"apiVersion": "apps/v1", "kind": "DaemonSet", "name": NAME, "controller": True}
        meta = {
            "name": f"{NAME}-{node}",
            "namespace": NAMESPACE,
            "labels": {"pod-template-generation": generation},
            "ownerReferences": [{**reference, "uid": owner["metadata"]["uid"]}],
        }
        spec = {"nodeName": node, "containers": [{"name": "main", "image": "x"}]}
        made = self.kube.create({"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec})
        self.kube.replace({**made, "status": status}, subresource="status")

    def look(self, policy: UpgradePolicy) -> StepFacts:
        """One pass; the nodes that it begins are noted."""
        self.kube.forget_requests()
        facts = replace_pods(self.kube, OSDPL, [RELEASE], policy, self.clock.now())
        deleted = [one.name for one in self.kube.changes if (one.verb, one.kind) == ("delete", "Pod")]
        if deleted:
            self.begun.append(sorted(name.removeprefix(f"{NAME}-") for name in deleted))
        return facts

    def kubelets(self) -> None:
        """Pods that are missing are made: Ready, or without an image on a broken node."""
        waiting = {"reason": "ImagePullBackOff", "message": "no such image"}
        for node in NODES:
            if self.kube.get(POD, f"{NAME}-{node}", NAMESPACE) is not None:
                continue
            status: dict[str, Any] = {"conditions": [{"type": "Ready", "status": "True"}]}
            if node in self.broken:
                status = {"containerStatuses": [{"name": "main", "state": {"waiting": waiting}}]}
            self._pod(node, "2", status)

    def run(self, policy: UpgradePolicy) -> StepFacts:
        """Passes until nothing is begun any more; each is repeated before the kubelets have done anything."""
        for _ in range(20):
            facts = self.look(policy)
            known = len(self.begun)
            self.look(policy)
            assert len(self.begun) == known, "another batch began beside the one under way"
            self.kubelets()
        return facts


def by_ten(**more: Any) -> UpgradePolicy:
    return UpgradePolicy(batch=MaxUnhealthy(number=10), max_failed=1, **more)


def test_they_go_by_ten_in_the_order_of_their_names() -> None:
    computes = Computes()
    facts = computes.run(by_ten())
    assert computes.begun == [list(NODES[at : at + 10]) for at in range(0, 50, 10)]
    assert (facts.nodes.done, facts.waiting, facts.failing) == (50, "", "")


def test_nothing_begins_after_the_second_failure() -> None:
    computes = Computes("cmp03", "cmp14")
    facts = computes.run(by_ten())
    assert computes.begun == [list(NODES[:10]), list(NODES[10:20])]
    assert facts.failing.startswith("2 nodes do not come back: cmp03: ")
    assert facts.nodes.failed == ("cmp03", "cmp14")


def test_one_failure_that_is_allowed_stops_nothing() -> None:
    computes = Computes("cmp03")
    facts = computes.run(by_ten())
    assert sum(map(len, computes.begun)) == 50
    assert max(map(len, computes.begun)) == 10
    assert (facts.nodes.done, facts.nodes.failed) == (49, ("cmp03",))


@pytest.mark.parametrize("lost", [(), ("cmp04",)])
def test_one_zone_goes_after_the_other(lost: tuple[str, ...]) -> None:
    computes = Computes(*lost)
    computes.run(by_ten(by_label=ZONE))
    zones = [{int(node[3:]) % 2 for node in batch} for batch in computes.begun]
    assert [len(batch) for batch in computes.begun] == [10, 10, 5, 10, 10, 5]
    assert zones == [{0}] * 3 + [{1}] * 3
