"""Remembers which compute services we have forced down, where nobody else writes.

disabled_reason says so, too, until somebody disables the service for another reason, or enables it: what we
forced down would then be taken for somebody else's decision, for ever.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass

from controller.domain.api.conditions import timestamp
from controller.domain.api.names import MANAGED_BY, MANAGED_BY_US
from controller.domain.shared.cloud_facts import CloudView, ComputeService
from controller.domain.shared.times import seconds_of
from controller.errors import Conflict, KubeError
from controller.ports.kubernetes import CONFIGMAP, Kube
from controller.ports.system import Clock
from controller.reconcile.shared.action_log import log_action

log = logging.getLogger(__name__)

NAME = "osctl-forced-down-hosts"
# It is remembered before the service is forced down: so many seconds later that has happened, or never does.
UNDER_WAY = 300.0


@dataclass(frozen=True, slots=True)
class _ForcedDown:
    """By its id: a service that registers again under the same host is not the one that we forced down."""

    service: str
    at: float

    def is_over(self, live: ComputeService | None, now: float) -> bool:
        """Whether the service is seen to be no longer forced down. One that no list shows may still be."""
        if live is None or now - self.at <= UNDER_WAY:
            return False
        return live.id != self.service or not live.forced_down


class ForcedDownHosts:
    """The record of forced-down services: a ConfigMap of the region with an entry for each host."""

    def __init__(self, kube: Kube, clock: Clock, namespace: str) -> None:
        self._kube = kube
        self._clock = clock
        self._namespace = namespace
        self._last: Mapping[str, str] = {}

    def observe(self, view: CloudView) -> Mapping[str, str]:
        """The ids of services that we forced down, by host; forgets those that no longer are."""
        try:
            self._last = self._read(view)
        except KubeError as error:
            text = "the record of compute services that we forced down cannot be read: %s"
            extra = {"object": f"{self._namespace}/{NAME}", "reason": type(error).__name__}
            log.warning(text, error, extra=extra)
        return self._last

    def _read(self, view: CloudView) -> Mapping[str, str]:
        live = self._kube.get(CONFIGMAP, NAME, self._namespace)
        if live is None:
            return {}
        found = {host: _parsed(text) for host, text in (live.get("data") or {}).items()}
        now = self._clock.now()
        over = [host for host, record in found.items() if record.is_over(view.service(host), now)]
        if over:
            meta = {"resourceVersion": live["metadata"]["resourceVersion"]}
            self._patch({"metadata": meta, "data": dict.fromkeys(over)}, f"{', '.join(over)} taken out")
        return {host: record.service for host, record in found.items() if host not in over}

    def is_recorded(self, host: str, service: ComputeService) -> bool:
        """Whether it is remembered that we forced this service down. Raises KubeError."""
        live = self._kube.get(CONFIGMAP, NAME, self._namespace) or {}
        return _parsed(str((live.get("data") or {}).get(host) or "")).service == service.id

    def remember(self, host: str, service: ComputeService) -> None:
        """To be called before it is forced down. Raises KubeError."""
        data = {host: f"{service.id} {timestamp(self._clock.now())}"}
        meta = {"name": NAME, "namespace": self._namespace, "labels": {MANAGED_BY: MANAGED_BY_US}}
        noted = f"host {host} is to be forced down"
        if self._patch({"data": data}, noted):
            return
        try:
            self._kube.create(
                {
                    "apiVersion": CONFIGMAP.api_version,
                    "kind": CONFIGMAP.kind,
                    "metadata": meta,
                    "data": data,
                }
            )
        except Conflict:
            self._patch({"data": data}, noted)
        else:
            log_action("record", f"{self._namespace}/{NAME}", f"ConfigMap {NAME}: {noted}")

    def forget(self, host: str) -> None:
        """After forced_down was removed; what cannot be forgotten now is forgotten in a later pass."""
        try:
            self._patch({"data": {host: None}}, f"host {host} is no longer forced down")
        except KubeError as error:
            text = f"host {host} is no longer forced down; that is not recorded yet"
            log_action("record", f"{self._namespace}/{NAME}", text, error=error)

    def _patch(self, patch: Mapping[str, object], noted: str) -> bool:
        done = self._kube.merge_patch(CONFIGMAP, NAME, self._namespace, patch) is not None
        if done:
            log_action("record", f"{self._namespace}/{NAME}", f"ConfigMap {NAME}: {noted}")
        return done


def _parsed(text: str) -> _ForcedDown:
    service, _, at = text.partition(" ")
    return _ForcedDown(service, seconds_of(at))
