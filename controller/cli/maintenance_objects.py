"""The ComputeMaintenances that `osctl node` makes, changes and waits for."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

from controller.cli.cluster import Cluster
from controller.cli.maintenance_options import changes_of, reported
from controller.cli.output import soft_wrapped, stderr
from controller.cli.waiting import POLL_SECONDS
from controller.domain.api.conditions import find
from controller.domain.api.names import API_VERSION
from controller.domain.api.region_name import RegionName, region_of
from controller.domain.hosts.host_facts import is_plan
from controller.domain.maintenance.server_moves import Phase
from controller.errors import ObjectMissing
from controller.ports.kubernetes import COMPUTE_MAINTENANCE, KubeObject


def maintenances_of(cluster: Cluster, node: str, region: RegionName) -> list[KubeObject]:
    """The region's maintenances of a node, plans aside."""
    listed = [one for one in cluster.kube.list(COMPUTE_MAINTENANCE) if region_of(one) == region]
    return [one for one in listed if one["spec"]["nodeName"] == node and not is_plan(one)]


def named_for(cluster: Cluster, node: str, region: RegionName) -> tuple[str, KubeObject | None]:
    """The name of the region's maintenance of a node, and the maintenance, if it exists.

    Another region with the same node may use the short name.
    """
    names = (f"node-{node[:180]}", f"node-{node[:180]}.{region.namespace}")
    found = [(name, cluster.kube.get(COMPUTE_MAINTENANCE, name)) for name in names]
    ours = [one for one in found if one[1] is not None and region_of(one[1]) == region]
    return next(iter([*ours, *(one for one in found if one[1] is None)]), found[0])


def create(cluster: Cluster, name: str, region: RegionName, *, node: str, mode: str, **spec: Any) -> None:
    """Makes a maintenance. Raises KubeError."""
    cluster.kube.create(
        {
            "apiVersion": API_VERSION,
            "kind": COMPUTE_MAINTENANCE.kind,
            "metadata": {"name": name},
            "spec": {"region": region.written(), "nodeName": node, "mode": mode, **spec},
        }
    )


def change(
    cluster: Cluster, known: KubeObject, region: RegionName, *, node: str, desired: Mapping[str, Any]
) -> str:
    """Changes an existing maintenance as requested, and returns a message. Raises ObjectMissing if it is not
    the region's, not of this node, or on its way out.
    """
    meta, spec = known["metadata"], known["spec"]
    if region_of(known) != region:
        raise ObjectMissing(
            f'the ComputeMaintenance "{meta["name"]}" belongs to the region {region_of(known)}'
        )
    if spec["nodeName"] != node:
        raise ObjectMissing(f'the ComputeMaintenance "{meta["name"]}" is for the node "{spec["nodeName"]}"')
    if meta.get("deletionTimestamp"):
        raise ObjectMissing(
            f'the ComputeMaintenance "{meta["name"]}" is being rolled back; repeat this when it is gone'
        )
    changes = changes_of(spec, desired)
    if not changes:
        return "is there already"
    patch = {"metadata": {"resourceVersion": meta["resourceVersion"]}, "spec": changes}
    cluster.kube.merge_patch(COMPUTE_MAINTENANCE, meta["name"], None, patch)
    return f"is changed: {reported(changes)}"


def message_of(status: Mapping[str, Any]) -> str:
    """What the controller says of a maintenance."""
    return str(find(status.get("conditions") or (), "Ready").get("message", ""))


def print_result(status: Mapping[str, Any], shown: list[str]) -> None:
    """Prints phase and message, unless it was the last one `shown`."""
    message = message_of(status)
    if message and message not in shown[-1:]:
        shown.append(message)
        stderr().print(soft_wrapped(f"{status.get('phase')}  {message}"))


def wait_for_phase(
    cluster: Cluster,
    name: str,
    decided: Callable[[str], bool],
    timeout: float,
    shown: list[str],
) -> KubeObject | None:
    """Waits for the phase of a maintenance; None at the deadline.

    Its messages are shown meanwhile, and kept in `shown`.
    """
    deadline = time.monotonic() + timeout
    while True:
        found = cluster.kube.get(COMPUTE_MAINTENANCE, name)
        if found is None:
            raise ObjectMissing(f'the ComputeMaintenance "{name}" was deleted')
        status = found.get("status") or {}
        current = status.get("observedGeneration") == found["metadata"].get("generation")
        if current and decided(str(status.get("phase"))):
            return found
        if current:
            print_result(status, shown)
        if time.monotonic() > deadline:
            return None
        time.sleep(POLL_SECONDS)


def wait_until_gone(cluster: Cluster, name: str, uid: str, timeout: float) -> KubeObject | None:
    """Waits for the end of a rollback. None once the maintenance is gone; otherwise the maintenance, as it
    needs a person or is at the deadline.
    """
    deadline = time.monotonic() + timeout
    shown: list[str] = []
    while True:
        found = cluster.kube.get(COMPUTE_MAINTENANCE, name)
        if found is None or found["metadata"]["uid"] != uid:
            return None
        status = found.get("status") or {}
        # What it said before its deletion is no news.
        if status.get("observedGeneration") == found["metadata"].get("generation"):
            print_result(status, shown)
            if status.get("phase") == Phase.BLOCKED:
                return found
        if time.monotonic() > deadline:
            return found
        time.sleep(POLL_SECONDS)
