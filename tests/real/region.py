"""A region in real pods, and what tests ask of it."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from sandbox.cluster import Sandbox
from sandbox.demo import NAMESPACE, REGION, ROOT
from sandbox.demo_real import SERIES
from sandbox.errors import SandboxError
from sandbox.node import plan
from sandbox.patience import Patience
from sandbox.processes import kill_process, observe_process

READY_SECONDS = 2400
CLIENT_IMAGE = "sandbox.local/airshipit/openstack-client:{series}-ubuntu_noble"


def items(box: Sandbox, kind: str, *selection: str, namespace: str = NAMESPACE) -> list[dict[str, Any]]:
    """Objects of a kind, as the API server has them."""
    found = json.loads(box.kubectl("get", kind, "--namespace", namespace, "--output=json", *selection))
    listed: list[dict[str, Any]] = found["items"]
    return listed


def is_ready(obj: dict[str, Any]) -> bool:
    """Whether its condition Ready is True."""
    conditions = obj["status"].get("conditions") or ()
    return any(one["type"] == "Ready" and one["status"] == "True" for one in conditions)


def deployment(box: Sandbox) -> dict[str, Any]:
    """The OpenStackDeployment."""
    (found,) = items(box, "osdpl")
    return found


def condition(box: Sandbox, type_: str) -> str:
    """Whether it is so, by the region itself; empty where it has not looked at its newest spec yet."""
    found = deployment(box)
    (one,) = [one for one in found["status"]["conditions"] if one["type"] == type_]
    return str(one["status"]) if one["observedGeneration"] == found["metadata"]["generation"] else ""


def pods(box: Sandbox) -> dict[str, dict[str, Any]]:
    """The region's pods that are to run, by uid."""
    found = items(box, "pods", "--selector=application")
    return {
        one["metadata"]["uid"]: one
        for one in found
        if not any(owner["kind"] == "Job" for owner in one["metadata"].get("ownerReferences", ()))
    }


def edit(box: Sandbox, spec: dict[str, Any]) -> None:
    """Merges this into the region's spec."""
    patch = json.dumps({"spec": spec})
    box.kubectl("patch", "osdpl", REGION, "--namespace", NAMESPACE, "--type=merge", "--patch", patch)


def wait_until(check: Callable[[], bool], what: str, seconds: float, pause: float = 1.0) -> float:
    """The seconds it took; fails after `seconds`."""
    began, patience = time.monotonic(), Patience(seconds)
    while True:
        try:
            if check():
                return time.monotonic() - began
        except SandboxError:
            pass  # the API server, or a pod that is on its way
        assert not patience.is_over(), what
        time.sleep(pause)


def wait_ready(box: Sandbox) -> float:
    """Until the region is Ready for its newest spec, and every pod is. The seconds it took."""

    def ready() -> bool:
        return condition(box, "Ready") == "True" and all(map(is_ready, pods(box).values()))

    return wait_until(ready, "the region is not Ready", READY_SECONDS)


@contextlib.contextmanager
def client_pod(
    box: Sandbox, name: str, *, files_of: str = "", place: str = "", series: str = SERIES
) -> Iterator[Callable[[str], str]]:
    """A pod that has the exported clouds.yaml: what is yielded runs Python in it, beside openstacksdk.

    `files_of`: an image whose directory `place` is in the pod, too.
    """
    mounts = [{"name": "clouds", "mountPath": "/etc/openstack"}]
    volumes: list[dict[str, Any]] = [{"name": "clouds", "secret": {"secretName": "openstack-clouds"}}]
    copying = []
    if files_of:
        mounts.append({"name": "files", "mountPath": place})
        volumes.append({"name": "files", "emptyDir": {}})
        copy = {"name": "files", "image": files_of, "command": ["cp", "-r", f"{place}/.", "/copied"]}
        copying.append({**copy, "volumeMounts": [{"name": "files", "mountPath": "/copied"}]})
    container = {
        "name": "client",
        "image": CLIENT_IMAGE.format(series=series),
        "command": ["sleep", "100000"],
        "volumeMounts": mounts,
    }
    spec = {
        "terminationGracePeriodSeconds": 0,
        "enableServiceLinks": False,
        "securityContext": {"runAsUser": 42424},
        "initContainers": copying,
        "containers": [container],
        "volumes": volumes,
    }
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec}
    there = ("--namespace", NAMESPACE)
    box.kubectl("apply", *there, "-f", "-", input=json.dumps(pod))
    try:
        box.kubectl("wait", *there, f"pod/{name}", "--for=condition=Ready", "--timeout=300s", timeout=360)
        yield lambda code: box.kubectl(
            *("exec", *there, "-i", name, "--", "python3", "-"), input=code, timeout=10000
        )
    finally:
        box.kubectl("delete", *there, f"pod/{name}", "--ignore-not-found")


def osctl(box: Sandbox, *arguments: str, seconds: float = 900) -> str:
    """What osctl prints, as on a machine of a person. Fails if it does."""
    command = [sys.executable, "-P", "-m", "controller.cli.main", *arguments]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "KUBECONFIG": str(box.kubeconfig), "COLUMNS": "200"}
    done = subprocess.run(
        [*command, "--namespace", NAMESPACE],
        capture_output=True,
        text=True,
        check=False,
        timeout=seconds,
        env=environment,
    )
    assert done.returncode == 0, f"osctl {' '.join(arguments)}: {done.stdout}{done.stderr}"
    return done.stdout


def kill_container(box: Sandbox, container: str) -> None:
    """SIGKILL to the process of that container of the controller, as the kernel would send it."""
    command = f"osctl-{container}".encode()
    for entry in Path("/proc").iterdir():
        try:
            is_it = entry.name.isdigit() and command in (entry / "cmdline").read_bytes()
            groups = (entry / "cgroup").read_text() if is_it else ""
        except OSError:
            continue
        if is_it and plan.cgroup_name(box.layout.directory) in groups:
            identity = observe_process(int(entry.name))
            assert identity is not None
            kill_process(identity)
            return
    raise AssertionError(f"no process of {container}")
