"""What one maintenance meets: it is told in its status, and holds up no other."""

from __future__ import annotations

import logging
from collections.abc import Callable

from controller.domain.node_maintenance import Phase
from controller.domain.reasons import Reason
from controller.errors import ApiUnavailable, CloudRefused, CloudUnavailable, KubeError, is_refusal
from controller.reconcile.host_out import HostOut
from controller.reconcile.maintenance_end import BUSY_EVERY, IDLE_EVERY, MaintenanceEnd
from controller.reconcile.maintenance_status import Standing, StatusWriter, Work

log = logging.getLogger(__name__)

AGAIN_AFTER = 15.0
# A refusal stands in no list: it is over when a look that begins nothing has passed without it.
REFUSED = (Reason.CLOUD_REFUSED, Reason.API_SERVER_REFUSED)


class MaintenanceTrouble:
    """Each method gives the seconds until the next look, and raises ApiUnavailable only."""

    def __init__(self, *, out: HostOut, end: MaintenanceEnd, status: StatusWriter) -> None:
        self._out = out
        self._end = end
        self._status = status

    def met(self, work: Work, serve: Callable[[], float]) -> float:
        """Serves one maintenance; what goes wrong is told."""

        def serving() -> float:
            try:
                return serve()
            except CloudUnavailable as error:
                return self._without_cloud(work, error)

        return self._told(work, serving)

    def without_cloud(self, work: Work, error: CloudUnavailable) -> float:
        """What can be done and said while OpenStack does not answer."""
        return self._told(work, lambda: self._without_cloud(work, error))

    def without_region(self, work: Work, namespace: str) -> float:
        """Where there is no region, there is nothing in OpenStack to put back."""

        def serving() -> float:
            if work.going and work.held:
                self._out.put_back_node(work)
                self._end.release(work)
                return AGAIN_AFTER
            error = CloudUnavailable(f"there is no OpenStackDeployment in {namespace}")
            return self._without_cloud(work, error)

        return self._told(work, serving)

    def _without_cloud(self, work: Work, error: CloudUnavailable) -> float:
        if work.going and work.held and not work.started:
            self._end.release(work)
        else:
            self._out.note_void(work, self._status)
            text = f"waits for OpenStack: {error}"
            phase = Phase.ROLLING_BACK if work.going and work.held else work.phase
            self._say(work, work.standing(phase, Reason.CLOUD_UNKNOWN, text))
        return max(AGAIN_AFTER, error.retry_after or 0.0)

    def _told(self, work: Work, serving: Callable[[], float]) -> float:
        try:
            return serving()
        except CloudRefused as error:
            reason, text = Reason.CLOUD_REFUSED, f"OpenStack refused: {error}"
        except KubeError as error:
            if isinstance(error, ApiUnavailable):
                raise
            if not is_refusal(error):
                log.info("maintenance %s changed meanwhile: %s", work.name, error)
                return BUSY_EVERY
            reason, text = Reason.API_SERVER_REFUSED, f"the API server refused: {error}"
        if work.going:
            text = f"it is rolled back, and {text}"
        self._say(work, work.standing(Phase.BLOCKED, reason, text))
        return IDLE_EVERY

    def _say(self, work: Work, standing: Standing) -> None:
        try:
            self._status.write(work, standing)
        except KubeError as error:
            log.warning("status of maintenance %s: %s", work.name, error)
