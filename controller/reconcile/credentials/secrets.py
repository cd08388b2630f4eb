"""Sees to it that every credential of the region is there, and says so in the status of the osdpl."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from controller.domain.api.keys import RegionKey
from controller.errors import Conflict, ObjectMissing, SpecInvalid
from controller.ports.kubernetes import OSDPL, KubeObject
from controller.reconcile.credentials.published_status import PublishedStatus
from controller.reconcile.credentials.region_pass import RegionNeeds, SecretsPorts, begin_pass
from controller.reconcile.credentials.steps import REMOVAL, SOON_SECONDS, WITHOUT_SPEC, Step, Steps, run_steps
from controller.reconcile.shared.managed_region import observe_regions

log = logging.getLogger(__name__)

# Another's write between our read and our write: read again at once, a few times.
ATTEMPTS = 5
# What is marked is removed by a pass that reads everything again.
AT_ONCE = 0.0


class SecretsReconciler:
    """Level-triggered and killable anywhere: each pass takes the steps that are left.

    `needs_of` says what an osdpl needs, and raises SpecInvalid; `resync` is in seconds.
    """

    def __init__(
        self,
        ports: SecretsPorts,
        needs_of: Callable[[Mapping[str, Any]], RegionNeeds],
        steps: Steps,
        *,
        resync: float,
    ) -> None:
        self._ports = ports
        self._needs_of = needs_of
        self._steps = steps
        self._resync = resync
        self._status = PublishedStatus(ports.kube, ports.clock, ports.events)

    def reconcile(self, key: RegionKey) -> float | None:
        """One pass; seconds until the next that no event will announce, None when the osdpl is gone.

        Raises KubeError when the API server cannot be asked, or others write all the time.
        """
        for attempt in range(ATTEMPTS):
            try:
                again = self._reconcile_once(key)
                if again != AT_ONCE:
                    return again
            except (Conflict, ObjectMissing):  # a Secret may go; a new pass finds whether it was the osdpl
                if attempt == ATTEMPTS - 1:
                    raise
                extra = {"object": "/".join(key), "reason": "Conflict"}
                log.debug("another client wrote meanwhile; reading again", extra=extra)
        return SOON_SECONDS

    def _reconcile_once(self, key: RegionKey) -> float | None:
        namespace, name = key
        osdpl = self._ports.kube.get(OSDPL, name, namespace)
        if osdpl is None:
            return None
        regions = observe_regions(self._ports.kube, namespace)
        if regions.managed != name:
            return regions.pause(name, self._resync)
        if osdpl["metadata"].get("deletionTimestamp"):
            return self._remove(osdpl)
        work = begin_pass(self._ports, osdpl)
        try:
            needs = self._needs_of(osdpl)
        except SpecInvalid as error:
            work = replace(work, read_only=True)
            found = run_steps(self._steps, work, WITHOUT_SPEC)
            ends = run_steps(self._steps, work, (Step.CERTIFICATE_ENDS,))
            self._status.publish_waiting(work, found, ends, str(error))
        else:
            work = replace(work, needs=needs)
            found = run_steps(self._steps, work)
            self._status.publish(work, found)
        return min(SOON_SECONDS if found.problems else self._resync, found.again, self._resync)

    def _remove(self, osdpl: KubeObject) -> float:
        """The region goes, and with volumes the credentials; core lets it go once they are gone."""
        work = begin_pass(self._ports, osdpl, removal=True)
        work.store.observe(())
        for name in REMOVAL:
            if name in self._steps:
                self._steps[name].remove(work)
        return AT_ONCE if work.store.marked else self._resync
