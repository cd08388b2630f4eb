"""What stands in the way of a maintenance, as the last look at Kubernetes and OpenStack shows it. Pure.

A plan tells what the real thing would meet, so both ask here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from controller.domain.cloud_facts import ComputeService
from controller.domain.maintenance_plan import Mode
from controller.domain.network_move import MoveState, NetworkMove, Outlook
from controller.domain.nodes import NodeFacts
from controller.domain.off_word import OffWord, ran_as, runs_again
from controller.domain.reasons import Reason

Obstacle = tuple[Reason, str]
STILL_REPORTS: Obstacle = (
    Reason.COMPUTE_STILL_REPORTS,
    "its compute service reports: its servers run; they are evacuated only when it is silent",
)


@dataclass(frozen=True, slots=True)
class Ground:
    """A node and its host. `there`: whether the Node exists; one without a role has none in `node`.

    `fenced`: the maintenance's word that the node is off; `word`: that, as it was noted when it was first
    acted upon. `host`: as OpenStack calls it. `beside`: other Nodes that are the same host, as when the
    machine joined again under another name.
    """

    name: str
    host: str
    there: bool
    node: NodeFacts | None
    service: ComputeService | None
    fenced: bool = False
    word: OffWord | None = None
    beside: tuple[NodeFacts, ...] = ()


def obstacle(mode: Mode, ground: Ground, now: float) -> Obstacle | None:
    """What stands in the way of moving servers, None where nothing does."""
    return before_taking_out(mode, ground, now) or before_moving(mode, ground)


def before_taking_out(mode: Mode, ground: Ground, now: float) -> Obstacle | None:
    """Why the host may not even be taken out of service."""
    if mode == Mode.EVACUATE:
        return _not_dead(ground, now)
    if not ground.there:
        return Reason.NODE_REMOVED, f'there is no node "{ground.name}"'
    return None


def before_moving(mode: Mode, ground: Ground) -> Obstacle | None:
    """Why servers cannot leave a host that is out of service."""
    if ground.service is None:
        # A node for networks only has none, and is out of service with its agents.
        for_networks = ground.there and (ground.node is None or not ground.node.is_compute)
        if mode == Mode.CORDON or for_networks:
            return None
        return Reason.COMPUTE_MISSING, f'OpenStack has no compute service on "{ground.host}"'
    if mode == Mode.MIGRATE and not ground.service.up:
        text = "its compute service does not report: servers can only be evacuated, after fencing"
        return Reason.COMPUTE_DOWN, text
    return None


def planned_moves(outlook: Outlook) -> list[NetworkMove]:
    """What is to leave the agents of the host; Blocked where no other agent could take it."""
    text = "no other agent that lives can take it"
    return [
        one if outlook.others(one.kind) else replace(one, state=MoveState.BLOCKED, message=text)
        for one in outlook.present()
    ]


def stranded(moves: Sequence[NetworkMove]) -> Obstacle | None:
    """That of planned routers and networks some have nowhere to go."""
    count = sum(one.state == MoveState.BLOCKED for one in moves)
    text = f"{count} routers and networks have no other agent that lives and could take them"
    return (Reason.AGENTS_DOWN, text) if count else None


def _not_dead(ground: Ground, now: float) -> Obstacle | None:
    """Why nothing may be evacuated from this node, None where it is certain that it is off."""
    if ground.node is not None and ground.node.is_ready:
        return Reason.COMPUTE_STILL_REPORTS, "the node is ready: its servers run; migrate them instead"
    ready = next((one.name for one in ground.beside if one.is_ready), "")
    if ready:
        text = f"its machine is the node {ready} now, which is ready: its servers run; migrate them instead"
        return Reason.COMPUTE_STILL_REPORTS, text
    if ground.service is not None and ground.service.up:
        return STILL_REPORTS
    text = f"it is not certain that the node is off: osctl node fenced {ground.name}, or spec.fenced"
    if ground.fenced:
        text = _against_spec(ground, now)
        if not text:
            return None
    if ground.node is not None and ground.node.is_fenced(now):
        ran = _ran_since(ground.node.fenced, ground.beside, now)
        if not ran:
            return None
        text = f"its machine ran as the node {ran} since then: osctl node fenced {ran}, or spec.fenced"
    return Reason.FENCING_AWAITED, text


def _against_spec(ground: Ground, now: float) -> str:
    """What speaks against the word of spec.fenced, empty for nothing."""
    if ground.word is None:
        return ""
    again = "or take spec.fenced off and set it again"
    if ground.node is not None and runs_again(ground.word, ground.node):
        return f"its machine was on after spec.fenced was set: osctl node fenced {ground.name}, {again}"
    ran = ran_as(ground.word, ground.beside, now)
    return f"its machine ran as the node {ran} since then: osctl node fenced {ran}, {again}" if ran else ""


def _ran_since(fenced: float, beside: Sequence[NodeFacts], now: float) -> str:
    """A Node of the same host that may have run after the word that it is off; empty for none."""
    for one in beside:
        off_before = one.since > 0.0 and max(one.since, one.created) <= fenced
        if not (off_before or one.is_fenced(now)):
            return one.name
    return ""
