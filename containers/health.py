"""health: turns what is seen of workloads and their pods into the health of the region."""

from __future__ import annotations

from containers.composition import Parts, run
from containers.observing import observing_container
from controller.adapters.release_records import SecretRecords
from controller.operator import Container
from controller.reconcile.health import PARSERS, HealthReconciler
from controller.reconcile.object_store import ObjectStore
from controller.reconcile.status_metrics import component_series


def main() -> None:
    """Entry point of the `osctl-health` command."""
    run("health", compose)


def compose(parts: Parts) -> Container:
    """Wires the watches of workloads to the store of what they tell, and both to the region's status."""
    settings = parts.settings
    store = ObjectStore(parts.kube, parts.clock, settings.region_namespace, PARSERS)
    reconciler = HealthReconciler(
        kube=parts.kube,
        records=SecretRecords(parts.kube),
        clock=parts.clock,
        events=parts.events,
        store=store,
        namespace=settings.region_namespace,
        resync=settings.resync,
    )
    return observing_container("health", parts, store, reconciler.reconcile, component_series)


if __name__ == "__main__":
    main()
