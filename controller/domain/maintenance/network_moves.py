"""Routers and networks that leave the agents of a node: their progress and next step.

Pure. A router may be on one agent only, so it is removed from one before it is added to another. Only the
status knows a router between the two, so it is never dropped from there. Agents that refused it are asked
last, and it returns to its former agent if no other agent accepts it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, MutableMapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

from controller.domain.api.conditions import timestamp
from controller.domain.shared import backoff
from controller.domain.shared.cloud_facts import Agent
from controller.domain.shared.times import seconds_of

L3, DHCP = "L3 agent", "DHCP agent"
MOVES_PER_PASS = 10
# Seconds after which an agent's own count includes a new router: it reports every 30 (report_interval).
COUNTED_AFTER = 60.0
# L3 agents that route only for servers of their own host, and accept no router
# (neutron/db/l3_agentschedulers_db.py, validate_agent_router_combination).
LOCAL_ONLY = ("dvr", "dvr_no_external")
# The length of a refusal's text that shows the cause.
MESSAGE_LIMIT = 500
# After this many refusals of a router, other agents are not awaited, because it is on none meanwhile.
MOST_REFUSALS = 10
# Seconds before an agent that refused is asked again, first and longest.
REFUSED_PAUSES = backoff.Pauses(15.0, 600.0)
_STAYS = "the other agents refuse it, and it is back on its former agent: "
_RETURNS = "the other agents refuse it, and it returns to its former agent: "


class Kind(StrEnum):
    """`status.network[].kind`."""

    ROUTER = "Router"
    NETWORK = "Network"


class NetworkMoveState(StrEnum):
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
    epoch) is the first request for its move, 0.0 for never. `refused`: agents that refused it, the latest
    last. `attempts` counts refusals, and none of these agents is asked again before `not_before`.
    """

    id: str
    kind: Kind
    source: str
    target: str = ""
    state: NetworkMoveState = NetworkMoveState.PENDING
    requested: float = 0.0
    message: str = ""
    refused: tuple[str, ...] = ()
    attempts: int = 0
    not_before: float = 0.0

    @property
    def key(self) -> tuple[str, str]:
        return self.id, self.source

    def written(self) -> dict[str, Any]:
        """The entry in the status."""
        whole = {
            "id": self.id,
            "kind": str(self.kind),
            "from": self.source,
            "to": self.target,
            "state": str(self.state),
            "requestedAt": timestamp(self.requested) if self.requested else "",
            "message": self.message[:MESSAGE_LIMIT],
            "refusedBy": list(self.refused),
            "attempts": self.attempts,
            "notBefore": timestamp(self.not_before) if self.not_before else "",
        }
        return {key: value for key, value in whole.items() if value}


def read_move(entry: Mapping[str, Any]) -> NetworkMove:
    """Parses an entry of the status."""
    return NetworkMove(
        id=str(entry["id"]),
        kind=Kind(entry["kind"]),
        source=str(entry["from"]),
        target=str(entry.get("to") or ""),
        state=NetworkMoveState(entry["state"]),
        requested=seconds_of(entry.get("requestedAt")),
        message=str(entry.get("message") or ""),
        refused=tuple(str(one) for one in entry.get("refusedBy") or ()),
        attempts=int(entry.get("attempts") or 0),
        not_before=seconds_of(entry.get("notBefore")),
    )


def ask_again(move: NetworkMove) -> NetworkMove:
    """The move after an edit of the spec: a given-up move has its time again.

    Its request stays recorded, because it may be on no agent.
    """
    return _unrefused(move, NetworkMoveState.PENDING) if move.state == NetworkMoveState.BLOCKED else move


def refused_move(move: NetworkMove, why: str, *, by: str = "", now: float) -> NetworkMove:
    """The move after a refused request; `by`: the agent that refused it, or empty."""
    attempts = move.attempts + 1
    jitter = backoff.steady_jitter(f"{move.id} {attempts}")
    pause = backoff.delay(attempts, jitter, first=REFUSED_PAUSES.first, cap=REFUSED_PAUSES.cap)
    others = [one for one in move.refused if one != by]
    refused = tuple([*others, by] if by else others)[-MOST_REFUSALS:]
    return replace(move, message=why, refused=refused, attempts=attempts, not_before=now + pause)


def rests(move: NetworkMove, now: float) -> bool:
    """Whether the target has refused a router that is on no agent, and has a pause."""
    forgotten = len(move.refused) >= MOST_REFUSALS and move.target != move.source
    return now < move.not_before and (move.target in move.refused or forgotten)


