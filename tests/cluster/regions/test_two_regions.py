"""Two installations on one real API server, with the same node, each with an OpenStack of its own."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from sandbox.cluster import Sandbox
from tests.cluster.installation import Installation
from tests.cluster.region import NAME

pytestmark = [pytest.mark.cluster, pytest.mark.xdist_group("hosts")]


@pytest.fixture
def both(hosts_sandbox: Sandbox, tmp_path: Path) -> Iterator[tuple[Installation, Installation]]:
    (node,) = json.loads(hosts_sandbox.kubectl("get", "nodes", "-o", "json"))["items"]
    name = node["metadata"]["name"]
    with ExitStack() as stack:
        one, two = (Installation(hosts_sandbox, tmp_path / each, stack, name) for each in ("one", "two"))
        yield one, two


def test_no_region_releases_what_another_began(both: tuple[Installation, Installation]) -> None:
    one, two = both
    kubectl = one.region.sandbox.kubectl
    for each in both:
        each.wait_serving()

    one.maintain("first", mode="Cordon")
    one.wait_completed("first")
    found = one.maintenance("first")
    assert found["metadata"]["finalizers"] == [one.finalizer]
    managers = {entry["manager"] for entry in found["metadata"]["managedFields"]}
    assert f"osctl-node-{one.region.namespace}.{NAME}" in managers
    assert not [manager for manager in managers if two.region.namespace in manager]
    assert one.cloud.services[one.node].reason == "osctl.dev: maintenance first"

    # Whoever began it is away; the other works on, and even ends a maintenance of its own of that node.
    one.region.controllers.stop("node")
    kubectl("delete", "cmaint", "first", "--wait=false")
    two.maintain("second", mode="Cordon")
    two.wait_completed("second")
    kubectl("delete", "cmaint", "second", "--wait=false")
    two.wait_gone("second")
    found = one.maintenance("first")
    assert found["metadata"]["finalizers"] == [one.finalizer]
    assert one.cloud.services[one.node].reason == "osctl.dev: maintenance first"
    live = json.loads(kubectl("get", "node", one.node, "-o", "json"))
    assert live["spec"]["unschedulable"] is True
    notes = {key: text for key, text in live["metadata"]["annotations"].items() if "cordoned-by" in key}
    assert notes == {f"{one.region.namespace}.osctl.dev/cordoned-by": "first"}

    one.region.controllers.start("node")
    one.wait_gone("first")
    for each in both:
        each.wait_serving()
    live = json.loads(kubectl("get", "node", one.node, "-o", "json"))
    assert not live["spec"].get("unschedulable")
