"""2,000 nodes and 5,000 pods: what watching them costs, and how soon a change is told.

The figures are printed (`-s` shows them); the bounds asserted are those that hold on a busy machine, too.
"""

from __future__ import annotations

import json
import os
import secrets
import statistics
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

import pytest

from sandbox import audit
from sandbox.cluster import Sandbox
from sandbox.profiles import COMPUTE_LABELS, NodeShape, node_object
from tests.cluster.region import NAME, Region, wait_until
from tests.cluster.test_health import RELEASE, Workloads

pytestmark = [pytest.mark.cluster, pytest.mark.exhaustive, pytest.mark.timeout(3600)]

NODES, DEPLOYMENTS, REPLICAS = 2000, 50, 20
DAEMONSETS = ("compute", "agent")
PODS = DEPLOYMENTS * REPLICAS + len(DAEMONSETS) * NODES
WATCHERS = ("health", "node")
PATIENCE = 2400.0
MIB = 1024 * 1024


@dataclass(frozen=True)
class Cost:
    """One container over a while: resident memory in MiB, share of one processor, writes a minute."""

    memory: float
    processor: float
    writes: float


def cpu_seconds(pid: int) -> float:
    """User and system time that the process has used."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def costs(region: Region, during: Callable[[], None]) -> dict[str, Cost]:
    """What each container costs while `during` runs."""
    pids = {name: region.controllers.pid(name) for name in WATCHERS}
    began, moment = time.monotonic(), datetime.now(UTC)
    before = {name: cpu_seconds(pid) for name, pid in pids.items()}
    during()
    minutes = (time.monotonic() - began) / 60
    user = f"system:serviceaccount:{region.namespace}:osctl-{region.namespace}"
    written = audit.writes(region.sandbox.audit_log, moment, user)
    return {
        name: Cost(
            memory=round(region.controllers.rss(name) / MIB, 1),
            processor=round((cpu_seconds(pid) - before[name]) / (minutes * 60), 3),
            writes=round(sum(f"/{name}" in one.agent for one in written) / minutes, 1),
        )
        for name, pid in pids.items()
    }


def latency(workloads: Workloads, replicas: int) -> float:
    """Seconds from an edit of a Deployment until the osdpl's status tells of it."""
    patch = json.dumps({"spec": {"replicas": replicas}})
    workloads.region.kubectl("patch", f"deployment/{RELEASE}-c0", "--type=merge", "-p", patch)
    began = time.monotonic()
    wait_until("the change is told", lambda: workloads.health("c0").get("desired") == replicas, timeout=60)
    return round(time.monotonic() - began, 2)


def test_two_thousand_nodes_and_five_thousand_pods(private_sandbox: Sandbox, tmp_path: Path) -> None:
    sandbox = private_sandbox
    namespace = f"test-{secrets.token_hex(4)}"
    sandbox.create_namespace(namespace, {})
    shapes = [NodeShape(f"cmp{number}", COMPUTE_LABELS) for number in range(NODES - 1)]
    for first in range(0, len(shapes), 500):
        items = [node_object(shape, "scale") for shape in shapes[first : first + 500]]
        body = json.dumps({"apiVersion": "v1", "kind": "List", "items": items})
        sandbox.kubectl("create", "-f", "-", input=body, timeout=600)
    region = Region(sandbox, namespace, tmp_path, containers=WATCHERS)
    region.install()
    workloads = Workloads(region)
    try:
        workloads.deploy_release()
        for number in range(DEPLOYMENTS):
            workloads.apply("Deployment", f"c{number}", replicas=REPLICAS)
        for name in DAEMONSETS:
            workloads.apply("DaemonSet", name)

        def ready() -> bool:
            health = (region.status().get("health") or {}).get(RELEASE) or {}
            whole = all((health.get(name) or {}).get("desired") == NODES for name in DAEMONSETS)
            return whole and {entry["status"] for entry in health.values()} == {"Ready"}

        begun = costs(region, lambda: wait_until("every component is Ready", ready, PATIENCE))
        assert len(region.status()["health"][RELEASE]) == DEPLOYMENTS + len(DAEMONSETS)
        assert len(region.status()["nodes"]) == NODES
        calm = costs(region, lambda: time.sleep(60))
        seconds = [latency(workloads, REPLICAS + 1 + number % 2) for number in range(6)]

        def storm() -> None:
            sandbox.kubectl(
                *("-n", namespace, "delete", "pods", "-l", "component=compute", "--wait=false"), timeout=600
            )
            time.sleep(30)
            wait_until("Ready after the storm", ready, PATIENCE)

        stormy = costs(region, storm)
    finally:
        region.controllers.stop(grace=2.0)

    figures = {
        "nodes": NODES,
        "pods": PODS,
        "components": DEPLOYMENTS + len(DAEMONSETS),
        "latency": {"median": statistics.median(seconds), "most": max(seconds)},
        **{
            phase: {name: asdict(cost) for name, cost in costs_.items()}
            for phase, costs_ in (("coming up", begun), ("calm", calm), ("storm", stormy))
        },
    }
    print(json.dumps(figures, indent=1))
    assert max(cost.memory for part in (begun, calm, stormy) for cost in part.values()) < 150
    assert calm["health"].writes == 0
    assert stormy["health"].writes <= 60 + 1
    assert statistics.median(seconds) < 10
    assert NAME in region.sandbox.kubectl("-n", namespace, "get", "osdpl", "-o", "name")
