"""node on a real API server: what is done to a node is reported."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sandbox.cluster import Sandbox
from tests.cluster.region import Region, wait_until

pytestmark = [pytest.mark.cluster, pytest.mark.xdist_group("hosts")]


@pytest.fixture
def region(hosts_sandbox: Sandbox, tmp_path: Path) -> Iterator[Region]:
    """A region on nodes of its own, of which only the node container runs."""
    namespace = f"test-{secrets.token_hex(4)}"
    hosts_sandbox.create_namespace(namespace, {})
    region = Region(hosts_sandbox, namespace, tmp_path, containers=("node",))
    region.install()
    region.apply()
    yield region
    region.controllers.stop(grace=2.0)


def node(region: Region, name: str) -> dict[str, Any]:
    found: dict[str, Any] = (region.status().get("nodes") or {}).get(name) or {}
    return found


def test_a_cordon_a_lost_role_and_a_removal_are_reported(region: Region) -> None:
    kubectl = region.sandbox.kubectl
    (name,) = (one["metadata"]["name"] for one in region.get("nodes")["items"])
    wait_until("the node is Ready", lambda: node(region, name).get("state") == "Ready")
    assert "openstack-compute-node" in node(region, name)["roles"]
    assert region.condition("NodesReady")["status"] == "True"

    kubectl("cordon", name)
    wait_until("it is cordoned", lambda: node(region, name).get("state") == "Cordoned")
    assert region.condition("NodesReady")["status"] == "True"
    kubectl("uncordon", name)
    wait_until("it is Ready again", lambda: node(region, name).get("state") == "Ready")

    kubectl("label", "node", name, "l3-agent-")
    wait_until("the role is gone", lambda: "l3-agent" not in node(region, name)["roles"])

    kubectl("delete", "node", name)
    wait_until("it is gone", lambda: not node(region, name))
    reported = region.condition("NodesReady")
    assert (reported["status"], reported["reason"]) == ("False", "NodesMissing")
