"""health with a network and an API server that fail: in the end it tells the truth, and never goes back."""

from __future__ import annotations

import http.client
import json
import secrets
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from controller.adapters.kubernetes.watches import INACTIVE_SECONDS, SILENT_AFTER
from controller.domain.api.conditions import find
from sandbox.cluster import Sandbox
from sandbox.controllers import Controllers
from sandbox.errors import SandboxError
from sandbox.fault_proxy import FaultProxy
from sandbox.faults import Fault, ProxiedRequest, Silence, pass_on
from tests.cluster.health.test_health import Workloads
from tests.cluster.region import Region, wait_until

pytestmark = [pytest.mark.cluster, pytest.mark.exhaustive, pytest.mark.timeout(1200)]

HEALTH = ("health",)


def deployments_silent(request: ProxiedRequest) -> Fault | None:
    """The watch of Deployments is taken, and nothing ever comes."""
    silent = request.watches and request.path.endswith("/deployments")
    return Silence(2 * SILENT_AFTER) if silent else None


def probe(port_file: Path) -> tuple[int, str]:
    """What the kubelet would be reported by the liveness probe."""
    connection = http.client.HTTPConnection("127.0.0.1", int(port_file.read_text()), timeout=5)
    try:
        connection.request("GET", "/healthz")
        answer = connection.getresponse()
        return answer.status, answer.read().decode()
    finally:
        connection.close()


@contextmanager
def kubelet(controllers: Controllers) -> Iterator[None]:
    """Starts again what ends, as the kubelet would."""
    over = threading.Event()

    def restart() -> None:
        while not over.wait(0.5):
            for name in set(controllers.containers) - set(controllers.running()):
                try:
                    controllers.start(name)
                except (SandboxError, subprocess.SubprocessError, OSError):
                    continue  # no token to be had: the API server is away

    thread = threading.Thread(target=restart, name="kubelet")
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


@pytest.fixture
def proxied(sandbox: Sandbox, tmp_path: Path) -> Iterator[tuple[Workloads, FaultProxy]]:
    """A region of which health runs behind a proxy."""
    namespace = f"test-{secrets.token_hex(4)}"
    sandbox.create_namespace(namespace, {})
    region = Region(sandbox, namespace, tmp_path, containers=HEALTH)
    with FaultProxy(sandbox) as proxy:
        region.controllers = Controllers(
            proxy,
            namespace,
            tmp_path,
            containers=HEALTH,
            die_with_parent=True,
            service_account=f"osctl-{namespace}",
        )
        try:
            region.install()
            workloads = Workloads(region)
            workloads.deploy_release()
            yield workloads, proxy
        finally:
            region.controllers.stop(grace=2.0)
            region.helm("uninstall", f"osctl-{namespace}", "--ignore-not-found")
            sandbox.kubectl("delete", "namespace", namespace, "--wait=false", "--ignore-not-found")


def test_a_watch_that_is_cut_silently_is_found_and_taken_up_again(
    proxied: tuple[Workloads, FaultProxy],
) -> None:
    workloads, proxy = proxied
    workloads.apply("Deployment", "api")
    workloads.wait("api", "Ready")
    proxy.choose = deployments_silent
    proxy.break_connections()
    wait_until(
        "the silent watch",
        lambda: any(deployments_silent(one) for one in tuple(proxy.requests)[-40:]),
        timeout=60,
    )
    # Scaled to more pods than there can be: only the watch of Deployments tells of it.
    workloads.region.kubectl("patch", "deployment/nova-api", "--type=merge", "-p", '{"spec":{"paused":true}}')
    workloads.region.kubectl("scale", "deployment/nova-api", "--replicas=3")
    proxy.choose = pass_on
    entry = wait_until(
        "three pods are told",
        lambda: (found := workloads.health("api")).get("desired") == 3 and found,
        timeout=INACTIVE_SECONDS + 60,
    )
    assert entry["status"] in ("Ready", "Progressing")


def test_a_dead_watch_fails_the_liveness_probe_and_a_restart_shows_the_truth(
    proxied: tuple[Workloads, FaultProxy],
) -> None:
    workloads, proxy = proxied
    controllers = workloads.region.controllers
    workloads.apply("Deployment", "api")
    workloads.apply("Deployment", "conductor")
    workloads.wait("api", "Ready")
    before = workloads.wait("conductor", "Ready")
    port_file = controllers.directory / "pids" / "health.port"
    proxy.choose = deployments_silent
    proxy.break_connections()
    workloads.region.kubectl("delete", "deployment/nova-api")
    status, text = wait_until(
        "the liveness probe fails",
        lambda: (said := probe(port_file))[0] == 503 and said,
        timeout=SILENT_AFTER + 120,
    )
    assert status == 503
    assert text.startswith("watches: no sign of life from the watches of deployments for ")
    proxy.choose = pass_on
    controllers.kill("health")
    controllers.start("health")
    wait_until("the api is gone", lambda: not workloads.health("api"), timeout=300)
    assert workloads.health("conductor") == before


def moments(workloads: Workloads) -> tuple[datetime, datetime]:
    """When the condition turned over and when the api's status did: neither may ever move back."""
    condition = workloads.region.condition("WorkloadsHealthy")
    return (
        datetime.fromisoformat(condition["lastTransitionTime"]),
        datetime.fromisoformat(workloads.health("api")["since"]),
    )


def revive(sandbox: Sandbox) -> None:
    """Components that ended with the API server start again, as their supervisor would have it."""
    for component in sandbox.status():
        if not component.healthy:
            sandbox.start_component(component.name)


