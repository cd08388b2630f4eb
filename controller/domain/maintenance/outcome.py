"""The outcome of a running maintenance: its phase, its reason, a sentence. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from controller.domain.api.reasons import Reason
from controller.domain.maintenance.move_choice import MoveKind
from controller.domain.maintenance.network_moves import NetworkMove, NetworkMoveState
from controller.domain.maintenance.server_moves import Phase, ServerMove, ServerMoveState
from controller.domain.shared.plurals import count

SHOWN = 5


def progress(entries: Sequence[ServerMove]) -> str:
    """As `12/30`: servers done, of those to be moved."""
    counted = [one for one in entries if one.state != ServerMoveState.LEFT]
    return f"{sum(one.state == ServerMoveState.DONE for one in counted)}/{len(counted)}"


@dataclass(frozen=True, slots=True)
class MaintenanceSnapshot:
    """The progress of a maintenance.

    `remaining`: allocations in Placement on the node besides servers left intentionally. `over`: its deadline
    has passed. `settled`: nothing has moved for long enough that Placement is current. `unseen`: whether
    there was no time to check all of it.
    """

    entries: Sequence[ServerMove]
    network: Sequence[NetworkMove] = ()
    remaining: Sequence[str] = field(default=())
    over: bool = False
    settled: bool = False
    unseen: bool = False


PhaseReport = tuple[Phase, Reason, str]


def report_phase(stand: MaintenanceSnapshot) -> PhaseReport:
    """Phase, reason and a sentence."""
    blocked = [one for one in stand.entries if one.state == ServerMoveState.BLOCKED]
    open_ = [one for one in stand.entries if not one.ended and one.state != ServerMoveState.BLOCKED]
    if open_:
        text = _under_way(stand.entries, open_, len(blocked))
        if stand.over and not any(one.under_way for one in open_):
            return Phase.BLOCKED, Reason.DEADLINE_PASSED, f"the deadline has passed: {text}"
        return Phase.MOVING, Reason.MOVING_SERVERS, text
    if blocked:
        text = f"{count(len(blocked), 'server')} cannot be moved: "
        return (
            Phase.BLOCKED,
            Reason.SERVERS_BLOCKED,
            text + _shown([f"{one.name}: {one.message}" for one in blocked]),
        )
    moved = f"{progress(stand.entries)} servers moved"
    if any(one.state != NetworkMoveState.DONE for one in stand.network):
        return _network(stand, moved)
    if stand.unseen:
        text = f"{moved}; OpenStack is slow, so it is not yet certain that nothing remains on the node"
        return Phase.MOVING, Reason.MOVING_SERVERS, text
    if stand.remaining:
        return _remaining(stand)
    left = sum(one.state == ServerMoveState.LEFT for one in stand.entries)
    tail = f", {left} intentionally left on it" if left else ""
    return Phase.COMPLETED, Reason.NODE_EMPTY, f"{moved}{tail}; you may work on the node"


def stopped_text(why: str, entries: Sequence[ServerMove]) -> str:
    """A sentence for a maintenance with an obstacle: the obstacle, and the progress."""
    if not entries:
        return why
    blocked = sum(one.state == ServerMoveState.BLOCKED for one in entries)
    return f"{why}; {_under_way(entries, [one for one in entries if one.under_way], blocked)}"


def _under_way(entries: Sequence[ServerMove], open_: Sequence[ServerMove], blocked: int) -> str:
    waiting = sum(one.way == MoveKind.BUSY for one in open_)
    text = f"{progress(entries)} servers moved, {sum(one.under_way for one in open_)} moving"
    text += f", {waiting} busy with something else" if waiting else ""
    text += f", {blocked} blocked" if blocked else ""
    obstacles = [f"{one.name}: {one.message}" for one in open_ if _is_blocked(one)]
    return f"{text}; {_shown(obstacles)}" if obstacles else text


def _is_blocked(entry: ServerMove) -> bool:
    """Whether its message is the reason why it has not begun, or not resumed."""
    tells = entry.way == MoveKind.BUSY or entry.attempts > 0
    return bool(entry.message) and not entry.under_way and tells


def _network(stand: MaintenanceSnapshot, moved: str) -> PhaseReport:
    unmoved = [one for one in stand.network if one.state != NetworkMoveState.DONE]
    stuck = [one for one in unmoved if one.state == NetworkMoveState.BLOCKED]
    if stuck:
        text = f"{count(len(stuck), 'router or network', 'routers and networks')} cannot leave its agents: "
        words = [f"{one.kind} {one.id}: {one.message}" for one in stuck]
        return Phase.BLOCKED, Reason.AGENTS_DOWN, text + _shown(words)
    names = _shown([f"{one.kind} {one.id}" for one in unmoved])
    if stand.over:
        return Phase.BLOCKED, Reason.DEADLINE_PASSED, f"the deadline has passed; still on its agents: {names}"
    return Phase.MOVING, Reason.MOVING_SERVERS, f"{moved}; routers and networks are moved: {names}"


def _remaining(stand: MaintenanceSnapshot) -> PhaseReport:
    names = ", ".join(stand.remaining[:SHOWN])
    more = f" and {len(stand.remaining) - SHOWN} more" if len(stand.remaining) > SHOWN else ""
    if not (stand.settled or stand.over):
        text = f"checking that nothing remains on the node: Placement has {names}{more}"
        return Phase.MOVING, Reason.MOVING_SERVERS, text
    text = (
        f"Placement has resources of {names}{more} on the node: servers that returned, resizes that "
        "wait for their owners (openstack server list --all-projects --status VERIFY_RESIZE), or "
        "remains of failed moves"
    )
    return Phase.BLOCKED, Reason.SERVERS_LEFT, text


def _shown(words: Sequence[str]) -> str:
    more = f"; and {len(words) - SHOWN} more" if len(words) > SHOWN else ""
    return "; ".join(words[:SHOWN]) + more
