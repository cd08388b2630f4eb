"""How far a restore is: what `status` of a RegionRestore remembers. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from controller.domain.api.conditions import timestamp
from controller.domain.api.shortened_text import shorten
from controller.domain.backups.manifest import BACKUP_ID
from controller.domain.restores.differences import ObjectDifference, difference_in
from controller.domain.shared.times import seconds_of

MOST_TEXT = 1000
# As in the manifest: they become arguments of a program, and text of SQL.
_NAME = re.compile(r"[0-9A-Za-z_$.-]{1,64}")
_DIGEST = re.compile(r"[0-9a-f]{64}")


class Step(StrEnum):
    """The steps of a restore, in their order."""

    CHECK = "Check"
    HOLD = "Hold"
    STOP = "Stop"
    LOAD = "Load"
    APPLY = "Apply"
    START = "Start"
    COMPARE = "Compare"


class StepState(StrEnum):
    """How far one step is."""

    PENDING = "Pending"
    RUNNING = "Running"
    FAILED = "Failed"
    DONE = "Done"
    SKIPPED = "Skipped"


class Phase(StrEnum):
    """What a restore does, or how it ended."""

    CHECKING = "Checking"
    HOLDING = "Holding"
    STOPPING = "Stopping"
    LOADING = "Loading"
    APPLYING = "Applying"
    STARTING = "Starting"
    COMPARING = "Comparing"
    DONE = "Done"
    REFUSED = "Refused"
    ABORTED = "Aborted"


PHASE_OF = dict(zip(Step, Phase, strict=False))
ENDED = (Phase.DONE, Phase.REFUSED, Phase.ABORTED)
_OVER = (StepState.DONE, StepState.SKIPPED)


@dataclass(frozen=True)
class StepRecord:
    """One step. Times are seconds since the epoch, 0 while there is none. `attempts`: failed ones."""

    step: Step
    state: StepState = StepState.PENDING
    started: float = 0.0
    ended: float = 0.0
    attempts: int = 0
    message: str = ""

    @property
    def over(self) -> bool:
        return self.state in _OVER


@dataclass(frozen=True)
class LoadedDatabase:
    """One database of the backup, and the file that it is loaded from."""

    name: str
    file: str
    sha256: str


@dataclass(frozen=True)
class Restore:
    """A restore. `backup` is the id of the backup, and `databases` what is loaded of it, from the end of the
    checks on. `differences`: objects that differ between the databases that were there and the backup; `note`
    sums them up."""

    steps: tuple[StepRecord, ...] = tuple(map(StepRecord, Step))
    outcome: str = ""
    backup: str = ""
    databases: tuple[LoadedDatabase, ...] = ()
    message: str = ""
    differences: tuple[ObjectDifference, ...] = ()
    note: str = ""

    @property
    def current(self) -> StepRecord | None:
        """The first step that is left; None if there is none."""
        return next((one for one in self.steps if not one.over), None)

    @property
    def phase(self) -> Phase:
        if self.outcome:
            return Phase(self.outcome)
        current = self.current
        return PHASE_OF[current.step] if current else Phase.DONE

    @property
    def over(self) -> bool:
        return self.phase in ENDED

    @property
    def holds(self) -> bool:
        """Whether nothing else may change the region: from the first change until everything is loaded."""
        if self.over or self.state_of(Step.CHECK) != StepState.DONE:
            return False
        # Turned back, the services are started from what they noted.
        last = Step.START if self.state_of(Step.LOAD) == StepState.SKIPPED else Step.LOAD
        return not self.is_over(last)

    @property
    def returnable(self) -> bool:
        """Whether no data has been changed yet."""
        return self.state_of(Step.LOAD) in (StepState.PENDING, StepState.SKIPPED)

    def state_of(self, step: Step) -> StepState:
        return next(one.state for one in self.steps if one.step == step)

    def is_over(self, step: Step) -> bool:
        return self.state_of(step) in _OVER

    def entry(self) -> dict[str, Any]:
        """The status, without what is not known."""
        found = {
            "phase": str(self.phase),
            "backup": self.backup,
            "message": shorten(self.message, MOST_TEXT),
            "note": shorten(self.note, MOST_TEXT),
            "differences": [one.entry() for one in self.differences],
            "steps": [_entry(one) for one in self.steps],
            "databases": [
                {"name": one.name, "file": one.file, "sha256": one.sha256} for one in self.databases
            ],
        }
        return {key: value for key, value in found.items() if value}


def restore_in(status: Mapping[str, Any]) -> Restore:
    """The restore that a status remembers; a new one if there is none.

    A status that cannot be read is of a restore that may have begun, so nothing is begun again: raises
    ValueError.
    """
    if not status.get("phase"):
        return Restore()
    try:
        phase = Phase(str(status["phase"]))
        known = {Step(str(one["name"])): _step(one) for one in status["steps"]}
        backup = str(status.get("backup") or "")
        databases = tuple(_database(one) for one in status.get("databases") or ())
        differences = tuple(difference_in(one) for one in status.get("differences") or ())
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError("the status is not that of a restore") from error
    if set(known) != set(Step) or (backup and not BACKUP_ID.fullmatch(backup)):
        raise ValueError("the status is not that of a restore")
    return Restore(
        steps=tuple(known[step] for step in Step),
        outcome=str(phase) if phase in ENDED else "",
        backup=backup,
        databases=databases,
        message=str(status.get("message") or ""),
        differences=differences,
        note=str(status.get("note") or ""),
    )


def _database(given: Mapping[str, Any]) -> LoadedDatabase:
    found = LoadedDatabase(str(given["name"]), str(given["file"]), str(given["sha256"]))
    if not _NAME.fullmatch(found.name) or not _DIGEST.fullmatch(found.sha256):
        raise ValueError("the status names no database")
    return found


def _entry(step: StepRecord) -> dict[str, Any]:
    found = {
        "name": str(step.step),
        "state": str(step.state),
        "started": timestamp(step.started) if step.started else "",
        "ended": timestamp(step.ended) if step.ended else "",
        "attempts": step.attempts,
        "message": shorten(step.message, MOST_TEXT),
    }
    return {key: value for key, value in found.items() if value}


def _step(given: Mapping[str, Any]) -> StepRecord:
    return StepRecord(
        step=Step(str(given["name"])),
        state=StepState(str(given["state"])),
        started=seconds_of(given.get("started")),
        ended=seconds_of(given.get("ended")),
        attempts=int(given.get("attempts") or 0),
        message=str(given.get("message") or ""),
    )
