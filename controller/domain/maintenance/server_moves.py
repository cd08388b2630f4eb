"""A ComputeMaintenance: its spec, its status, and the next thing to do for each server. Pure.

All progress is in the status, so that any process can continue. A request to Nova is recorded before it is
sent, with the newest migration of the server. Afterwards Nova's own records show whether the request arrived:
a newer migration, a task, another host. Without any of them after a while, it did not arrive, and is
repeated. That does not count as an attempt of the server, because the connection to Nova, or the process,
failed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from controller.domain.api.conditions import timestamp
from controller.domain.maintenance.maintenance_spec import MaintenanceSpec
from controller.domain.maintenance.move_choice import MoveKind, ServerPlan
from controller.domain.shared import backoff
from controller.domain.shared.cloud_facts import Migration, Server
from controller.domain.shared.plurals import count
from controller.domain.shared.times import seconds_of

# Seconds in which a request must show in Nova, and an abort must have an effect.
SETTLE, ABORT_WITHIN = 10.0, 120.0
# Nova would begin a second evacuation in addition to the first, so one that may still arrive gets more time.
SETTLE_EVACUATION = 60.0
RETRY_FIRST, RETRY_CAP = 10.0, 120.0
# What is said of a server that Nova has in the queue of its hypervisor.
QUEUED = "waits in Nova's queue, because other live migrations from this node come first"


class Phase(StrEnum):
    """`status.phase`."""

    PENDING = "Pending"
    PLANNED = "Planned"
    WAITING = "Waiting"
    MOVING = "Moving"
    COMPLETED = "Completed"
    BLOCKED = "Blocked"
    ROLLING_BACK = "RollingBack"


class ServerMoveState(StrEnum):
    """`status.servers[].state`."""

    PENDING = "Pending"
    REQUESTED = "Requested"
    MOVING = "Moving"
    DONE = "Done"
    LEFT = "Left"
    BLOCKED = "Blocked"


class Command(StrEnum):
    """The request to Nova for one server."""

    LIVE = "LiveMigrate"
    COLD = "ColdMigrate"
    CONFIRM = "Confirm"
    EVACUATE = "Evacuate"
    ABORT = "Abort"


_COMMANDS = {MoveKind.LIVE: Command.LIVE, MoveKind.COLD: Command.COLD, MoveKind.EVACUATE: Command.EVACUATE}


@dataclass(frozen=True, slots=True)
class ServerMove:
    """One server in `status.servers`. Times in seconds since the epoch, 0.0 for never.

    `after`: the newest migration before our request; `migration`: ours, 0 until it was observed. `unseen`:
    the `attempts` of which Nova never showed a sign. `refused`: Nova answered the last one with a conflict,
    which `message` quotes: our own earlier move is still running, or it is a refusal.
    """

    id: str
    name: str
    way: MoveKind
    state: ServerMoveState = ServerMoveState.PENDING
    attempts: int = 0
    requested: float = 0.0
    not_before: float = 0.0
    after: int = 0
    target: str = ""
    message: str = ""
    unseen: int = 0
    refused: bool = False
    migration: int = 0

    @property
    def failures(self) -> int:
        """Attempts that count."""
        return self.attempts - self.unseen

    @property
    def ended(self) -> bool:
        return self.state in (ServerMoveState.DONE, ServerMoveState.LEFT)

    @property
    def under_way(self) -> bool:
        return self.state in (ServerMoveState.REQUESTED, ServerMoveState.MOVING)

    def written(self) -> dict[str, Any]:
        """The entry in the status."""
        times = {"requestedAt": self.requested, "notBefore": self.not_before}
        plain = {
            "attempts": self.attempts,
            "unseen": self.unseen,
            "refused": self.refused,
            "afterMigration": self.after,
            "migration": self.migration,
        }
        texts = {"target": self.target, "message": self.message}
        return {
            "id": self.id,
            "name": self.name,
            "action": str(self.way),
            "state": str(self.state),
            **{key: value for key, value in plain.items() if value},
            **{key: timestamp(value) for key, value in times.items() if value},
            **{key: value for key, value in texts.items() if value},
        }


def read_entry(entry: Mapping[str, Any]) -> ServerMove:
    """Parses an entry of the status."""
    return ServerMove(
        id=str(entry["id"]),
        name=str(entry.get("name") or ""),
        way=MoveKind(entry["action"]),
        state=ServerMoveState(entry["state"]),
        attempts=int(entry.get("attempts") or 0),
        requested=seconds_of(entry.get("requestedAt")),
        not_before=seconds_of(entry.get("notBefore")),
        after=int(entry.get("afterMigration") or 0),
        target=str(entry.get("target") or ""),
        message=str(entry.get("message") or ""),
        unseen=int(entry.get("unseen") or 0),
        refused=bool(entry.get("refused")),
        migration=int(entry.get("migration") or 0),
    )


def plan_entry(plan: ServerPlan, known: ServerMove | None, retries: int) -> ServerMove:
    """The entry of a server on the node: a running move stays, anything else follows the plan.

    A given-up move also stays while Nova works on it, or no attempt is left for that kind. With another kind,
    attempts count again.
    """
    if known is not None and known.under_way:
        return known
    if known is not None and known.state == ServerMoveState.BLOCKED and known.way in _COMMANDS:
        spent = known.failures > retries and plan.way == known.way
        if spent or plan.way == MoveKind.BUSY:
            return known
    base = known if known is not None else ServerMove(plan.id, plan.name, plan.way, message=plan.why)
    state = {MoveKind.LEAVE: ServerMoveState.LEFT, MoveKind.BLOCKED: ServerMoveState.BLOCKED}.get(
        plan.way, ServerMoveState.PENDING
    )
    if state == base.state and plan.way == base.way:
        return replace(base, name=plan.name)
    found = replace(base, name=plan.name, way=plan.way, state=state, message=plan.why)
    # A task in between is not another kind.
    if plan.way == base.way or MoveKind.BUSY in (plan.way, base.way):
        return found
    return replace(found, attempts=0, unseen=0, not_before=0.0)


def try_again(entry: ServerMove) -> ServerMove:
    """The entry after an edit of the spec, which answers blocked moves: attempts count again."""
    if entry.under_way or entry.ended:
        return entry
    return replace(entry, state=ServerMoveState.PENDING, attempts=0, unseen=0, not_before=0.0)


@dataclass(frozen=True, slots=True)
class ServerSnapshot:
    """A moving server in its present state in Nova. `server` is None if Nova does not have it."""

    server: Server | None
    migrations: tuple[Migration, ...] = ()

    @property
    def newest(self) -> int:
        return max((one.id for one in self.migrations), default=0)


def begin(entry: ServerMove, snapshot: ServerSnapshot, now: float) -> tuple[ServerMove, Command]:
    """The request to record, which is sent after that."""
    noted = replace(
        entry,
        state=ServerMoveState.REQUESTED,
        requested=now,
        after=snapshot.newest,
        migration=0,
        attempts=entry.attempts + 1,
        message="",
        refused=False,
    )
    return noted, _COMMANDS[entry.way]


def unknown(entry: ServerMove, why: str) -> ServerMove:
    """The entry of a request without an answer; Nova's records decide."""
    return replace(entry, message=why)


