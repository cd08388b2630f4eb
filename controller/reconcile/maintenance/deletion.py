"""Rolls a maintenance back that is being deleted, and lets it go."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from controller.domain.api.reasons import Reason
from controller.domain.maintenance.move_rollback import RollbackStep, may_be_open, wind_up
from controller.domain.maintenance.network_moves import (
    NetworkMove,
    NetworkMoveState,
    between_agents,
    refused_move,
    rests,
)
from controller.domain.maintenance.server_moves import Phase
from controller.domain.shared import backoff
from controller.domain.shared.cloud_facts import CloudView
from controller.domain.shared.plurals import count
from controller.errors import CloudRefused, KubeError, is_refusal
from controller.ports.kubernetes import COMPUTE_MAINTENANCE, NODE, Events, Kube
from controller.ports.openstack import Cloud
from controller.ports.system import Clock
from controller.reconcile.hosts import openstack_writes
from controller.reconcile.hosts.retry_pauses import RetryPauses
from controller.reconcile.maintenance.maintenance_finalizer import has_finalizer, remove_finalizer
from controller.reconcile.maintenance.network_moves import AgentQueries, is_gone
from controller.reconcile.maintenance.out_of_service import HostDisabler
from controller.reconcile.maintenance.server_moves import ask, seen
from controller.reconcile.maintenance.status import MaintenanceWork, StatusWriter
from controller.reconcile.shared.fair_order import FairOrder

# Between two passes: while servers are under way, and while there is nothing to do but to watch.
BUSY_EVERY, IDLE_EVERY = 5.0, 15.0
SHOWN = 5
# Seconds between two requests that end one move: the first pause, and the longest one.
REQUEST_PAUSES = backoff.Pauses(5.0, 600.0)


class MaintenanceDeletion:
    """The way back. Raises CloudUnavailable, CloudRefused, KubeError."""

    def __init__(
        self, *, kube: Kube, clock: Clock, events: Events, out: HostDisabler, status: StatusWriter
    ) -> None:
        self._kube = kube
        self._clock = clock
        self._events = events
        self._out = out
        self._status = status
        # By uid of the maintenance, what was asked to end its moves.
        self._asked: dict[str, RetryPauses] = {}
        # And which of its servers was reached last.
        self._orders: dict[str, FairOrder] = {}

    def roll_back(self, work: MaintenanceWork, cloud: Cloud, view: CloudView, agents: AgentQueries) -> float:
        """Ends what is under way, puts back what is ours to put back, and lets the object go."""
        if not has_finalizer(work.obj):
            return IDLE_EVERY
        self._out.forget_cordon(work)
        overdue = bool(work.ending) and work.now - work.ending > work.spec.server_deadline
        work, open_, whole = self._end_moves(work, cloud, overdue=overdue)
        if not overdue and (open_ or not whole):
            text = f"{count(len(open_), 'server still moves', 'servers still move')}; the rollback waits"
            text += "" if whole else "; the others are checked next"
            self._status.write(work, work.status_with(Phase.ROLLING_BACK, Reason.ROLLING_BACK, text))
            return BUSY_EVERY
        refused: KubeError | None = None
        try:
            self._out.put_back(work, cloud, view)
        except KubeError as error:
            if not is_refusal(error):
                raise
            # Such as the uncordon, which comes last: routers that are on no agent do not wait for that.
            refused = error
        outlook = agents.outlook(work.host, deadline=work.spec.server_deadline, now=work.now)
        lost, placed = between_agents(work.network, outlook)
        if lost or placed is not None:
            work = replace(work, network=[(placed or {}).get(one.key, one) for one in work.network])
            self._give_back(work, lost, cloud, overdue=overdue)
            return BUSY_EVERY
        if refused is not None:
            raise refused
        if not whole:
            text = (
                "the time limit of this reconciliation is reached; the next one checks whether all "
                "moves have ended"
            )
            self._status.write(work, work.status_with(Phase.ROLLING_BACK, Reason.ROLLING_BACK, text))
            return BUSY_EVERY
        kept = [one.open for one in open_ if one.needs_us]
        if kept:
            # After that they would be unknown: an unconfirmed cold migration stays on both hosts.
            moves = count(len(kept), "move is", "moves are")
            text = f"{moves} not over; arriving servers are confirmed: {_shown(kept)}"
            self._status.write(work, work.status_with(Phase.BLOCKED, Reason.MOVES_UNCONFIRMED, text))
            return IDLE_EVERY
        # Any other ends without us, or never: the host does not wait for that.
        self.release(work, [one.open for one in open_])
        return BUSY_EVERY

    def _end_moves(
        self, work: MaintenanceWork, cloud: Cloud, *, overdue: bool
    ) -> tuple[MaintenanceWork, list[RollbackStep], bool]:
        """The places of its servers now, the unfinished moves, and whether there was time for all.

        If there was not enough time, finished moves have no request left, so that the next pass does not ask
        about them again.
        """
        known, over = dict(work.entries), {}
        open_: list[RollbackStep] = []
        order = self._orders.setdefault(_uid(work), FairOrder())
        whole = True
        asked = self._asked.setdefault(_uid(work), RetryPauses(self._clock, REQUEST_PAUSES))
        asking = [one for one in known.values() if may_be_open(one)]
        for number, entry in enumerate(order.of(asking, lambda one: one.id)):
            snapshot = seen(entry, cloud) if not (number and cloud.late) else None
            if snapshot is None:
                whole = False
                break
            order.reached(entry.id)
            ending = wind_up(entry, snapshot, work.host, work.spec, work.now)
            known[entry.id] = ending.entry
            if ending.command is not None and asked.over((entry.id, ending.command)):
                ask(ending.entry, ending.command, snapshot, cloud)
                # Until the request shows an effect, it is repeated with growing pauses.
                asked.failed((entry.id, ending.command))
            if ending.open:
                open_.append(ending)
            if not ending.open or (overdue and not ending.needs_us):
                over[entry.id] = replace(ending.entry, requested=0.0)
        return replace(work, entries=known if whole else known | over), open_, whole

    def _give_back(
        self, work: MaintenanceWork, lost: Sequence[NetworkMove], cloud: Cloud, *, overdue: bool
    ) -> None:
        """Routers that we took off one agent are put on another, or on the one that they came from."""
        found = {one.key: one for one in lost}
        now = work.now
        for number, move in enumerate(one for one in lost if not rests(one, now)):
            if number and cloud.late:
                break
            try:
                openstack_writes.add_to_agent(cloud, move.target, router=move.id)
            except CloudRefused as error:
                gone = replace(move, state=NetworkMoveState.DONE, message="deleted meanwhile")
                refused = refused_move(move, str(error), by=move.target, now=now)
                found[move.key] = gone if is_gone(move, error) else refused
        why = next((one.message for one in found.values() if one.message), "")
        names = ", ".join(one.id for one in lost)
        text = f"routers without an agent get one again: {names or 'searching'}"
        text += f" ({why})" if why else ""
        phase = Phase.BLOCKED if overdue else Phase.ROLLING_BACK
        observed = work.status_with(phase, Reason.ROLLING_BACK, text)
        self._status.write(work, replace(observed, network=[found.get(one.key, one) for one in work.network]))

    def release(self, work: MaintenanceWork, going_on: Sequence[str] = ()) -> None:
        """Lets the object go. `going_on`: moves that are not over, and that are not followed any more."""
        meta = work.obj["metadata"]
        live = self._kube.get(COMPUTE_MAINTENANCE, work.name)
        if live is None or live["metadata"]["uid"] != meta["uid"]:
            return
        node = self._kube.get(NODE, work.spec.node)
        if going_on:
            moves = count(len(going_on), "move continues", "moves continue")
            text = f"{work.name} has ended, but {moves}; check them: {_shown(going_on)}"
            reason = Reason.MOVES_UNCONFIRMED
            self._events.emit(node or live, type_=reason.event, reason=reason, message=text)
        if node is not None:
            text = f"the maintenance {work.name} has ended"
            reason = Reason.MAINTENANCE_ENDED
            self._events.emit(node, type_=reason.event, reason=reason, message=text)
        remove_finalizer(self._kube, live)
        self._asked.pop(_uid(work), None)
        self._orders.pop(_uid(work), None)


def _uid(work: MaintenanceWork) -> str:
    return str(work.obj["metadata"]["uid"])


def _shown(words: Sequence[str]) -> str:
    more = f"; and {len(words) - SHOWN} more" if len(words) > SHOWN else ""
    return "; ".join(words[:SHOWN]) + more
