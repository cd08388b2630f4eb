"""A restore is read from its status as it was written, and nothing that cannot be read begins again."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from controller.domain.restores.differences import Difference, ObjectDifference
from controller.domain.restores.restore_state import (
    LoadedDatabase,
    Phase,
    Restore,
    Step,
    StepRecord,
    StepState,
    restore_in,
)

BACKUP = "20261126T020000Z-0a1b2c"
WHOLE = Restore(
    steps=tuple(StepRecord(step, StepState.DONE, 100.0, 200.0, 1, "text") for step in Step),
    outcome=str(Phase.DONE),
    backup=BACKUP,
    databases=(LoadedDatabase("nova_cell0", "databases/nova_cell0.sql", "a" * 64),),
    message="restored",
    differences=(ObjectDifference(Difference.NOT_IN_BACKUP, "server", "id", "name", "cmp1"),),
    note="1 server not in the backup",
)


def test_the_status_of_a_restore_says_all_of_it() -> None:
    assert restore_in(WHOLE.entry()) == WHOLE
    assert restore_in(Restore().entry()) == Restore()
    assert restore_in({}) == Restore()


@pytest.mark.parametrize(
    "change",
    [
        {"phase": "Unheard"},
        {"steps": []},
        {"steps": "Check"},
        {"backup": "x; DROP"},
        {"databases": [{"name": "a`; DROP DATABASE b; --", "file": "f", "sha256": "a" * 64}]},
        {"databases": [{"name": "a", "file": "f", "sha256": "$(id)"}]},
        {"databases": [7]},
        {"differences": [{"what": "Unheard", "kind": "server", "id": "x"}]},
        {"differences": [7]},
    ],
)
def test_a_status_that_no_restore_has_written_is_refused(change: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"."):
        restore_in({**WHOLE.entry(), **change})


def test_a_region_is_held_from_the_passed_check_until_everything_is_loaded() -> None:
    held = []
    for done in range(len(Step) + 1):
        states = [StepState.DONE] * done + [StepState.PENDING] * (len(Step) - done)
        steps = tuple(StepRecord(step, state) for step, state in zip(Step, states, strict=True))
        held.append(replace(WHOLE, steps=steps, outcome="").holds)
    assert held == [False, True, True, True, False, False, False, False]
