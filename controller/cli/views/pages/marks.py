"""The sign and the colour of each state. A sign never depends on its colour. Pure."""

from __future__ import annotations

from controller.cli.views.pages.release_graph import MISSING, UNHEALTHY
from controller.cli.views.release_rows import RowState

GOOD, BUSY, BAD, IDLE = "good", "busy", "bad", "idle"

# The states of releases, components, nodes, steps, checks, rotations and maintenances.
_OF_STATES = {
    GOOD: (RowState.INSTALLED, "Ready", "Done", "Passed", "Succeeded", "Completed", "Finished", "True"),
    BAD: (
        *(RowState.FAILED, UNHEALTHY, MISSING, "Unhealthy", "NotReady", "Failed", "Blocked", "False"),
        "Removed",
    ),
    IDLE: (RowState.WAITING, RowState.SUSPENDED, "Pending", "Skipped", "Unknown", "Planned", "Aborted", ""),
}
_LEVELS = {str(state): level for level, states in _OF_STATES.items() for state in states}
_MARKS = {GOOD: "✓", BUSY: "…", BAD: "!", IDLE: "·"}


def level_of(state: str) -> str:
    """Good, busy, bad or idle; busy for a state that is none of the others."""
    return _LEVELS.get(str(state), BUSY)


def mark_of(state: str) -> str:
    """A sign for a state: ✓ … ! or ·"""
    return _MARKS[level_of(state)]


def mark(level: str) -> str:
    """The sign of a level."""
    return _MARKS[level]
