"""The servers of a maintenance: how each stands in Nova, and what is asked of Nova next."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from controller.domain.maintenance.maintenance_spec import MaintenanceSpec
from controller.domain.maintenance.move_choice import Mode, MoveKind, ServerPlan, plan_server
from controller.domain.maintenance.server_moves import (
    Command,
    ServerMove,
    ServerMoveState,
    ServerSnapshot,
    advance,
    begin,
    conflicting,
    failed,
    may_begin,
    observe_next,
    plan_entry,
    unknown,
)
from controller.domain.shared.cloud_facts import Migration, Server
from controller.errors import CloudRefused, CloudUnavailable
from controller.ports.openstack import Cloud
from controller.reconcile.hosts import openstack_writes
from controller.reconcile.maintenance.status import MaintenanceWork
from controller.reconcile.shared.action_log import log_action
from controller.reconcile.shared.fair_order import FairOrder

MoveError = CloudRefused | CloudUnavailable
CONFLICT = 409
_BEGINNING = frozenset((Command.LIVE, Command.COLD, Command.EVACUATE))


@dataclass(frozen=True)
class Commands:
    """How the servers stand, and what is to be asked of Nova once that is noted.

    `present`: those on the node. `reached`: of how many Nova was asked.
    """

    entries: Mapping[str, ServerMove]
    present: Mapping[str, Server]
    asked: tuple[tuple[ServerMove, Command, ServerSnapshot], ...] = ()
    reached: int = 0


@dataclass(frozen=True)
class ServerOrder:
    """Whose turn it is where a pass cannot ask of all of them. One thread at a time."""

    followed: FairOrder = field(default_factory=FairOrder)
    planned: FairOrder = field(default_factory=FairOrder)


def planned(server: Server, work: MaintenanceWork, cloud: Cloud, *, hurried: bool) -> ServerMove:
    """The entry of a server on the node. What there is no time to ask about counts as busy."""
    moves: tuple[Migration, ...] = ()
    if work.spec.mode == Mode.EVACUATE and server.task:
        if hurried:
            plan = ServerPlan(server.id, server.name, MoveKind.BUSY, f"{server.task}; not checked yet")
            return plan_entry(plan, work.entries.get(server.id), work.spec.retries)
        moves = cloud.migrations(server.id)
    plan = plan_server(server, work.spec.mode, work.spec.rules, moves)
    return plan_entry(plan, work.entries.get(server.id), work.spec.retries)


def follow_servers(
    work: MaintenanceWork, cloud: Cloud, slots: int, now: float, order: ServerOrder | None = None
) -> Commands:
    """One pass at the servers; at most `slots` of them begin.

    At those that there is time for: the others stay as they were noted. The first is followed in any case;
    one begins in any case where none is under way.
    """
    order = order or ServerOrder()
    present = {one.id: one for one in cloud.servers_on(work.host)}
    known = dict(work.entries)
    asked: list[tuple[ServerMove, Command, ServerSnapshot]] = []
    reached = followed = 0
    leaving = [one for one in work.entries.values() if one.under_way or not (one.id in present or one.ended)]
    for entry in order.followed.of(leaving, lambda one: one.id):
        if reached and cloud.late:
            break
        order.followed.reached(entry.id)
        reached += 1
        followed += entry.under_way
        snapshot = seen(entry, cloud)
        if snapshot is None:
            break
        known[entry.id], command = _observed(entry, snapshot, work, now)
        if not entry.under_way and snapshot.server is not None and snapshot.server.host == work.host:
            # The list was cut short.
            present[entry.id] = snapshot.server
        if command is not None:
            asked.append((known[entry.id], command, snapshot))
    for server in order.planned.of(present.values(), lambda one: one.id):
        before = work.entries.get(server.id)
        if before is None or not before.under_way:
            hurried = bool(reached) and cloud.late
            if not hurried:
                order.planned.reached(server.id)
                reached += work.spec.mode == Mode.EVACUATE and bool(server.task)
            known[server.id] = planned(server, work, cloud, hurried=hurried)
    waiting = sorted((one for one in known.values() if may_begin(one, now)), key=lambda one: one.attempts)
    for entry in waiting[:slots]:
        if followed and cloud.late:
            break
        reached, followed = reached + 1, followed + 1
        begun = _begun(entry, work, cloud, now)
        if begun is not None:
            known[entry.id] = begun[0]
            asked.append(begun)
    return Commands(known, present, tuple(asked), reached)


def _observed(
    entry: ServerMove, snapshot: ServerSnapshot, work: MaintenanceWork, now: float
) -> tuple[ServerMove, Command | None]:
    if entry.under_way:
        return advance(entry, snapshot, work.host, work.spec, now)
    return observe_next(entry, snapshot, work.host)


def seen(entry: ServerMove, cloud: Cloud) -> ServerSnapshot | None:
    """As `see`; None where the time was over in between. Raises CloudUnavailable where it was not."""
    try:
        return see(entry.id, cloud)
    except CloudUnavailable:
        if not cloud.late:
            raise
        return None


def _begun(
    entry: ServerMove, work: MaintenanceWork, cloud: Cloud, now: float
) -> tuple[ServerMove, Command, ServerSnapshot] | None:
    """What is to be asked for a server that waited; None where it is not to begin now."""
    snapshot = seen(entry, cloud)
    if snapshot is None or snapshot.server is None or snapshot.server.host != work.host:
        return None
    now_planned = plan_server(snapshot.server, work.spec.mode, work.spec.rules, snapshot.migrations)
    if now_planned.way != entry.way:
        # Something has happened to it since the list was taken.
        return None
    return *begin(entry, snapshot, now), snapshot


def send(
    commands: Commands, work: MaintenanceWork, cloud: Cloud, now: float, evacuating: Callable[[], str]
) -> dict[str, ServerMove]:
    """Asks Nova for what is noted; the entries of those that it did not take on, or was not asked for.

    `evacuating`: asked right before each evacuation, why none may begin any more; empty where it may.
    """
    refused = {}
    for entry, command, snapshot in commands.asked:
        why = evacuating() if command == Command.EVACUATE else ""
        if why:
            refused[entry.id] = unknown(entry, why)
            continue
        error = ask(entry, command, snapshot, cloud)
        if error is not None and command in _BEGINNING:
            refused[entry.id] = _answered(entry, error, work.spec, now)
    return refused


def _answered(entry: ServerMove, error: MoveError, spec: MaintenanceSpec, now: float) -> ServerMove:
    if isinstance(error, CloudUnavailable):
        return unknown(entry, str(error))
    if error.code == CONFLICT:
        return conflicting(entry, str(error))
    return failed(entry, str(error), spec, now)


def remaining(work: MaintenanceWork, commands: Commands, cloud: Cloud) -> tuple[str, ...]:
    """What is on the node, as Nova or Placement report, besides servers that were left there on purpose.

    Raises CloudUnavailable.
    """
    if work.spec.mode == Mode.CORDON:
        return ()
    left = {one.id for one in commands.entries.values() if one.state == ServerMoveState.LEFT}
    consumers = set(cloud.allocations(work.host) or ())
    if work.spec.mode == Mode.EVACUATE:
        # Nova frees what evacuated servers used here only when the host is back.
        consumers -= set(commands.entries)
    return tuple(sorted((set(commands.present) | consumers) - left))


def see(server: str, cloud: Cloud) -> ServerSnapshot:
    """A server and its moves; in this order, so that a move that ends in between is seen as ended."""
    migrations = cloud.migrations(server)
    return ServerSnapshot(cloud.server(server), migrations)


def ask(entry: ServerMove, command: Command, snapshot: ServerSnapshot, cloud: Cloud) -> MoveError | None:
    """Asks Nova; the refusal, or why nothing is known of the outcome. None where Nova took it on."""
    try:
        if command == Command.LIVE:
            openstack_writes.live_migrate(cloud, entry.id)
        elif command == Command.COLD:
            openstack_writes.cold_migrate(cloud, entry.id)
        elif command == Command.EVACUATE:
            openstack_writes.evacuate(cloud, entry.id)
        elif command == Command.CONFIRM:
            openstack_writes.confirm_resize(cloud, entry.id)
        elif command == Command.ABORT:
            openstack_writes.abort_migration(cloud, entry.id, snapshot.newest)
    except CloudUnavailable as error:
        log_action("move", entry.id, f"server {entry.id}, {command}: the outcome is not known", error=error)
        return error
    except CloudRefused as error:
        log_action("move", entry.id, f"server {entry.id}, {command}: refused", error=error)
        return error
    return None
