"""Rolls a maintenance back that is being deleted, and lets it go."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace

from controller.cloud_port import Cloud
from controller.domain.cloud_facts import CloudView
from controller.domain.maintenance_plan import Way
from controller.domain.network_move import MoveState, NetworkMove, between_agents
from controller.domain.node_maintenance import Command, Phase, advance
from controller.domain.reasons import Reason
from controller.domain.times import seconds_of
from controller.errors import CloudRefused
from controller.ports import NODE, NODE_MAINTENANCE, Clock, Events, Kube
from controller.reconcile.host_out import HostOut
from controller.reconcile.maintenance_status import FINALIZER, StatusWriter, Work
from controller.reconcile.network_moves import AskedAgents, is_gone
from controller.reconcile.server_moves import ask, see

log = logging.getLogger(__name__)

BUSY_EVERY, IDLE_EVERY = 3.0, 15.0


class MaintenanceEnd:
    """The way back. Raises CloudUnavailable, CloudRefused, KubeError."""

    def __init__(
        self, *, kube: Kube, clock: Clock, events: Events, out: HostOut, status: StatusWriter
    ) -> None:
        self._kube = kube
        self._clock = clock
        self._events = events
        self._out = out
        self._status = status

    def roll_back(self, work: Work, cloud: Cloud, view: CloudView, agents: AskedAgents) -> float:
        """Ends what is under way, puts back what is ours to put back, and lets the object go."""
        if not work.held:
            return IDLE_EVERY
        late = self._clock.now() - seconds_of(work.obj["metadata"]["deletionTimestamp"])
        overdue = late > work.spec.server_deadline
        if self._end_moves(work, cloud, overdue=overdue):
            return BUSY_EVERY
        self._out.put_back(work, cloud, view)
        lost = between_agents(work.network, agents.outlook(work.host, deadline=work.spec.server_deadline))
        if lost:
            self._give_back(work, lost, cloud, overdue=overdue)
            return BUSY_EVERY
        self.release(work)
        return BUSY_EVERY

    def _end_moves(self, work: Work, cloud: Cloud, *, overdue: bool) -> bool:
        """Whether servers are still under way, and waited for."""
        known = dict(work.entries)
        for entry in [one for one in known.values() if one.under_way]:
            sight = see(entry.id, cloud)
            moved, command = advance(entry, sight, work.host, work.spec, self._clock.now())
            known[entry.id] = moved
            if command == Command.CONFIRM:
                ask(moved, command, sight, cloud)
            elif moved.under_way and entry.way == Way.LIVE:
                ask(moved, Command.ABORT, sight, cloud)
        moving = sum(one.under_way for one in known.values())
        if not moving or overdue:
            return False
        text = f"{moving} servers are still under way; they are waited for"
        standing = work.standing(Phase.ROLLING_BACK, Reason.ROLLING_BACK, text)
        self._status.write(work, replace(standing, entries=known))
        return True

    def _give_back(self, work: Work, lost: Sequence[NetworkMove], cloud: Cloud, *, overdue: bool) -> None:
        """Routers that we took off one agent are put on another, or on the one that they came from."""
        found = {one.key: one for one in lost}
        why = ""
        for move in lost:
            try:
                cloud.add_to_agent(move.target, router=move.id)
            except CloudRefused as error:
                why = str(error)
                if is_gone(move, error):
                    gone = replace(move, state=MoveState.DONE, message="deleted meanwhile")
                    found[move.key] = gone
        names = ", ".join(one.id for one in lost)
        text = f"routers that are on no agent are put on one again: {names}" + (f" ({why})" if why else "")
        phase = Phase.BLOCKED if overdue else Phase.ROLLING_BACK
        standing = work.standing(phase, Reason.ROLLING_BACK, text)
        self._status.write(work, replace(standing, network=[found.get(one.key, one) for one in work.network]))

    def release(self, work: Work) -> None:
        """Lets the object go."""
        meta = work.obj["metadata"]
        live = self._kube.get(NODE_MAINTENANCE, work.name)
        if live is None or live["metadata"]["uid"] != meta["uid"]:
            return
        kept = [one for one in live["metadata"].get("finalizers") or () if one != FINALIZER]
        patch = {"metadata": {"finalizers": kept, "resourceVersion": live["metadata"]["resourceVersion"]}}
        node = self._kube.get(NODE, work.spec.node)
        if node is not None:
            text = f"the maintenance {work.name} has ended"
            reason = Reason.MAINTENANCE_ENDED
            self._events.emit(node, type_=reason.event, reason=reason, message=text)
        self._kube.merge_patch(NODE_MAINTENANCE, work.name, None, patch)
