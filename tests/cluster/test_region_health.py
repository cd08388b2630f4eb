"""Ready tells the truth of a running region: it falls when a component breaks, and returns unaided."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.cluster.region import Region, wait_until

pytestmark = [pytest.mark.cluster, pytest.mark.xdist_group("region-health")]


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


def test_a_workload_deleted_by_hand_is_missed_until_it_is_back(shared_region: Region) -> None:
    saved = shared_region.get("deployment", "placement-api")
    shared_region.kubectl("delete", "deployment/placement-api")
    wait_until("missed", lambda: component(shared_region, "placement", "api").get("status") == "Unhealthy")
    assert "does not exist" in shared_region.condition("Ready")["message"]
    meta = {key: saved["metadata"][key] for key in ("name", "labels", "annotations")}
    body = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": meta, "spec": saved["spec"]}
    shared_region.kubectl("create", "-f", "-", input=json.dumps(body))
    shared_region.wait_ready(timeout=60)
