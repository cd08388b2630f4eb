"""The fault proxy does to requests exactly what it is reported, and nothing to others."""

from __future__ import annotations

import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from controller.adapters.kubernetes.client import PykubeClient
from controller.adapters.kubernetes.connection import connect
from controller.errors import ApiUnavailable
from controller.ports.kubernetes import CONFIGMAP, LEASE
from sandbox.cluster import Sandbox
from sandbox.errors import SandboxError
from sandbox.fault_proxy import FaultProxy
from sandbox.faults import (
    Choose,
    CutAfter,
    CutBefore,
    CutStream,
    Delay,
    Fault,
    FaultsInTurn,
    ProxiedRequest,
    RandomFaults,
    Refuse,
    Silence,
    is_write_of_work,
)
from sandbox.patience import patient
from tests.cluster.region import wait_until


def request(number: int, method: str = "GET", target: str = "/api/v1/pods") -> ProxiedRequest:
    return ProxiedRequest(number, method, target)


def test_the_same_seed_brings_the_same_faults() -> None:
    def faults(seed: int) -> list[Fault | None]:
        choose = RandomFaults(seed, share=0.5)
        return [choose(request(number)) for number in range(200)]

    assert faults(1) == faults(1)
    assert faults(1) != faults(2)
    assert 60 < sum(fault is not None for fault in faults(1)) < 140


def test_in_turn_each_kind_of_fault_comes_once() -> None:
    choose = FaultsInTurn(3, spare=lambda one: one.leases)
    lease = "/apis/coordination.k8s.io/v1/namespaces/x/leases/y"
    asked = [request(number, "GET", lease if number % 2 else "/api/v1/pods") for number in range(1, 61)]
    met = [(one, fault) for one in asked if (fault := choose(one)) is not None]
    assert {type(fault) for _, fault in met} == {CutAfter, CutBefore, Delay, Refuse, Silence}
    assert len(met) == len({str(fault) for _, fault in met}) == 7
    assert not [one for one, _ in met if one.leases]
    assert met[0][0].number == 6
    watch = request(61, target="/api/v1/pods?watch=true")
    assert [type(fault) for fault in choose.left] == [CutStream, Refuse]
    assert isinstance(choose(watch), CutStream) and isinstance(choose(watch), Refuse)
    assert (choose(watch), choose.left) == (None, ())


def test_what_is_spared_meets_no_fault() -> None:
    choose = RandomFaults(1, share=1.0, spare=lambda one: one.leases)
    path = "/apis/coordination.k8s.io/v1/namespaces/x/leases/y"
    assert all(choose(request(number, "PUT", path)) is None for number in range(50))


@pytest.mark.parametrize(
    ("method", "target", "writes"),
    [
        ("GET", "/api/v1/pods", False),
        ("POST", "/api/v1/namespaces/x/secrets?fieldValidation=Strict", True),
        ("PATCH", "/api/v1/namespaces/x/secrets/y?dryRun=All", False),
        ("POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", False),
        ("PUT", "/apis/coordination.k8s.io/v1/namespaces/x/leases/y", False),
    ],
)
def test_writes_of_work_are_distinguished_from_the_rest(method: str, target: str, writes: bool) -> None:
    assert is_write_of_work(request(1, method, target)) is writes


@pytest.fixture
def proxy(sandbox: Sandbox, namespace: str) -> Iterator[FaultProxy]:
    rights = ["create", "rolebinding", "all", "--clusterrole=admin", f"--serviceaccount={namespace}:default"]
    sandbox.kubectl("-n", namespace, *rights)
    # The API server itself learns of rights by a watch.
    asked = ["auth", "can-i", "create", "configmaps", f"--as=system:serviceaccount:{namespace}:default"]
    wait_until("the rights count", lambda: may(sandbox, "-n", namespace, *asked), 120)
    with FaultProxy(sandbox) as proxy:
        yield proxy


def may(sandbox: Sandbox, *question: str) -> bool:
    try:
        return sandbox.kubectl(*question).strip() == "yes"
    except SandboxError:  # kubectl's way to say no
        return False


