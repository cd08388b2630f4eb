"""node's part of the region's status: `nodes` and the condition `NodesReady`. Changes no node.

The report on compute hosts comes from the last pass over them. Before the first pass, the earlier report
stays.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from controller.domain.api.conditions import entries, find
from controller.domain.api.keys import RegionKey
from controller.domain.api.names import field_manager
from controller.domain.hosts.nodes import parse_node
from controller.domain.hosts.nodes_status import CONDITION, node_entries, nodes_condition
from controller.errors import ObjectMissing
from controller.ports.kubernetes import NODE, OSDPL, Events, Kube, Resource
from controller.ports.system import Clock
from controller.reconcile.hosts.last_host_findings import HostFindings, LastHostFindings
from controller.reconcile.shared.managed_region import observe_regions
from controller.reconcile.shared.object_store import CATCHING_UP, ObjectStore, Parse
from controller.reconcile.shared.region_status import WRITE_EVERY, apply_region_status

MANAGER = field_manager("node")
# The largest number of compute hosts without a Node that a message names: people do not match more by hand.
MOST_STRANGERS = 100
# Seconds for which a new container waits for its first pass over the compute hosts. The previous container's
# report stays valid until then, except for a loss that Kubernetes reports. If OpenStack does not answer, such
# a pass ends after 20 seconds (controller/adapters/openstack/calls.py).
FIRST_OBSERVATION_SECONDS = 30.0


# What the container watches, and how an object becomes facts.
def node_parsers(namespace: str) -> Mapping[Resource, Parse]:
    """For the installation that serves this namespace."""
    return {NODE: partial(parse_node, namespace=namespace)}


class NodesReconciler:
    """Reports the state of nodes with roles, from what `store` has by `node_parsers`.

    `resync`: seconds after which the store is compared with the API server again.
    """

    def __init__(
        self,
        *,
        kube: Kube,
        clock: Clock,
        events: Events,
        store: ObjectStore,
        resync: float,
        findings: LastHostFindings | None = None,
    ) -> None:
        self._kube = kube
        self._clock = clock
        self._events = events
        self._store = store
        self._written: dict[RegionKey, float] = {}
        self._resync = resync
        self._findings = findings
        self._began: float | None = None

    def reconcile(self, key: RegionKey) -> float | None:
        """One pass; seconds until the next that no event will announce, None when the osdpl is gone.

        Raises KubeError.
        """
        pause = self._written.get(key, -WRITE_EVERY) + WRITE_EVERY - self._clock.monotonic()
        if pause > 0:
            return pause
        if not self._store.is_complete(not_older_than=self._resync):
            return CATCHING_UP
        namespace, name = key
        osdpl = self._kube.get(OSDPL, name, namespace)
        if osdpl is None:
            self._written.pop(key, None)
            return None
        if (regions := observe_regions(self._kube, namespace)).managed != name:
            return regions.pause(name, self._resync)
        before = osdpl.get("status") or {}
        known = before.get("conditions") or []
        nodes = self._store.facts(NODE)
        now = self._clock.now()
        findings = self._findings.read() if self._findings else HostFindings()
        generation = int(before.get("observedGeneration") or 0)
        condition = nodes_condition(
            nodes,
            generation,
            breaker_open=findings.circuit_breaker_open,
            unknown=findings.unknown,
            reports=findings.reports,
            strangers=findings.strangers,
        )
        lost = condition.status == "False" and find(known, CONDITION).get("status") != "False"
        if self._awaits_first_observation() and not lost:
            return CATCHING_UP
        status: dict[str, Any] = {"conditions": entries([condition], known, now)}
        shown = node_entries(
            nodes,
            before.get("nodes") or {},
            now,
            findings.reports,
            unknown=findings.unknown,
            as_of=findings.as_of,
        )
        if shown or before.get("nodes"):
            status["nodes"] = shown
        observed = self._findings is not None and self._findings.filled and not findings.unknown
        strangers = list(findings.strangers) or ([] if observed else before.get("hostsWithoutNode") or [])
        if strangers:
            status["hostsWithoutNode"] = strangers[:MOST_STRANGERS]
        try:
            written = apply_region_status(self._kube, osdpl, status, manager=MANAGER)
        except ObjectMissing:
            return None
        if written:
            self._written[key] = self._clock.monotonic()
            old = find(known, CONDITION)
            if (old.get("status"), old.get("reason")) != (condition.status, condition.reason):
                reason, text = condition.reason, condition.message
                self._events.emit(osdpl, type_=reason.event, reason=reason, message=text)
        return self._resync

    def _awaits_first_observation(self) -> bool:
        if self._findings is None or self._findings.filled:
            return False
        now = self._clock.monotonic()
        if self._began is None:
            self._began = now
        return now - self._began < FIRST_OBSERVATION_SECONDS
