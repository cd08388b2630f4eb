"""The last action on a release, as `status.releases[].lastAttempt` keeps it over restarts."""

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
    """Our last action on the release.

    `failures` counts failures in a row for `digest`; after interrupted ones it starts again at the first
    failure of the release itself. An Unlock reports an interrupted one. `started` and `finished` are in
    seconds since the epoch, `duration` in seconds; `error` is redacted, and empty after a success. `requests`
    are those at its begin. `unlocks` is the number of interrupted actions, including this one, since the
    first installation. `interrupted`: the last failure was not caused by the release. `lacks_right`: a right
    of ours was missing, which only others can grant. `taken`: it was refused, because objects with its names
    have other owners. `lasting`: no other try ends better, until a person changes something.
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
    lasting: bool = False
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
            "lasting": self.lasting,
            **{name: getattr(self.requests, name) for name in _REQUESTS},
        }
        return entry | {name: value for name, value in more.items() if value}


def parse_attempt(release_entry: Mapping[str, Any]) -> Attempt | None:
    """The attempt that a release's status entry is about; None when there is none or it cannot be read.

    A restarted container goes on with the same counts.
    """
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
            lasting=bool(entry.get("lasting")),
            started=_seconds(entry["time"]) if "time" in entry else finished,
            duration=float(str(entry.get("duration") or "0s").removesuffix("s")),
            error=str(entry.get("error") or ""),
        )
    except (KeyError, ValueError, TypeError):
        return None


def _seconds(moment: object) -> float:
    return datetime.fromisoformat(str(moment)).timestamp()
