"""A region of which only the node container runs, with an OpenStack of its own behind HTTP."""

from __future__ import annotations

import base64
import json
import secrets
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from sandbox.cluster import Sandbox
from tests.cluster.region import NAME, Region, wait_until
from tests.fakes.cloud import FakeCloud
from tests.fakes.cloud_server import served


class Installation:
    """Both, on one node of the cluster."""

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

    def maintain(self, name: str, **spec: Any) -> None:
        obj = {
            "apiVersion": "osctl.dev/v1alpha1",
            "kind": "ComputeMaintenance",
            "metadata": {"name": name},
            "spec": {
                "region": {"namespace": self.region.namespace, "name": NAME},
                "nodeName": self.node,
                **spec,
            },
        }
        self.region.sandbox.kubectl("apply", "-f", "-", input=json.dumps(obj))

    def wait_completed(self, name: str) -> None:
        self.wait(f"{name} is Completed", lambda: self.status(name).get("phase") == "Completed")

    def wait_gone(self, name: str) -> None:
        self.wait(f"{name} is gone", lambda: not self.maintenance(name))

    def wait_serving(self) -> None:
        def serving() -> bool:
            entry = (self.region.status().get("nodes") or {}).get(self.node) or {}
            return bool(entry.get("reason") == "InService" and self.cloud.services[self.node].enabled)

        self.wait("the host is in service", serving)

    def wait(self, what: str, there: Callable[[], bool]) -> None:
        wait_until(what, there, 120.0, lambda: self.region.controllers.log("node")[-3000:])

    def status(self, name: str) -> dict[str, Any]:
        found: dict[str, Any] = self.maintenance(name).get("status") or {}
        return found

    def maintenance(self, name: str) -> dict[str, Any]:
        text = self.region.sandbox.kubectl(
            "get", "cmaint", name, "-o", "json", "--ignore-not-found", "--show-managed-fields"
        )
        found: dict[str, Any] = json.loads(text) if text.strip() else {}
        return found
