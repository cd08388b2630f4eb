"""node: what happens to a Kubernetes node happens to its OpenStack host; and the status of both."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from containers.composition import Parts, run
from containers.observing import GATHERING
from controller.adapters.cloud import OpenStackClouds
from controller.adapters.fencing import HttpFencing
from controller.adapters.watches import Key, Watch
from controller.domain.node_pods import parse_node_pod
from controller.domain.workloads import parse_workload
from controller.operator import Container
from controller.ports import NODE, NODE_MAINTENANCE, OSDPL, POD, STATEFULSET, Resource
from controller.reconcile.cloud_access import CloudAccess
from controller.reconcile.drain_lock import DrainLocks
from controller.reconcile.host_board import HostBoard
from controller.reconcile.known_regions import KnownRegions
from controller.reconcile.node_hosts import HostsReconciler
from controller.reconcile.node_maintenance import MaintenancesReconciler
from controller.reconcile.nodes import PARSERS, NodesReconciler
from controller.reconcile.object_store import ObjectStore, Parse
from controller.reconcile.status_metrics import measured_maintenance, measured_region, node_series

# What of the region's own namespace bears on nodes.
REGION_PARSERS: Mapping[Resource, Parse] = {POD: parse_node_pod, STATEFULSET: parse_workload}
HOSTS: Key = ("hosts", "", "")
MAINTENANCES: Key = ("maintenances", "", "")


def main() -> None:
    """Entry point of the `osctl-node` command."""
    run("node", compose)


def compose(parts: Parts) -> Container:
    """Wires the watches of nodes and pods to two stores, and those to three reconcilers.

    Each has a key of its own, so that a slow OpenStack holds back neither the status of the region nor
    the other.
    """
    settings, queue = parts.settings, parts.queue
    nodes = ObjectStore(parts.kube, parts.clock, None, PARSERS)
    region = ObjectStore(parts.kube, parts.clock, settings.region_namespace, REGION_PARSERS)
    board, regions = HostBoard(), KnownRegions()
    measure = measured_region(parts.metrics, node_series)
    measure_maintenance = measured_maintenance(parts.metrics)
    clouds = OpenStackClouds(parts.clock, parts.randomness)
    access = CloudAccess(parts.kube, clouds, parts.clock, settings.region_namespace)
    status = NodesReconciler(
        kube=parts.kube,
        clock=parts.clock,
        events=parts.events,
        store=nodes,
        resync=settings.resync,
        board=board,
    )
    hosts = HostsReconciler(
        kube=parts.kube,
        clock=parts.clock,
        events=parts.events,
        access=access,
        fencing=HttpFencing(),
        nodes=nodes,
        region=region,
        locks=DrainLocks(parts.kube, settings.region_namespace, settings.pod_image),
        board=board,
        namespace=settings.region_namespace,
        resync=settings.resync,
    )
    maintenances = MaintenancesReconciler(
        kube=parts.kube,
        clock=parts.clock,
        events=parts.events,
        access=access,
        namespace=settings.region_namespace,
        board=board,
    )

    def look_at_regions() -> None:
        for key in regions.all():
            queue.add(("region", *key), after=GATHERING)

    board.changed = look_at_regions

    def seen(store: ObjectStore, resource: Resource, event: str | None, obj: Mapping[str, Any]) -> None:
        if store.feed(resource, event, obj):
            queue.add(HOSTS, after=GATHERING)
            if resource == NODE:
                look_at_regions()

    def region_seen(event: str | None, obj: Mapping[str, Any]) -> None:
        measure(event, obj)
        queue.add(("region", *regions.feed(event, obj)), after=GATHERING)
        queue.add(HOSTS, after=GATHERING)

    def maintenance_seen(event: str | None, obj: Mapping[str, Any]) -> None:
        measure_maintenance(event, obj)
        # Our own writes come back as events, too: a look for each of them would be one too many.
        queue.add(MAINTENANCES, after=1.0)
        queue.add(HOSTS, after=1.0)

    queue.add(HOSTS)
    queue.add(MAINTENANCES)
    return Container(
        name="node",
        watches=(
            Watch(OSDPL, seen=region_seen),
            Watch(NODE, seen=partial(seen, nodes, NODE)),
            Watch(NODE_MAINTENANCE, seen=maintenance_seen),
            *(Watch(resource, seen=partial(seen, region, resource)) for resource in REGION_PARSERS),
        ),
        reconcilers={
            "region": lambda namespace, name: status.reconcile((namespace, name)),
            "hosts": lambda *_: hosts.reconcile(),
            "maintenances": lambda *_: maintenances.reconcile(),
        },
        queue=queue,
        workers=3,
    )


if __name__ == "__main__":
    main()
