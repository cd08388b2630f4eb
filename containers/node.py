"""node: what happens to a Kubernetes node happens to its OpenStack host; and the status of both."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from containers.composition import Parts, run
from containers.observing import GATHERING
from containers.region_events import AFTER_REPORTS
from controller.adapters.http.fencing import HttpFencing
from controller.adapters.kubernetes.watches import Key, Watch
from controller.adapters.openstack.client import OpenStackClouds
from controller.domain.api.region_name import is_served_in
from controller.domain.health.workloads import parse_workload
from controller.domain.hosts.node_pods import parse_node_pod
from controller.operator import Container
from controller.ports.kubernetes import COMPUTE_MAINTENANCE, NODE, OSDPL, POD, STATEFULSET, Resource
from controller.reconcile.hosts.compute_hosts import HostPorts, HostSettings, HostsReconciler
from controller.reconcile.hosts.drain_locks.pods import DrainLocks
from controller.reconcile.hosts.last_host_findings import LastHostFindings
from controller.reconcile.hosts.nodes_status import NodesReconciler, node_parsers
from controller.reconcile.maintenance.compute_maintenance import MaintenancesReconciler
from controller.reconcile.maintenance.maintained_hosts import MaintainedHosts
from controller.reconcile.shared.cloud_access import CloudAccess
from controller.reconcile.shared.edit_filter import EditFilter
from controller.reconcile.shared.known_regions import KnownRegions
from controller.reconcile.shared.object_store import ObjectStore, Parse
from controller.reconcile.shared.status_metrics import measured_maintenance, measured_region, node_series

# Objects in the region's own namespace that matter for nodes.
REGION_PARSERS: Mapping[Resource, Parse] = {POD: parse_node_pod, STATEFULSET: parse_workload}
HOSTS: Key = ("hosts", "", "")
MAINTENANCES: Key = ("maintenances", "", "")
# Seconds from an edit of a maintenance to the next pass.
AFTER_MAINTENANCES = 1.0


def main() -> None:
    """Entry point of the `osctl-node` command."""
    run("node", compose)


@dataclass(frozen=True)
class _NodeParts:
    """What the three reconcilers have in common."""

    parts: Parts
    nodes: ObjectStore
    region: ObjectStore
    findings: LastHostFindings
    access: CloudAccess


def compose(parts: Parts) -> Container:
    """Wires the watches of nodes and pods to two stores, and those to three reconcilers.

    Each has a key of its own, so that a slow OpenStack holds back neither the status of the region nor
    the other.
    """
    settings = parts.settings
    clouds = OpenStackClouds(parts.clock, parts.randomness)
    regions = KnownRegions()

    def queue_regions() -> None:
        for key in regions.served():
            parts.queue.add(("region", *key), after=GATHERING)

    shared = _NodeParts(
        parts=parts,
        nodes=ObjectStore(parts.kube, parts.clock, None, node_parsers(settings.region_namespace)),
        region=ObjectStore(parts.kube, parts.clock, settings.region_namespace, REGION_PARSERS),
        findings=LastHostFindings(queue_regions),
        access=CloudAccess(parts.kube, clouds, parts.clock, settings.region_namespace),
    )
    status, hosts, maintenances = _status(shared), _hosts(shared), _maintenances(shared)
    watched = _WatchedObjects(shared, regions, queue_regions)
    parts.queue.add(HOSTS)
    parts.queue.add(MAINTENANCES)
    return Container(
        name="node",
        watches=(
            Watch(OSDPL, seen=watched.region_seen),
            Watch(NODE, seen=watched.node_seen),
            Watch(COMPUTE_MAINTENANCE, seen=watched.maintenance_seen),
            *(Watch(resource, seen=partial(watched.seen, resource)) for resource in REGION_PARSERS),
        ),
        reconcilers={
            "region": lambda namespace, name: status.reconcile((namespace, name)),
            "hosts": lambda *_: hosts.reconcile(),
            "maintenances": lambda *_: maintenances.reconcile(),
        },
        queue=parts.queue,
        workers=3,
    )


def _status(shared: _NodeParts) -> NodesReconciler:
    parts = shared.parts
    return NodesReconciler(
        kube=parts.kube,
        clock=parts.clock,
        events=parts.events,
        store=shared.nodes,
        resync=parts.settings.resync,
        findings=shared.findings,
    )


def _hosts(shared: _NodeParts) -> HostsReconciler:
    parts, namespace = shared.parts, shared.parts.settings.region_namespace
    return HostsReconciler(
        HostPorts(
            kube=parts.kube,
            clock=parts.clock,
            events=parts.events,
            access=shared.access,
            fencing=HttpFencing(),
        ),
        HostSettings(namespace=namespace, resync=parts.settings.resync, every=parts.settings.observe_every),
        nodes=shared.nodes,
        region=shared.region,
        locks=DrainLocks(parts.kube, namespace, parts.settings.pod_image, parts.settings.pod_pull_secrets),
        findings=shared.findings,
    )


def _maintenances(shared: _NodeParts) -> MaintenancesReconciler:
    parts = shared.parts
    return MaintenancesReconciler(
        kube=parts.kube,
        clock=parts.clock,
        events=parts.events,
        access=shared.access,
        hosts=MaintainedHosts(
            parts.kube, shared.nodes, parts.settings.region_namespace, resync=parts.settings.resync
        ),
        namespace=parts.settings.region_namespace,
        findings=shared.findings,
    )


class _WatchedObjects:
    """The keys that an observed object queues."""

    def __init__(self, shared: _NodeParts, regions: KnownRegions, queue_regions: Callable[[], None]) -> None:
        self._queue = shared.parts.queue
        self._shared = shared
        self._regions = regions
        self._queue_regions = queue_regions
        self._edits = EditFilter()
        self._measure = measured_region(shared.parts.metrics, node_series)
        self._measure_maintenance = measured_maintenance(shared.parts.metrics)

    def node_seen(self, event: str | None, obj: Mapping[str, Any]) -> None:
        if self._shared.nodes.feed(NODE, event, obj):
            self._queue.add(HOSTS, after=GATHERING)
            self._queue_regions()

    def seen(self, resource: Resource, event: str | None, obj: Mapping[str, Any]) -> None:
        """An object in the region's own namespace."""
        if self._shared.region.feed(resource, event, obj):
            self._queue.add(HOSTS, after=GATHERING)

    def region_seen(self, event: str | None, obj: Mapping[str, Any]) -> None:
        self._measure(event, obj)
        edited = self._edits.feed(event, obj)
        for key in self._regions.feed(event, obj):
            self._queue.add(("region", *key), after=GATHERING if edited else AFTER_REPORTS)
        if edited:
            self._queue.add(HOSTS, after=GATHERING)

    def maintenance_seen(self, event: str | None, obj: Mapping[str, Any]) -> None:
        if not is_served_in(self._shared.parts.settings.region_namespace, obj):
            return
        self._measure_maintenance(event, obj)
        if self._edits.feed(event, obj):
            self._queue.add(MAINTENANCES, after=AFTER_MAINTENANCES)
            self._queue.add(HOSTS, after=AFTER_MAINTENANCES)


if __name__ == "__main__":
    main()
