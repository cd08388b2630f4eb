"""Fifty simulated nodes of a real API server: ten at once, and none after the second failure."""

from __future__ import annotations

import json
import secrets
import time
from collections.abc import Iterator
from typing import Any

import pytest

from controller.adapters.kubernetes.client import PykubeClient
from controller.adapters.kubernetes.connection import connect
from controller.domain.region.upgrade.next_step import StepFacts
from controller.domain.region.upgrade.upgrade_policy import UpgradePolicy
from controller.domain.shared.max_unhealthy import MaxUnhealthy
from controller.ports.kubernetes import DAEMONSET, NODE, POD, KubeObject
from controller.reconcile.region.upgrade.node_batches import replace_pods
from sandbox.cluster import Sandbox
from sandbox.take_down import take_down
from tests.cluster.region import wait_until

pytestmark = [pytest.mark.cluster, pytest.mark.exhaustive, pytest.mark.timeout(900)]

NAMESPACE, RELEASE = "openstack", "nova"
OSDPL = {"metadata": {"name": "region-one", "namespace": NAMESPACE}}
ROLE, BROKEN = "openstack-compute-node", "broken"
# In the order of names, both are among the first twenty: cmp1, cmp10, cmp11, …
LOST = ("cmp12", "cmp21")


@pytest.fixture
def fifty(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sandbox]:
    name = f"fifty-{secrets.token_hex(3)}"
    directory = tmp_path_factory.mktemp("sandbox") / name
    try:
        yield Sandbox.up(name, directory, "large:53", private=True)
    finally:
        take_down(name, directory)


def daemonset(name: str, operator: str, image: str, labels: dict[str, str]) -> KubeObject:
    """A DaemonSet of the computes that are broken (`Exists`), or of the others."""
    marks = {"application": "nova", "set": name}
    terms = [{"key": BROKEN, "operator": operator}, {"key": ROLE, "operator": "Exists"}]
    affinity = {
        "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [{"matchExpressions": terms}]}
    }
    return {
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": {
            "name": name,
            "namespace": NAMESPACE,
            "annotations": {"meta.helm.sh/release-name": RELEASE},
        },
        "spec": {
            "selector": {"matchLabels": marks},
            "updateStrategy": {"type": "OnDelete"},
            "template": {
                "metadata": {"labels": {**marks, **labels}},
                "spec": {
                    "affinity": {"nodeAffinity": affinity},
                    "terminationGracePeriodSeconds": 1,
                    "containers": [{"name": "nova-compute", "image": image}],
                },
            },
        },
    }


class Computes:
    """Two DaemonSets of one release: the one of the broken nodes cannot pull its new image."""

    def __init__(self, sandbox: Sandbox) -> None:
        self.sandbox, self.kube = sandbox, PykubeClient(connect(sandbox.kubeconfig))
        self.begun: set[str] = set()
        for node in LOST:
            assert self.kube.merge_patch(NODE, node, None, {"metadata": {"labels": {BROKEN: "yes"}}})
        self.apply("nova:1", {})
        wait_until("pods of fifty nodes", lambda: len(self.ready()) == 50, 180)
        self.first = {str(pod["metadata"]["uid"]) for pod in self.pods()}

    def apply(self, image: str, labels_of_broken: dict[str, str]) -> None:
        sets = (
            daemonset("nova-compute-default", "DoesNotExist", image, {}),
            daemonset("nova-compute-broken", "Exists", image, labels_of_broken),
        )
        for one in sets:
            self.sandbox.kubectl("apply", "-f", "-", input=json.dumps(one))
        wait_until("seen templates", self.seen, 60)

    def seen(self) -> bool:
        sets = self.kube.list(DAEMONSET, NAMESPACE)
        return all(one["status"].get("observedGeneration") == one["metadata"]["generation"] for one in sets)

    def pods(self) -> list[KubeObject]:
        return self.kube.list(POD, NAMESPACE)

    def ready(self) -> set[str]:
        return {
            str(pod["spec"].get("nodeName"))
            for pod in self.pods()
            if any(
                one["type"] == "Ready" and one["status"] == "True"
                for one in (pod.get("status") or {}).get("conditions") or ()
            )
        }

    def replaced(self) -> set[str]:
        """The nodes whose first pod is gone, or going."""
        staying = {
            str(pod["spec"].get("nodeName"))
            for pod in self.pods()
            if pod["metadata"]["uid"] in self.first and not pod["metadata"].get("deletionTimestamp")
        }
        return {f"cmp{number}" for number in range(1, 51)} - staying

    def look(self, policy: UpgradePolicy) -> StepFacts:
        """One pass; never are more than ten nodes without a ready pod, beside those that are lost."""
        facts = replace_pods(self.kube, OSDPL, [RELEASE], policy, time.time())
        out = self.replaced() - self.ready() - set(LOST)
        assert len(out) <= 10, sorted(out)
        return facts


def test_none_goes_after_the_second_failure(fifty: Sandbox) -> None:
    fifty.create_namespace(NAMESPACE, {})
    computes = Computes(fifty)
    computes.apply("nova:2", {"sandbox.osctl.dev/fail": "image-pull"})
    policy = UpgradePolicy(batch=MaxUnhealthy(number=10), max_failed=1)
    seen: list[StepFacts] = []

    def failed() -> Any:
        seen.append(computes.look(policy))
        return seen[-1].failing

    wait_until("two failures", failed, 300)
    assert seen[-1].nodes.failed == LOST
    assert seen[-1].failing.startswith("2 nodes do not come back: cmp12: ")
    gone = computes.replaced()
    assert len(gone) <= 20
    # What is under way ends, and nothing else begins.
    wait_until("the rest of the batch", lambda: computes.ready() >= gone - set(LOST), 60)
    for _ in range(5):
        computes.look(policy)
    assert computes.replaced() == gone
    # The image is corrected: the lost nodes come first, then all others.
    computes.apply("nova:3", {})
    wait_until("all nodes", lambda: not computes.look(policy).waiting and len(computes.ready()) == 50, 300)
    assert {pod["spec"]["containers"][0]["image"] for pod in computes.pods()} == {"nova:3"}
