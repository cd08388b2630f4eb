"""Carries out NodeMaintenances: all of them in one look, so that their budgets are shared.

A look never waits for a server: it notes in the status what it is about to ask for, asks, and reads in the
next look how far it came. Deleting a NodeMaintenance rolls it back; the finalizer keeps it until that is
done.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from controller.cloud_port import Cloud
from controller.domain.cloud_facts import CloudView, Server
from controller.domain.compute_node import is_automatic, parse_policy
from controller.domain.maintenance_plan import (
    Availability,
    Claim,
    Mode,
    Turn,
    Way,
    decide_turns,
    plan_server,
    share_slots,
)
from controller.domain.names import finalizer
from controller.domain.node_maintenance import (
    Command,
    Entry,
    Phase,
    Sight,
    Stand,
    advance,
    begin,
    failed,
    may_begin,
    parse_spec,
    plan_entry,
    read_entry,
    verdict,
)
from controller.domain.reasons import Reason
from controller.domain.times import seconds_of
from controller.errors import CloudUnavailable, Conflict, KubeError, ObjectMissing
from controller.ports import (
    NODE,
    NODE_MAINTENANCE,
    OSDPL,
    Clock,
    Events,
    Kube,
    KubeObject,
)
from controller.reconcile.cloud_access import CloudAccess
from controller.reconcile.host_board import HostBoard
from controller.reconcile.host_out import HostOut
from controller.reconcile.maintenance_status import Standing, StatusWriter, Work, plan_text
from controller.reconcile.managed_region import managed_region
from controller.reconcile.server_moves import ask, see

log = logging.getLogger(__name__)

FINALIZER = finalizer("node")
# Between two looks: while servers are under way, and while there is nothing to do but to watch.
BUSY_EVERY, IDLE_EVERY = 3.0, 15.0
AGAIN_AFTER = 15.0
# A look at the hosts that somebody else took serves as long.
VIEW_GOOD_FOR = 2.5


class MaintenancesReconciler:
    """Serves every NodeMaintenance. One thread at a time."""

    def __init__(
        self,
        *,
        kube: Kube,
        clock: Clock,
        events: Events,
        access: CloudAccess,
        namespace: str,
        board: HostBoard,
    ) -> None:
        self._kube = kube
        self._clock = clock
        self._events = events
        self._access = access
        self._namespace = namespace
        self._board = board
        self._out = HostOut(kube, clock)
        self._status = StatusWriter(kube, clock, events)

    def reconcile(self) -> float | None:
        """One look at all of them; seconds until the next, None when there is none. Raises KubeError."""
        listed = self._kube.list(NODE_MAINTENANCE)
        if not listed:
            return None
        shared = self._shared_disks()
        works = [work for obj in listed if (work := self._work(obj, shared)) is not None]
        try:
            cloud = self._access.cloud()
            view = self._access.last_view(younger_than=VIEW_GOOD_FOR) or self._access.look(cloud)
        except CloudUnavailable as error:
            for work in works:
                self._without_cloud(work, str(error))
            return max(AGAIN_AFTER, error.retry_after or 0.0)
        turns = self._turns(works, view)
        slots = share_slots(self._claim(work, turns) for work in works)
        pauses = [IDLE_EVERY]
        for work in sorted(works, key=lambda one: (one.created, one.name)):
            try:
                pauses.append(self._serve(work, cloud, view, turns.get(work.name, ""), slots[work.name]))
            except CloudUnavailable as error:
                self._without_cloud(work, str(error))
                pauses.append(max(AGAIN_AFTER, error.retry_after or 0.0))
            except (Conflict, ObjectMissing) as error:
                log.info("maintenance %s changed meanwhile: %s", work.name, error)
                pauses.append(BUSY_EVERY)
        return min(pauses)

    # -- who may do how much ------------------------------------------------------------------------

    def _work(self, obj: KubeObject, shared_disks: bool) -> Work | None:
        try:
            spec = parse_spec(obj, shared_disks=shared_disks)
        except (ValueError, KeyError) as error:
            log.warning("maintenance %s cannot be read: %s", obj["metadata"]["name"], type(error).__name__)
            return None
        status = obj.get("status") or {}
        known = {one.id: one for one in map(read_entry, status.get("servers") or ())}
        if status.get("observedGeneration") not in (None, obj["metadata"].get("generation")):
            # An edit is an answer to what was blocked: attempts are counted anew.
            known = {
                key: one if one.under_way or one.ended else replace(one, attempts=0, not_before=0.0)
                for key, one in known.items()
            }
        return Work(
            obj=obj,
            spec=spec,
            entries=known,
            created=seconds_of(obj["metadata"].get("creationTimestamp")),
            started=seconds_of(status.get("startedAt")),
        )

    def _shared_disks(self) -> bool:
        name = managed_region(self._kube, self._namespace)
        osdpl = self._kube.get(OSDPL, name, self._namespace) if name else None
        return parse_policy(osdpl["spec"]).shared_disks if osdpl is not None else False

    def _turns(self, works: Sequence[Work], view: CloudView) -> dict[str, str]:
        wanted = [
            Turn(work.name, work.spec.node, work.created, bool(work.started), work.spec.most_unavailable)
            for work in works
            # One for a dead node takes nothing out of service that is in it.
            if not work.spec.dry_run and not work.going and work.spec.mode != Mode.EVACUATE
        ]
        down = frozenset(one.host for one in view.services if not one.up)
        return decide_turns(wanted, Availability(down, view.aggregates))

    def _claim(self, work: Work, turns: Mapping[str, str]) -> Claim:
        now = self._clock.now()
        idle = work.spec.dry_run or work.going or bool(turns.get(work.name)) or bool(self._stopped(work))
        waiting = [one for one in work.entries.values() if may_begin(one, now)]
        return Claim(
            name=work.name,
            created=work.created,
            waiting=0 if idle else len(waiting),
            moving=work.moving,
            per_host=work.spec.per_host,
            per_region=work.spec.per_region,
        )

    def _stopped(self, work: Work) -> str:
        """Why an evacuation that began by itself goes no further, empty while it does."""
        return self._board.stopped() if is_automatic(work.obj) else ""

    # -- one maintenance ----------------------------------------------------------------------------

    def _serve(self, work: Work, cloud: Cloud, view: CloudView, turn: str, slots: int) -> float:
        if work.going:
            return self._roll_back(work, cloud, view)
        if work.spec.dry_run:
            servers = cloud.servers_on(work.spec.node)
            plan = {one.id: self._planned(one, work) for one in servers}
            text = plan_text(list(plan.values()))
            volumes = sum(one.volumes for one in servers)
            network = self._out.plan_network(work.spec.node, cloud, view)
            standing = Standing(Phase.PLANNED, Reason.PLANNED, text, plan, network, volumes=volumes)
            self._status.write(work, standing)
            return IDLE_EVERY
        if FINALIZER not in (work.obj["metadata"].get("finalizers") or ()):
            return self._hold(work)
        stopped = self._stopped(work)
        if stopped and not work.moving:
            # What is under way ends; nothing is begun.
            phase = Phase.BLOCKED if work.started else Phase.WAITING
            standing = Standing(phase, Reason.AUTOMATION_BRAKED, stopped, work.entries, started=work.started)
            self._status.write(work, standing)
            return IDLE_EVERY
        if turn and not work.started:
            self._status.write(work, Standing(Phase.WAITING, Reason.WAITING_FOR_TURN, turn, work.entries))
            return IDLE_EVERY
        if not work.started:
            # Noted before anything is done: from here on the node counts as out of service.
            begun = self._clock.now()
            text = "the node is taken out of service"
            self._status.write(
                work, Standing(Phase.MOVING, Reason.MOVING_SERVERS, text, work.entries, started=begun)
            )
            return 0.0
        obstacle = self._out.take_out(work.name, work.spec, cloud, view)
        if obstacle is not None:
            reason, text = obstacle
            self._status.write(
                work, Standing(Phase.BLOCKED, reason, text, work.entries, started=work.started)
            )
            return BUSY_EVERY
        return self._move(work, cloud, view, slots)

    def _planned(self, server: Server, work: Work) -> Entry:
        plan = plan_server(server, work.spec.mode, work.spec.rules)
        return plan_entry(plan, work.entries.get(server.id), work.spec.retries)

    def _hold(self, work: Work) -> float:
        meta = work.obj["metadata"]
        held = [*(meta.get("finalizers") or ()), FINALIZER]
        patch = {"metadata": {"finalizers": held, "resourceVersion": meta["resourceVersion"]}}
        self._kube.merge_patch(NODE_MAINTENANCE, work.name, None, patch)
        return 0.0

    def _move(self, work: Work, cloud: Cloud, view: CloudView, slots: int) -> float:
        now, spec = self._clock.now(), work.spec
        servers = {one.id: one for one in cloud.servers_on(spec.node)}
        known = dict(work.entries)
        for server in servers.values():
            known[server.id] = self._planned(server, work)
        commands: list[tuple[Entry, Command, Sight]] = []
        for entry in list(known.values()):
            if entry.under_way or (entry.id not in servers and not entry.ended):
                sight = see(entry.id, cloud)
                moved, command = advance(entry, sight, spec.node, spec, now)
                known[entry.id] = moved
                if command is not None:
                    commands.append((moved, command, sight))
        over = now - work.started > spec.deadline
        for entry in self._next(known, 0 if over else slots, now):
            sight = see(entry.id, cloud)
            if sight.server is None or sight.server.host != spec.node or sight.server.task:
                continue
            noted, command = begin(entry, sight, now)
            known[entry.id] = noted
            commands.append((noted, command, sight))
        network = self._out.move_network(work.obj, spec, cloud, view)
        standing = self._standing(work, known, network, servers, over=over, cloud=cloud)
        self._status.write(work, standing)
        # Only now, when it is noted: whoever goes on after us knows what may have been asked for.
        refused = {
            entry.id: why for entry, command, sight in commands if (why := ask(entry, command, sight, cloud))
        }
        if refused:
            for id_, why in refused.items():
                known[id_] = failed(known[id_], why, spec, now)
            self._status.write(work, replace(standing, entries=known))
        self._out.write_network(network, cloud)
        busy = standing.phase == Phase.MOVING
        return BUSY_EVERY if busy else IDLE_EVERY

    @staticmethod
    def _next(known: Mapping[str, Entry], slots: int, now: float) -> list[Entry]:
        waiting = sorted((one for one in known.values() if may_begin(one, now)), key=lambda one: one.attempts)
        return waiting[:slots]

    def _standing(
        self,
        work: Work,
        known: Mapping[str, Entry],
        network: Sequence[Mapping[str, Any]],
        servers: Mapping[str, Server],
        *,
        over: bool,
        cloud: Cloud,
    ) -> Standing:
        listed = list(known.values())
        settled = all(one.ended for one in listed)
        empty = settled and self._is_empty(work, listed, servers, cloud)
        phase, text = verdict(listed, empty=empty)
        reason = {
            Phase.MOVING: Reason.MOVING_SERVERS,
            Phase.BLOCKED: Reason.SERVERS_BLOCKED,
            Phase.COMPLETED: Reason.NODE_EMPTY,
        }[phase]
        if over and phase == Phase.MOVING and not any(one.under_way for one in listed):
            phase, reason = Phase.BLOCKED, Reason.DEADLINE_PASSED
            text = f"the deadline of {work.spec.deadline:.0f} s passed: {text}"
        elif phase == Phase.COMPLETED and any(one["state"] == "Blocked" for one in network):
            phase, reason = Phase.BLOCKED, Reason.AGENTS_DOWN
            text = "no other agent can take the routers and networks of its agents"
        elif phase == Phase.COMPLETED and any(one["state"] != "Done" for one in network):
            phase, reason = Phase.MOVING, Reason.MOVING_SERVERS
            text = f"{text.split(';')[0]}; routers and networks are moved"
        volumes = sum(one.volumes for one in servers.values())
        return Standing(phase, reason, text, known, network, work.started, volumes)

    @staticmethod
    def _is_empty(work: Work, listed: Sequence[Entry], servers: Mapping[str, Server], cloud: Cloud) -> bool:
        """Whether Placement, too, has nothing on the node but what was left there on purpose."""
        if work.spec.mode == Mode.CORDON:
            return True
        left = {one.id for one in listed if one.state == Stand.LEFT}
        if set(servers) - left:
            return False
        held = set(cloud.allocations(work.spec.node) or ())
        if work.spec.mode == Mode.EVACUATE:
            # Nova frees what evacuated servers held here only when the host is back.
            held -= {one.id for one in listed}
        return not (held - left)

    # -- the way back -------------------------------------------------------------------------------

    def _roll_back(self, work: Work, cloud: Cloud, view: CloudView) -> float:
        """Ends what is under way, puts back what is ours to put back, and lets the object go."""
        if FINALIZER not in (work.obj["metadata"].get("finalizers") or ()):
            return IDLE_EVERY
        now = self._clock.now()
        known = dict(work.entries)
        for entry in [one for one in known.values() if one.under_way]:
            sight = see(entry.id, cloud)
            moved, command = advance(entry, sight, work.spec.node, work.spec, now)
            known[entry.id] = moved
            if command == Command.CONFIRM:
                ask(moved, command, sight, cloud)
            elif moved.under_way and entry.way == Way.LIVE:
                ask(moved, Command.ABORT, sight, cloud)
        moving = [one for one in known.values() if one.under_way]
        late = now - seconds_of(work.obj["metadata"].get("deletionTimestamp")) > work.spec.server_deadline
        if moving and not late:
            text = f"{len(moving)} servers are still under way; they are waited for"
            standing = Standing(Phase.ROLLING_BACK, Reason.ROLLING_BACK, text, known, started=work.started)
            self._status.write(work, standing)
            return BUSY_EVERY
        self._out.put_back(work.name, work.spec, cloud, view)
        self._release(work)
        return BUSY_EVERY

    def _release(self, work: Work) -> None:
        meta = work.obj["metadata"]
        live = self._kube.get(NODE_MAINTENANCE, work.name)
        if live is None or live["metadata"]["uid"] != meta["uid"]:
            return
        kept = [one for one in live["metadata"].get("finalizers") or () if one != FINALIZER]
        patch = {"metadata": {"finalizers": kept, "resourceVersion": live["metadata"]["resourceVersion"]}}
        node = self._kube.get(NODE, work.spec.node)
        if node is not None:
            text = f"the maintenance {work.name} has ended"
            self._events.emit(node, type_="Normal", reason=Reason.MAINTENANCE_ENDED, message=text)
        self._kube.merge_patch(NODE_MAINTENANCE, work.name, None, patch)

    def _without_cloud(self, work: Work, why: str) -> None:
        """What can be done and said while OpenStack does not answer."""
        held = FINALIZER in (work.obj["metadata"].get("finalizers") or ())
        if work.going and held and not work.started:
            self._release(work)
            return
        status = work.obj.get("status") or {}
        phase = Phase(status["phase"]) if status.get("phase") in set(Phase) else Phase.PENDING
        network = status.get("network") or ()
        text = f"waits for OpenStack: {why}"
        standing = Standing(phase, Reason.CLOUD_UNKNOWN, text, work.entries, network, work.started)
        try:
            self._status.write(work, replace(standing, volumes=int(status.get("volumes") or 0)))
        except KubeError as error:
            log.warning("status of maintenance %s: %s", work.name, error)
