"""helmbundle's part of the region's status: `children` and the condition `ReleasesReady`."""

from __future__ import annotations

from controller.domain.api.conditions import entries, find
from controller.domain.api.keys import RegionKey
from controller.domain.api.names import DEPLOYMENT_LABEL, field_manager
from controller.domain.releases.bundle_status import child_entry, releases_condition
from controller.ports.kubernetes import HELMBUNDLE, OSDPL, Kube
from controller.ports.system import Clock
from controller.reconcile.shared.region_status import apply_region_status


class ChildrenReporter:
    """Gathers what the bundles of one osdpl say of themselves."""

    def __init__(self, kube: Kube, clock: Clock) -> None:
        self._kube = kube
        self._clock = clock

    def reconcile(self, key: RegionKey) -> float | None:
        """Writes the region's children if they differ from what its status says."""
        namespace, name = key
        osdpl = self._kube.get(OSDPL, name, namespace)
        if osdpl is None:
            return None
        before = osdpl.get("status") or {}
        bundles = self._kube.list(HELMBUNDLE, namespace, labels=f"{DEPLOYMENT_LABEL}={name}")
        children = {bundle["metadata"]["name"]: child_entry(bundle) for bundle in bundles}
        known = find(before.get("conditions") or [], "ReleasesReady")
        # The generation that core has turned into bundles: to speak of a newer one would be a guess.
        applied = int(before.get("appliedGeneration") or 0)
        generation = max(applied, int(known.get("observedGeneration") or 0))
        if generation == 0 and not children:
            return None
        condition = releases_condition(children, generation)
        if not children and known.get("status") == "Unknown":
            return None
        status = {
            "children": children,
            "conditions": entries([condition], before.get("conditions") or [], self._clock.now()),
        }
        apply_region_status(self._kube, osdpl, status, manager=field_manager("helmbundle"))
        return None
