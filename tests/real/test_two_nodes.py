"""Two real nodes: pods of both reach each other, links are cut, and the power of one is switched off."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from sandbox.cluster import Sandbox
from sandbox.errors import SandboxError
from sandbox.node import faults, plan
from sandbox.node.hosts import RealNode, real_nodes
from sandbox.node.network import run_in
from sandbox.processes import ProcessIdentity, is_running, observe_process, read_pid_file
from tests.real.conftest import load_base
from tests.real.sandboxes import real_sandbox
from tests.real.test_node import processes_of, service, wait_until, web

pytestmark = [pytest.mark.real, pytest.mark.timeout(1800)]

NAME = "real-two"
NAMESPACE = "two-nodes"
ONE, OTHER = real_nodes(2)
READY_SECONDS = 180.0
# A node is NotReady 50 s after its last sign of life.
LOST_SECONDS = 150.0
MEMORY = 12 * 2**30


@pytest.fixture(scope="module")
def two() -> Iterator[Sandbox]:
    """A sandbox with two real nodes, and on each a pod that serves."""
    began = time.monotonic()
    with real_sandbox(NAME, nodes=2) as box:
        print(f"two nodes Ready after {time.monotonic() - began:.0f} s")
        load_base(box)
        box.create_namespace(NAMESPACE, {})
        objects = [*(on_node(node) for node in (ONE, OTHER)), service(OTHER.name)]
        apply(box, *objects)
        for node in (ONE, OTHER):
            wait_until(partial(answers, box, node, node), f"no pod on {node.name}")
        yield box


@pytest.fixture(autouse=True)
def mended(two: Sandbox) -> Iterator[None]:
    """Both nodes run, with all their links, after each test too."""
    yield
    two.start_component(OTHER.component)
    faults.mend(two.layout, OTHER)
    wait_until(lambda: is_ready(two, OTHER), "the node does not come back", READY_SECONDS)


def apply(box: Sandbox, *objects: dict[str, Any]) -> None:
    content = json.dumps({"apiVersion": "v1", "kind": "List", "items": list(objects)})
    box.kubectl("apply", "--namespace", NAMESPACE, "-f", "-", input=content)


def on_node(node: RealNode) -> dict[str, Any]:
    """A server that stays on the node, also while that one is not seen."""
    made = web(node.name)
    pod = made["spec"]["template"]["spec"]
    pod["nodeSelector"] = {"kubernetes.io/hostname": node.name}
    pod["tolerations"] = [{"operator": "Exists"}]
    return made


def is_ready(box: Sandbox, node: RealNode) -> bool:
    path = "jsonpath={.status.conditions[?(@.type=='Ready')].status}"
    return box.kubectl("get", "node", node.name, "--output", path) == "True"


def pod_address(box: Sandbox, node: RealNode) -> str:
    listed = json.loads(
        box.kubectl("get", "pods", "--namespace", NAMESPACE, "-l", f"app={node.name}", "--output=json")
    )
    (pod,) = listed["items"]
    assert pod["spec"]["nodeName"] == node.name
    return str(pod["status"].get("podIP", ""))


def fetch(box: Sandbox, where: RealNode, host: str) -> str:
    """The HTTP status that a pod there gets from the host, or the name of its error."""
    code = (
        "import urllib.request as r\n"
        f"try: print(r.urlopen('http://{host}', timeout=3).status)\n"
        "except OSError as error: print(type(error).__name__)"
    )
    there = ("--namespace", NAMESPACE, f"deploy/{where.name}")
    return box.kubectl("exec", *there, "--", "python3", "-c", code).strip()


def answers(box: Sandbox, where: RealNode, target: RealNode) -> bool:
    """Whether the pod on `target` serves one on `where`."""
    with suppress(SandboxError, ValueError):
        address = pod_address(box, target)
        return bool(address) and fetch(box, where, f"{address}:8080") == "200"
    return False


def init_of(box: Sandbox, node: RealNode) -> ProcessIdentity:
    identity = read_pid_file(plan.NodeLayout(box.layout.node_of(node.component)).identity)
    assert identity is not None
    return identity


def everything_of(box: Sandbox, node: RealNode) -> set[ProcessIdentity]:
    """The processes of the node and of its pods, which have PID namespaces of their own."""
    found = set(processes_of(Path(f"/proc/{init_of(box, node).pid}/ns/pid").readlink()))
    group = plan.cgroup_name(box.layout.directory, node)
    for file in Path("/sys/fs/cgroup").glob(f"**/{group}/**/cgroup.procs"):
        found |= {one for pid in file.read_text().split() if (one := observe_process(int(pid))) is not None}
    return found


def test_pods_of_both_nodes_reach_each_other_by_address_and_by_service(two: Sandbox) -> None:
    assert answers(two, ONE, OTHER)
    assert answers(two, OTHER, ONE)
    for where in (ONE, OTHER):
        assert fetch(two, where, OTHER.name) == "200"
    # The API server reaches both kubelets.
    for node in (ONE, OTHER):
        assert "200" in two.kubectl("logs", "--namespace", NAMESPACE, f"deploy/{node.name}")


def test_the_first_node_has_every_role_and_the_other_runs_guests_only(two: Sandbox) -> None:
    control = two.kubectl("get", "nodes", "-l", "openstack-control-plane=enabled", "--output=name").split()
    compute = two.kubectl("get", "nodes", "-l", "openstack-compute-node=enabled", "--output=name").split()
    assert (control, compute) == ([f"node/{ONE.name}"], [f"node/{ONE.name}", f"node/{OTHER.name}"])


def test_both_nodes_share_a_directory_with_its_locks(two: Sandbox) -> None:
    places = [Path(f"/proc/{init_of(two, node).pid}/root{plan.SHARED}/counter") for node in (ONE, OTHER)]
    places[0].write_text("1")
    assert places[1].read_text() == "1"
    assert places[0].stat().st_ino == places[1].stat().st_ino


def test_a_node_without_its_management_link_is_lost_while_its_pods_run_and_comes_back(two: Sandbox) -> None:
    before, began = init_of(two, OTHER), time.monotonic()
    faults.cut(two.layout, OTHER, ["management"])
    assert not answers(two, ONE, OTHER)
    assert pings(two, ONE, OTHER.tunnel_address)
    wait_until(lambda: not is_ready(two, OTHER), "the node is not lost", LOST_SECONDS)
    print(f"management cut: NotReady after {time.monotonic() - began:.0f} s")
    assert is_running(before)
    began = time.monotonic()
    faults.mend(two.layout, OTHER, ["management"])
    wait_until(lambda: is_ready(two, OTHER), "the node does not come back", READY_SECONDS)
    print(f"management mended: Ready after {time.monotonic() - began:.0f} s")
    wait_until(lambda: answers(two, ONE, OTHER), "the pod is not reached")
    assert init_of(two, OTHER) == before


def test_a_cut_tunnel_stops_packets_between_guests_and_no_others(two: Sandbox) -> None:
    assert pings(two, ONE, OTHER.tunnel_address)
    faults.cut(two.layout, OTHER, ["tunnel"])
    assert not pings(two, ONE, OTHER.tunnel_address)
    assert pings(two, ONE, OTHER.address)
    assert answers(two, ONE, OTHER)
    faults.mend(two.layout, OTHER, ["tunnel"])
    wait_until(lambda: pings(two, ONE, OTHER.tunnel_address), "no packet passes the tunnel network")


def test_a_node_cut_off_on_both_sides_is_reached_on_neither(two: Sandbox) -> None:
    faults.cut(two.layout, OTHER)
    assert not pings(two, ONE, OTHER.address)
    assert not pings(two, ONE, OTHER.tunnel_address)
    assert is_running(init_of(two, OTHER))


def test_power_off_ends_every_process_at_once_and_power_on_brings_its_pods_back(two: Sandbox) -> None:
    inside = everything_of(two, OTHER)
    # Those of its pods, too.
    assert len(inside) > len(plan.commands()) + 2
    began = time.monotonic()
    faults.power_off(two.layout, OTHER)
    print(f"power off: {len(inside)} processes gone after {time.monotonic() - began:.1f} s")
    assert [one for one in inside if is_running(one)] == []
    wait_until(lambda: not is_ready(two, OTHER), "the node is not lost", LOST_SECONDS)
    print(f"power off: NotReady after {time.monotonic() - began:.0f} s")
    assert is_ready(two, ONE)
    began = time.monotonic()
    two.start_component(OTHER.component)
    wait_until(lambda: is_ready(two, OTHER), "the node does not come back", READY_SECONDS)
    print(f"power on: Ready after {time.monotonic() - began:.0f} s")
    wait_until(lambda: answers(two, ONE, OTHER), "its pod does not run again")
    print(f"power on: its pod serves after {time.monotonic() - began:.0f} s")


def test_both_nodes_and_their_control_plane_fit_into_12_gib(two: Sandbox) -> None:
    pids = {one.pid for one in two.status()}
    pids |= {one.pid for node in (ONE, OTHER) for one in everything_of(two, node)}
    used = sum(memory_of(pid) for pid in pids)
    print(f"two nodes and the control plane: {used / 2**20:.0f} MiB")
    assert 0 < used < MEMORY


def memory_of(pid: int) -> int:
    """The bytes that the process has, its part of those that several share."""
    with suppress(OSError):
        for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1]) * 1024
    return 0


def pings(box: Sandbox, where: RealNode, address: str) -> bool:
    """Whether a packet from that node's own network comes back from the address."""
    code = (
        "import socket, sys\n"
        "s = socket.socket(socket.AF_INET, socket.SOCK_STREAM); s.settimeout(3)\n"
        f"try: s.connect(('{address}', 9))\n"
        "except ConnectionRefusedError: sys.exit(0)\n"
        "except OSError: sys.exit(1)"
    )
    try:
        run_in(init_of(box, where), "python3", "-c", code)
    except SandboxError:
        return False
    return True
