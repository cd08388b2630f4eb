"""status.backup: what is remembered, and what is said of it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from controller.domain.api.conditions import timestamp
from controller.domain.api.reasons import Reason
from controller.domain.backups.backup_record import BackupRecord, parse_record
from controller.domain.backups.backup_state import (
    BackupState,
    Outcome,
    Result,
    backup_condition,
    backup_in,
    judged,
    with_backup,
    with_due,
)

NOW = 1_795_658_400.0
DAY = 86400.0
ID = "20261126T020000Z-0a1b2c"
RECORD = BackupRecord(
    ID, timestamp(NOW), timestamp(NOW - 60), size=5_000_000, databases=9, tables=300, manifest="a" * 64
)
GOOD = Outcome("region-backup-1", timestamp(NOW), Result.SUCCEEDED, ID)
BAD = Outcome("region-backup-2", timestamp(NOW + DAY), Result.FAILED, message="container store: no space")


def condition(state: BackupState, now: float = NOW) -> tuple[str, Reason, str]:
    found = backup_condition(state, 3, now)
    return found.status, found.reason, found.message


def test_a_record_is_read_as_it_was_written() -> None:
    assert parse_record(RECORD.lines()) == RECORD
    warned = replace(RECORD, warning="older backups were not removed: locked")
    assert parse_record(warned.lines()) == warned


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Fatal: wrong password",
        f"id {ID}\n",
        f"id ../{ID}\nended {timestamp(NOW)}\n",
        f"id {ID}\nended today\n",
        f"id {ID}\nended {timestamp(NOW)}\nid {ID}\n",
        f"id {ID}\nended {timestamp(NOW)}\nbytes -5\n",
        f"id {ID}\nended {timestamp(NOW)}\nunknown 5\n",
        f"id {ID}\nended {timestamp(NOW)}\nwarning {'x' * 5000}\n",
    ],
)
def test_what_no_backup_writes_is_no_record(text: str) -> None:
    assert parse_record(text) is None


def test_the_status_is_remembered() -> None:
    state = with_due(with_backup(BackupState(), GOOD, RECORD), "0 2 * * *", 0.0)
    state = judged(replace(state, drill=Outcome("d", timestamp(NOW), Result.SUCCEEDED, ID)), NOW)
    found = backup_in({"backup": state.entry()})
    assert found is not None
    assert found == state
    assert found.entry() == state.entry()
    assert found.restorable is True
    assert backup_in({}) is None


def test_a_failed_backup_keeps_the_last_good_one() -> None:
    state = with_backup(with_backup(BackupState(), GOOD, RECORD), BAD, None)
    assert (state.last, state.last_good) == (BAD, RECORD)
    status, reason, text = condition(state)
    assert (status, reason) == ("False", Reason.BACKUP_FAILED)
    assert "no space" in text
    assert ID in text


def test_a_backup_is_overdue_after_twice_the_time_between_two() -> None:
    state = with_due(with_backup(BackupState(), GOOD, RECORD), "0 2 * * *", 0.0)
    assert state.due == timestamp(NOW + 2 * DAY)
    assert condition(state, NOW + 2 * DAY)[:2] == ("True", Reason.BACKUP_SUCCEEDED)
    assert condition(state, NOW + 2 * DAY + 1)[:2] == ("False", Reason.BACKUP_OVERDUE)
    weekly = with_due(with_backup(BackupState(), GOOD, RECORD), "0 2 * * 0", 0.0)
    assert weekly.due == timestamp(NOW + 14 * DAY)


def test_the_first_backup_is_due_as_well() -> None:
    state = with_due(BackupState(), "0 2 * * *", NOW)
    assert condition(state)[:2] == ("Unknown", Reason.BACKUP_AWAITED)
    assert condition(state, NOW + 3 * DAY)[:2] == ("False", Reason.BACKUP_OVERDUE)


def test_a_failed_drill_says_that_there_is_nothing_to_come_back_from() -> None:
    drill = Outcome("drill-1", timestamp(NOW), Result.FAILED, message="rows differ")
    state = replace(with_backup(BackupState(), GOOD, RECORD), drill=drill)
    status, reason, text = condition(state)
    assert (status, reason, state.entry()["restorable"]) == ("False", Reason.BACKUP_NOT_RESTORABLE, False)
    assert text == "the drill drill-1 could not restore the newest backup: rows differ"
    _, _, named = condition(replace(state, drill=replace(drill, id=ID)))
    assert f"could not restore backup {ID}: rows differ" in named


def test_what_lacks_is_said_beside_the_last_good_backup() -> None:
    state = replace(
        with_backup(BackupState(), GOOD, RECORD), obstacle='Secret "bucket" lacks AWS_ACCESS_KEY_ID'
    )
    status, reason, text = condition(state)
    assert (status, reason) == ("False", Reason.BACKUP_IMPOSSIBLE)
    assert "AWS_ACCESS_KEY_ID" in text
    assert ID in text


def test_a_status_of_another_form_does_not_break_it() -> None:
    assert backup_in({"backup": {"last": [], "lastGood": {"databases": "x"}, "drill": None}}) is not None
    assert backup_in({"backup": "x"}) is None