def _unrefused(move: NetworkMove, state: NetworkMoveState) -> NetworkMove:
    return replace(move, state=state, message="", refused=(), attempts=0, not_before=0.0)


@dataclass(frozen=True)
class AgentAvailability:
    """The facts of agents.

    `host`: the one being emptied; `served` and `holders` may send requests to OpenStack. Some regions have an
    agent on every host, so there are no requests for each of them. `given`: additions to each agent that its
    own count does not include yet; each choice of a target adds to it. `leaving`: other hosts to be emptied,
    which are chosen last, because their objects would move twice. `late`: whether there is only time for one
    request.
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
        """Objects that the agents of the host serve now."""
        return [
            NetworkMove(item, KINDS[agent.kind], agent.id)
            for agent in self.agents
            if agent.host == self.host and agent.kind in KINDS
            for item in self.served(agent.id, agent.kind)
        ]

    def others(self, kind: Kind) -> list[Agent]:
        """Agents elsewhere that can accept objects."""
        return [one for one in self.agents if _takes(one, AGENTS[kind]) and one.host != self.host]

    def usable(self, kind: Kind) -> frozenset[str]:
        """The ids of those."""
        return frozenset(one.id for one in self.others(kind))

    def is_served(self, move: NetworkMove) -> bool:
        """Whether any agent other than its former one has it."""
        # An agent that is gone serves nothing.
        fellows = {one.id for one in self.agents if one.kind == AGENTS[move.kind]} - {move.source}
        return any(one in fellows for one in self.holders(move.id, move.kind))

    def is_spent(self, move: NetworkMove) -> bool:
        """Whether all other agents have refused it."""
        return len(move.refused) >= MOST_REFUSALS or self.usable(move.kind) <= set(move.refused)

    def target(self, move: NetworkMove) -> str | None:
        """The target agent; empty if others already serve it, None if there is none.

        An agent that refused it is chosen only if all have, the earliest first.
        """
        others = self.others(move.kind)
        if any(one.id in self.holders(move.id, move.kind) for one in others):
            return ""
        return self._best(move, others)

    def refuge(self, move: NetworkMove) -> str | None:
        """The agent for a router that is on none and that no other accepts: its former one.

        Another one only if that has refused, or is gone. Agents that maintenances disable still serve.
        """
        lives = [
            one for one in self.agents if one.id == move.source and _takes(replace(one, enabled=True), L3)
        ]
        return self._best(move, [*lives, *self.others(move.kind)])

    def _best(self, move: NetworkMove, agents: Sequence[Agent]) -> str | None:
        ranked = sorted(
            (
                (_refusal(move, one.id), one.id != move.source, one.host in self.leaving),
                one.load + self.given.get(one.id, 0),
                one.id,
            )
            for one in agents
        )
        if not ranked:
            return None
        found = ranked[0][-1]
        self.given[found] = self.given.get(found, 0) + 1
        return found


def given_lately(moves: Iterable[tuple[NetworkMove, float]]) -> dict[str, int]:
    """The additions to each agent (by id) that its own count cannot include yet.

    Each move comes with the present time of its maintenance.
    """
    given: dict[str, int] = {}
    for move, now in moves:
        if move.target and move.requested > now - COUNTED_AFTER:
            given[move.target] = given.get(move.target, 0) + 1
    return given


def follow(
    known: Iterable[NetworkMove], outlook: AgentAvailability, *, moves: bool
) -> tuple[list[NetworkMove], list[NetworkMove]]:
    """The progress of all moves, and the requests to send now.

    `moves`: whether objects on the host must leave it; otherwise only those between two agents matter. If
    time is short, unchecked moves keep their record, and objects on no agent come first.
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
        if not here and (move.state == NetworkMoveState.DONE or not in_time):
            result.append(move)
            continue
        reached += 1
        begins = in_time and len(due) < MOVES_PER_PASS
        found, asks = _step(move, outlook, begins=begins) if here else _step_of_lost(move, outlook)
        result.append(found)
        if asks:
            due.append(found)
    return sorted(result, key=lambda one: (one.kind, one.id, one.source)), due


def _rank(move: NetworkMove, *, here: bool) -> int:
    """The order of checks: first objects that may be on no agent, and last refused ones that are still on
    their own."""
    if move.requested and not here:
        return 1 if move.message else 0
    if move.message:
        return 4
    return 2 if move.requested else 3


def _refusal(move: NetworkMove, agent: str) -> int:
    """The position of its refusal; -1 without one."""
    return move.refused.index(agent) if agent in move.refused else -1


