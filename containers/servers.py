"""servers: OpenStackServers, in the region's OpenStack or another one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from containers.composition import Parts, run
from controller.adapters.kubernetes.watches import Key, Watch
from controller.adapters.openstack.server_cloud import OpenStackServerClouds
from controller.operator import Container
from controller.ports.kubernetes import SERVER
from controller.reconcile.servers.openstack_server import ServersReconciler
from controller.reconcile.shared.edit_filter import EditFilter
from controller.reconcile.shared.status_metrics import measured_server

# A pass at all objects, for what a watch may have missed.
SWEEP: Key = ("sweep", "", "")
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
        # Our own writes of its status bring no pass: each says itself when the next one is due.
        if edits.feed(event, obj):
            queue.add(_key(obj))

    def sweep(*_: str) -> float:
        for namespace in dict.fromkeys((settings.region_namespace, *settings.server_namespaces)):
            for obj in parts.kube.list(SERVER, namespace):
                seen(None, obj)
        return settings.resync

    queue.add(SWEEP)
    return Container(
        name="servers",
        watches=(Watch(SERVER, seen=seen),),
        reconcilers={"server": reconciler.reconcile, "sweep": sweep},
        queue=queue,
        workers=WORKERS,
        namespaces=settings.server_namespaces,
    )


def _key(obj: Mapping[str, Any]) -> Key:
    meta = obj["metadata"]
    return ("server", str(meta["namespace"]), str(meta["name"]))


if __name__ == "__main__":
    main()
