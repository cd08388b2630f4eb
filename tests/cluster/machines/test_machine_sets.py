"""Mirrors of MachineSets on a real API server, with the rights and the policy that the chart installs."""

from __future__ import annotations

import copy
import itertools
import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from controller.adapters.kubernetes.client import PykubeClient
from controller.adapters.kubernetes.connection import connect
from controller.adapters.kubernetes.events import KubeEvents
from controller.adapters.system.clock import SystemClock
from controller.domain.machines.metadata import PAUSED
from controller.domain.machines.provider_spec import Cluster
from controller.domain.machines.writes import Target
from controller.errors import ObjectMissing, ObjectRefused
from controller.ports.kubernetes import EVENT, Kube, KubeObject, Resource, resource_of
from controller.reconcile.machines.machine_sets import (
    CLUSTER,
    MIRROR,
    SOURCE,
    TEMPLATE,
    MachineSetsReconciler,
)
from sandbox.cluster import Sandbox
from sandbox.patience import Patience
from tests.cluster.machines.definitions import DEFINITIONS
from tests.domain.machines.conversions import cases
from tests.domain.machines.sources import edited, machine_set
from tests.helm_program import Chart
from tools.chart_objects import CONTROLLER_CHART

pytestmark = [pytest.mark.cluster, pytest.mark.xdist_group("machines")]

NAME = "ocp-x7k2p"


def eventually(check: Callable[[], Any], what: str, within: float = 30.0) -> Any:
    patience = Patience(within)
    while not (found := check()):
        assert not patience.is_over(), what
        time.sleep(0.1)
    return found


@pytest.fixture(scope="module")
def kube(sandbox: Sandbox) -> Kube:
    """The API server, which knows the kinds; as a person who may do anything."""
    sandbox.kubectl("apply", "-f", "-", input=yaml.safe_dump_all(DEFINITIONS))
    client = PykubeClient(connect(sandbox.kubeconfig), retries_within=60.0)
    for resource in (SOURCE, MIRROR, TEMPLATE, CLUSTER):
        eventually(lambda one=resource: _is_served(client, one), f"{resource.plural} are served")
    return client


def _is_served(client: Kube, resource: Resource) -> bool:
    try:
        client.list(resource, "default")
    except ObjectMissing:
        return False
    return True


def test_each_conversion_is_taken_by_the_api_server(kube: Kube, namespace: str) -> None:
    for index, case in enumerate(cases()):
        converted = case.converted()
        assert converted.machine_set and converted.template
        for obj in (converted.template, converted.machine_set):
            made = copy.deepcopy(obj)
            made["metadata"].update(name=f"case-{index}", namespace=namespace)
            assert kube.create(made)["spec"] == made["spec"], case.of


class Mirrored:
    """One namespace with sources, mirrors, and the reconciler under the account that the chart makes."""

    def __init__(self, kube: Kube, own: Kube, namespace: str) -> None:
        self.kube, self.namespace = kube, namespace
        clock = SystemClock()
        self.reconciler = MachineSetsReconciler(
            kube=own,
            clock=clock,
            events=KubeEvents(own, clock, component="servers", instance="test"),
            namespace=namespace,
            target=Target(Cluster(NAME, namespace)),
            resync=60.0,
        )

    def add(self, name: str, who: str = "MachineAPI", **edits: Any) -> KubeObject:
        source = machine_set(name, **edits)
        source["metadata"]["namespace"] = self.namespace
        made = self.kube.create(source)
        status = {
            "authoritativeAPI": who,
            "observedGeneration": made["metadata"]["generation"],
            "replicas": 3,
        }
        return self.kube.replace({**made, "status": status}, subresource="status")

    def read(self, resource: Resource, name: str) -> KubeObject:
        found = self.kube.get(resource, name, self.namespace)
        assert found is not None
        return found

    def edit(self, resource: Resource, name: str, **edits: Any) -> KubeObject:
        return self.kube.replace(edited(self.read(resource, name), edits))

    def settle(self) -> None:
        for _ in range(20):
            if self.reconciler.reconcile() == 60.0:
                return
        raise AssertionError("still not at rest")

    def versions(self) -> dict[tuple[str, str], str]:
        return {
            (resource.api_version, one["metadata"]["name"]): one["metadata"]["resourceVersion"]
            for resource in (SOURCE, MIRROR, TEMPLATE)
            for one in self.kube.list(resource, self.namespace)
        }


