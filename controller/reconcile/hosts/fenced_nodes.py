"""Takes up confirmations that stand on Nodes, and takes them off where the machine was on since.

Nova keeps of each compute service when it was written last, and not whether that was a report or a change. So
we read it right before a change of ours and right after, and note what it says then beside each confirmation
that held until then. Whoever is killed in between leaves a confirmation that is void.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from controller.domain.api.names import FENCED_ANNOTATION, REPORT_ANNOTATION
from controller.domain.api.reasons import WARNING, Reason
from controller.domain.hosts.fencing_confirmation import (
    CHANGED,
    against_taking_up,
    read_back,
    renewed,
    report_of,
    seen_now,
)
from controller.domain.hosts.nodes import NodeFacts, machine_facts, parse_node
from controller.domain.shared.cloud_facts import CloudView, ComputeService
from controller.ports.kubernetes import NODE, Events, Kube
from controller.ports.openstack import Cloud
from controller.ports.system import Clock
from controller.reconcile.hosts.node_annotations import NodeAnnotations
from controller.reconcile.hosts.observe import NodesSnapshot

log = logging.getLogger(__name__)

# Seconds between the two reads. A report in between is not seen: a machine that boots takes longer, and one
# that runs reports again every ten (report_interval of Nova).
WITHIN = 10.0
# A Node is written by others, too.
ATTEMPTS = 3


@dataclass(frozen=True, slots=True)
class _Doubted:
    """A confirmation that a change of the compute service would make void, and since when that is seen."""

    fenced: str
    since: float


class FencedNodes:
    """Accepts the fencing confirmations on Nodes, and removes those that have become void.

    To be reconciled before any step is taken, so that no step acts upon a void confirmation.
    """

    def __init__(
        self, kube: Kube, clock: Clock, events: Events, notes: NodeAnnotations, namespace: str
    ) -> None:
        self._kube = kube
        self._clock = clock
        self._events = events
        self._notes = notes
        self._namespace = namespace
        # By uid of the Node.
        self._doubted: dict[str, _Doubted] = {}

    def reconcile(self, snapshot: NodesSnapshot, view: CloudView) -> NodesSnapshot:
        """The snapshot with the Nodes as they are after that. Raises KubeError."""
        fresh = dict(snapshot.nodes)
        doubted, self._doubted = self._doubted, {}
        for node in snapshot.nodes.values():
            if not node.is_ready and (node.is_compute or node.confirmation is not None):
                fresh[node.name] = self._reconcile_node(node, snapshot, view, doubted.get(node.uid))
        return replace(snapshot, nodes=fresh)

    def _reconcile_node(
        self, node: NodeFacts, snapshot: NodesSnapshot, view: CloudView, doubted: _Doubted | None
    ) -> NodeFacts:
        """The Node after what was due for it. `doubted`: as of the pass before."""
        service = view.service(snapshot.host(node.name, view))
        peers = list(snapshot.peers(node.name, view)) if node.confirmation is not None else []
        if not _due(node, service, peers):
            return node
        live = self._kube.get(NODE, node.name)
        seen = parse_node(live, self._namespace) if live is not None else None
        if live is None or seen is None or seen.is_ready:
            return node
        if seen.confirmation is not None:
            # What is written is compared with from then on, so that it is of all its Nodes as they are now.
            listed = [machine_facts(one, self._namespace) for one in self._kube.list(NODE)]
            peers = list(snapshot.same_machine(node.name, view).among(listed))
        due = _due(seen, service, peers)
        if not due:
            return seen
        why = seen.void or _against(seen, service, peers)
        if why == CHANGED and self._is_in_doubt(seen, doubted):
            return replace(seen, fenced="")
        if not self._notes.write(live, {name: value or None for name, value in due.items()}):
            # What it says is not acted upon before it is noted.
            return replace(seen, fenced="")
        if due.get(FENCED_ANNOTATION) == "":
            text = f"the confirmation that it is off is no longer valid: {why}"
            obj = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": seen.name, "uid": seen.uid}}
            self._events.emit(obj, type_=WARNING, reason=Reason.FENCING_AWAITED, message=text)
        fenced, report = due.get(FENCED_ANNOTATION, seen.fenced), due.get(REPORT_ANNOTATION, seen.report)
        return replace(seen, fenced=fenced, report=report)

    def _is_in_doubt(self, node: NodeFacts, before: _Doubted | None) -> bool:
        """Whether a change of its compute service may be one of ours, which is about to be noted beside the
        confirmation. Nothing is done upon that meanwhile."""
        now = self._clock.monotonic()
        since = before.since if before is not None and before.fenced == node.fenced else now
        if node.confirmation is None or node.confirmation.seen is None or now - since > WITHIN:
            return False
        self._doubted[node.uid] = _Doubted(node.fenced, since)
        return True


def _due(node: NodeFacts, service: ComputeService | None, peers: Sequence[NodeFacts]) -> dict[str, str]:
    """What is to be changed on the Node; empty for what is to be taken off."""
    desired = {FENCED_ANNOTATION: _fenced(node, service, peers)}
    if service is not None:
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
        return node.fenced
    if service is None and node.is_compute:
        # Its report could not be distinguished from a later one.
        return node.fenced
    return replace(found, seen=seen_now(service, [one.as_peer() for one in peers])).written()


def _against(node: NodeFacts, service: ComputeService | None, peers: Sequence[NodeFacts]) -> str:
    found = node.confirmation
    if found is not None and found.seen is None:
        # What is noted on the Node may have been noted since the confirmation was given.
        return against_taking_up(node.created, found.report, service, [one.as_peer() for one in peers])
    return node.runs(service, peers)


class TracedChanges:
    """Changes compute services of hosts whose machine may be confirmed to be off. Thread-safe."""

    def __init__(self, kube: Kube, clock: Clock, namespace: str) -> None:
        self._kube = kube
        self._clock = clock
        self._namespace = namespace
        self._notes = NodeAnnotations(kube, clock, namespace)

    def make(
        self,
        cloud: Cloud,
        host: str,
        change: Callable[[ComputeService], ComputeService | None],
    ) -> tuple[ComputeService, ComputeService] | None:
        """The service before and after `change`; None where another writer may have changed it meanwhile.

        `change` is given the service as it is, asks Nova, and gives what the service was to become; None
        where it asked for nothing. Raises CloudUnavailable, CloudRefused, and what `change` raises.
        """
        began = self._clock.monotonic()
        before = cloud.compute_service(host)
        asked = change(before) if before is not None else None
        if before is None or asked is None:
            return None
        after = read_back(before, asked, cloud.compute_service(host))
        if after is None or self._clock.monotonic() - began > WITHIN:
            return None
        return before, after

    def renew(self, nodes: Iterable[str], before: ComputeService, after: ComputeService) -> None:
        """Notes on Nodes of the machine what is written now, where they knew what was written before.

        Raises KubeError.
        """
        for name in nodes:
            for _ in range(ATTEMPTS):
                if self._renewed(name, before, after):
                    break

    def _renewed(self, name: str, before: ComputeService, after: ComputeService) -> bool:
        """Whether there is nothing more to be written on the Node."""
        live = self._kube.get(NODE, name)
        node = machine_facts(live, self._namespace) if live is not None else None
        if live is None or node is None or node.is_ready:
            return True
        found, notes = node.confirmation, {}
        if found is not None and found.seen is None:
            # It is compared with what was noted before it was given.
            return True
        if found is not None and renewed(found, before, after) != found:
            notes[FENCED_ANNOTATION] = renewed(found, before, after).written()
        if node.report == report_of(before):
            notes[REPORT_ANNOTATION] = report_of(after)
        return not notes or self._notes.write(live, notes)
