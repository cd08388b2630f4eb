"""Every state a release can be in, and the one action that follows. docs/releases.md shows the same."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from controller.domain.reasons import Reason
from controller.domain.release_state import Action, Attempt, Decision, Recorded, Situation, decide

NOW = 1_000_000.0
WANTED = "aaaa"


def recorded(
    status: str = "deployed", digest: str = WANTED, *, ours: bool = True, age: float = 60
) -> Recorded:
    return Recorded(3, status, digest, ours, NOW - age, any_deployed=status == "deployed")


def failed_attempt(
    failures: int = 1, digest: str = WANTED, age: float = 0, action: str = "Upgrade"
) -> Attempt:
    return Attempt(action, digest, NOW - age, failures)


def at(wanted: str | None = WANTED, there: Recorded | None = None, **more: object) -> Situation:
    return dataclasses.replace(
        Situation(wanted=wanted, recorded=there, attempt=None, now=NOW, jitter=0.5), **more
    )


TABLE = {
    "wanted, not installed": (at(), Action.INSTALL, Reason.NOT_INSTALLED),
    "wanted, not installed, a dependency is not deployed": (
        at(unmet=("mariadb",)),
        Action.WAIT,
        Reason.WAITING_FOR_DEPENDENCY,
    ),
    "first install failed a moment ago, nothing recorded": (
        at(attempt=failed_attempt(action="Install")),
        Action.WAIT,
        Reason.BACKING_OFF,
    ),
    "deployed as wanted": (at(there=recorded()), Action.NOTHING, Reason.IN_SYNC),
    "deployed, wanted otherwise": (at(there=recorded(digest="bbbb")), Action.UPGRADE, Reason.SPEC_CHANGED),
    "deployed as wanted, an upgrade is asked for": (
        at(there=recorded(), force="now"),
        Action.UPGRADE,
        Reason.FORCED,
    ),
    "deployed as wanted, the upgrade asked for was made": (
        at(there=recorded(), force="now", attempt=Attempt("Upgrade", WANTED, NOW, 0, "now")),
        Action.NOTHING,
        Reason.IN_SYNC,
    ),
    "newest revision by someone's own helm upgrade": (
        at(there=recorded(ours=False)),
        Action.UPGRADE,
        Reason.FOREIGN_CHANGE,
    ),
    "last revision failed long ago": (
        at(there=recorded("failed"), attempt=failed_attempt(age=3600)),
        Action.UPGRADE,
        Reason.RETRYING,
    ),
    "last revision failed a moment ago": (
        at(there=recorded("failed"), attempt=failed_attempt()),
        Action.WAIT,
        Reason.BACKING_OFF,
    ),
    "last revision failed a moment ago, the spec was edited since": (
        at(there=recorded("failed", digest="bbbb"), attempt=failed_attempt(digest="bbbb")),
        Action.UPGRADE,
        Reason.RETRYING,
    ),
    "last revision failed, its writer left no attempt": (
        at(there=recorded("failed")),
        Action.UPGRADE,
        Reason.RETRYING,
    ),
    "pending, ours: the writer is dead": (
        at(there=recorded("pending-upgrade")),
        Action.UNLOCK,
        Reason.UNLOCKING,
    ),
    "pending first install, ours": (at(there=recorded("pending-install")), Action.UNLOCK, Reason.UNLOCKING),
    "pending rollback, ours": (at(there=recorded("pending-rollback")), Action.UNLOCK, Reason.UNLOCKING),
    "pending, ours, but unlocking failed a moment ago": (
        at(there=recorded("pending-upgrade"), attempt=failed_attempt(digest="", action="Unlock")),
        Action.WAIT,
        Reason.BACKING_OFF,
    ),
    "pending, someone else's Helm": (
        at(there=recorded("pending-upgrade", ours=False)),
        Action.WAIT,
        Reason.BUSY_ELSEWHERE,
    ),
    "pending, someone else's Helm, aged out": (
        at(there=recorded("pending-upgrade", ours=False, age=1801)),
        Action.UNLOCK,
        Reason.UNLOCKING,
    ),
    "half uninstalled, wanted again": (
        at(there=recorded("uninstalling")),
        Action.UNINSTALL,
        Reason.RETRYING,
    ),
    "uninstalled with its history kept, wanted again": (
        at(there=recorded("uninstalled")),
        Action.UNINSTALL,
        Reason.RETRYING,
    ),
    "suspended": (at(there=recorded(digest="bbbb"), suspended=True), Action.NOTHING, Reason.SUSPENDED),
    "no longer wanted": (at(None, recorded()), Action.UNINSTALL, Reason.NO_LONGER_WANTED),
    "no longer wanted, pending of a dead writer": (
        at(None, recorded("pending-install")),
        Action.UNINSTALL,
        Reason.NO_LONGER_WANTED,
    ),
    "no longer wanted, others depend on it": (
        at(None, recorded(), dependents=("nova",)),
        Action.WAIT,
        Reason.WAITING_FOR_DEPENDENTS,
    ),
    "no longer wanted, uninstall failed a moment ago": (
        at(None, recorded("uninstalling"), attempt=failed_attempt(digest="", action="Uninstall")),
        Action.WAIT,
        Reason.BACKING_OFF,
    ),
    "no longer wanted, gone": (at(None), Action.NOTHING, Reason.GONE),
}


@pytest.mark.parametrize(("situation", "action", "reason"), TABLE.values(), ids=TABLE.keys())
def test_each_state_has_one_next_action(situation: Situation, action: Action, reason: Reason) -> None:
    decision = decide(situation)
    assert (decision.action, decision.reason) == (action, reason)


def test_every_wait_that_no_event_ends_says_when_to_look_again() -> None:
    timed = {Reason.BACKING_OFF, Reason.BUSY_ELSEWHERE}
    waits = [decide(situation) for situation, _, reason in TABLE.values() if reason in timed]
    assert waits
    assert all(wait.again_after is not None and wait.again_after > 0 for wait in waits)


def test_failures_in_a_row_wait_longer_each_time_up_to_a_cap() -> None:
    pauses = [
        decide(at(there=recorded("failed"), attempt=failed_attempt(failures))).again_after or 0
        for failures in range(1, 12)
    ]
    assert pauses == sorted(pauses)
    assert pauses[0] < 5
    assert 150 <= pauses[-1] <= 300


def test_a_backoff_message_does_not_change_while_it_waits() -> None:
    attempt = failed_attempt(4)
    first = decide(at(there=recorded("failed"), attempt=attempt))
    later = decide(dataclasses.replace(at(there=recorded("failed"), attempt=attempt), now=NOW + 7))
    assert isinstance(first, Decision)
    assert first.message == later.message


def test_the_documented_table_is_the_one_tested() -> None:
    page = (Path(__file__).parents[2] / "docs" / "releases.md").read_text(encoding="utf-8")
    documented = [line for line in page.splitlines() if line.startswith("| ")][1:]
    tested = [f"| {name} | {action} | `{reason}` |" for name, (_, action, reason) in TABLE.items()]
    assert documented == tested
