"""Enables agents and volume services that a maintenance disabled which is no more.

A maintenance enables what it disabled, by the lists of one pass. A service that is missing from these lists
would stay disabled without end: no other controller knows the mark.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from controller.domain.api.region_name import is_served_in
from controller.domain.hosts.host_facts import has_begun
from controller.domain.maintenance.disable_reasons import mark_in, mark_of, without_any_mark
from controller.domain.shared import backoff
from controller.domain.shared.cloud_facts import CloudView
from controller.errors import CloudRefused, CloudUnavailable
from controller.ports.kubernetes import COMPUTE_MAINTENANCE, Kube
from controller.ports.openstack import Cloud
from controller.ports.system import Clock
from controller.reconcile.hosts import openstack_writes
from controller.reconcile.hosts.observe import NodesSnapshot
from controller.reconcile.hosts.retry_pauses import RetryPauses
from controller.reconcile.shared.action_log import log_action


class ReenabledServices:
    """Enables what a maintenance that no longer exists had disabled. Not thread-safe."""

    def __init__(self, kube: Kube, clock: Clock, namespace: str) -> None:
        self._kube = kube
        self._namespace = namespace
        self._pauses = RetryPauses(clock, backoff.LONG_PAUSES)

    def ensure(self, snapshot: NodesSnapshot, cloud: Cloud, view: CloudView) -> None:
        """Enables those that report, on hosts of Nodes that are in no maintenance. Raises KubeError."""
        volumes = [one for one in view.volumes if one.up and not one.enabled and mark_in(one.reason)]
        agents = [one for one in view.agents if one.alive and mark_in(one.description)]
        self._pauses.keep({*(one.name for one in volumes), *(one.id for one in agents)})
        if not (volumes or agents):
            return
        free = _free_hosts(snapshot, view)
        # Listed after OpenStack was looked at: whose mark was seen there was a maintenance before that.
        known = {
            mark_of(str(one["metadata"]["name"]))
            for one in self._kube.list(COMPUTE_MAINTENANCE)
            if is_served_in(self._namespace, one)
        }
        for volume in volumes:
            if volume.host in free and mark_in(volume.reason) not in known:
                enable = partial(openstack_writes.set_volume_service, cloud, volume, enabled=True)
                self._try(volume.name, "enable-volume-service", cloud, enable)
        for agent in agents:
            if agent.host in free and mark_in(agent.description) not in known:
                before = without_any_mark(agent.description)
                enable = partial(openstack_writes.set_agent, cloud, agent, enabled=True, description=before)
                self._try(agent.id, "enable-network-agent", cloud, enable)

    def _try(self, what: str, action: str, cloud: Cloud, enable: Callable[[], None]) -> None:
        if cloud.late or not self._pauses.over(what):
            return
        try:
            enable()
        except (CloudUnavailable, CloudRefused) as error:
            self._pauses.failed(what)
            log_action(action, what, f"{what} stays disabled", error=error)


def _free_hosts(snapshot: NodesSnapshot, view: CloudView) -> set[str]:
    """Hosts of Nodes that no maintenance has taken out, under whatever name."""
    taken = {
        snapshot.host(name, view)
        for name, listed in snapshot.maintenances.items()
        if any(has_begun(one) for one in listed)
    }
    return {snapshot.host(name, view) for name in snapshot.nodes} - taken