@pytest.fixture
def kube(proxy: FaultProxy, namespace: str, tmp_path: Path) -> PykubeClient:
    kubeconfig = proxy.service_account_kubeconfig(namespace, "default", tmp_path)
    return PykubeClient(connect(kubeconfig), retries_within=0)


def config(namespace: str, name: str = "one") -> dict[str, object]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": namespace}}


def only_posts(fault: Fault) -> Choose:
    return lambda one: fault if one.method == "POST" else None


@pytest.mark.cluster
def test_without_a_fault_everything_passes(proxy: FaultProxy, kube: PykubeClient, namespace: str) -> None:
    kube.create(config(namespace))
    assert kube.get(CONFIGMAP, "one", namespace) is not None
    assert "one" in [obj["metadata"]["name"] for obj in kube.list(CONFIGMAP, namespace)]
    assert kube.get(CONFIGMAP, "two", namespace) is None
    assert kube.delete(CONFIGMAP, "one", namespace)
    assert [one.method for one in proxy.requests] == ["POST", "GET", "GET", "GET", "DELETE"]
    assert [str(one).split("/")[0] for one in proxy.writes()] == ["POST ", "DELETE "]


@pytest.mark.cluster
@pytest.mark.parametrize(
    ("fault", "done"), [(CutBefore(), False), (CutAfter(), True), (Silence(0.1), False)], ids=str
)
def test_a_broken_connection_leaves_the_write_undone_or_done(
    proxy: FaultProxy, kube: PykubeClient, namespace: str, fault: Fault, done: bool
) -> None:
    proxy.choose = only_posts(fault)
    with pytest.raises(ApiUnavailable):
        kube.create(config(namespace))
    assert (kube.get(CONFIGMAP, "one", namespace) is not None) is done


@pytest.mark.cluster
def test_a_refusal_is_an_answer_of_its_own(proxy: FaultProxy, kube: PykubeClient, namespace: str) -> None:
    proxy.choose = only_posts(Refuse(429, retry_after=7))
    with pytest.raises(ApiUnavailable) as caught:
        kube.create(config(namespace))
    assert caught.value.retry_after == 7
    assert kube.get(CONFIGMAP, "one", namespace) is None


@pytest.mark.cluster
@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
def test_the_world_stands_still_at_the_write_that_was_named(
    proxy: FaultProxy, kube: PykubeClient, sandbox: Sandbox, namespace: str, after: bool
) -> None:
    stop = proxy.stop_at(2, after=after)
    ends: list[str] = []

    def work() -> None:
        kube.create(config(namespace, "one"))
        kube.get(LEASE, "none", namespace)
        try:
            kube.create(config(namespace, "two"))
        except ApiUnavailable:
            ends.append("broken")

    worker = threading.Thread(target=work)
    worker.start()
    assert stop.wait(patient(120))
    assert stop.request is not None and stop.request.method == "POST"
    assert worker.is_alive()
    names = sandbox.kubectl("-n", namespace, "get", "configmaps", "-o", "name")
    assert "configmap/one" in names
    assert ("configmap/two" in names) is after
    proxy.resume()
    worker.join(patient(120))
    assert ends == ["broken"]
    assert kube.get(CONFIGMAP, "one", namespace) is not None


@pytest.mark.cluster
def test_a_watch_passes_and_can_be_cut(
    proxy: FaultProxy, kube: PykubeClient, sandbox: Sandbox, namespace: str, tmp_path: Path
) -> None:
    proxy.choose = lambda one: CutStream(1.0) if one.watches else None
    kubeconfig = tmp_path / f"{namespace}-default.kubeconfig"
    sandbox.kubectl("-n", namespace, "create", "configmap", "seen")
    arguments = ["-n", namespace, "get", "configmaps", "--watch", "-o", "name"]
    # Uncut, it would go on forever.
    assert "configmap/seen" in run(sandbox, kubeconfig, arguments)


def run(sandbox: Sandbox, kubeconfig: Path, arguments: list[str]) -> str:
    """What kubectl had printed when its watch ended, with or without complaint."""
    command = [str(sandbox.binaries.kubectl), "--kubeconfig", str(kubeconfig), *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=patient(300), check=False).stdout