def conflicting(entry: ServerMove, why: str) -> ServerMove:
    """The entry of a request that Nova answered with a conflict; without a task, that was a refusal."""
    return replace(entry, message=why, refused=True)


def advance(
    entry: ServerMove, snapshot: ServerSnapshot, source: str, spec: MaintenanceSpec, now: float
) -> tuple[ServerMove, Command | None]:
    """The state of a moving server, and the next request to Nova for it.

    After the server's deadline it is given up, so that its slot is free; a later arrival is still detected.
    """
    server = snapshot.server
    if server is None:
        return replace(entry, state=ServerMoveState.DONE, message="deleted meanwhile"), None
    newest = _ours(entry, snapshot)
    if newest is not None:
        # It did arrive. Its own time begins when Nova takes it out of the queue of the hypervisor.
        queued = newest.status == "queued"
        begun = now if entry.message == QUEUED and not queued else entry.requested
        entry = replace(entry, message="", refused=False, migration=newest.id, requested=begun)
        if queued and now - entry.requested <= spec.deadline:
            return replace(entry, state=ServerMoveState.MOVING, message=QUEUED), None
    late = now - entry.requested > spec.server_deadline
    if server.status == "VERIFY_RESIZE" and not server.task:
        return _unconfirmed(entry, server, newest, source=source, late=late)
    if _at_work(entry, server, newest, source):
        moving = replace(entry, state=ServerMoveState.MOVING, target=_elsewhere(server, source))
        return _overdue(moving, server, newest, spec=spec, now=now) if late else (moving, None)
    if server.host != source:
        return _arrived(entry, server, newest), None
    if newest is not None and newest.failed:
        return failed(entry, f"Nova: the migration ended as {newest.status}", spec, now), None
    if now - entry.requested < _settles_in(entry, newest):
        return entry, None
    if newest is not None:
        return failed(
            entry, "Nova: the migration ended, but the server is still on the node", spec, now
        ), None
    return _without_trace(entry, spec, now), None


def _settles_in(entry: ServerMove, newest: Migration | None) -> float:
    may_come = entry.way == MoveKind.EVACUATE and newest is None and not entry.refused
    return SETTLE_EVACUATION if may_come else SETTLE


def _at_work(entry: ServerMove, server: Server, newest: Migration | None, source: str) -> bool:
    """Whether Nova moves the server, or works on it otherwise."""
    if newest is not None and not newest.ended:
        return True
    if entry.way == MoveKind.EVACUATE and server.host == source:
        # A task from the failure of its host does not end. Nova notes that of an evacuation (REBUILDING,
        # nova/compute/api.py) just before the migration.
        return server.task.startswith("rebuild")
    return bool(server.task) or server.status == "MIGRATING"


