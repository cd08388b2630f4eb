"""Takes up confirmations that stand on Nodes, and takes them off where the machine was on since."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace

from controller.domain.api.names import FENCED_ANNOTATION, REPORT_ANNOTATION
from controller.domain.api.reasons import WARNING, Reason
from controller.domain.hosts.fencing_confirmation import (
    against_taking_up,
    changed_since,
    renewed,
    report_of,
    seen_now,
)
from controller.domain.hosts.nodes import NodeFacts, parse_node
from controller.domain.shared.cloud_facts import CloudView, ComputeService
from controller.ports.kubernetes import NODE, Events, Kube
from controller.reconcile.hosts.node_annotations import NodeAnnotations
from controller.reconcile.hosts.observe import NodesSnapshot

log = logging.getLogger(__name__)


class FencedNodes:
    """Accepts the fencing confirmations on Nodes, and removes those that have become void.

    To be reconciled before any step is taken, so that nobody acts upon a void confirmation.
    """

    def __init__(self, kube: Kube, events: Events, notes: NodeAnnotations, namespace: str) -> None:
        self._kube = kube
        self._events = events
        self._notes = notes
        self._namespace = namespace

    def reconcile(self, snapshot: NodesSnapshot, view: CloudView) -> NodesSnapshot:
        """The snapshot with the Nodes as they are after that. Raises KubeError."""
        fresh = dict(snapshot.nodes)
        for node in snapshot.nodes.values():
            if not node.is_ready and (node.is_compute or node.confirmation is not None):
                fresh[node.name] = self._reconcile_node(node, snapshot, view)
        return replace(snapshot, nodes=fresh)

    def _reconcile_node(self, node: NodeFacts, snapshot: NodesSnapshot, view: CloudView) -> NodeFacts:
        """The Node after what was due for it."""
        service = view.service(snapshot.host(node.name, view))
        peers = list(snapshot.peers(node.name, view)) if node.confirmation is not None else []
        if not _due(node, service, peers):
            return node
        live = self._kube.get(NODE, node.name)
        seen = parse_node(live, self._namespace) if live is not None else None
        if live is None or seen is None or seen.is_ready:
            return node
        due = _due(seen, service, peers)
        if not due:
            return seen
        why = seen.void or _against(seen, service, peers)
        if not self._notes.write(live, {name: value or None for name, value in due.items()}):
            # What it says is not acted upon before it is noted.
            return replace(seen, fenced="")
        if due.get(FENCED_ANNOTATION) == "":
            text = f"the confirmation that it is off is void: {why}"
            obj = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": seen.name, "uid": seen.uid}}
            self._events.emit(obj, type_=WARNING, reason=Reason.FENCING_AWAITED, message=text)
        fenced, report = due.get(FENCED_ANNOTATION, seen.fenced), due.get(REPORT_ANNOTATION, seen.report)
        return replace(seen, fenced=fenced, report=report)


def _due(node: NodeFacts, service: ComputeService | None, peers: Sequence[NodeFacts]) -> dict[str, str]:
    """What is to be changed on the Node; empty for what is to be taken off."""
    desired = {FENCED_ANNOTATION: _fenced(node, service, peers)}
    if service is not None and node.is_compute:
        desired[REPORT_ANNOTATION] = report_of(service)
    before = {FENCED_ANNOTATION: node.fenced, REPORT_ANNOTATION: node.report}
    return {name: value for name, value in desired.items() if value != before[name]}


def _fenced(node: NodeFacts, service: ComputeService | None, peers: Sequence[NodeFacts]) -> str:
    found = node.confirmation
    if found is None:
        return node.fenced
    if node.void or _against(node, service, peers):
        return ""
    if found.seen is not None:
        return renewed(found, service).written()
    if service is None and node.is_compute:
        # Its report could not be told from one that comes later.
        return node.fenced
    return replace(found, seen=seen_now(service, [one.as_peer() for one in peers])).written()


def _against(node: NodeFacts, service: ComputeService | None, peers: Sequence[NodeFacts]) -> str:
    found = node.confirmation
    if found is not None and found.seen is None:
        # What stands on the Node is from before any change of ours since, which would hide a report.
        others = [one.as_peer() for one in peers]
        why = against_taking_up(node.created, node.report, service, others)
        return why or changed_since(node.report, service)
    return node.runs(service, peers)