@pytest.fixture
def mirrored(sandbox: Sandbox, kube: Kube, namespace: str, tmp_path: Path) -> Iterator[Mirrored]:
    """With the account, the rights and the policy of our chart, and nothing else of it."""
    machines = {"enabled": True, "cluster": NAME, "namespace": namespace, "clusterNamespace": namespace}
    values = {"crds": {"install": False}, "servers": {"enabled": True}, "machines": machines}
    texts = Chart.load(CONTROLLER_CHART).render(values, name="osctl", namespace=namespace)
    objects = [
        one
        for path, text in texts.items()
        if path.endswith(("serviceaccount.yaml", "rbac-machines.yaml", "machines-policy.yaml"))
        for one in yaml.load_all(text, Loader=yaml.CSafeLoader)
        # The account of the charts is in the region's namespace, which is not here.
        if one and (one["kind"] != "ServiceAccount" or one["metadata"]["namespace"] == namespace)
    ]
    sandbox.kubectl("apply", "-f", "-", input=yaml.safe_dump_all(objects))
    [account] = [one["metadata"]["name"] for one in objects if one["kind"] == "ServiceAccount"]
    kubeconfig = sandbox.service_account_kubeconfig(namespace, account, tmp_path)
    cluster = {"name": NAME, "namespace": namespace}
    kube.create({"apiVersion": CLUSTER.api_version, "kind": "Cluster", "metadata": cluster, "spec": {}})
    yield Mirrored(kube, PykubeClient(connect(kubeconfig), retries_within=60.0), namespace)
    for one in objects:
        resource = resource_of(one)
        if not resource.namespaced:
            kube.delete(resource, one["metadata"]["name"])


def refused(edit: Callable[[], object]) -> str:
    """What the API server says of an edit; empty where it takes it."""
    try:
        edit()
    except ObjectRefused as error:
        return str(error)
    return ""


def denied(edit: Callable[[int], object]) -> str:
    """What the API server says of it once the policy is in force. Each try is another edit: one that was
    taken before would be none if it were made again."""
    numbers = itertools.count(20)
    return str(eventually(lambda: refused(lambda: edit(next(numbers))), "the edit is denied", within=60.0))


def test_a_set_lives_and_goes_with_its_mirror(mirrored: Mirrored) -> None:
    name = "workers-a"
    mirrored.add(name, **{"provider.sshUserName": "core"})
    mirrored.settle()
    mirror = mirrored.read(MIRROR, name)
    assert mirror["metadata"]["annotations"][PAUSED]
    assert mirror["status"]["replicas"] == 3
    [before] = mirrored.kube.list(TEMPLATE, mirrored.namespace)
    source = mirrored.read(SOURCE, name)
    assert source["status"]["synchronizedGeneration"] == source["metadata"]["generation"]
    about = [one["message"] for one in mirrored.kube.list(EVENT, mirrored.namespace)]
    assert len([text for text in about if "sshUserName" in text]) == 1

    at_rest = mirrored.versions()
    mirrored.settle()
    assert mirrored.versions() == at_rest

    mirrored.edit(SOURCE, name, **{"provider.flavor": "m1.small", "set.metadata.labels": {"team": "a"}})
    mirrored.settle()
    [after] = mirrored.kube.list(TEMPLATE, mirrored.namespace)
    assert after["metadata"]["name"] != before["metadata"]["name"]
    assert mirrored.read(MIRROR, name)["metadata"]["labels"]["team"] == "a"
    mirrored.edit(SOURCE, name, **{"set.metadata.labels": None})
    mirrored.settle()
    assert "team" not in mirrored.read(MIRROR, name)["metadata"]["labels"]

    mirrored.kube.delete(SOURCE, name, mirrored.namespace)
    mirrored.settle()
    # What the mirror owns is orphaned by the garbage collector, which looks for new kinds every 30 seconds.
    eventually(lambda: mirrored.versions() == {}, "all copies are gone", within=90.0)