def _step(move: NetworkMove, outlook: AgentAvailability, *, begins: bool) -> tuple[NetworkMove, bool]:
    """An object that is still on its agent, and whether to request its move."""
    if move.state == NetworkMoveState.DONE:
        # It came back.
        move = replace(_unrefused(move, NetworkMoveState.PENDING), requested=0.0, target="")
    if move.state == NetworkMoveState.PENDING:
        move = replace(move, requested=0.0)
    late = bool(move.requested) and outlook.now - move.requested > outlook.deadline
    if late:
        text = move.message or f"the agent did not release it within {outlook.deadline:.0f} s"
        return replace(move, state=NetworkMoveState.BLOCKED, message=text), False
    spent = move.kind == Kind.ROUTER and bool(move.refused) and outlook.is_spent(move)
    if spent and outlook.now < move.not_before:
        text = _STAYS + move.message.removeprefix(_RETURNS).removeprefix(_STAYS)
        return replace(move, state=NetworkMoveState.BLOCKED, message=text), False
    if not begins:
        # A started move stays started; the time of a pending one has not begun.
        return move, False
    target: str | None = move.target
    if not move.requested or target in move.refused or target not in outlook.usable(move.kind):
        target = outlook.target(move)
    if target is None:
        return replace(
            move, state=NetworkMoveState.BLOCKED, message="no other living agent can take it"
        ), False
    if target != move.target and target not in move.refused:
        move = replace(move, not_before=0.0)
    noted = replace(
        move, target=target, state=NetworkMoveState.MOVING, requested=move.requested or outlook.now
    )
    return noted, outlook.now >= noted.not_before


def _step_of_lost(move: NetworkMove, outlook: AgentAvailability) -> tuple[NetworkMove, bool]:
    """An object that has left its agent, and whether to request another agent."""
    if not move.requested or not move.target or outlook.is_served(move):
        return _unrefused(move, NetworkMoveState.DONE), False
    if move.kind == Kind.ROUTER and outlook.is_spent(move):
        found = outlook.refuge(move)
        if found is None:
            text = move.message or "no living agent can take it"
            return replace(move, state=NetworkMoveState.BLOCKED, message=text), False
        text = _RETURNS + move.message.removeprefix(_RETURNS).removeprefix(_STAYS)
        if not move.refused:
            text = "no other living agent can serve it; its former agent gets it back"
        noted = replace(move, target=found, state=NetworkMoveState.BLOCKED, message=text)
        return noted, not rests(noted, outlook.now)
    target: str | None = move.target
    if target in move.refused or target not in outlook.usable(move.kind):
        target = outlook.target(move)
    if target is None:
        return replace(
            move, state=NetworkMoveState.BLOCKED, message="no other living agent can take it"
        ), False
    noted = replace(move, target=target, state=NetworkMoveState.MOVING)
    if outlook.now - move.requested > outlook.deadline:
        noted = replace(noted, state=NetworkMoveState.BLOCKED, message=move.message or "no agent serves it")
    return noted, not rests(noted, outlook.now)


def between_agents(
    known: Sequence[NetworkMove], outlook: AgentAvailability
) -> tuple[list[NetworkMove], dict[tuple[str, str], NetworkMove] | None]:
    """Routers that we removed from an agent and that none has, each with its next agent.

    Agents that refused it come last, also its target and its former one. If there was no time to check all,
    also those with an agent, by their keys: they are Done, and need no further check. None if all were
    checked.
    """
    lost: list[NetworkMove] = []
    placed: dict[tuple[str, str], NetworkMove] = {}
    for move in known:
        if move.kind != Kind.ROUTER or not move.requested or move.state == NetworkMoveState.DONE:
            continue
        if (lost or placed) and outlook.late():
            return lost, placed
        routing = {one.id for one in outlook.agents if one.kind == L3}
        if any(one in routing for one in outlook.holders(move.id, move.kind)):
            placed[move.key] = replace(move, state=NetworkMoveState.DONE, message="")
            continue
        fit = {one.id for one in outlook.agents if _takes(one, L3)}
        ranked = sorted((_refusal(move, one), one != move.target, one != move.source, one) for one in fit)
        target = ranked[0][-1] if ranked else move.source
        lost.append(replace(move, state=NetworkMoveState.MOVING, target=target))
    return lost, None


def _takes(agent: Agent, kind: str) -> bool:
    return agent.kind == kind and agent.alive and agent.enabled and agent.mode not in LOCAL_ONLY
