"""The rollback of a server's move: the request that ends it, and whether it is over.

Pure. A deleted maintenance leaves none of its own moves behind: a live migration is aborted, and a cold one
is confirmed after its arrival, because only we know that it waits for that. This includes moves that took too
long and were given up. Later requests of a person are not touched.
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
    """The state of the server, and the request to Nova now.

    `open`: why its move is not over, or empty. `needs_us`: it is our own and needs a confirmation after its
    arrival; others end without us.
    """

    entry: ServerMove
    command: Command | None = None
    open: str = ""
    needs_us: bool = False


def may_be_open(entry: ServerMove) -> bool:
    """Whether its move must be checked in Nova: it was requested, and its arrival was not observed."""
    return bool(entry.requested) and entry.state != ServerMoveState.DONE


def wind_up(
    entry: ServerMove, snapshot: ServerSnapshot, source: str, spec: MaintenanceSpec, now: float
) -> RollbackStep:
    """One pass at a server for which `may_be_open` is true; `source` is the host of the node."""
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
    """Whether a move that is no longer followed is still our own, and not over."""
    if ours is None:
        # Nova accepted the request, but has not begun: only the task shows it.
        waits = not entry.migration and snapshot.newest <= entry.after
        return waits and bool(server.task) and server.status in _ASKED
    if ours.id != snapshot.newest:
        return False
    if server.status == "VERIFY_RESIZE":
        return ours.kind == "migration" and ours.status in _UNCONFIRMED
    return not ours.ended and (bool(server.task) or server.status == "MIGRATING")
