"""Moves routers and networks between agents, as it was noted before."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

from controller.domain.maintenance.network_moves import (
    L3,
    AgentAvailability,
    Kind,
    NetworkMove,
    NetworkMoveState,
    refused_move,
)
from controller.domain.shared.cloud_facts import CloudView
from controller.errors import CloudRefused, CloudUnavailable
from controller.ports.openstack import Cloud
from controller.reconcile.hosts import openstack_writes
from controller.reconcile.shared.action_log import log_action

# Seconds more than all else for a router to be put on an agent, once it was taken off another.
PAIR_GRACE = 15.0


class RouterRefused(CloudRefused):
    """It is the agent that was to take something that would not."""


class AgentQueries:
    """What Neutron says of agents in one pass: each question is asked once, for all maintenances together.

    `given`: what all of them gave to each agent lately, so that they do not all choose the same agent, nor
    one on a host that is `leaving`.
    """

    def __init__(
        self,
        cloud: Cloud,
        view: CloudView,
        *,
        given: Mapping[str, int] = MappingProxyType({}),
        leaving: Iterable[str] = (),
    ) -> None:
        self._cloud = cloud
        self._agents = view.agents
        self._ids = frozenset(one.id for one in view.agents)
        self._served: dict[str, Sequence[str]] = {}
        self._holders: dict[tuple[str, Kind], Sequence[str]] = {}
        self._given = dict(given)
        self._leaving = frozenset(leaving)

    def outlook(self, host: str, *, deadline: float, now: float) -> AgentAvailability:
        """For the maintenance of a host, with what is now for it; asks when it is asked."""
        return AgentAvailability(
            self._agents,
            host,
            self._ask_agent,
            self._ask_item,
            now,
            deadline,
            self._given,
            self._leaving,
            lambda: self._cloud.late,
        )

    def _ask_agent(self, agent: str, kind: str) -> Sequence[str]:
        if agent not in self._ids:
            # An agent that is gone serves nothing.
            return ()
        if agent not in self._served:
            ask = self._cloud.routed_by if kind == L3 else self._cloud.served_by
            self._served[agent] = ask(agent)
        return self._served[agent]

    def _ask_item(self, item: str, kind: Kind) -> Sequence[str]:
        if (item, kind) not in self._holders:
            ask = self._cloud.agents_of_router if kind == Kind.ROUTER else self._cloud.agents_of_network
            self._holders[item, kind] = ask(item)
        return self._holders[item, kind]


def write_moves(due: Iterable[NetworkMove], outlook: AgentAvailability, cloud: Cloud) -> list[NetworkMove]:
    """Asks for what is noted; those of them for which there is more to say than was noted.

    The first is asked for in any case, the others while there is time.
    """
    changed = []
    for number, move in enumerate(due):
        if number and cloud.late:
            break
        try:
            _write(move, outlook, cloud)
        except CloudUnavailable as error:
            log_action("move", move.id, f"{move.kind} {move.id}: the outcome is not known", error=error)
        except CloudRefused as error:
            log_action("move", move.id, f"{move.kind} {move.id}: refused", error=error)
            if is_gone(move, error):
                changed.append(replace(move, state=NetworkMoveState.DONE, message="deleted meanwhile"))
            else:
                by = move.target if isinstance(error, RouterRefused) else ""
                changed.append(refused_move(move, str(error), by=by, now=outlook.now))
    return changed


def with_those_kept(followed: Sequence[NetworkMove], known: Sequence[NetworkMove]) -> list[NetworkMove]:
    """Besides what was followed, what waits on its agent until an obstacle is gone."""
    keys = {one.key for one in followed}
    whole = [*followed, *(one for one in known if one.key not in keys)]
    return sorted(whole, key=lambda one: (one.kind, one.id, one.source))


def is_gone(move: NetworkMove, error: CloudRefused) -> bool:
    """Whether Neutron says that there is no such router or network. An agent may be what it misses."""
    return f"{move.id} could not be found" in str(error)


def _write(move: NetworkMove, outlook: AgentAvailability, cloud: Cloud) -> None:
    """A router may be on one agent only. A network leaves one when another is seen to have it."""
    if move.kind == Kind.ROUTER:
        # Whoever did only the first half before goes on with the second.
        if move.target != move.source and move.id in outlook.served(move.source, L3):
            openstack_writes.remove_from_agent(cloud, move.source, router=move.id)
        if move.target:
            _add(cloud.longer(PAIR_GRACE), move.target, router=move.id)
    elif move.target and move.target not in outlook.holders(move.id, move.kind):
        _add(cloud, move.target, network=move.id)
    else:
        openstack_writes.remove_from_agent(cloud, move.source, network=move.id)


def _add(cloud: Cloud, agent: str, *, router: str = "", network: str = "") -> None:
    try:
        openstack_writes.add_to_agent(cloud, agent, router=router, network=network)
    except CloudRefused as error:
        raise RouterRefused(str(error), error.code) from None
