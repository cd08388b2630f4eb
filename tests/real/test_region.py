"""A region in real pods: deployed by our controller in its own pod, Ready by its own probes, and used."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from sandbox.cluster import Sandbox
from sandbox.demo import CONTROLLER_NAMESPACE, NAMESPACE, RELEASE
from sandbox.demo_real import run_real_demo
from sandbox.errors import SandboxError
from sandbox.node.plan import cgroup_name
from sandbox.processes import kill_process, observe_process

pytestmark = [pytest.mark.real, pytest.mark.timeout(5400)]

CLIENT_IMAGE = "sandbox.local/airshipit/openstack-client:2025.1-ubuntu_noble"
CONTAINERS = ("core", "helmbundle", "health", "secrets", "node")
USE = Path(__file__).with_name("use_region.py")


@pytest.fixture(scope="module")
def region(node: Sandbox) -> Sandbox:
    """The sandbox with the region of the example, Ready."""
    run_real_demo(node, print)
    return node


@pytest.fixture(scope="module")
def client(region: Sandbox) -> Iterator[Callable[[str], str]]:
    """Runs Python beside openstacksdk in a pod that has the exported clouds.yaml."""
    container = {
        "name": "client",
        "image": CLIENT_IMAGE,
        "command": ["sleep", "100000"],
        "volumeMounts": [{"name": "clouds", "mountPath": "/etc/openstack"}],
    }
    spec = {
        "terminationGracePeriodSeconds": 0,
        "enableServiceLinks": False,
        "securityContext": {"runAsUser": 42424},
        "containers": [container],
        "volumes": [{"name": "clouds", "secret": {"secretName": "openstack-clouds"}}],
    }
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "client"}, "spec": spec}
    there = ("--namespace", NAMESPACE)
    region.kubectl("apply", *there, "-f", "-", input=json.dumps(pod))
    region.kubectl("wait", *there, "pod/client", "--for=condition=Ready", "--timeout=300s")
    yield lambda code: region.kubectl(
        *("exec", *there, "-i", "client", "--", "python3", "-"), input=code, timeout=1200
    )
    region.kubectl("delete", *there, "pod/client")


def items(box: Sandbox, kind: str, *selection: str, namespace: str = NAMESPACE) -> list[dict[str, Any]]:
    found = json.loads(box.kubectl("get", kind, "--namespace", namespace, "--output=json", *selection))
    listed: list[dict[str, Any]] = found["items"]
    return listed


def is_ready(pod: dict[str, Any]) -> bool:
    conditions = pod["status"].get("conditions") or ()
    return any(one["type"] == "Ready" and one["status"] == "True" for one in conditions)


def wait_until(check: Callable[[], bool], what: str, seconds: float) -> None:
    deadline = time.monotonic() + seconds
    while True:
        try:
            if check():
                return
        except SandboxError:
            pass  # the API server, or a pod that is on its way
        assert time.monotonic() < deadline, what
        time.sleep(1)


def test_every_pod_is_ready_by_its_own_probes_and_every_job_is_done(region: Sandbox) -> None:
    pods = [pod for pod in items(region, "pods") if pod["status"]["phase"] != "Succeeded"]
    assert [pod["metadata"]["name"] for pod in pods if not is_ready(pod)] == []
    jobs = items(region, "jobs")
    assert [job["metadata"]["name"] for job in jobs if not job["status"].get("succeeded")] == []
    (deployment,) = items(region, "osdpl")
    ready = {one["type"]: one["status"] for one in deployment["status"]["conditions"]}["Ready"]
    assert ready == "True"


def test_the_region_serves_up_to_a_server(client: Callable[[str], str]) -> None:
    steps = {row["step"]: row for row in map(json.loads, client(USE.read_text()).splitlines())}
    assert set(steps["token"]["services"]) >= {"compute", "identity", "image", "network", "placement"}
    assert steps["image"]["same"]
    assert steps["port"]["address"].startswith("192.0.2.")
    assert (steps["server"]["status"], steps["server"]["fault"]) == ("ACTIVE", None)
    assert "gone" in steps


def test_the_controller_runs_as_its_chart_says(region: Sandbox) -> None:
    (pod,) = items(region, "pods", "-l", f"app.kubernetes.io/name={RELEASE}", namespace=CONTROLLER_NAMESPACE)
    assert is_ready(pod)
    code = (
        "import os, pathlib\n"
        "try:\n    pathlib.Path('/opt/x').touch(); print('written')\n"
        "except OSError as error:\n    print(os.getuid(), error.errno)\n"
    )
    shown = region.kubectl(
        *("exec", "--namespace", CONTROLLER_NAMESPACE, f"deploy/{RELEASE}", "-c", "core", "--"),
        *("python", "-c", code),
    )
    assert shown.split() == ["65532", "30"]


@pytest.mark.parametrize("container", CONTAINERS)
def test_a_container_of_the_controller_that_is_killed_comes_again(region: Sandbox, container: str) -> None:
    def restarts() -> int:
        (pod,) = items(
            region, "pods", "-l", f"app.kubernetes.io/name={RELEASE}", namespace=CONTROLLER_NAMESPACE
        )
        counts = {one["name"]: one for one in pod["status"]["containerStatuses"]}
        return int(counts[container]["restartCount"]) if counts[container]["ready"] else -1

    wait_until(lambda: restarts() >= 0, f"{container} is not ready before", 300)
    before = restarts()
    # The first process of the container does not take SIGKILL from within: the node sends it.
    kill_container(region, container)
    wait_until(lambda: restarts() > before, f"{container} does not run again", 300)


def kill_container(box: Sandbox, container: str) -> None:
    """SIGKILL to the process of that container of the controller, as the kernel would send it."""
    command = f"osctl-{container}".encode()
    for entry in Path("/proc").iterdir():
        try:
            is_it = entry.name.isdigit() and command in (entry / "cmdline").read_bytes()
            groups = (entry / "cgroup").read_text() if is_it else ""
        except OSError:
            continue
        if is_it and cgroup_name(box.layout.directory) in groups:
            identity = observe_process(int(entry.name))
            assert identity is not None
            kill_process(identity)
            return
    raise AssertionError(f"no process of {container}")
