"""What may happen: to machines and their links, to servers of others, by persons, to our own processes.

Each event draws what it needs from its own numbers, so that a sequence stays the same sequence when others
are taken out of it; and gives a sentence of what happened, or nothing where it cannot happen now.
"""

from __future__ import annotations

from tests.world.events import (
    confirmations,
    kubernetes,
    machines,
    maintenances,
    openstack,
    processes,
    services,
)
from tests.world.events.draw import EVENTS, REGION, Draw, Event, happen

SUBJECTS = (confirmations, kubernetes, machines, maintenances, openstack, processes, services)

__all__ = ["EVENTS", "REGION", "SUBJECTS", "Draw", "Event", "happen"]
