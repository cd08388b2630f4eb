"""The servers of a maintenance: how each stands in Nova, and what is asked of Nova next."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass

from controller.cloud_port import Cloud
from controller.domain.cloud_facts import Server
from controller.domain.maintenance_plan import Mode, plan_server
from controller.domain.node_maintenance import (
    Command,
    Entry,
    MaintenanceSpec,
    Sight,
    Stand,
    advance,
    begin,
    conflicting,
    failed,
    look_for,
    may_begin,
    plan_entry,
    unknown,
)
from controller.errors import CloudRefused, CloudUnavailable
from controller.reconcile.maintenance_status import Work

log = logging.getLogger(__name__)

Trouble = CloudRefused | CloudUnavailable
CONFLICT = 409
_BEGINNING = frozenset((Command.LIVE, Command.COLD, Command.EVACUATE))


@dataclass(frozen=True)
class Commands:
    """How the servers stand, and what is to be asked of Nova once that is noted.

    `present`: those on the node.
    """

    entries: Mapping[str, Entry]
    present: Mapping[str, Server]
    asked: tuple[tuple[Entry, Command, Sight], ...] = ()


def planned(server: Server, work: Work, cloud: Cloud) -> Entry:
    """The entry of a server on the node."""
    in_task = work.spec.mode == Mode.EVACUATE and server.task
    moves = cloud.migrations(server.id) if in_task else ()
    plan = plan_server(server, work.spec.mode, work.spec.rules, moves)
    return plan_entry(plan, work.entries.get(server.id), work.spec.retries)


def follow_servers(work: Work, cloud: Cloud, slots: int, now: float) -> Commands:
    """One look at all servers; at most `slots` of them begin."""
    present = {one.id: one for one in cloud.servers_on(work.host)}
    known = dict(work.entries)
    asked: list[tuple[Entry, Command, Sight]] = []
    for entry in work.entries.values():
        if entry.under_way:
            sight = see(entry.id, cloud)
            known[entry.id], command = advance(entry, sight, work.host, work.spec, now)
            if command is not None:
                asked.append((known[entry.id], command, sight))
        elif entry.id not in present and not entry.ended:
            sight = see(entry.id, cloud)
            known[entry.id], command = look_for(entry, sight, work.host)
            if command is not None:
                asked.append((known[entry.id], command, sight))
            if sight.server is not None and sight.server.host == work.host:
                # The list was cut short.
                present[entry.id] = sight.server
    for server in present.values():
        before = work.entries.get(server.id)
        if before is None or not before.under_way:
            known[server.id] = planned(server, work, cloud)
    waiting = sorted((one for one in known.values() if may_begin(one, now)), key=lambda one: one.attempts)
    for entry in waiting[:slots]:
        sight = see(entry.id, cloud)
        if sight.server is None or sight.server.host != work.host:
            continue
        now_planned = plan_server(sight.server, work.spec.mode, work.spec.rules, sight.migrations)
        if now_planned.way != entry.way:
            # Something has happened to it since the list was taken.
            continue
        known[entry.id], command = begin(entry, sight, now)
        asked.append((known[entry.id], command, sight))
    return Commands(known, present, tuple(asked))


def send(commands: Commands, work: Work, cloud: Cloud, now: float) -> dict[str, Entry]:
    """Asks Nova for what is noted; the entries of those that it did not take on."""
    told = {}
    for entry, command, sight in commands.asked:
        trouble = ask(entry, command, sight, cloud)
        if trouble is not None and command in _BEGINNING:
            told[entry.id] = _answered(entry, trouble, work.spec, now)
    return told


def _answered(entry: Entry, trouble: Trouble, spec: MaintenanceSpec, now: float) -> Entry:
    if isinstance(trouble, CloudUnavailable):
        return unknown(entry, str(trouble))
    if trouble.code == CONFLICT:
        return conflicting(entry, str(trouble))
    return failed(entry, str(trouble), spec, now)


def remaining(work: Work, commands: Commands, cloud: Cloud) -> tuple[str, ...]:
    """What is on the node, as Nova or Placement tell, besides servers that were left there on purpose."""
    if work.spec.mode == Mode.CORDON:
        return ()
    left = {one.id for one in commands.entries.values() if one.state == Stand.LEFT}
    held = set(cloud.allocations(work.host) or ())
    if work.spec.mode == Mode.EVACUATE:
        # Nova frees what evacuated servers held here only when the host is back.
        held -= set(commands.entries)
    return tuple(sorted((set(commands.present) | held) - left))


def see(server: str, cloud: Cloud) -> Sight:
    """A server and its moves; in this order, so that a move that ends in between is seen as ended."""
    migrations = cloud.migrations(server)
    return Sight(cloud.server(server), migrations)


def ask(entry: Entry, command: Command, sight: Sight, cloud: Cloud) -> Trouble | None:
    """Asks Nova; the refusal, or why nothing is known of the outcome. None where Nova took it on."""
    try:
        if command == Command.LIVE:
            cloud.live_migrate(entry.id)
        elif command == Command.COLD:
            cloud.cold_migrate(entry.id)
        elif command == Command.EVACUATE:
            cloud.evacuate(entry.id)
        elif command == Command.CONFIRM:
            cloud.confirm_resize(entry.id)
        elif command == Command.ABORT:
            cloud.abort_migration(entry.id, sight.newest)
    except CloudUnavailable as error:
        log.info("server %s, %s: the outcome is not known: %s", entry.id, command, error)
        return error
    except CloudRefused as error:
        log.info("server %s, %s: %s", entry.id, command, error)
        return error
    log.info("server %s: %s", entry.id, command)
    return None
