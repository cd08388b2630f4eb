"""`status.backup` of a region: what the Jobs of backups and drills have shown so far. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

from controller.domain.api.conditions import Condition, timestamp
from controller.domain.api.reasons import Reason
from controller.domain.api.shortened_text import shorten
from controller.domain.backups.backup_record import BackupRecord
from controller.domain.shared.cron_schedule import longest_gap
from controller.domain.shared.times import seconds_of

CONDITION = "BackedUp"
MOST_TEXT = 1024
# A backup that is running when it is due, and a node that was down, are no reason for an alert.
GRACE = 2.0


class Result(StrEnum):
    """How a Job ended."""

    SUCCEEDED = "Succeeded"
    FAILED = "Failed"


@dataclass(frozen=True)
class Outcome:
    """The end of one Job. `id`: of the backup, empty if it is not known."""

    job: str = ""
    ended: str = ""
    result: str = ""
    id: str = ""
    message: str = ""

    @property
    def good(self) -> bool:
        return self.result == Result.SUCCEEDED

    def entry(self) -> dict[str, Any]:
        """As the status has it, without what is not known."""
        found = {
            "id": self.id,
            "job": self.job,
            "ended": self.ended,
            "result": self.result,
            "message": shorten(self.message, MOST_TEXT),
        }
        return {key: value for key, value in found.items() if value}


@dataclass(frozen=True)
class BackupState:
    """What is known of a region's backups. `last_good` is None before the first; `obstacle`: why none can be
    made at present. `due`: by when the next one has to succeed."""

    last: Outcome = field(default=Outcome())
    last_good: BackupRecord | None = None
    drill: Outcome = field(default=Outcome())
    due: str = ""
    obstacle: str = ""
    message: str = ""

    @property
    def restorable(self) -> bool | None:
        """Whether the last drill was good; None before the first."""
        return self.drill.good if self.drill.ended else None

    def entry(self) -> dict[str, Any]:
        """The status, without what is not known."""
        good = self.last_good
        found: dict[str, Any] = {
            "last": self.last.entry(),
            "lastGood": _good_entry(good) if good else {},
            "size": good.size if good else 0,
            "due": self.due,
            "drill": self.drill.entry(),
            "message": shorten(self.message, MOST_TEXT),
        }
        found = {key: value for key, value in found.items() if value}
        return found if self.restorable is None else {**found, "restorable": self.restorable}


def backup_in(status: Mapping[str, Any]) -> BackupState | None:
    """The backups that a region's status remembers; None without any."""
    given = status.get("backup")
    if not isinstance(given, Mapping):
        return None
    good = given.get("lastGood")
    return BackupState(
        last=_outcome(given.get("last")),
        last_good=_record(good, given.get("size")) if isinstance(good, Mapping) else None,
        drill=_outcome(given.get("drill")),
        due=str(given.get("due") or ""),
        message=str(given.get("message") or ""),
    )


def with_backup(state: BackupState, outcome: Outcome, record: BackupRecord | None) -> BackupState:
    """After a backup that ended. `record` is None for one that failed, or whose pod is gone."""
    if not outcome.good:
        return replace(state, last=outcome)
    found = record or BackupRecord(id=outcome.id, ended=outcome.ended)
    return replace(state, last=outcome, last_good=found)


def with_due(state: BackupState, schedule: str, begun: float) -> BackupState:
    """With the time by which the next backup has to succeed. `begun`: since when backups are made."""
    good = seconds_of(state.last_good.ended) if state.last_good else 0.0
    since = good or begun
    return replace(state, due=timestamp(since + GRACE * longest_gap(schedule)) if since else "")


def judged(state: BackupState, now: float) -> BackupState:
    """With the sentence about it."""
    return replace(state, message=_judgement(state, now)[2])


def backup_condition(state: BackupState, generation: int, now: float) -> Condition:
    """Whether the region can come back: the last good backup is not too old, and no drill has failed."""
    status, reason, text = _judgement(state, now)
    return Condition(CONDITION, status, reason, shorten(text, MOST_TEXT), generation)


def changes_at(state: BackupState, now: float) -> float:
    """Seconds until the backup is overdue; 0 if it is, or if none is due."""
    due = seconds_of(state.due)
    return max(0.0, due - now) if due else 0.0


def _judgement(state: BackupState, now: float) -> tuple[Any, Reason, str]:
    good, due = state.last_good, seconds_of(state.due)
    of = f"the last good one is {good.id or 'one'} of {good.ended}" if good else "there is none yet"
    if due and now > due:
        why = f": {state.obstacle or state.last.message}" if state.obstacle or not state.last.good else ""
        return "False", Reason.BACKUP_OVERDUE, f"a backup was due by {state.due}, and {of}{why}"
    if state.obstacle:
        return "False", Reason.BACKUP_IMPOSSIBLE, f"{state.obstacle}; {of}"
    if state.last.ended and not state.last.good:
        return "False", Reason.BACKUP_FAILED, f"Job {state.last.job}: {state.last.message}; {of}"
    if good is None:
        return "Unknown", Reason.BACKUP_AWAITED, "no backup has been made yet"
    if state.restorable is False:
        which = f"backup {state.drill.id}" if state.drill.id else "the newest backup"
        text = f"the drill {state.drill.job} could not restore {which}"
        return "False", Reason.BACKUP_NOT_RESTORABLE, f"{text}: {state.drill.message}"
    drilled = f"; the drill of {state.drill.ended} has restored {state.drill.id}" if state.restorable else ""
    warning = f"; {good.warning}" if good.warning else ""
    return "True", Reason.BACKUP_SUCCEEDED, f"{of}{drilled}{warning}"


def _good_entry(good: BackupRecord) -> dict[str, Any]:
    found: dict[str, Any] = {
        "id": good.id,
        "started": good.started,
        "ended": good.ended,
        "warning": good.warning,
        "manifest": good.manifest,
        "databases": good.databases,
        "tables": good.tables,
    }
    return {key: value for key, value in found.items() if value}


def _record(given: Mapping[str, Any], size: object) -> BackupRecord:
    numbers = [given.get("databases"), given.get("tables"), size]
    databases, tables, octets = (one if isinstance(one, int) else 0 for one in numbers)
    return BackupRecord(
        id=str(given.get("id") or ""),
        ended=str(given.get("ended") or ""),
        started=str(given.get("started") or ""),
        warning=str(given.get("warning") or ""),
        manifest=str(given.get("manifest") or ""),
        databases=databases,
        tables=tables,
        size=octets,
    )


def _outcome(given: object) -> Outcome:
    if not isinstance(given, Mapping):
        return Outcome()
    texts = {key: str(given.get(key) or "") for key in ("job", "ended", "result", "id", "message")}
    return Outcome(**texts)
