"""Moves routers and networks between agents, as it was noted before."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from dataclasses import replace

from controller.cloud_port import Cloud
from controller.domain.cloud_facts import CloudView
from controller.domain.network_move import (
    DHCP,
    L3,
    Kind,
    MoveState,
    NetworkMove,
    Outlook,
)
from controller.errors import CloudRefused, CloudUnavailable

log = logging.getLogger(__name__)


def outlook_of(host: str, cloud: Cloud, view: CloudView, *, now: float, deadline: float) -> Outlook:
    """What is known of agents in one look; each is asked once for what it serves, and only if need be."""
    known: dict[str, Sequence[str]] = {}

    def served(agent: str, kind: str) -> Sequence[str]:
        if all(one.id != agent for one in view.agents):
            # An agent that is gone serves nothing.
            return ()
        if agent not in known:
            known[agent] = cloud.routed_by(agent) if kind == L3 else cloud.served_by(agent)
        return known[agent]

    return Outlook(view.agents, host, served, now, deadline)


def write_moves(due: Iterable[NetworkMove], outlook: Outlook, cloud: Cloud) -> list[NetworkMove]:
    """Asks for what is noted; those of them for which there is more to say than was noted."""
    told = []
    for move in due:
        try:
            _write(move, outlook, cloud)
        except CloudUnavailable as error:
            log.info("%s %s: the outcome is not known: %s", move.kind, move.id, error)
        except CloudRefused as error:
            log.info("%s %s: %s", move.kind, move.id, error)
            if is_gone(move, error):
                told.append(replace(move, state=MoveState.DONE, message="deleted meanwhile"))
            elif move.message != str(error):
                told.append(replace(move, message=str(error)))
    return told


def is_gone(move: NetworkMove, error: CloudRefused) -> bool:
    """Whether Neutron says that there is no such router or network. An agent may be what it misses."""
    return f"{move.id} could not be found" in str(error)


def _write(move: NetworkMove, outlook: Outlook, cloud: Cloud) -> None:
    """A router may be on one agent only. A network leaves one when another is seen to have it."""
    if move.kind == Kind.ROUTER:
        cloud.remove_from_agent(move.source, router=move.id)
        if move.target:
            cloud.add_to_agent(move.target, router=move.id)
    elif move.target and move.id not in outlook.served(move.target, DHCP):
        cloud.add_to_agent(move.target, network=move.id)
    else:
        cloud.remove_from_agent(move.source, network=move.id)
