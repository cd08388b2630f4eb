"""Containers that only observe: watches fill a store, and a change of it queues the region."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from containers.composition import Parts
from controller.adapters.kubernetes.watches import Watch
from controller.domain.api.keys import RegionKey
from controller.operator import Container
from controller.ports.kubernetes import OSDPL, Resource
from controller.reconcile.shared.known_regions import KnownRegions
from controller.reconcile.shared.object_store import ObjectStore
from controller.reconcile.shared.status_metrics import Series, Status, measured_region

# Events of one change come in bursts, and one pass serves all of them.
GATHERING = 0.2


def observing_container(
    name: str,
    parts: Parts,
    store: ObjectStore,
    reconcile: Callable[[RegionKey], float | None],
    series: Callable[[Status], Series],
) -> Container:
    """A container whose reconciler of regions reads `store`, which watches fill.

    `series` measures what the container has published of a region.
    """
    regions, queue = KnownRegions(), parts.queue
    measure = measured_region(parts.metrics, series)

    def seen(resource: Resource, event: str | None, obj: Mapping[str, Any]) -> None:
        if store.feed(resource, event, obj):
            for key in regions.served():
                queue.add(("region", *key), after=GATHERING)

    def region_seen(event: str | None, obj: Mapping[str, Any]) -> None:
        measure(event, obj)
        for key in regions.feed(event, obj):
            queue.add(("region", *key), after=GATHERING)

    watches = (Watch(resource, seen=partial(seen, resource)) for resource in store.resources)
    return Container(
        name=name,
        watches=(Watch(OSDPL, seen=region_seen), *watches),
        reconcilers={"region": lambda namespace, region: reconcile((namespace, region))},
        queue=queue,
        # One: the reconciler keeps what it remembers of components without locks.
        workers=1,
    )
