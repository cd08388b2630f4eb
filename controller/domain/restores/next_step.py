"""What a restore does next: the state machine of a restore. Pure.

One pass moves a restore by one state at most. The caller writes the new state before it acts on it, so that
a controller that is killed anywhere continues where it was. Each act may be repeated.

| step | is done when |
|---|---|
| Check | the backup is there and complete, and fits the region; nothing has been touched |
| Hold | no release and no upgrade of the region changes anything |
| Stop | no pod that writes to the databases is left |
| Load | every database of the backup is loaded |
| Apply | Helm has run the hooks of every release again: accounts of databases, and of Keystone |
| Start | each workload has its former number of pods |
| Compare | the region is healthy again |

A refused check ends the restore. A restore that is deleted before Load ends with the services started again;
after that it goes on, because half of the data is worth nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from controller.domain.restores.differences import LoadReport
from controller.domain.restores.restore_state import (
    LoadedDatabase,
    Phase,
    Restore,
    Step,
    StepRecord,
    StepState,
)


@dataclass(frozen=True)
class StepFacts:
    """What is known of the step that runs.

    `refused`: it can never be done. `failing`: this attempt has failed. `waiting`: what it waits for. All are
    empty once it is done. `backup` and `databases` are what the checks have found, and `report` what loading
    has.
    """

    refused: str = ""
    failing: str = ""
    waiting: str = ""
    backup: str = ""
    databases: tuple[LoadedDatabase, ...] = ()
    report: LoadReport = field(default=LoadReport())


def advance(restore: Restore, facts: StepFacts, now: float, *, deleted: bool = False) -> Restore:
    """The restore after this pass, whose present step runs if its state says so. `deleted`: a person has
    deleted the object."""
    if restore.over:
        return restore
    if deleted and restore.returnable and not restore.is_over(Step.LOAD):
        return _turn_back(restore, now)
    step = restore.current
    if step is None:
        return replace(restore, outcome=str(Phase.DONE))
    if step.state == StepState.PENDING:
        begun = replace(step, state=StepState.RUNNING, started=now)
        return _with(restore, begun, f"{step.step} begins")
    return _judge(restore, step, facts, now)


def _turn_back(restore: Restore, now: float) -> Restore:
    """Nothing is loaded: what was stopped is started, and the restore is over."""
    text = "the restore was deleted before anything was loaded"
    if not restore.holds:
        return replace(restore, outcome=str(Phase.ABORTED), message=text)
    steps = tuple(
        one if one.over or one.step == Step.START else replace(one, state=StepState.SKIPPED, ended=now)
        for one in restore.steps
    )
    return replace(restore, steps=steps, message=f"{text}: the services are started")


def _judge(restore: Restore, step: StepRecord, facts: StepFacts, now: float) -> Restore:
    if facts.refused and step.step == Step.CHECK:
        failed = replace(step, state=StepState.FAILED, ended=now, message=facts.refused)
        text = f"refused, and nothing was changed: {facts.refused}"
        return replace(_with(restore, failed, text), outcome=str(Phase.REFUSED))
    if text := facts.refused or facts.failing:
        new = step.state != StepState.FAILED or step.message != text
        ended = now if new else step.ended
        attempts = step.attempts + new
        failed = replace(step, state=StepState.FAILED, attempts=attempts, ended=ended, message=text)
        return _with(restore, failed, f"{step.step} failed, and is tried again: {text}")
    if facts.waiting:
        running = replace(step, state=StepState.RUNNING, ended=0.0, message=facts.waiting)
        return _with(restore, running, f"{step.step}: {facts.waiting}")
    done = replace(step, state=StepState.DONE, ended=now, message="")
    after = _with(restore, done, f"{step.step} is done")
    if step.step == Step.CHECK:
        after = replace(after, backup=facts.backup, databases=facts.databases)
    if step.step == Step.LOAD:
        after = replace(after, differences=facts.report.differences, note=facts.report.text)
    if after.current is None:
        skipped = after.state_of(Step.LOAD) == StepState.SKIPPED
        outcome = Phase.ABORTED if skipped else Phase.DONE
        note = f": {after.note}" if after.note else ""
        text = (
            "nothing was loaded; the services run again" if skipped else f"restored from {after.backup}{note}"
        )
        return replace(after, outcome=str(outcome), message=text)
    return after


def _with(restore: Restore, step: StepRecord, message: str) -> Restore:
    steps = tuple(step if one.step == step.step else one for one in restore.steps)
    return replace(restore, steps=steps, message=message)
