"""Two installations on one real API server, with the same node, each with an OpenStack of its own."""

from __future__ import annotations

import base64
import json
import secrets
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from sandbox.cluster import Sandbox
from tests.cluster.region import NAME, Region, wait_until
from tests.fakes.cloud import FakeCloud
from tests.fakes.cloud_server import served

pytestmark = [pytest.mark.cluster]


class Installation:
    """A region of which only the node container runs, and the OpenStack behind it."""

    def __init__(self, sandbox: Sandbox, directory: Path, stack: ExitStack, node: str) -> None:
        namespace = f"test-{secrets.token_hex(4)}"
        directory.mkdir()
        sandbox.create_namespace(namespace, {})
        self.region = Region(sandbox, namespace, directory, containers=("node",))
        self.cloud = FakeCloud(node)
        self.node = node
        clouds = base64.b64encode(stack.enter_context(served(self.cloud)).clouds()).decode()
        secret = {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": "openstack-clouds"},
            "data": {"clouds.yaml": clouds},
        }
        self.region.kubectl("apply", "-f", "-", input=json.dumps(secret))
        self.region.install()
        stack.callback(self.region.controllers.stop, grace=2.0)
        self.region.apply()

    @property
    def finalizer(self) -> str:
        return f"node.osctl.dev/{self.region.namespace}.{NAME}"

    def maintain(self, name: str) -> None:
        obj = {
            "apiVersion": "osctl.dev/v1alpha1",
            "kind": "NodeMaintenance",
            "metadata": {"name": name},
            "spec": {
                "region": {"namespace": self.region.namespace, "name": NAME},
                "nodeName": self.node,
                "mode": "Cordon",
            },
        }
        self.region.sandbox.kubectl("apply", "-f", "-", input=json.dumps(obj))

    def wait_completed(self, name: str) -> None:
        self.wait(
            f"{name} is Completed", lambda: self.maintenance(name)["status"].get("phase") == "Completed"
        )

    def wait_gone(self, name: str) -> None:
        self.wait(f"{name} is gone", lambda: not self.maintenance(name))

    def wait_serving(self) -> None:
        def serving() -> bool:
            entry = (self.region.status().get("nodes") or {}).get(self.node) or {}
            return bool(entry.get("reason") == "InService" and self.cloud.services[self.node].enabled)

        self.wait("the host is in service", serving)

    def wait(self, what: str, there: Any) -> None:
        wait_until(what, there, 120.0, lambda: self.region.controllers.log("node")[-3000:])

    def maintenance(self, name: str) -> dict[str, Any]:
        text = self.region.sandbox.kubectl(
            "get", "nm", name, "-o", "json", "--ignore-not-found", "--show-managed-fields"
        )
        found: dict[str, Any] = json.loads(text) if text.strip() else {}
        return found


@pytest.fixture
def both(private_sandbox: Sandbox, tmp_path: Path) -> Iterator[tuple[Installation, Installation]]:
    (node,) = json.loads(private_sandbox.kubectl("get", "nodes", "-o", "json"))["items"]
    name = node["metadata"]["name"]
    with ExitStack() as stack:
        one, two = (Installation(private_sandbox, tmp_path / each, stack, name) for each in ("one", "two"))
        yield one, two


def test_nobody_releases_what_another_region_began(both: tuple[Installation, Installation]) -> None:
    one, two = both
    kubectl = one.region.sandbox.kubectl
    for each in both:
        each.wait_serving()

    one.maintain("first")
    one.wait_completed("first")
    found = one.maintenance("first")
    assert found["metadata"]["finalizers"] == [one.finalizer]
    managers = {entry["manager"] for entry in found["metadata"]["managedFields"]}
    assert f"osctl-node-{one.region.namespace}.{NAME}" in managers
    assert not [manager for manager in managers if two.region.namespace in manager]
    assert one.cloud.services[one.node].reason == "osctl.dev: maintenance first"

    # Whoever began it is away; the other works on, and even ends a maintenance of its own of that node.
    one.region.controllers.stop("node")
    kubectl("delete", "nm", "first", "--wait=false")
    two.maintain("second")
    two.wait_completed("second")
    kubectl("delete", "nm", "second", "--wait=false")
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
