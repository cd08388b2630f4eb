"""servers: OpenStackServers, in the region's OpenStack or another one, and the mirrors of MachineSets."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from containers.composition import Parts, run
from containers.observing import GATHERING
from controller.adapters.kubernetes.metadata_watch import MetadataWatches
from controller.adapters.kubernetes.watches import Key, Watch
from controller.adapters.openstack.server_cloud import OpenStackServerClouds
from controller.domain.machines.provider_spec import Cluster
from controller.domain.machines.writes import Target, TemplateOwner
from controller.operator import Container
from controller.ports.kubernetes import SERVER
from controller.reconcile.machines.changes import ChangedSets
from controller.reconcile.machines.machine_sets import MIRROR, SOURCE, TEMPLATE, MachineSetsReconciler
from controller.reconcile.servers.openstack_server import ServersReconciler
from controller.reconcile.shared.edit_filter import EditFilter
from controller.reconcile.shared.status_metrics import measured_server

# A pass at all MachineSets, and at all OpenStackServers, in case a watch missed an event.
SWEEP: Key = ("sweep", "", "")
MACHINES: Key = ("machines", "", "")
# Passes at a time: each waits for OpenStack most of its time.
WORKERS = 8


def main() -> None:
    """Entry point of the `osctl-servers` command."""
    run("servers", compose)


def compose(parts: Parts) -> Container:
    """Wires the watch of OpenStackServers in every namespace that is served to their reconciler."""
    settings, queue = parts.settings, parts.queue
    reconciler = ServersReconciler(
        kube=parts.kube,
        clock=parts.clock,
        randomness=parts.randomness,
        events=parts.events,
        clouds=OpenStackServerClouds(parts.clock, parts.randomness),
        region_namespace=settings.region_namespace,
        resync=settings.resync,
    )
    edits, measure = EditFilter(), measured_server(parts.metrics)

    def seen(event: str | None, obj: Mapping[str, Any]) -> None:
        measure(event, obj)
        # Our own writes of its status queue no pass. Each pass says when the next one is due.
        if edits.feed(event, obj):
            queue.add(_key(obj))

    def sweep(*_: str) -> float:
        for namespace in dict.fromkeys((settings.region_namespace, *settings.server_namespaces)):
            for obj in parts.kube.list(SERVER, namespace):
                seen(None, obj)
        return settings.resync

    queue.add(SWEEP)
    machines = _machines(parts)
    return Container(
        name="servers",
        watches=(Watch(SERVER, seen=seen),),
        reconcilers={"server": reconciler.reconcile, "sweep": sweep, **machines},
        queue=queue,
        workers=WORKERS,
        namespaces=settings.server_namespaces,
    )


def _machines(parts: Parts) -> dict[str, Callable[[str, str], float | None]]:
    """The reconciler of MachineSets, if they are mirrored. A change of any object queues a pass."""
    settings, queue = parts.settings.machines, parts.queue
    if settings is None:
        return {}
    target = Target(
        Cluster(settings.cluster, settings.cluster_namespace, settings.virtual_addresses),
        TemplateOwner(settings.template_owner),
    )
    reconciler = MachineSetsReconciler(
        kube=parts.kube,
        clock=parts.clock,
        events=parts.events,
        namespace=settings.namespace,
        target=target,
        resync=parts.settings.resync,
    )
    watches = MetadataWatches(parts.connection, parts.randomness, user_agent="openstack-controller/servers")
    sink = ChangedSets(lambda: queue.add(MACHINES, after=GATHERING))

    def reconcile(*_: str) -> float:
        watches.follow(SOURCE, settings.namespace, sink)
        for resource in (MIRROR, TEMPLATE):
            watches.follow(resource, settings.cluster_namespace, sink)
        return reconciler.reconcile()

    queue.add(MACHINES)
    return {"machines": reconcile}


def _key(obj: Mapping[str, Any]) -> Key:
    meta = obj["metadata"]
    return ("server", str(meta["namespace"]), str(meta["name"]))


if __name__ == "__main__":
    main()
