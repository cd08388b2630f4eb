"""The way back of a server: what ends the move that was asked for, and whether it is over. Pure.

A maintenance that is deleted leaves no move of its own behind: a live migration is aborted, a cold one
confirmed once it has arrived, since only we know that it waits for that. That counts for moves that
took too long and were given up, too. What a person asked for after that is theirs.
"""

from __future__ import annotations

from dataclasses import dataclass

from controller.domain.maintenance.maintenance_spec import MaintenanceSpec
from controller.domain.maintenance.server_moves import (
    Command,
    ServerMove,
    ServerMoveState,
    ServerSnapshot,
    advance,
)
from controller.domain.shared.cloud_facts import Migration, Server

_ASKED = frozenset(("MIGRATING", "RESIZE", "REBUILD"))
_UNCONFIRMED = frozenset(("finished", "confirming"))


@dataclass(frozen=True, slots=True)
class RollbackStep:
    """Where the server stands, and what is asked of Nova now.

    `open`: why its move is not over, empty where it is. `needs_us`: it is ours, and is to be confirmed when
    it arrives; others end without us.
    """

    entry: ServerMove
    command: Command | None = None
    open: str = ""
    needs_us: bool = False


def may_be_open(entry: ServerMove) -> bool:
    """Whether Nova is to be asked about its move: one was asked for, and has not been seen to arrive."""
    return bool(entry.requested) and entry.state != ServerMoveState.DONE


def wind_up(
    entry: ServerMove, snapshot: ServerSnapshot, source: str, spec: MaintenanceSpec, now: float
) -> RollbackStep:
    """One pass at a server of which `may_be_open` holds; `source` is the host of the node."""
    command: Command | None = None
    if entry.under_way:
        entry, command = advance(entry, snapshot, source, spec, now)
    server = snapshot.server
    ours = next((one for one in snapshot.migrations if one.id == entry.migration), None)
    if server is None or not (entry.under_way or _goes_on(entry, snapshot, server, ours)):
        return RollbackStep(entry, command)
    if ours is not None and ours.id == snapshot.newest:
        if ours.kind == "live-migration" and not ours.ended:
            command = Command.ABORT
        elif server.status == "VERIFY_RESIZE" and not server.task and ours.status == "finished":
            command = Command.CONFIRM
    stands = f"{server.status} {server.task}".strip()
    needs_us = ours is not None and ours.kind == "migration"
    verb = "confirm" if ours is None or needs_us else "list --server"
    text = f"{entry.name} ({stands}; openstack server migration {verb} {entry.id})"
    return RollbackStep(entry, command, text, needs_us=needs_us)


def _goes_on(entry: ServerMove, snapshot: ServerSnapshot, server: Server, ours: Migration | None) -> bool:
    """Whether a move that is not followed any more is still ours, and not over."""
    if ours is None:
        # Nova took the request, and has not come to it: there is nothing to tell it by but the task.
        waits = not entry.migration and snapshot.newest <= entry.after
        return waits and bool(server.task) and server.status in _ASKED
    if ours.id != snapshot.newest:
        return False
    if server.status == "VERIFY_RESIZE":
        return ours.kind == "migration" and ours.status in _UNCONFIRMED
    return not ours.ended and (bool(server.task) or server.status == "MIGRATING")
