"""One pass at what leaves a host, servers and routers, where there may be no time for all of it.

What was seen counts, and the rest stays as it was noted: the next pass goes on there. An order is all that is
remembered, so that a new process loses nothing by it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from controller.domain.maintenance.network_moves import AgentAvailability, NetworkMove, follow
from controller.ports.openstack import Cloud
from controller.reconcile.maintenance.server_moves import Commands, ServerOrder, follow_servers
from controller.reconcile.maintenance.status import MaintenanceWork


@dataclass(frozen=True)
class ObservedMoves:
    """How far everything is; `due`: what Neutron is to be asked for once that is noted.

    `whole`: whether both sides were observed, so that it may be said that nothing remains.
    """

    commands: Commands
    network: Sequence[NetworkMove]
    due: Sequence[NetworkMove]
    whole: bool


class MoveRound:
    """Follows the moves of one maintenance, pass by pass.

    Whichever of servers and routers there was no time for comes first in the next pass.
    """

    def __init__(self) -> None:
        self._order = ServerOrder()
        self._network_first = False

    def follow(
        self,
        work: MaintenanceWork,
        cloud: Cloud,
        outlook: AgentAvailability,
        *,
        slots: int,
        now: float,
        moves: bool,
    ) -> ObservedMoves:
        """One pass; `slots` servers may begin. `moves`: whether routers and networks are to leave.

        Raises CloudUnavailable, CloudRefused.
        """
        first, self._network_first = self._network_first, False
        if first:
            network, due = follow(work.network, outlook, moves=moves)
            if due and cloud.late:
                return ObservedMoves(Commands(work.entries, {}), network, due, whole=False)
        commands = follow_servers(work, cloud, slots, now, self._order)
        if not first:
            if commands.reached and cloud.late:
                self._network_first = True
                return ObservedMoves(commands, work.network, (), whole=False)
            network, due = follow(work.network, outlook, moves=moves)
            self._network_first = cloud.late
        return ObservedMoves(commands, network, due, whole=True)


class MoveRounds:
    """The MoveRound of each maintenance, by name."""

    def __init__(self) -> None:
        self._rounds: dict[str, MoveRound] = {}

    def keep(self, works: Iterable[MaintenanceWork]) -> None:
        """Forgets all others."""
        names = {one.name for one in works}
        self._rounds = {name: round_ for name, round_ in self._rounds.items() if name in names}

    def of(self, work: MaintenanceWork) -> MoveRound:
        return self._rounds.setdefault(work.name, MoveRound())