def report_pods(region: Region) -> None:
    """What the kubelet of a node that is back reports of its pods; KWOK reports each pod once."""

    def nodes_are_ready() -> bool:
        nodes = [find(node["status"]["conditions"], "Ready") for node in region.get("nodes")["items"]]
        return all(one["status"] == "True" for one in nodes)

    wait_until("the node is back", nodes_are_ready, timeout=300)
    for pod in region.get("pods")["items"]:
        containers = pod["status"].get("containerStatuses") or []
        ready = find(pod["status"].get("conditions") or [], "Ready")
        if ready.get("status") == "False" and containers and all(one["ready"] for one in containers):
            patch = {"status": {"conditions": [{**ready, "status": "True", "reason": "", "message": ""}]}}
            name = f"pod/{pod['metadata']['name']}"
            region.kubectl("patch", name, "--subresource=status", "--type=strategic", "-p", json.dumps(patch))


def test_an_api_server_killed_in_the_middle_of_a_change_leaves_no_wrong_status(
    private_sandbox: Sandbox, tmp_path: Path
) -> None:
    namespace = f"test-{secrets.token_hex(4)}"
    private_sandbox.create_namespace(namespace, {})
    region = Region(private_sandbox, namespace, tmp_path, containers=HEALTH)
    region.install()
    workloads = Workloads(region)
    workloads.deploy_release()
    workloads.apply("Deployment", "conductor")
    workloads.apply("Deployment", "api")
    workloads.wait("api", "Ready")
    steady = workloads.wait("conductor", "Ready")
    try:
        with kubelet(region.controllers):
            for fail, status in (("crash-loop", "Unhealthy"), ("", "Ready")):
                before = moments(workloads)
                workloads.apply("Deployment", "api", fail=fail)
                private_sandbox.kill_component("apiserver")
                # Long enough for the Lease to be lost: the container ends, and starts again.
                outage = threading.Event()
                outage.wait(25)
                private_sandbox.start_component("apiserver")
                revive(private_sandbox)
                workloads.wait("api", status, timeout=300)
                # The node was silent for as long as the API server was: its pods may have seemed lost.
                report_pods(region)
                conductor = workloads.wait("conductor", "Ready", timeout=300)
                assert conductor["desired"] == steady["desired"]
                after = moments(workloads)
                assert after[0] >= before[0]
                assert after[1] > before[1]
            wait_until(
                "healthy again",
                lambda: region.condition("WorkloadsHealthy").get("status") == "True",
                timeout=60,
            )
    finally:
        region.controllers.stop(grace=2.0)


def test_pods_of_a_node_that_is_lost_are_reported_and_heal_with_it(
    private_sandbox: Sandbox, tmp_path: Path
) -> None:
    namespace = f"test-{secrets.token_hex(4)}"
    private_sandbox.create_namespace(namespace, {})
    region = Region(private_sandbox, namespace, tmp_path, containers=HEALTH)
    region.install()
    workloads = Workloads(region)
    workloads.deploy_release()
    workloads.apply("DaemonSet", "compute")
    workloads.wait("compute", "Ready")
    [node] = (one["metadata"]["name"] for one in region.get("nodes")["items"])
    try:
        # Without KWOK no one renews the node's Lease: its controller believes it lost after 40 s.
        private_sandbox.stop_component("kwok")
        entry = workloads.wait("compute", "Unhealthy", f"the node {node} does not answer", timeout=300)
        assert (entry["ready"], entry["desired"]) == (0, 1)
        private_sandbox.start_component("kwok")
        report_pods(region)
        workloads.wait("compute", "Ready", timeout=300)
    finally:
        region.controllers.stop(grace=2.0)


CAUSES: dict[str, Callable[[Workloads], Any]] = {
    "an image that can be pulled again": lambda one: one.apply("Deployment", "scheduler"),
    "a node that fits": lambda one: one.region.sandbox.kubectl(
        "label", "nodes", "--all", f"{one.region.namespace}=true", "--overwrite"
    ),
}


def test_what_hindered_a_component_goes_and_it_heals_unaided(
    proxied: tuple[Workloads, FaultProxy],
) -> None:
    workloads, _ = proxied
    workloads.apply("Deployment", "scheduler", fail="image-pull")
    workloads.apply("Deployment", "conductor", nodeSelector={workloads.region.namespace: "true"})
    workloads.apply("Deployment", "images", volumes=[_claimed("images", "no-such-class", workloads)])
    workloads.wait("scheduler", "Unhealthy", "ImagePullBackOff")
    workloads.wait("conductor", "Unhealthy", "Unschedulable", timeout=300)
    workloads.wait("images", "Unhealthy", "claim images is Pending", timeout=300)
    for heal in CAUSES.values():
        heal(workloads)
    workloads.region.kubectl("delete", "pvc/images", "--wait=true")
    _claimed("images", "general", workloads)
    for component in ("scheduler", "conductor", "images"):
        workloads.wait(component, "Ready", timeout=300)
    reported = wait_until(
        "healthy",
        lambda: (found := workloads.region.condition("WorkloadsHealthy"))["status"] == "True" and found,
    )
    assert reported["reason"] == "WorkloadsHealthy"


def _claimed(name: str, storage_class: str, workloads: Workloads) -> dict[str, Any]:
    """A claim of this storage class, and the volume of a pod that uses it."""
    claim = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": name},
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": storage_class,
            "resources": {"requests": {"storage": "1Gi"}},
        },
    }
    workloads.region.kubectl("apply", "-f", "-", input=json.dumps(claim))
    return {"name": name, "persistentVolumeClaim": {"claimName": name}}
