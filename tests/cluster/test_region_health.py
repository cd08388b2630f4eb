"""Ready tells the truth of a running region: it falls when a component breaks, and returns unaided."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.cluster.region import NAME, Region, wait_until

pytestmark = [pytest.mark.cluster, pytest.mark.xdist_group("shared-region")]


def component(region: Region, application: str, name: str) -> dict[str, Any]:
    found: dict[str, Any] = ((region.status().get("health") or {}).get(application) or {}).get(name) or {}
    return found


def fail(region: Region, target: str, how: str | None) -> None:
    """Lets the pods of a workload fail as the sandbox's stages do, or be well again."""
    labels = {"sandbox.osctl.dev/fail": how}
    patch = {"spec": {"template": {"metadata": {"labels": labels}}}}
    region.kubectl("patch", target, "--type=merge", "-p", json.dumps(patch))


def test_all_components_of_all_releases_are_told(shared_region: Region) -> None:
    health = shared_region.status()["health"]
    assert set(health) >= {"mariadb", "rabbitmq", "keystone", "glance", "nova", "neutron", "libvirt"}
    entries = [entry for components in health.values() for entry in components.values()]
    assert {entry["status"] for entry in entries} == {"Ready"}
    assert shared_region.status()["healthy"] == f"{len(entries)}/{len(entries)}"


def test_nodes_are_told_with_their_roles(shared_region: Region) -> None:
    nodes = shared_region.status()["nodes"]
    assert {entry["state"] for entry in nodes.values()} == {"Ready"}
    assert shared_region.condition("NodesReady")["status"] == "True"


def test_ready_falls_within_ten_seconds_of_a_break_and_returns_unaided(shared_region: Region) -> None:
    fail(shared_region, "deployment/keystone-api", "crash-loop")
    wait_until("not Ready", lambda: shared_region.condition("Ready")["status"] == "False", timeout=10)
    wait_until(
        "the cause",
        lambda: "CrashLoopBackOff" in shared_region.condition("Ready")["message"],
        timeout=20,
        show=lambda: json.dumps(shared_region.status()["conditions"]),
    )
    assert shared_region.condition("Ready")["reason"] == "WorkloadsFailing"
    fail(shared_region, "deployment/keystone-api", None)
    shared_region.wait_ready(timeout=60)


def test_a_workload_deleted_by_hand_comes_back_by_itself(shared_region: Region) -> None:
    gone = shared_region.get("deployment", "placement-api")["metadata"]["uid"]
    shared_region.kubectl("delete", "deployment/placement-api")

    def is_back() -> bool:
        found = shared_region.kubectl(
            "get", "deployment/placement-api", "--ignore-not-found", "-o", "jsonpath={.metadata.uid}"
        )
        return found not in ("", gone)

    wait_until("back", is_back)
    shared_region.wait_ready(timeout=60)


@contextmanager
def watching(region: Region, path: Path) -> Iterator[list[dict[str, Any]]]:
    """Fills the list with every state of the osdpl that a watch tells, when the block ends."""
    command = [str(region.sandbox.binaries.kubectl), "--kubeconfig", str(region.sandbox.kubeconfig)]
    command += ["--namespace", region.namespace, "get", "osdpl", NAME, "--watch", "-o", "json"]
    states: list[dict[str, Any]] = []
    with path.open("w") as output, subprocess.Popen(command, stdout=output) as process:
        wait_until("the watch", lambda: path.stat().st_size, timeout=20)
        try:
            yield states
        finally:
            process.terminate()
    rest, decoder = path.read_text(encoding="utf-8").strip(), json.JSONDecoder()
    while rest:
        state, end = decoder.raw_decode(rest)
        states.append(state)
        rest = rest[end:].strip()


def test_an_edit_makes_ready_fall_and_return_once_when_its_rollout_is_seen(
    shared_region: Region, tmp_path: Path
) -> None:
    with watching(shared_region, tmp_path / "states.json") as states:
        memory = {"conf": {"memcached": {"memory": 256}}}
        shared_region.edit(services={"cache": {"memcached": {"values": memory}}})
        shared_region.wait_ready()
    last = states[-1]["metadata"]["generation"]
    told = []
    for state in states:
        conditions = {entry["type"]: entry for entry in state["status"]["conditions"]}
        if conditions["Ready"].get("observedGeneration") == last:
            told.append(conditions["Ready"]["status"])
            if told[-1] == "True":
                healthy = conditions["WorkloadsHealthy"]
                assert (healthy["status"], healthy["observedGeneration"]) == ("True", last)
    assert "".join(word[0] for word in told).strip("F").strip("T") == "", told
    assert (told[0], told[-1]) == ("False", "True")
