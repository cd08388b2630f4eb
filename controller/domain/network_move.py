"""Routers and networks that leave the agents of a node: how far each is, and what is next. Pure.

A router may be on one agent only, so it is taken off one before it is put on another. That it is between
the two is known from the status alone: such a one is never let go.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, MutableMapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

from controller.domain.cloud_facts import Agent
from controller.domain.conditions import timestamp
from controller.domain.times import seconds_of

L3, DHCP = "L3 agent", "DHCP agent"
MOVES_PER_LOOK = 10
# An agent's own count has what it was given so many seconds ago: it reports every 30 (report_interval).
COUNTED_AFTER = 60.0
# L3 agents that route only for servers of their own host, and take no router
# (neutron/db/l3_agentschedulers_db.py, validate_agent_router_combination).
LOCAL_ONLY = ("dvr", "dvr_no_external")
# Of a refusal, as much as tells the cause.
MESSAGE_LIMIT = 500


class Kind(StrEnum):
    """`status.network[].kind`."""

    ROUTER = "Router"
    NETWORK = "Network"


class MoveState(StrEnum):
    """`status.network[].state`."""

    PENDING = "Pending"
    MOVING = "Moving"
    DONE = "Done"
    BLOCKED = "Blocked"


KINDS = {L3: Kind.ROUTER, DHCP: Kind.NETWORK}
AGENTS = {kind: agent for agent, kind in KINDS.items()}

Served = Callable[[str, str], Sequence[str]]
"""What an agent (its id, its kind) serves."""
Holders = Callable[[str, Kind], Sequence[str]]
"""The agents that have a router or a network (its id, its kind)."""


@dataclass(frozen=True, slots=True)
class NetworkMove:
    """One router or network in `status.network`.

    `source` and `target` are agents; no target: others serve it already. `requested` (seconds since the
    epoch) is when its move was first asked for, 0.0 for never.
    """

    id: str
    kind: Kind
    source: str
    target: str = ""
    state: MoveState = MoveState.PENDING
    requested: float = 0.0
    message: str = ""

    @property
    def key(self) -> tuple[str, str]:
        return self.id, self.source

    def written(self) -> dict[str, Any]:
        """As it stands in the status."""
        whole = {
            "id": self.id,
            "kind": str(self.kind),
            "from": self.source,
            "to": self.target,
            "state": str(self.state),
            "requestedAt": timestamp(self.requested) if self.requested else "",
            "message": self.message[:MESSAGE_LIMIT],
        }
        return {key: value for key, value in whole.items() if value}


def read_move(entry: Mapping[str, Any]) -> NetworkMove:
    """An entry of the status as it was written."""
    return NetworkMove(
        id=str(entry["id"]),
        kind=Kind(entry["kind"]),
        source=str(entry["from"]),
        target=str(entry.get("to") or ""),
        state=MoveState(entry["state"]),
        requested=seconds_of(entry.get("requestedAt")),
        message=str(entry.get("message") or ""),
    )


def asked_anew(move: NetworkMove) -> NetworkMove:
    """The move after the spec was edited: what was given up has its time again."""
    return replace(move, requested=0.0, message="") if move.state == MoveState.BLOCKED else move


@dataclass(frozen=True)
class Outlook:
    """What is known of agents. `host`: the one that is taken out; `served` and `holders` may ask OpenStack.

    There is an agent on every host of some regions: no question is asked of each of them. `given`: what was
    given to each agent and is not in its own count yet; whoever chooses a target adds to it. `leaving`: hosts
    that are to be emptied, too, and are chosen last: what went there would move twice. `late`: whether there
    is no time to ask of more than one of them.
    """

    agents: Sequence[Agent]
    host: str
    served: Served
    holders: Holders
    now: float
    deadline: float
    given: MutableMapping[str, int] = field(default_factory=dict)
    leaving: frozenset[str] = frozenset()
    late: Callable[[], bool] = lambda: False

    def present(self) -> list[NetworkMove]:
        """What the agents of the host serve now."""
        return [
            NetworkMove(item, KINDS[agent.kind], agent.id)
            for agent in self.agents
            if agent.host == self.host and agent.kind in KINDS
            for item in self.served(agent.id, agent.kind)
        ]

    def others(self, kind: Kind) -> list[Agent]:
        """Agents elsewhere that can take something."""
        return [one for one in self.agents if _takes(one, AGENTS[kind]) and one.host != self.host]

    def usable(self, kind: Kind) -> frozenset[str]:
        """The ids of those."""
        return frozenset(one.id for one in self.others(kind))

    def is_served(self, move: NetworkMove) -> bool:
        """Whether any agent but the one that it leaves has it."""
        # An agent that is gone serves nothing.
        fellows = {one.id for one in self.agents if one.kind == AGENTS[move.kind]} - {move.source}
        return any(one in fellows for one in self.holders(move.id, move.kind))

    def target(self, move: NetworkMove) -> str | None:
        """The agent to go to; empty where others serve it already, None where there is none.

        One that refused it is the last to be asked again.
        """
        loads = {
            one.id: (one.host in self.leaving, one.load + self.given.get(one.id, 0))
            for one in self.others(move.kind)
        }
        if any(one in loads for one in self.holders(move.id, move.kind)):
            return ""
        refused = move.target if move.message else ""
        ranked = sorted(loads, key=lambda agent: (agent == refused, loads[agent], agent))
        if not ranked:
            return None
        self.given[ranked[0]] = self.given.get(ranked[0], 0) + 1
        return ranked[0]


def given_lately(moves: Iterable[NetworkMove], now: float) -> dict[str, int]:
    """How much each agent (by id) was given that its own count cannot have yet."""
    given: dict[str, int] = {}
    for move in moves:
        if move.target and move.requested > now - COUNTED_AFTER:
            given[move.target] = given.get(move.target, 0) + 1
    return given


def follow(
    known: Iterable[NetworkMove], outlook: Outlook, *, moves: bool
) -> tuple[list[NetworkMove], list[NetworkMove]]:
    """How far everything is, and what of it is to be asked for now.

    `moves`: whether what is on the host is to leave it; if not, only what is between two agents matters.
    Where time is short, what was not reached stays as it was noted, and what is on no agent comes first.
    """
    candidates = {one.key: one for one in outlook.present()} if moves else {}
    present = frozenset(candidates)
    candidates |= {one.key: one for one in known}
    result: list[NetworkMove] = []
    due: list[NetworkMove] = []
    reached = 0
    for key, move in sorted(candidates.items(), key=lambda one: _rank(one[1], here=one[0] in present)):
        in_time = not (reached and outlook.late())
        if not in_time and not moves:
            result.append(move)
            continue
        here = key in present or (not moves and move.id in outlook.served(move.source, AGENTS[move.kind]))
        if here and not moves:
            continue
        if not here and (move.state == MoveState.DONE or not in_time):
            result.append(move)
            continue
        reached += 1
        found = _step(move, outlook, here=here, begins=in_time and len(due) < MOVES_PER_LOOK)
        result.append(found)
        lost = found.state == MoveState.BLOCKED and not here and found.target in outlook.usable(move.kind)
        if found.state == MoveState.MOVING or lost:
            due.append(found)
    return sorted(result, key=lambda one: (one.kind, one.id, one.source)), due


def _rank(move: NetworkMove, *, here: bool) -> int:
    """Who is asked about first: what may be on no agent, and last what stays on its own, refused before."""
    if move.requested and not here:
        return 1 if move.message else 0
    if move.message:
        return 4
    return 2 if move.requested else 3


def _step(move: NetworkMove, outlook: Outlook, *, here: bool, begins: bool) -> NetworkMove:
    if not here and (not move.requested or not move.target or outlook.is_served(move)):
        return replace(move, state=MoveState.DONE, message="")
    if here and move.state == MoveState.DONE:
        # It came back.
        move = replace(move, state=MoveState.PENDING, requested=0.0, target="")
    late = bool(move.requested) and outlook.now - move.requested > outlook.deadline
    if late and here:
        text = move.message or f"it did not leave its agent within {outlook.deadline:.0f} s"
        return replace(move, state=MoveState.BLOCKED, message=text)
    if here and not begins:
        return replace(move, state=MoveState.PENDING)
    target: str | None = move.target
    if not move.requested or move.message or target not in outlook.usable(move.kind):
        target = outlook.target(move)
    if target is None:
        return replace(move, state=MoveState.BLOCKED, message="no other agent that lives can take it")
    noted = replace(move, target=target, requested=move.requested or outlook.now)
    if late:
        return replace(noted, state=MoveState.BLOCKED, message=move.message or "it is on no agent")
    return replace(noted, state=MoveState.MOVING)


def between_agents(
    known: Sequence[NetworkMove], outlook: Outlook
) -> tuple[list[NetworkMove], dict[tuple[str, str], NetworkMove] | None]:
    """Routers that we took off an agent and that none has: each with the agent that is to have it.

    Where there was no time to ask of all, also those that have an agent, by their keys: they are Done, and
    need not be asked about again. None where all were asked about.
    """
    lost: list[NetworkMove] = []
    held: dict[tuple[str, str], NetworkMove] = {}
    for move in known:
        if move.kind != Kind.ROUTER or not move.requested or move.state == MoveState.DONE:
            continue
        if (lost or held) and outlook.late():
            return lost, held
        routing = {one.id for one in outlook.agents if one.kind == L3}
        if any(one in routing for one in outlook.holders(move.id, move.kind)):
            held[move.key] = replace(move, state=MoveState.DONE, message="")
            continue
        fit = {one.id for one in outlook.agents if _takes(one, L3)}
        ranked = [one for one in (move.target, move.source, *sorted(fit)) if one in fit]
        lost.append(replace(move, state=MoveState.MOVING, target=ranked[0] if ranked else move.source))
    return lost, None


def _takes(agent: Agent, kind: str) -> bool:
    return agent.kind == kind and agent.alive and agent.enabled and agent.mode not in LOCAL_ONLY
