"""Reads `status.releases[].lastAttempt` back: a restarted container goes on with the same counts."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from controller.domain.releases.requests import Requests
from controller.domain.releases.situation import Attempt

# Requests that an attempt may have served, as `lastAttempt` names them.
REQUESTS = ("reconcile", "force", "rollback")


def last_attempt(release_entry: Mapping[str, Any]) -> Attempt | None:
    """The attempt that a release's status entry is about; None when there is none or it cannot be read."""
    entry = release_entry.get("lastAttempt") or {}
    try:
        finished = datetime.fromisoformat(str(entry["finished"])).timestamp()
        return Attempt(
            action=str(entry["action"]),
            digest=str(entry.get("digest") or ""),
            finished=finished,
            failures=int(entry.get("failures") or 0),
            requests=Requests(**{name: str(entry.get(name) or "") for name in REQUESTS}),
            unlocks=int(release_entry.get("unlocks") or 0),
            interrupted=bool(entry.get("interrupted")),
            lacks_right=bool(entry.get("lacksRight")),
            taken=bool(entry.get("taken")),
        )
    except (KeyError, ValueError, TypeError):
        return None
