"""health: turns observations of workloads and their pods into the health of the region."""

from __future__ import annotations

from collections.abc import Callable

from containers.composition import Parts, run
from containers.observing import observing_container
from controller.adapters.helm.records.release_records import SecretRecords
from controller.domain.api.keys import RegionKey
from controller.operator import Container
from controller.reconcile.health.parts import HealthPorts, HealthSettings
from controller.reconcile.health.probes import ServiceProbes
from controller.reconcile.health.status import PARSERS, HealthReconciler
from controller.reconcile.shared.cloud_access import CloudAccess
from controller.reconcile.shared.object_store import ObjectStore
from controller.reconcile.shared.status_metrics import component_series


def main() -> None:
    """Entry point of the `osctl-health` command."""
    run("health", compose)


def compose(parts: Parts) -> Container:
    """Wires the watches of workloads to the store of what they report, and both to the region's status."""
    settings = parts.settings
    store = ObjectStore(parts.kube, parts.clock, settings.region_namespace, PARSERS)
    asked: set[RegionKey] = set()

    def changed() -> None:
        for key in tuple(asked):
            parts.queue.add(("region", *key))

    reconciler = HealthReconciler(
        HealthPorts(
            kube=parts.kube, clock=parts.clock, events=parts.events, records=SecretRecords(parts.kube)
        ),
        HealthSettings(
            namespace=settings.region_namespace,
            resync=settings.resync,
            progress_deadline=settings.progress_deadline,
        ),
        store=store,
        changed=changed,
        probes=_probes(parts, changed) if settings.probe_seconds else None,
    )

    def reconcile(key: RegionKey) -> float | None:
        asked.add(key)
        return reconciler.reconcile(key)

    return observing_container("health", parts, store, reconcile, component_series)


def _probes(parts: Parts, changed: Callable[[], None]) -> ServiceProbes:
    """Probes of the region's own services, which cost the memory of openstacksdk."""
    from controller.adapters.openstack.client import OpenStackClouds

    settings = parts.settings
    clouds = OpenStackClouds(parts.clock, parts.randomness)
    access = CloudAccess(parts.kube, clouds, parts.clock, settings.region_namespace)
    return ServiceProbes(
        cloud=access.cloud,
        clock=parts.clock,
        measures=parts.metrics,
        changed=changed,
        every=settings.probe_seconds,
    )


if __name__ == "__main__":
    main()
