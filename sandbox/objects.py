"""What every sandbox holds from the start: its nodes, all Ready, and storage classes."""

from __future__ import annotations

import time

from sandbox.api import ApiConnection
from sandbox.errors import ComponentFailed
from sandbox.node import plan, volumes
from sandbox.profiles import STORAGE_CLASSES, node_object, parse_profile, storage_class_object

# Without it no pod of the namespace is admitted; it shows that the controller manager works.
_DEFAULT_ACCOUNT = "/api/v1/namespaces/default/serviceaccounts/default"
_POLL_SECONDS = 0.1


def ensure_objects(api: ApiConnection, profile: str, deadline: float, real: bool = False) -> None:
    """Makes what the profile asks for, and waits until pods can be scheduled (`real`: on the real node).

    `deadline` on the monotonic clock. Raises ComponentFailed when it passes, naming what is missing.
    """
    shapes = parse_profile(profile)
    for shape in shapes:
        api.apply(node_object(shape, profile))
    for name in STORAGE_CLASSES:
        api.apply(volumes.storage_class_object(name) if real else storage_class_object(name))
    names = {shape.name for shape in shapes}
    if real:
        api.apply(plan.api_endpoints())
        names.add(plan.NAME)
    while True:
        waiting = names - _ready_nodes(api)
        if not waiting and api.get(_DEFAULT_ACCOUNT) is not None:
            return
        if time.monotonic() > deadline:
            what = f"nodes {', '.join(sorted(waiting)[:5])}" if waiting else "default ServiceAccount"
            raise ComponentFailed(f"not ready in time: {what}; see the logs of kwok and controller-manager")
        time.sleep(_POLL_SECONDS)


def _ready_nodes(api: ApiConnection) -> set[str]:
    listed = api.get("/api/v1/nodes") or {"items": []}
    return {
        node["metadata"]["name"]
        for node in listed["items"]
        if any(
            one["type"] == "Ready" and one["status"] == "True" for one in node["status"].get("conditions", ())
        )
    }
