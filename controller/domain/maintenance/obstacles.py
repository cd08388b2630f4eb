"""What stands in the way of a maintenance, as the last pass at Kubernetes and OpenStack shows it. Pure.

A plan tells what the real thing would meet, so both ask here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from controller.domain.api.names import FENCED_ANNOTATION
from controller.domain.api.reasons import Reason
from controller.domain.api.region_name import node_note
from controller.domain.hosts.fencing_confirmation import Confirmation, Machine, ran_since, shown_since
from controller.domain.hosts.nodes import NodeFacts
from controller.domain.maintenance.move_choice import Mode
from controller.domain.maintenance.network_moves import AgentAvailability, NetworkMove, NetworkMoveState
from controller.domain.shared.cloud_facts import ComputeService
from controller.domain.shared.plurals import count

Obstacle = tuple[Reason, str]
STILL_REPORTS: Obstacle = (
    Reason.COMPUTE_STILL_REPORTS,
    "its compute service reports: its servers run; they are evacuated only when it is silent",
)


@dataclass(frozen=True, slots=True)
class HostSnapshot:
    """A node and its host. `there`: whether the Node exists; one without a role has none in `node`.

    `namespace`: of the region. `machine`: as its Node shows it. `fencing_confirmation`: of the maintenance
    itself, once it was taken up; `void`: why that is void. `host`: as OpenStack calls it. `beside`: other
    Nodes that are the same host, as when the machine joined again under another name. `doubt`: why it is not
    certain which host it is.
    """

    name: str
    namespace: str
    host: str
    there: bool
    node: NodeFacts | None
    service: ComputeService | None
    machine: Machine | None = None
    fencing_confirmation: Confirmation | None = None
    void: str = ""
    beside: tuple[NodeFacts, ...] = ()
    doubt: str = ""


def obstacle(mode: Mode, snapshot: HostSnapshot) -> Obstacle | None:
    """What stands in the way of moving servers, None where nothing does."""
    return before_taking_out(mode, snapshot) or before_moving(mode, snapshot)


def before_taking_out(mode: Mode, snapshot: HostSnapshot) -> Obstacle | None:
    """Why the host may not even be taken out of service."""
    if snapshot.doubt:
        return Reason.HOST_AMBIGUOUS, snapshot.doubt
    if mode == Mode.EVACUATE:
        return _not_dead(snapshot)
    if not snapshot.there:
        return Reason.NODE_REMOVED, f'there is no node "{snapshot.name}"'
    return None


def before_moving(mode: Mode, snapshot: HostSnapshot) -> Obstacle | None:
    """Why servers cannot leave a host that is out of service."""
    if snapshot.service is None:
        # A node for networks only has none, and is out of service with its agents. Nothing is evacuated
        # without one: it is forced down and watched first.
        for_networks = snapshot.there and (snapshot.node is None or not snapshot.node.is_compute)
        if mode == Mode.CORDON or (for_networks and mode != Mode.EVACUATE):
            return None
        return compute_missing(snapshot.host)
    if mode == Mode.MIGRATE and not snapshot.service.up:
        text = "its compute service does not report: servers can only be evacuated, after fencing"
        return Reason.COMPUTE_DOWN, text
    return None


def compute_missing(host: str) -> Obstacle:
    """That OpenStack shows no compute service of a host."""
    return Reason.COMPUTE_MISSING, f'OpenStack has no compute service on "{host}"'


def planned_moves(outlook: AgentAvailability) -> list[NetworkMove]:
    """What is to leave the agents of the host; Blocked where no other agent could take it."""
    text = "no other agent that lives can take it"
    return [
        one if outlook.others(one.kind) else replace(one, state=NetworkMoveState.BLOCKED, message=text)
        for one in outlook.present()
    ]


def stranded(moves: Sequence[NetworkMove]) -> Obstacle | None:
    """That of planned routers and networks some have nowhere to go."""
    blocked = sum(one.state == NetworkMoveState.BLOCKED for one in moves)
    what = count(blocked, "router or network has", "routers and networks have")
    text = f"{what} no other agent that lives and could take them"
    return (Reason.AGENTS_DOWN, text) if blocked else None


def why_void(confirmation: Confirmation, snapshot: HostSnapshot) -> str:
    """What shows that the machine was on since a confirmation was taken up; empty for nothing."""
    own = shown_since(confirmation.machine, snapshot.machine)
    if own or confirmation.seen is None:
        return own
    return ran_since(confirmation.seen, snapshot.service, [one.as_peer() for one in snapshot.beside])


def _not_dead(snapshot: HostSnapshot) -> Obstacle | None:
    """Why nothing may be evacuated from this node, None where it is certain that it is off."""
    if snapshot.node is not None and snapshot.node.is_ready:
        return Reason.COMPUTE_STILL_REPORTS, "the node is ready: its servers run; migrate them instead"
    ready = next((one.name for one in snapshot.beside if one.is_ready), "")
    if ready:
        text = f"its machine is the node {ready} now, which is ready: its servers run; migrate them instead"
        return Reason.COMPUTE_STILL_REPORTS, text
    if snapshot.service is not None and snapshot.service.up:
        return STILL_REPORTS
    why = snapshot.void
    if snapshot.fencing_confirmation is not None:
        why = why_void(snapshot.fencing_confirmation, snapshot)
        if not why:
            return None
    nodes = [*([snapshot.node] if snapshot.node is not None else []), *snapshot.beside]
    if any(_is_off(node, [one for one in nodes if one is not node], snapshot.service) for node in nodes):
        return None
    name = max(nodes, key=lambda one: one.created).name if nodes else snapshot.name
    text = f"it is not certain that the node is off: osctl node fenced {name}, or spec.fenced"
    if why:
        again = f"osctl node maintain {snapshot.name} --mode evacuate --fenced, or osctl node fenced {name}"
        text = f"spec.fenced is void for good: {why}; check again that the machine is off, then {again}"
    elif any(one.fenced and one.confirmation is None for one in nodes):
        annotation = node_note(snapshot.namespace, FENCED_ANNOTATION)
        text += f"; what stands on the Node as {annotation} names no machine"
    return Reason.FENCING_AWAITED, text


def _is_off(node: NodeFacts, others: Sequence[NodeFacts], service: ComputeService | None) -> bool:
    """Whether a confirmation on this Node of the machine holds."""
    return node.is_fenced and not node.runs(service, others)
