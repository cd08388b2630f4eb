"""Enables volume services of hosts that were removed and have come back."""

from __future__ import annotations

from collections.abc import Sequence

from controller.domain.api.reasons import Reason
from controller.domain.hosts.host_facts import HostFacts, NextStep
from controller.domain.shared import backoff
from controller.domain.shared.cloud_facts import REMOVED, CloudView
from controller.errors import CloudRefused, CloudUnavailable
from controller.ports.openstack import Cloud
from controller.ports.system import Clock
from controller.reconcile.hosts import openstack_writes
from controller.reconcile.hosts.observe import NodesSnapshot
from controller.reconcile.hosts.retry_pauses import RetryPauses
from controller.reconcile.shared.action_log import log_action


class ReenabledVolumeServices:
    """Enables volume services that the removal of their host had disabled. Not thread-safe."""

    def __init__(self, clock: Clock) -> None:
        self._pauses = RetryPauses(clock, backoff.LONG_PAUSES)

    def ensure(
        self,
        snapshot: NodesSnapshot,
        decided: Sequence[tuple[HostFacts, NextStep]],
        cloud: Cloud,
        view: CloudView,
    ) -> None:
        """Enables those with that mark, of nodes that are ready, and of computes once they are in service."""
        ours = [one for one in view.volumes if one.up and not one.enabled and one.reason == REMOVED]
        self._pauses.keep({one.name for one in ours})
        if not ours:
            return
        away = {host.name for host, decision in decided if decision.reason != Reason.NODE_IN_SERVICE}
        serving = {
            snapshot.host(name, view)
            for name, node in snapshot.nodes.items()
            if node.is_ready and not (node.cordoned or name in away or snapshot.maintenances.get(name))
        }
        for one in ours:
            if one.host not in serving or not self._pauses.over(one.name) or cloud.late:
                continue
            try:
                openstack_writes.set_volume_service(cloud, one, enabled=True)
            except (CloudUnavailable, CloudRefused) as error:
                self._pauses.failed(one.name)
                log_action("enable-volume-service", one.name, f"{one.binary} {one.name}", error=error)
