"""Asks Nova how a server's move stands, and for the next step of it."""

from __future__ import annotations

import logging

from controller.cloud_port import Cloud
from controller.domain.node_maintenance import Command, Entry, Sight
from controller.errors import CloudRefused, CloudUnavailable

log = logging.getLogger(__name__)


def see(server: str, cloud: Cloud) -> Sight:
    """A server and its moves; in this order, so that a move that ends in between is seen as ended."""
    migrations = cloud.migrations(server)
    return Sight(cloud.server(server), migrations)


def ask(entry: Entry, command: Command, sight: Sight, cloud: Cloud) -> str:
    """Asks Nova; why it refused, empty where it did not or nothing is known of the outcome."""
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
        return ""
    except CloudRefused as error:
        log.info("server %s, %s: %s", entry.id, command, error)
        # A conflict is another task on the server, perhaps our own of before; it will be seen.
        begun = command in (Command.LIVE, Command.COLD, Command.EVACUATE)
        return str(error) if begun and error.code != 409 else ""
    log.info("server %s: %s", entry.id, command)
    return ""
