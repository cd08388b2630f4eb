"""The obstacles of a maintenance, from the last observation of Kubernetes and OpenStack.

Pure. A plan shows the obstacles of the real maintenance, so both use this module.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from controller.domain.api.names import FENCED_ANNOTATION
from controller.domain.api.reasons import Reason
from controller.domain.api.region_name import node_note
from controller.domain.hosts.fencing_confirmation import Confirmation, Machine, ran_since, shown_since
from controller.domain.hosts.lost_node import is_certainly_off, still_runs
from controller.domain.hosts.nodes import NodeFacts
from controller.domain.maintenance.move_choice import Mode
from controller.domain.maintenance.network_moves import AgentAvailability, NetworkMove, NetworkMoveState
from controller.domain.shared.cloud_facts import ComputeService
from controller.domain.shared.plurals import count

Obstacle = tuple[Reason, str]
STILL_REPORTS: Obstacle = (
    Reason.COMPUTE_STILL_REPORTS,
    "the compute service reports, so the servers run; an evacuation begins only when the service is silent",
)


@dataclass(frozen=True, slots=True)
class HostSnapshot:
    """A node and its host.

    `there`: whether the Node exists; `node` is None without a role. `namespace`: of the region. `machine`: in
    the state of its Node. `fencing_confirmation`: of the maintenance itself, once accepted; `void`: why it is
    void. `host`: its name in OpenStack. `beside`: other Nodes of the same host, for example after the machine
    joined again under another name. `doubt`: why its host is not certain.
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
    """The obstacle to moves of servers, or None."""
    return before_taking_out(mode, snapshot) or before_moving(mode, snapshot)


def before_taking_out(mode: Mode, snapshot: HostSnapshot) -> Obstacle | None:
    """Why the host may not even be taken out of service."""
    if snapshot.doubt:
        return Reason.HOST_AMBIGUOUS, snapshot.doubt
    if mode == Mode.EVACUATE:
        return _not_lost(snapshot)
    if not snapshot.there:
        return Reason.NODE_REMOVED, f'there is no node "{snapshot.name}"'
    return None


def before_moving(mode: Mode, snapshot: HostSnapshot) -> Obstacle | None:
    """Why servers cannot leave a host that is out of service."""
    if snapshot.service is None:
        # A network node has none, and is out of service with its agents. Nothing is evacuated without one,
        # because it must be forced down and watched first.
        for_networks = snapshot.there and (snapshot.node is None or not snapshot.node.is_compute)
        if mode == Mode.CORDON or (for_networks and mode != Mode.EVACUATE):
            return None
        return compute_missing(snapshot.host)
    if mode == Mode.MIGRATE and not snapshot.service.up:
        text = "the compute service does not report, so servers can only be evacuated, after fencing"
        return Reason.COMPUTE_DOWN, text
    return None


def compute_missing(host: str) -> Obstacle:
    """OpenStack has no compute service of a host."""
    return Reason.COMPUTE_MISSING, f'OpenStack has no compute service on "{host}"'


def planned_moves(outlook: AgentAvailability) -> list[NetworkMove]:
    """The objects to move from the agents of the host; Blocked if no other agent could accept them."""
    text = "no other living agent can take it"
    return [
        one if outlook.others(one.kind) else replace(one, state=NetworkMoveState.BLOCKED, message=text)
        for one in outlook.present()
    ]


def stranded(moves: Sequence[NetworkMove]) -> Obstacle | None:
    """Some planned routers and networks have no target."""
    blocked = sum(one.state == NetworkMoveState.BLOCKED for one in moves)
    what = count(blocked, "router or network has", "routers and networks have")
    text = f"{what} no other living agent that could take them"
    return (Reason.AGENTS_DOWN, text) if blocked else None


def why_void(confirmation: Confirmation, snapshot: HostSnapshot) -> str:
    """The sign that the machine was on since a confirmation was accepted, or empty."""
    own = shown_since(confirmation.machine, snapshot.machine)
    if own or confirmation.seen is None:
        return own
    return ran_since(confirmation.seen, snapshot.service, [one.as_peer() for one in snapshot.beside])


def _not_lost(snapshot: HostSnapshot) -> Obstacle | None:
    """Why nothing may be evacuated from this node; None if it is certainly off."""
    runs = still_runs(snapshot.node, snapshot.beside)
    if runs:
        return Reason.COMPUTE_STILL_REPORTS, runs
    if snapshot.service is not None and snapshot.service.up:
        return STILL_REPORTS
    why = snapshot.void
    if snapshot.fencing_confirmation is not None:
        why = why_void(snapshot.fencing_confirmation, snapshot)
        if not why:
            return None
    nodes = [*([snapshot.node] if snapshot.node is not None else []), *snapshot.beside]
    if is_certainly_off(nodes, snapshot.service):
        return None
    name = max(nodes, key=lambda one: one.created).name if nodes else snapshot.name
    text = (
        "the controller is not sure that the node is off; confirm this with osctl node fenced "
        f"{name}, or spec.fenced"
    )
    if why:
        again = f"osctl node maintain {snapshot.name} --mode evacuate --fenced, or osctl node fenced {name}"
        text = f"spec.fenced is no longer valid: {why}; check again that the machine is off, then run {again}"
    elif any(one.fenced and one.confirmation is None for one in nodes):
        annotation = node_note(snapshot.namespace, FENCED_ANNOTATION)
        text += f"; the annotation {annotation} of the Node does not identify a machine"
    return Reason.FENCING_AWAITED, text