def _without_trace(entry: ServerMove, spec: MaintenanceSpec, now: float) -> ServerMove:
    """The entry of a server without a running operation and without a newer migration."""
    if entry.refused:
        return failed(entry, entry.message, spec, now)
    if entry.state == ServerMoveState.MOVING:
        return failed(
            entry, "Nova: a task ended without a migration, and the server is still on the node", spec, now
        )
    why = entry.message or "Nova shows no sign of the request"
    return _later(replace(entry, unseen=entry.unseen + 1), f"{why}; the request is repeated", now)


def observe_next(
    entry: ServerMove, snapshot: ServerSnapshot, source: str
) -> tuple[ServerMove, Command | None]:
    """The state of a server that does not move and has left the node's list, and the request to Nova: a
    given-up move may have arrived since then.
    """
    server = snapshot.server
    if server is None:
        return replace(entry, state=ServerMoveState.DONE, message="deleted meanwhile"), None
    if server.host == source or server.task or server.status == "MIGRATING":
        return entry, None
    newest = _ours(entry, snapshot)
    if server.status == "VERIFY_RESIZE":
        given_up = entry.state == ServerMoveState.BLOCKED and entry.requested > 0
        return _unconfirmed(entry, server, newest if given_up else None, source=source, late=True)
    return _arrived(entry, server, newest), None


def _ours(entry: ServerMove, snapshot: ServerSnapshot) -> Migration | None:
    """The newest move since our request."""
    return next((one for one in reversed(snapshot.migrations) if one.id > entry.after), None)


def _elsewhere(server: Server, source: str) -> str:
    return server.host if server.host != source else ""


def _resized(entry: ServerMove, server: Server) -> ServerMove:
    text = "a resize waits to be confirmed or reverted by its owner"
    return replace(entry, state=ServerMoveState.BLOCKED, target=server.host, message=text)


def _unconfirmed(
    entry: ServerMove, server: Server, newest: Migration | None, *, source: str, late: bool
) -> tuple[ServerMove, Command | None]:
    """Only our own moves are confirmed: the owner of a resize confirms or reverts it."""
    if entry.way != MoveKind.COLD or newest is None or (newest.kind, newest.source) != ("migration", source):
        return _resized(entry, server), None
    entry = replace(entry, migration=newest.id)
    command = Command.CONFIRM if newest.status == "finished" else None
    if late:
        text = (
            f"the move to {server.host} is not confirmed yet: openstack server migration confirm {entry.id}"
        )
        return replace(entry, state=ServerMoveState.BLOCKED, target=server.host, message=text), command
    return replace(entry, state=ServerMoveState.MOVING, target=server.host), command


def _overdue(
    moving: ServerMove, server: Server, newest: Migration | None, *, spec: MaintenanceSpec, now: float
) -> tuple[ServerMove, Command | None]:
    reported_by_nova = f"{server.status} {server.task}".strip()
    reported_by_nova += f", its migration {newest.id} {newest.status}" if newest is not None else ""
    reported = replace(
        moving, message=f"takes longer than {spec.server_deadline:.0f} s; Nova: {reported_by_nova}"
    )
    abortable = moving.way == MoveKind.LIVE and newest is not None and newest.status == "running"
    if abortable and now - moving.requested <= spec.server_deadline + ABORT_WITHIN:
        return reported, Command.ABORT
    return replace(reported, state=ServerMoveState.BLOCKED), None


def _arrived(entry: ServerMove, server: Server, newest: Migration | None) -> ServerMove:
    """A server that has left the node, without a running operation."""
    gone = replace(entry, state=ServerMoveState.DONE, target=server.host, message="", not_before=0.0)
    broken = server.status == "ERROR" or (newest is not None and newest.failed)
    if entry.attempts and broken:
        where = f"on {server.host}" if server.host else "on no host"
        ended = f", its migration {newest.id} {newest.status}" if newest is not None else ""
        text = f"the server is {where}, {server.status}{ended}; check the server, then edit the spec"
        return replace(gone, state=ServerMoveState.BLOCKED, message=text)
    return gone if server.host else replace(gone, message=f"no longer on a host ({server.status})")


def failed(entry: ServerMove, why: str, spec: MaintenanceSpec, now: float) -> ServerMove:
    """The entry after a failed attempt."""
    entry = replace(entry, refused=False)
    if entry.failures > spec.retries:
        text = f"{why}; {count(entry.failures, 'attempt')} failed; migrate it by hand, or edit the spec"
        return replace(entry, state=ServerMoveState.BLOCKED, message=text)
    return _later(entry, f"{why}; retrying", now)


def _later(entry: ServerMove, why: str, now: float) -> ServerMove:
    jitter = backoff.steady_jitter(f"{entry.id} {entry.attempts}")
    pause = backoff.delay(entry.attempts, jitter, first=RETRY_FIRST, cap=RETRY_CAP)
    return replace(entry, state=ServerMoveState.PENDING, not_before=now + pause, message=why)


def may_begin(entry: ServerMove, now: float) -> bool:
    """Whether the server waits only for a slot."""
    return entry.state == ServerMoveState.PENDING and entry.way in _COMMANDS and now >= entry.not_before