def test_edits_of_a_mirror_by_hand_are_denied_and_others_are_not(mirrored: Mirrored) -> None:
    name = "workers-a"
    mirrored.add(name)
    mirrored.settle()
    scale = {"set.spec.replicas": 9}
    told = denied(lambda number: mirrored.edit(MIRROR, name, **{"set.spec.replicas": number}))
    assert "is the mirror of one of machine.openshift.io" in told
    mirrored.settle()
    at_rest = mirrored.versions()
    assert refused(lambda: mirrored.edit(MIRROR, name, **{"set.metadata.labels": {"mine": "1"}}))
    assert "is paused while" in refused(
        lambda: mirrored.edit(MIRROR, name, **{"set.metadata.annotations": None})
    )
    [template] = mirrored.kube.list(TEMPLATE, mirrored.namespace)
    flavor = {"set.spec.template.spec.flavor": "x"}
    assert "is made from" in refused(lambda: mirrored.edit(TEMPLATE, template["metadata"]["name"], **flavor))
    assert mirrored.versions() == at_rest

    other = copy.deepcopy(mirrored.read(MIRROR, name))
    other["metadata"] = {"name": "by-hand", "namespace": mirrored.namespace}
    mirrored.kube.create(other)
    mirrored.edit(MIRROR, "by-hand", **scale)
    mirrored.edit(SOURCE, name, **scale)
    mirrored.settle()
    assert mirrored.read(MIRROR, name)["spec"]["replicas"] == 9


def test_authority_goes_over_and_the_source_follows(mirrored: Mirrored) -> None:
    name = "workers-a"
    mirrored.add(name)
    mirrored.settle()
    mirrored.edit(SOURCE, name, **{"set.spec.authoritativeAPI": "ClusterAPI"})
    mirrored.settle()
    source = mirrored.read(SOURCE, name)
    assert source["status"]["authoritativeAPI"] == "Migrating"
    assert "wait while" in denied(lambda number: mirrored.edit(SOURCE, name, **{"set.spec.replicas": number}))
    source = mirrored.read(SOURCE, name)
    source["status"]["conditions"].append({"type": "Paused", "status": "True"})
    mirrored.kube.replace(source, subresource="status")
    mirrored.settle()
    assert mirrored.read(SOURCE, name)["status"]["authoritativeAPI"] == "ClusterAPI"
    mirrored.edit(MIRROR, name, **{"set.spec.replicas": 5})
    mirrored.settle()
    assert mirrored.read(SOURCE, name)["spec"]["replicas"] == 5
    told = denied(lambda number: mirrored.edit(SOURCE, name, **{"set.spec.replicas": number}))
    assert "Cluster API is in charge" in told
    mirrored.edit(SOURCE, name, **{"set.spec.authoritativeAPI": "MachineAPI"})


@pytest.mark.exhaustive
def test_five_hundred_sets_at_rest_take_less_than_a_minute_and_no_write(mirrored: Mirrored) -> None:
    for index in range(500):
        mirrored.add(f"workers-{index}")
    mirrored.settle()
    at_rest = mirrored.versions()
    assert len(at_rest) == 1500
    began = time.monotonic()
    assert mirrored.reconciler.reconcile() == 60.0
    took = time.monotonic() - began
    assert mirrored.versions() == at_rest
    assert took < 60
    print(json.dumps({"sets": 500, "seconds": round(took, 2)}))
