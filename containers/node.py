"""node: says how the nodes of the region are."""

from __future__ import annotations

from containers.composition import Parts, run
from containers.observing import observing_container
from controller.operator import Container
from controller.reconcile.nodes import PARSERS, NodesReconciler
from controller.reconcile.object_store import ObjectStore
from controller.reconcile.status_metrics import node_series


def main() -> None:
    """Entry point of the `osctl-node` command."""
    run("node", compose)


def compose(parts: Parts) -> Container:
    """Wires the watch of nodes to the store of what it tells, and both to the region's status."""
    store = ObjectStore(parts.kube, parts.clock, None, PARSERS)
    reconciler = NodesReconciler(
        kube=parts.kube, clock=parts.clock, events=parts.events, store=store, resync=parts.settings.resync
    )
    return observing_container("node", parts, store, reconciler.reconcile, node_series)


if __name__ == "__main__":
    main()
