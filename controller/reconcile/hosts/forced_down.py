"""Remembers which compute services we have forced down, in a place that only we write.

disabled_reason names this, too, until another writer disables the service for another reason or enables it.
Then the forced-down service would always look like that writer's decision.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass

from controller.domain.api.conditions import timestamp
from controller.domain.api.names import MANAGED_BY, MANAGED_BY_US
from controller.domain.shared.cloud_facts import CloudView, ComputeService
from controller.domain.shared.times import is_ahead, seconds_of
from controller.errors import Conflict, KubeError
from controller.ports.kubernetes import CONFIGMAP, Kube, KubeObject
from controller.ports.system import Clock
from controller.reconcile.shared.action_log import log_action
from controller.reconcile.shared.own_record import own_record
from controller.reconcile.shared.preconditioned_writes import read_again

log = logging.getLogger(__name__)

NAME = "osctl-forced-down-hosts"
# It is remembered before the service is forced down: so many seconds later that has happened, or never does.
UNDER_WAY = 300.0


@dataclass(frozen=True, slots=True)
class _ForcedDown:
    """By its id: a service that registers again under the same host is not the one that we forced down.

    `times`: how often it was noted, by whichever of our processes.
    """

    service: str
    at: float
    times: int

    def written(self) -> str:
        """No two of one service are the same."""
        return f"{self.service} {timestamp(self.at)} {self.times}"

    def is_over(self, live: ComputeService | None, now: float) -> bool:
        """Whether the service is seen to be no longer forced down. One that no list shows may still be."""
        if live is None or (now - self.at <= UNDER_WAY and not is_ahead(self.at, now)):
            return False
        return live.id != self.service or not live.forced_down


class ForcedDownHosts:
    """The record of forced-down services: a ConfigMap of the region with an entry for each host."""

    def __init__(self, kube: Kube, clock: Clock, namespace: str) -> None:
        self._kube = kube
        self._clock = clock
        self._namespace = namespace
        self._last: Mapping[str, str] = {}
        # By host: what this process was the first to note.
        self._begun: dict[str, str] = {}

    def observe(self, view: CloudView) -> Mapping[str, str]:
        """The ids of services that we forced down, by host; forgets those that no longer are."""
        try:
            self._last = self._read(view)
        except KubeError as error:
            text = "the record of forced-down compute services cannot be read: %s"
            extra = {"object": f"{self._namespace}/{NAME}", "reason": type(error).__name__}
            log.warning(text, error, extra=extra)
        return self._last

    def _read(self, view: CloudView) -> Mapping[str, str]:
        live = own_record(self._kube, NAME, self._namespace)
        found = {host: _parsed(text) for host, text in _records(live).items()}
        now = self._clock.now()
        over = [host for host, record in found.items() if record.is_over(view.service(host), now)]
        if live is not None and over:
            try:
                self._patch(live, dict.fromkeys(over), f"{', '.join(over)} removed")
            except Conflict:
                # Another process of ours has noted something meanwhile, perhaps about one of these services.
                over = []
        return {host: record.service for host, record in found.items() if host not in over}

    def noted(self, host: str) -> str:
        """What is recorded of a host, word for word: `forget` takes out just that. Raises KubeError."""
        return _records(own_record(self._kube, NAME, self._namespace)).get(host, "")

    def is_recorded(self, host: str, service: ComputeService) -> bool:
        """Whether it is remembered that we forced this service down. Raises KubeError."""
        return _parsed(self.noted(host)).service == service.id

    def remember(self, host: str, service: ComputeService) -> None:
        """To be called before it is forced down. Raises KubeError.

        Who finds it noted notes it again, in other words: so whoever noted it before sees that it is
        another writer's by now, too, and does not take it out.
        """
        # Other hosts are noted in the same record meanwhile.
        read_again(lambda: self._remember(host, service))

    def _remember(self, host: str, service: ComputeService) -> None:
        live = own_record(self._kube, NAME, self._namespace)
        there = _records(live).get(host, "")
        before = _parsed(there)
        known = before.service == service.id
        record = _ForcedDown(service.id, self._clock.now(), before.times + 1 if known else 1)
        data = {host: record.written()}
        noted = f"host {host} is to be forced down"
        if live is None or not self._patch(live, data, noted):
            meta = {"name": NAME, "namespace": self._namespace, "labels": {MANAGED_BY: MANAGED_BY_US}}
            head = {"apiVersion": CONFIGMAP.api_version, "kind": CONFIGMAP.kind}
            self._kube.create({**head, "metadata": meta, "data": data})
            log_action("record", f"{self._namespace}/{NAME}", f"ConfigMap {NAME}: {noted}")
        ours = not known or there == self._begun.get(host)
        self._begun[host] = record.written() if ours else ""

    def take_back(self, host: str) -> None:
        """After it was remembered and not forced down. What another of us has noted before or since stays:
        it may have been forced down by that one."""
        begun = self._begun.pop(host, "")
        if begun:
            self.forget(host, begun)

    def forget(self, host: str, noted: str) -> None:
        """Takes out what was `noted` and nothing else; what cannot be forgotten now is so in a later pass."""
        if not noted:
            return
        try:
            live = own_record(self._kube, NAME, self._namespace)
            if live is not None and _records(live).get(host) == noted:
                self._patch(live, {host: None}, f"host {host} is not forced down")
        except KubeError as error:
            text = f"host {host} is not forced down; that is not recorded yet"
            log_action("record", f"{self._namespace}/{NAME}", text, error=error)

    def _patch(self, live: KubeObject, data: Mapping[str, str | None], noted: str) -> bool:
        """Changes the record as it was read. Raises Conflict where it is another one by now."""
        meta = {"resourceVersion": live["metadata"]["resourceVersion"]}
        patch = {"metadata": meta, "data": dict(data)}
        done = self._kube.merge_patch(CONFIGMAP, NAME, self._namespace, patch) is not None
        if done:
            log_action("record", f"{self._namespace}/{NAME}", f"ConfigMap {NAME}: {noted}")
        return done


def _records(live: KubeObject | None) -> Mapping[str, str]:
    return {host: str(text) for host, text in ((live or {}).get("data") or {}).items()}


def _parsed(text: str) -> _ForcedDown:
    service, at, times = (*text.split(" "), "", "")[:3]
    return _ForcedDown(service, seconds_of(at), int(times) if times.isdecimal() else 1)
