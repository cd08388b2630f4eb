"""A real node: pods run, find each other, keep their data, come again; and the machine stays as it was."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sandbox.cluster import Sandbox
from sandbox.errors import SandboxError
from sandbox.node import plan
from sandbox.patience import Patience
from sandbox.processes import ProcessIdentity, is_running, kill_process, observe_process, read_pid_file
from tests.real.conftest import IMAGE, volumes_of
from tests.real.machine import Machine, observe_machine

pytestmark = [pytest.mark.real, pytest.mark.timeout(1800)]

Apply = Callable[..., None]
READY = "--timeout=180s"


def deployment(name: str, *command: str, **pod: Any) -> dict[str, Any]:
    labels = {"app": name}
    container = {"name": "main", "image": IMAGE, "command": list(command), **pod.pop("container", {})}
    spec = {"terminationGracePeriodSeconds": 1, "containers": [container], **pod}
    template = {"metadata": {"labels": labels}, "spec": spec}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name},
        "spec": {"selector": {"matchLabels": labels}, "template": template},
    }


def service(name: str) -> dict[str, Any]:
    spec = {"selector": {"app": name}, "ports": [{"port": 80, "targetPort": 8080}]}
    return {"apiVersion": "v1", "kind": "Service", "metadata": {"name": name}, "spec": spec}


def web(name: str) -> dict[str, Any]:
    probe = {"readinessProbe": {"httpGet": {"path": "/", "port": 8080}, "periodSeconds": 1}}
    return deployment(name, "python3", "-m", "http.server", "8080", container=probe)


def run_python(node: Sandbox, namespace: str, name: str, code: str) -> str:
    there = ("--namespace", namespace, f"deploy/{name}")
    return node.kubectl("exec", *there, "--", "python3", "-c", code).strip()


def wait_until(check: Callable[[], bool], what: str, seconds: float = 120.0) -> None:
    patience = Patience(seconds)
    while not check():
        assert not patience.is_over(), what
        time.sleep(0.5)


def test_pods_reach_services_by_name_and_the_api_server_reaches_pods(
    node: Sandbox, namespace: str, apply: Apply
) -> None:
    apply(web("web"), service("web"))
    node.kubectl("rollout", "status", "--namespace", namespace, "deploy/web", READY)
    code = "import urllib.request as r; print(r.urlopen('http://web').status)"
    # To itself, too: its own address comes back as that of another.
    assert run_python(node, namespace, "web", code) == "200"
    logged = node.kubectl("logs", "--namespace", namespace, "deploy/web")
    assert '"GET / HTTP/1.1" 200' in logged


def test_a_pod_on_the_nodes_network_reaches_services_too(node: Sandbox, namespace: str, apply: Apply) -> None:
    near = deployment("near", "sleep", "100000", hostNetwork=True, dnsPolicy="ClusterFirstWithHostNet")
    apply(web("web"), service("web"), near)
    for name in ("web", "near"):
        node.kubectl("rollout", "status", "--namespace", namespace, f"deploy/{name}", READY)
    code = f"import urllib.request as r; print(r.urlopen('http://web.{namespace}.svc.cluster.local').status)"
    assert run_python(node, namespace, "near", code) == "200"
    # What every pod with a ServiceAccount asks.
    code = "import socket; print(socket.create_connection(('kubernetes.default', 443), 10).getpeername()[1])"
    assert run_python(node, namespace, "near", code) == "443"


def test_nothing_leaves_the_node_and_who_tries_is_reported_at_once(
    node: Sandbox, namespace: str, apply: Apply
) -> None:
    apply(deployment("shell", "sleep", "100000"))
    node.kubectl("rollout", "status", "--namespace", namespace, "deploy/shell", READY)
    code = (
        "import socket, time\n"
        "began = time.monotonic()\n"
        "try:\n    socket.create_connection(('192.0.2.1', 443), 30); print('connected')\n"
        "except OSError as error:\n    print(type(error).__name__, time.monotonic() - began < 10)\n"
    )
    assert run_python(node, namespace, "shell", code) == "OSError True"


def test_a_claim_keeps_data_over_the_pods_life_as_the_pods_own_and_goes_with_it(
    node: Sandbox, namespace: str, apply: Apply
) -> None:
    claim = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": "data"},
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
    }
    keeper = deployment(
        *("keeper", "sh", "-c", "echo x >> /data/starts; sleep 100000"),
        container={"volumeMounts": [{"name": "data", "mountPath": "/data"}]},
        volumes=[{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}],
        securityContext={"runAsUser": 4711, "fsGroup": 4712},
    )
    before = set(volumes_of(node))
    apply(claim, keeper)
    node.kubectl("rollout", "status", "--namespace", namespace, "deploy/keeper", READY)
    node.kubectl("delete", "pod", "--namespace", namespace, "-l", "app=keeper")
    node.kubectl("rollout", "status", "--namespace", namespace, "deploy/keeper", READY)
    starts = "print(open('/data/starts').read().split())"
    wait_until(lambda: run_python(node, namespace, "keeper", starts) == "['x', 'x']", "the data is not kept")
    (volume,) = set(volumes_of(node)) - before
    assert volume.stat().st_gid == 4712
    node.kubectl("delete", "--namespace", namespace, "deploy/keeper", "pvc/data")
    wait_until(lambda: not volume.exists(), "the directory outlives its claim")


def write_again(node: Sandbox) -> None:
    """A kube-proxy ends by itself when its configuration is written."""
    path = plan.NodeLayout(node.layout.node).configuration / "kube-proxy.yaml"
    path.write_text(path.read_text())


@pytest.mark.parametrize(
    "end", [lambda node: kill_program(node, "kube-proxy"), write_again], ids=["killed", "reconfigured"]
)
def test_services_are_reached_after_kube_proxy_ended_and_ran_again(
    node: Sandbox, namespace: str, apply: Apply, end: Callable[[Sandbox], None]
) -> None:
    apply(web("web"), service("web"))
    node.kubectl("rollout", "status", "--namespace", namespace, "deploy/web", READY)
    log = node.layout.log("node")
    before = log.read_text().count("kube-proxy ended")
    end(node)
    wait_until(lambda: log.read_text().count("kube-proxy ended") > before, "it did not end")
    code = "import urllib.request as r; print(r.urlopen('http://web', timeout=10).status)"

    def served() -> bool:
        try:
            return run_python(node, namespace, "web", code) == "200"
        except SandboxError:
            return False

    # Once its tables are written; they stay so.
    wait_until(served, "no Service is reached")
    time.sleep(5)
    assert served()


def test_a_node_that_runs_is_let_be_by_another_up(node: Sandbox) -> None:
    before = programs_of(node)
    assert set(before) == set(plan.commands())
    Sandbox.up(node.name, real=True)
    time.sleep(5)
    assert programs_of(node) == before


def test_after_the_node_was_killed_its_pods_come_again(node: Sandbox, namespace: str, apply: Apply) -> None:
    apply(web("web"), service("web"))
    node.kubectl("rollout", "status", "--namespace", namespace, "deploy/web", READY)
    init = (node.layout.node / "init.json").read_text()
    node.kill_component("node")
    node.start_component("node")
    assert (node.layout.node / "init.json").read_text() != init
    code = "import urllib.request as r; print(r.urlopen('http://web').status)"

    def served() -> bool:
        answer = node.kubectl(
            *("get", "pods", "--namespace", namespace, "-l", "app=web", "--output"),
            "jsonpath={.items[*].status.containerStatuses[*].restartCount} "
            "{.items[*].status.conditions[?(@.type=='Ready')].status}",
        )
        return answer.split()[-1] == "True" and answer.split()[0] != "0"

    wait_until(served, "the pod does not run again")
    assert run_python(node, namespace, "web", code) == "200"


def test_a_container_beyond_its_memory_is_killed_by_the_kernel(
    node: Sandbox, namespace: str, apply: Apply
) -> None:
    hog = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "hog"},
        "spec": {
            "restartPolicy": "Never",
            "containers": [
                {
                    "name": "main",
                    "image": IMAGE,
                    "command": ["python3", "-c", "bytearray(300 * 1024 * 1024)"],
                    "resources": {"limits": {"memory": "64Mi"}},
                }
            ],
        },
    }
    apply(hog)
    path = "jsonpath={.status.containerStatuses[0].state.terminated.reason}"
    wait_until(
        lambda: node.kubectl("get", "pod", "hog", "--namespace", namespace, "-o", path) == "OOMKilled",
        "the container has more memory than it may",
    )


def test_the_machine_is_as_it_was(untouched: Machine, node: Sandbox) -> None:
    """While the node runs, except its control group; and when it has gone, without."""
    group = plan.cgroup_name(node.layout.directory)
    during = observe_machine()
    assert during.sysctls == untouched.sysctls
    assert (during.links, during.routes) == (untouched.links, untouched.routes)
    assert during.mounts == untouched.mounts
    assert {Path(path).name for path in during.groups - untouched.groups} == {group}


def programs_of(node: Sandbox) -> dict[str, int]:
    """The node's own programs that run, with their pids."""
    init = read_pid_file(plan.NodeLayout(node.layout.node).identity)
    assert init is not None
    found = {}
    for name, command in plan.commands().items():
        words = "\0".join(command).encode()
        for one in processes_of(Path(f"/proc/{init.pid}/ns/pid").readlink()):
            if words in Path(f"/proc/{one.pid}/cmdline").read_bytes():
                found[name] = one.pid
    return found


def kill_program(node: Sandbox, name: str) -> None:
    identity = observe_process(programs_of(node)[name])
    assert identity is not None
    kill_process(identity)


def processes_of(namespace: Path) -> list[ProcessIdentity]:
    """Those in that PID namespace, whose number may be another's once it has gone."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and (entry / "ns/pid").readlink() == namespace:
                found.append(observe_process(int(entry.name)))
        except OSError:
            continue
    return [one for one in found if one is not None]


def test_down_ends_every_process_and_removes_every_group(untouched: Machine, tmp_path: Path) -> None:
    box = Sandbox.up("real-down", real=True)
    init = read_pid_file(plan.NodeLayout(box.layout.node).identity)
    assert init is not None
    inside = processes_of(Path(f"/proc/{init.pid}/ns/pid").readlink())
    assert init in inside
    box.down()
    assert [one for one in inside if is_running(one)] == []
    assert not box.layout.directory.exists()
    group = plan.cgroup_name(box.layout.directory)
    assert not list(Path("/sys/fs/cgroup").glob(f"*/{group}")) + list(Path("/sys/fs/cgroup").glob(group))
