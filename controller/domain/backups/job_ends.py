"""Which Jobs of backups have ended. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from controller.domain.api.conditions import find
from controller.domain.api.names import BACKUP_LABEL
from controller.domain.backups.backup_jobs import BACKUP
from controller.domain.shared.times import seconds_of

# The Jobs that make backups.
MAKING_BACKUPS = f"{BACKUP_LABEL}={BACKUP}"


def ended_at(job: Mapping[str, Any]) -> float:
    """When the Job ended, 0 while it runs."""
    status = job.get("status") or {}
    for type_ in ("Complete", "Failed"):
        entry = find(status.get("conditions") or (), type_)
        if entry.get("status") == "True":
            return seconds_of(status.get("completionTime") or entry.get("lastTransitionTime"))
    return 0.0


def names_of_running(jobs: Iterable[Mapping[str, Any]]) -> str:
    """The names of the Jobs that have not ended, in words; empty without any."""
    return ", ".join(sorted(str(one["metadata"]["name"]) for one in jobs if not ended_at(one)))
