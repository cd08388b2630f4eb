"""What every sandbox holds from the start: its nodes, all Ready, and storage classes."""

from __future__ import annotations

import time
from collections.abc import Mapping

from sandbox.api import ApiConnection
from sandbox.errors import ComponentFailed
from sandbox.node import plan, volumes
from sandbox.node.hosts import real_nodes
from sandbox.profiles import STORAGE_CLASSES, node_object, parse_profile, storage_class_object

# Without it no pod of the namespace is admitted; it shows that the controller manager works.
_DEFAULT_ACCOUNT = "serviceaccounts/default"
_NAMESPACES = "/api/v1/namespaces"
_POLL_SECONDS = 0.05


def ensure_objects(api: ApiConnection, profile: str, deadline: float, nodes: int = 0) -> None:
    """Makes what the profile asks for, and waits until pods can be scheduled (on `nodes` real ones).

    `deadline` on the monotonic clock. Raises ComponentFailed when it passes, naming what is missing.
    """
    shapes = parse_profile(profile)
    for shape in shapes:
        api.apply(node_object(shape, profile))
    for name in STORAGE_CLASSES:
        api.apply(volumes.storage_class_object(name) if nodes else storage_class_object(name))
    names = {shape.name for shape in shapes}
    if nodes:
        api.apply(plan.api_endpoints())
        names.update(node.name for node in real_nodes(nodes))
    while True:
        waiting = names - _ready_nodes(api)
        if not waiting and _has_account(api, "default"):
            return
        if time.monotonic() > deadline:
            what = f"nodes {', '.join(sorted(waiting)[:5])}" if waiting else "default ServiceAccount"
            raise ComponentFailed(f"not ready in time: {what}; see the logs of kwok and controller-manager")
        time.sleep(_POLL_SECONDS)


def make_namespace(api: ApiConnection, name: str, labels: Mapping[str, str], deadline: float) -> None:
    """A new namespace, in which pods are admitted.

    `deadline` on the monotonic clock. Raises ComponentFailed when it passes, or the name is taken.
    """
    api.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": dict(labels)}})
    while not _has_account(api, name):
        if time.monotonic() > deadline:
            raise ComponentFailed(f"the namespace {name} has no default ServiceAccount in time")
        time.sleep(_POLL_SECONDS)


def delete_namespace(api: ApiConnection, name: str) -> None:
    """Begins its deletion, and does not wait for its end. Nothing happens where there is none."""
    api.delete(f"{_NAMESPACES}/{name}")


def _has_account(api: ApiConnection, namespace: str) -> bool:
    return api.get(f"{_NAMESPACES}/{namespace}/{_DEFAULT_ACCOUNT}") is not None


def _ready_nodes(api: ApiConnection) -> set[str]:
    listed = api.get("/api/v1/nodes") or {"items": []}
    return {
        node["metadata"]["name"]
        for node in listed["items"]
        if any(
            one["type"] == "Ready" and one["status"] == "True" for one in node["status"].get("conditions", ())
        )
    }
