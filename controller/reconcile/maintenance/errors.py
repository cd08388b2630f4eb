"""Errors of one maintenance: reported in its status, so that they delay no other."""

from __future__ import annotations

import logging
from collections.abc import Callable

from controller.domain.api.reasons import Reason
from controller.domain.maintenance.server_moves import Phase
from controller.errors import ApiUnavailable, CloudRefused, CloudUnavailable, KubeError, is_refusal
from controller.reconcile.hosts.retry_pauses import AGAIN_AFTER
from controller.reconcile.maintenance.deletion import BUSY_EVERY, IDLE_EVERY, MaintenanceDeletion
from controller.reconcile.maintenance.maintenance_finalizer import has_finalizer
from controller.reconcile.maintenance.out_of_service import HostDisabler
from controller.reconcile.maintenance.status import MaintenanceWork, ObservedStatus, StatusWriter

log = logging.getLogger(__name__)

# A refusal stands in no list: it is over when a pass that begins nothing has passed without it.
REFUSED = (Reason.CLOUD_REFUSED, Reason.API_SERVER_REFUSED)


class MaintenanceErrors:
    """Serves a maintenance, and reports in its status what OpenStack or the API server refuses.

    Each method gives the seconds until the next pass, and raises ApiUnavailable only.
    """

    def __init__(self, *, out: HostDisabler, end: MaintenanceDeletion, status: StatusWriter) -> None:
        self._out = out
        self._end = end
        self._status = status

    def met(self, work: MaintenanceWork, serve: Callable[[], float]) -> float:
        """Serves one maintenance; errors are reported in its status."""

        def serving() -> float:
            try:
                return serve()
            except CloudUnavailable as error:
                return self._without_cloud(work, error)

        return self._reported(work, serving)

    def without_cloud(self, work: MaintenanceWork, error: CloudUnavailable) -> float:
        """What can be done and said while OpenStack does not answer."""
        return self._reported(work, lambda: self._without_cloud(work, error))

    def without_region(self, work: MaintenanceWork) -> float:
        """Without a region, there is nothing in OpenStack to restore."""

        def serving() -> float:
            if work.deleting and has_finalizer(work.obj):
                self._out.put_back_node(work)
                self._end.release(work)
                return AGAIN_AFTER
            error = CloudUnavailable(f"there is no OpenStackDeployment {work.region}")
            return self._without_cloud(work, error)

        return self._reported(work, serving)

    def _without_cloud(self, work: MaintenanceWork, error: CloudUnavailable) -> float:
        if work.deleting and has_finalizer(work.obj) and not work.started:
            self._end.release(work)
        else:
            self._out.note_void(work, self._status)
            text = f"waits for OpenStack: {error}"
            phase = Phase.ROLLING_BACK if work.deleting and has_finalizer(work.obj) else work.phase
            self._write(work, work.status_with(phase, Reason.CLOUD_UNKNOWN, text))
        return max(AGAIN_AFTER, error.retry_after or 0.0)

    def _reported(self, work: MaintenanceWork, serving: Callable[[], float]) -> float:
        try:
            return serving()
        except CloudRefused as error:
            reason, text = Reason.CLOUD_REFUSED, f"OpenStack refused: {error}"
        except KubeError as error:
            if isinstance(error, ApiUnavailable):
                raise
            if not is_refusal(error):
                extra = {"object": work.name, "reason": type(error).__name__}
                log.info("maintenance %s changed in the meantime: %s", work.name, error, extra=extra)
                return BUSY_EVERY
            reason, text = Reason.API_SERVER_REFUSED, f"the API server refused: {error}"
        if work.deleting:
            text = f"the maintenance is being rolled back, and {text}"
        self._write(work, work.status_with(Phase.BLOCKED, reason, text))
        return IDLE_EVERY

    def _write(self, work: MaintenanceWork, observed: ObservedStatus) -> None:
        try:
            self._status.write(work, observed)
        except KubeError as error:
            extra = {"object": work.name, "reason": type(error).__name__}
            log.warning("status of maintenance %s: %s", work.name, error, extra=extra)
