"""Carries out ComputeMaintenances: all of them in one pass, so that their budgets are shared.

A pass never waits for a server: it notes in the status what it is about to ask for, asks, and reads in the
next pass how far it came. Deleting a ComputeMaintenance rolls it back; the finalizer keeps it until that is
done.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from controller.domain.api.reasons import Reason
from controller.domain.api.region_name import is_served_in
from controller.domain.maintenance.move_choice import (
    Mode,
)
from controller.domain.maintenance.network_moves import given_lately
from controller.domain.maintenance.obstacles import Obstacle, planned_moves, stranded
from controller.domain.maintenance.outcome import MaintenanceSnapshot, report_phase, stopped_text
from controller.domain.maintenance.server_moves import Phase
from controller.domain.shared.cloud_facts import CloudView
from controller.errors import (
    CloudRefused,
    CloudUnavailable,
    Conflict,
    KubeError,
    ObjectMissing,
    ObjectRefused,
    is_refusal,
)
from controller.ports.kubernetes import COMPUTE_MAINTENANCE, OSDPL, Events, Kube, KubeObject
from controller.ports.openstack import Cloud
from controller.ports.system import Clock
from controller.reconcile.hosts.disk_records import DiskRecords
from controller.reconcile.hosts.last_host_findings import LastHostFindings
from controller.reconcile.hosts.retry_pauses import AGAIN_AFTER
from controller.reconcile.maintenance.compute_silence import QUIET
from controller.reconcile.maintenance.deletion import BUSY_EVERY, IDLE_EVERY, MaintenanceDeletion
from controller.reconcile.maintenance.elapsed_times import ElapsedTimes
from controller.reconcile.maintenance.errors import MaintenanceErrors
from controller.reconcile.maintenance.maintained_hosts import MaintainedHosts, missing
from controller.reconcile.maintenance.maintenance_finalizer import add_finalizer, has_finalizer
from controller.reconcile.maintenance.maintenance_shares import MaintenanceShares, Share
from controller.reconcile.maintenance.move_rounds import MoveRounds, ObservedMoves
from controller.reconcile.maintenance.network_moves import AgentQueries, with_those_kept, write_moves
from controller.reconcile.maintenance.out_of_service import HostDisabler
from controller.reconcile.maintenance.server_moves import planned, remaining, send
from controller.reconcile.maintenance.status import (
    MaintenanceWork,
    ObservedStatus,
    StatusUnreadable,
    StatusWriter,
    plan_text,
    read_work,
)
from controller.reconcile.shared.cloud_access import CloudAccess
from controller.reconcile.shared.fair_order import FairOrder
from controller.reconcile.shared.managed_region import managed_region
from controller.reconcile.shared.object_store import CATCHING_UP

log = logging.getLogger(__name__)

# A pass at the hosts by another caller serves as long.
VIEW_GOOD_FOR = 2.5
# After so long without a move Placement should know of all that there were.
SETTLED_AFTER = 120.0


class MaintenancesReconciler:
    """Serves every ComputeMaintenance of the region in one namespace. One thread at a time."""

    def __init__(
        self,
        *,
        kube: Kube,
        clock: Clock,
        events: Events,
        access: CloudAccess,
        hosts: MaintainedHosts,
        namespace: str,
        findings: LastHostFindings,
        quiet: float = QUIET,
    ) -> None:
        self._kube = kube
        self._clock = clock
        self._access = access
        self._hosts = hosts
        self._namespace = namespace
        self._out = HostDisabler(kube, clock, namespace, quiet)
        self._shares = MaintenanceShares(self._out, findings)
        self._status = StatusWriter(kube, clock, events)
        self._order = FairOrder()
        self._disks = DiskRecords(kube, clock, namespace)
        self._rounds = MoveRounds()
        self._times = ElapsedTimes(clock)
        self._end = MaintenanceDeletion(
            kube=kube, clock=clock, events=events, out=self._out, status=self._status
        )
        self._errors = MaintenanceErrors(out=self._out, end=self._end, status=self._status)
        self._ended = -math.inf

    def reconcile(self) -> float | None:
        """One pass at all of them; seconds until the next, None when there is none. Raises KubeError."""
        try:
            return self._reconcile()
        finally:
            self._ended = self._clock.monotonic()

    def _reconcile(self) -> float | None:
        listed = [one for one in self._kube.list(COMPUTE_MAINTENANCE) if is_served_in(self._namespace, one)]
        if not listed:
            return None
        osdpl = self._region()
        region = str(osdpl["metadata"]["name"]) if osdpl is not None else ""
        read = self._times.brought_up(self._read(listed))
        works = [work for work in read if work.region.name == region]
        self._serve_others([work for work in read if work.region.name != region])
        if osdpl is None or not works:
            return AGAIN_AFTER
        if not self._hosts.known():
            return CATCHING_UP
        try:
            cloud = self._access.for_one_pass()
            # None from before our last pass had ended: what that changed would look like others' work.
            last = self._access.last_view(younger_than=VIEW_GOOD_FOR, after=self._ended)
            view = last or self._access.observe_hosts(cloud)
        except CloudUnavailable as error:
            return max([AGAIN_AFTER, *(self._errors.without_cloud(work, error) for work in works)])
        records = self._disks.read()
        others = self._hosts.taking(osdpl, view)
        works = [one.judged(records, others) for one in self._hosts.located(works, osdpl, view)]
        shares = self._shares.of(works, view)
        moves = given_lately((move, work.now) for work in works for move in work.network)
        leaving = [work.host for work in works if not work.deleting and not work.planning]
        agents = AgentQueries(cloud, view, given=moves, leaving=leaving)
        self._rounds.keep(works)
        pauses: list[float] = []
        for work in self._order.of(works, lambda one: (one.created, one.name)):
            if pauses and cloud.late:
                # The next pass begins with those that were not reached.
                pauses.append(BUSY_EVERY)
                break
            self._order.reached((work.created, work.name))
            serve = partial(self._serve, work, cloud, view, agents, shares[work.name])
            pauses.append(self._errors.met(work, serve))
        return min([IDLE_EVERY, *pauses])

    def _read(self, listed: Sequence[KubeObject]) -> list[MaintenanceWork]:
        """Those that can be read; the others are reported as unreadable."""
        read = []
        for obj in listed:
            try:
                read.append(read_work(obj))
            except StatusUnreadable as error:
                try:
                    self._status.report_unreadable(obj, error)
                except (Conflict, ObjectMissing, ObjectRefused) as refused:
                    # It changed meanwhile, is gone, or its newer definition takes no status of ours.
                    name, reason = obj["metadata"]["name"], type(refused).__name__
                    log.warning("maintenance: %s", refused, extra={"object": name, "reason": reason})
        return read

    def _region(self) -> KubeObject | None:
        name = managed_region(self._kube, self._namespace)
        return self._kube.get(OSDPL, name, self._namespace) if name else None

    def _serve_others(self, works: Sequence[MaintenanceWork]) -> None:
        """Of regions that this installation does not run: those that are no more let theirs go."""
        there = {
            name: self._kube.get(OSDPL, name, self._namespace) is not None
            for name in {work.region.name for work in works}
        }
        for work in works:
            if not there[work.region.name]:
                self._errors.without_region(work)

    # -- one maintenance ----------------------------------------------------------------------------

    def _serve(
        self, work: MaintenanceWork, cloud: Cloud, view: CloudView, agents: AgentQueries, share: Share
    ) -> float:
        if work.deleting:
            return self._end.roll_back(work, cloud, view, agents)
        if not work.doubt:
            self._out.note_fencing_confirmation(work, view, self._status)
        nowhere = missing(work, view)
        if nowhere is not None and not work.started:
            reason = Reason.HOST_AMBIGUOUS if work.doubt else Reason.NODE_REMOVED
            self._status.write(work, work.status_with(Phase.BLOCKED, reason, nowhere))
            return IDLE_EVERY
        if work.planning:
            self._plan(work, cloud, view, agents, share.queue_reason)
            return IDLE_EVERY
        if not has_finalizer(work.obj):
            add_finalizer(self._kube, work.obj)
            return 0.0
        stopped = self._shares.stopped(work)
        if not work.started and (stopped or share.queue_reason):
            reason = Reason.TOO_MANY_UNHEALTHY if stopped else Reason.QUEUED
            self._status.write(work, work.status_with(Phase.WAITING, reason, stopped or share.queue_reason))
            return IDLE_EVERY
        if not work.started:
            # Noted before anything is done: from here on the node counts as out of service.
            text = "the node is taken out of service"
            observed = work.status_with(Phase.MOVING, Reason.MOVING_SERVERS, text)
            self._status.write(work, replace(observed, started=self._clock.now()))
            return 0.0
        if stopped:
            # What is under way ends; nothing is begun, and what a person does to the host meanwhile stays.
            obstacle: Obstacle | None = (Reason.TOO_MANY_UNHEALTHY, stopped)
        else:
            obstacle, waits = self._take_out(work, cloud, view)
            share = replace(share, slots=0, waits=waits) if waits else share
        return self._move(work, cloud, view, agents, share=share, obstacle=obstacle)

    def _take_out(self, work: MaintenanceWork, cloud: Cloud, view: CloudView) -> tuple[Obstacle | None, str]:
        try:
            return self._out.take_out(work, cloud, view, self._status)
        except CloudRefused as error:
            # Servers under way are followed all the same.
            return (Reason.CLOUD_REFUSED, f"OpenStack refused: {error}"), ""
        except KubeError as error:
            if not is_refusal(error):
                raise
            return (Reason.API_SERVER_REFUSED, f"the API server refused: {error}"), ""

    def _plan(
        self, work: MaintenanceWork, cloud: Cloud, view: CloudView, agents: AgentQueries, queue_reason: str
    ) -> None:
        servers = cloud.servers_on(work.host)
        plan = {one.id: planned(one, work, cloud, hurried=cloud.late) for one in servers}
        outlook = agents.outlook(work.host, deadline=work.spec.server_deadline, now=work.now)
        network = planned_moves(outlook) if work.spec.mode == Mode.MIGRATE else []
        queue_obstacle = (Reason.QUEUED, queue_reason) if queue_reason else None
        met = (queue_obstacle, self._out.obstacle(work, view), stranded(network))
        observed = ObservedStatus(
            phase=Phase.PLANNED,
            reason=Reason.PLANNED,
            message=plan_text(list(plan.values()), [one for one in met if one is not None]),
            entries=plan,
            network=network,
            volumes=sum(one.volumes for one in servers),
        )
        self._status.write(work, observed)

    def _move(
        self,
        work: MaintenanceWork,
        cloud: Cloud,
        view: CloudView,
        agents: AgentQueries,
        *,
        share: Share,
        obstacle: Obstacle | None,
    ) -> float:
        """With an obstacle nothing is begun; what is under way is followed, or its slots never came free."""
        now, spec = work.now, work.spec
        over = now - work.started > spec.deadline
        outlook = agents.outlook(work.host, deadline=spec.server_deadline, now=now)
        slots = 0 if over or obstacle else share.slots
        moves = spec.mode == Mode.MIGRATE and not obstacle
        found = self._rounds.of(work).follow(work, cloud, outlook, slots=slots, now=now, moves=moves)
        commands, network = found.commands, found.network
        if obstacle is None:
            observed = self._observed_status(work, found, cloud=cloud, over=over, share=share)
        else:
            network = with_those_kept(network, work.network)
            text = stopped_text(obstacle[1], list(commands.entries.values()))
            volumes = sum(one.volumes for one in commands.present.values())
            observed = ObservedStatus(
                Phase.BLOCKED, obstacle[0], text, commands.entries, network, work.started, volumes
            )
        # Another process may serve it, too, and have asked for the same: only one of the two notes it.
        self._status.write(work, observed, unchanged=bool(commands.asked or found.due))
        # Only now, when it is noted: whoever goes on after us knows what may have been asked for.
        refused = send(commands, work, cloud, now, partial(self._out.forbidden_now, work, cloud))
        answered = {one.key: one for one in write_moves(found.due, outlook, cloud)}
        if refused or answered:
            self._status.write(
                work,
                replace(
                    observed,
                    entries={**commands.entries, **refused},
                    network=[answered.get(one.key, one) for one in network],
                ),
            )
        moving = any(one.under_way for one in commands.entries.values())
        return BUSY_EVERY if observed.phase == Phase.MOVING or moving or found.due else IDLE_EVERY

    def _observed_status(
        self,
        work: MaintenanceWork,
        found: ObservedMoves,
        *,
        cloud: Cloud,
        over: bool,
        share: Share,
    ) -> ObservedStatus:
        commands, network, whole = found.commands, found.network, found.whole
        entries = list(commands.entries.values())
        ended = all(one.ended for one in entries)
        last = max([work.started, *(one.requested for one in entries)])
        phase, reason, text = report_phase(
            MaintenanceSnapshot(
                entries=entries,
                network=network,
                remaining=remaining(work, commands, cloud) if ended and whole else (),
                over=over,
                settled=work.now - last > SETTLED_AFTER,
                unseen=not whole,
            )
        )
        if share.waits and phase == Phase.MOVING:
            text = f"{text}; {share.waits}"
        volumes = sum(one.volumes for one in commands.present.values())
        return ObservedStatus(phase, reason, text, commands.entries, network, work.started, volumes)
