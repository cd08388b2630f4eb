"""What a container knew of its last action is what the next one reads back of the status."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from controller.domain.releases.attempt import Attempt, parse_attempt
from controller.domain.releases.requests import Requests

PLAIN = Attempt("Install", "", 1_800_000_060.0, 0, started=1_800_000_000.0, duration=59.5)
WHOLE = replace(
    PLAIN,
    digest="d1",
    failures=3,
    requests=Requests(reconcile="now", force="f1", rollback="2 back"),
    unlocks=2,
    interrupted=True,
    lacks_right=True,
    taken=True,
    error="a hook failed",
)


@pytest.mark.parametrize("attempt", [PLAIN, WHOLE])
def test_a_restart_reads_back_what_was_written(attempt: Attempt) -> None:
    read = parse_attempt({"lastAttempt": attempt.entry(), "unlocks": attempt.unlocks})
    assert read == attempt
    assert read.entry() == attempt.entry()


def test_what_is_not_known_is_left_out() -> None:
    assert PLAIN.entry() == {
        "action": "Install",
        "time": "2027-01-15T08:00:00Z",
        "finished": "2027-01-15T08:01:00Z",
        "duration": "59.5s",
        "failures": 0,
    }


@pytest.mark.parametrize(
    "entry",
    [{}, {"lastAttempt": None}, {"lastAttempt": {"action": "Install"}}]
    + [{"lastAttempt": {**WHOLE.entry(), **wrong}} for wrong in ({"finished": "x"}, {"failures": "x"})],
)
def test_what_cannot_be_read_is_no_attempt(entry: dict[str, Any]) -> None:
    assert parse_attempt(entry) is None
