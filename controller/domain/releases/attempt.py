"""Our last action on a release, and how it stands in `status.releases[].lastAttempt`.

A restarted container reads it back from there and goes on with the same counts.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from controller.domain.api.conditions import timestamp
from controller.domain.releases.requests import NOTHING_ASKED, Requests

# Requests that an attempt may have served, as `lastAttempt` names them.
_REQUESTS = ("reconcile", "force", "rollback")


@dataclass(frozen=True)
class Attempt:
    """Our last action on the release. `failures` counts those in a row that ended badly for `digest`, again
    from the first of its own after interrupted ones: an Unlock reports one that was cut off.

    `started` and `finished` are in seconds since the epoch, `duration` in seconds; `error` is redacted, and
    empty after a success. `requests` are those that were there when it began. `unlocks`
    is how often an action on the release was found cut off, this one included, since it was first installed.
    `interrupted`: the last of the failures was none of the release's own. `lacks_right`: it was for want of a
    right of ours, which only somebody else can grant. `taken`: it was refused, as objects of its names belong
    to others.
    """

    action: str
    digest: str
    finished: float
    failures: int
    requests: Requests = NOTHING_ASKED
    unlocks: int = 0
    interrupted: bool = False
    lacks_right: bool = False
    taken: bool = False
    started: float = 0.0
    duration: float = 0.0
    error: str = ""

    def entry(self) -> dict[str, Any]:
        """`lastAttempt`; what is not known is left out. `unlocks` has its place beside it."""
        entry: dict[str, Any] = {
            "action": self.action,
            "time": timestamp(self.started or self.finished),
            "finished": timestamp(self.finished),
            "duration": f"{self.duration:.1f}s",
            "failures": self.failures,
        }
        more = {
            "digest": self.digest,
            "error": self.error,
            "interrupted": self.interrupted,
            "lacksRight": self.lacks_right,
            "taken": self.taken,
            **{name: getattr(self.requests, name) for name in _REQUESTS},
        }
        return entry | {name: value for name, value in more.items() if value}


def parse_attempt(release_entry: Mapping[str, Any]) -> Attempt | None:
    """The attempt that a release's status entry is about; None when there is none or it cannot be read."""
    entry = release_entry.get("lastAttempt") or {}
    try:
        finished = _seconds(entry["finished"])
        return Attempt(
            action=str(entry["action"]),
            digest=str(entry.get("digest") or ""),
            finished=finished,
            failures=int(entry.get("failures") or 0),
            requests=Requests(**{name: str(entry.get(name) or "") for name in _REQUESTS}),
            unlocks=int(release_entry.get("unlocks") or 0),
            interrupted=bool(entry.get("interrupted")),
            lacks_right=bool(entry.get("lacksRight")),
            taken=bool(entry.get("taken")),
            started=_seconds(entry["time"]) if "time" in entry else finished,
            duration=float(str(entry.get("duration") or "0s").removesuffix("s")),
            error=str(entry.get("error") or ""),
        )
    except (KeyError, ValueError, TypeError):
        return None


def _seconds(moment: object) -> float:
    return datetime.fromisoformat(str(moment)).timestamp()
