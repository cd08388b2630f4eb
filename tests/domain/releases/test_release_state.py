"""Every state a release can be in, and the one action that follows. docs/releases.md shows the same."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterator
from pathlib import Path

import pytest

from controller.domain.api.reasons import Reason
from controller.domain.releases.actions import Action, NextAction
from controller.domain.releases.attempt import Attempt
from controller.domain.releases.drift.difference import Change, Drift, Drifted, ObjectId
from controller.domain.releases.gates import Gate
from controller.domain.releases.next_action import ACTION_OF, decide
from controller.domain.releases.release_state import ReleaseState, release_state
from controller.domain.releases.requests import Requests, label_of, marks_in
from controller.domain.releases.situation import OpenHook, Recorded, ReleaseSituation

NOW = 1_000_000.0
WANTED = "aaaa"


def recorded(
    status: str = "deployed", digest: str = WANTED, *, ours: bool = True, **more: object
) -> Recorded:
    deployed = status == "deployed"
    usable = frozenset({1, 2, 3} if deployed else {1, 2})
    base = Recorded(3, status, digest, ours, usable=usable)
    return dataclasses.replace(base, **more)


def failed_attempt(
    failures: int = 1,
    digest: str = WANTED,
    age: float = 0,
    action: str = "Upgrade",
    *,
    lacks_right: bool = False,
) -> Attempt:
    return Attempt(action, digest, NOW - age, failures, lacks_right=lacks_right)


# Of an hour ago: no pause is left of it.
LOST = dataclasses.replace(failed_attempt(age=3600), interrupted=True)
MISSING = NextAction(Action.WAIT, Reason.SECRET_MISSING, "Secret keys is missing", again_after=2.0)
AWAY = NextAction(Action.WAIT, Reason.REPOSITORY_UNAVAILABLE, "no answer", again_after=15.0)
FORCED = Requests(force="now")
BACK = Requests(rollback="2 now")
BACK_ASKED = marks_in([label_of(BACK.rollback)])


def rolled_back(**more: object) -> Recorded:
    """Revision 3, a rollback to revision 2 that was requested while WANTED was desired."""
    known = {"asked": BACK_ASKED, "rolled_back_to": 2, "desired_at_rollback": WANTED, **more}
    return recorded(digest="bbbb", **known)


def at(desired: str | None = WANTED, there: Recorded | None = None, **more: object) -> ReleaseSituation:
    return dataclasses.replace(
        ReleaseSituation(desired=desired, recorded=there, attempt=None, now=NOW, jitter=0.5), **more
    )


def drifted(corrections: int = 0, corrected: float = 0.0, *, fresh: bool = False) -> Drift:
    one = Drifted(ObjectId("apps/v1", "Deployment", "openstack", "web"), Change.EDITED, ("/spec/replicas",))
    return Drift((one,), corrections, corrected, ("someone",), fresh)


TAKEN = dataclasses.replace(failed_attempt(action="Install"), taken=True)

TABLE = {
    "desired, not installed": (at(), ReleaseState.ABSENT, Action.INSTALL, Reason.NOT_INSTALLED),
    "desired, not installed, a dependency is not deployed": (
        at(unmet=("mariadb",)),
        ReleaseState.ABSENT,
        Action.WAIT,
        Reason.WAITING_FOR_DEPENDENCY,
    ),
    "first install failed a moment ago, nothing recorded": (
        at(attempt=failed_attempt(action="Install")),
        ReleaseState.ABSENT,
        Action.WAIT,
        Reason.BACKING_OFF,
    ),
    "first install failed a moment ago, a right is missing": (
        at(attempt=failed_attempt(action="Install", lacks_right=True)),
        ReleaseState.ABSENT,
        Action.WAIT,
        Reason.RIGHT_MISSING,
    ),
    "desired, installed by others who have not handed it over": (
        at(there=recorded(ours=False), owner="was not created by this controller"),
        ReleaseState.OUT_OF_SYNC,
        Action.WAIT,
        Reason.RELEASE_NAME_TAKEN,
    ),
    "refused a moment ago, objects of its names belong to others": (
        at(attempt=TAKEN),
        ReleaseState.ABSENT,
        Action.WAIT,
        Reason.OBJECT_NAME_TAKEN,
    ),
    "deployed as desired": (at(there=recorded()), ReleaseState.IN_SYNC, Action.NOTHING, Reason.IN_SYNC),
    "deployed as desired, others have changed objects of it": (
        at(there=recorded(), drift=drifted()),
        ReleaseState.DRIFTED,
        Action.CORRECT,
        Reason.DRIFTED,
    ),
    "deployed as desired, others have changed objects of it, `drift: Warn`": (
        at(there=recorded(), drift=drifted(), drift_mode="Warn"),
        ReleaseState.DRIFTED,
        Action.NOTHING,
        Reason.DRIFTED,
    ),
    "deployed as desired, others change objects of it again and again": (
        at(there=recorded(), drift=drifted(corrections=3, corrected=NOW)),
        ReleaseState.DRIFTED,
        Action.WAIT,
        Reason.DRIFT_RECURS,
    ),
    "deployed as desired, others change objects of it again and again, the pause is over": (
        at(there=recorded(), drift=drifted(corrections=3, corrected=NOW - 300)),
        ReleaseState.DRIFTED,
        Action.CORRECT,
        Reason.DRIFTED,
    ),
    "deployed as desired, objects could not be corrected a moment ago": (
        at(there=recorded(), drift=drifted(), attempt=failed_attempt(digest="", action="Correct")),
        ReleaseState.DRIFTED,
        Action.WAIT,
        Reason.BACKING_OFF,
    ),
    "deployed as desired, objects could not be corrected a moment ago, others were changed since": (
        at(there=recorded(), drift=drifted(fresh=True), attempt=failed_attempt(digest="", action="Correct")),
        ReleaseState.DRIFTED,
        Action.CORRECT,
        Reason.DRIFTED,
    ),
    "deployed as desired, its record cannot be read": (
        at(there=recorded(), drift=Drift(error="Helm's record cannot be read")),
        ReleaseState.UNREADABLE,
        Action.NOTHING,
        Reason.RECORD_UNREADABLE,
    ),
    "deployed, desired otherwise, others have changed objects of it": (
        at(there=recorded(digest="bbbb"), drift=drifted()),
        ReleaseState.OUT_OF_SYNC,
        Action.UPGRADE,
        Reason.SPEC_CHANGED,
    ),
    "rolled back as requested, others have changed objects of it": (
        at(there=rolled_back(), requests=BACK, drift=drifted()),
        ReleaseState.DRIFTED,
        Action.CORRECT,
        Reason.DRIFTED,
    ),
    "the newest record was deleted by hand": (
        at(there=recorded("superseded")),
        ReleaseState.OUT_OF_SYNC,
        Action.UPGRADE,
        Reason.RECORD_MISSING,
    ),
    "deployed, desired otherwise": (
        at(there=recorded(digest="bbbb")),
        ReleaseState.OUT_OF_SYNC,
        Action.UPGRADE,
        Reason.SPEC_CHANGED,
    ),
    "deployed as desired, an upgrade is requested": (
        at(there=recorded(), requests=FORCED),
        ReleaseState.UPGRADE_REQUESTED,
        Action.UPGRADE,
        Reason.FORCED,
    ),
    "deployed as desired, the requested upgrade was made": (
        at(there=recorded(forced=marks_in([label_of("now")])), requests=FORCED),
        ReleaseState.IN_SYNC,
        Action.NOTHING,
        Reason.IN_SYNC,
    ),
    "deployed as desired, the requested upgrade failed a moment ago": (
        at(there=recorded(), requests=FORCED, attempt=Attempt("Upgrade", WANTED, NOW, 1, FORCED)),
        ReleaseState.UPGRADE_REQUESTED,
        Action.WAIT,
        Reason.BACKING_OFF,
    ),
    "an upgrade failed, at a time that is in the future because a clock was wrong": (
        at(there=recorded("failed"), attempt=failed_attempt(failures=3, age=-800 * 86400)),
        ReleaseState.FAILED,
        Action.UPGRADE,
        Reason.RETRYING,
    ),
    "objects were corrected again and again, at times that are in the future because a clock was wrong": (
        at(there=recorded(), drift=drifted(9, NOW + 800 * 86400)),
        ReleaseState.DRIFTED,
        Action.CORRECT,
        Reason.DRIFTED,
    ),
    "an interrupted upgrade has left a Job, with a time far in the future because a clock was wrong": (
        at(
            there=recorded("failed"),
            attempt=LOST,
            open_hook=OpenHook("db-sync", NOW + 800 * 86400, 600.0),
        ),
        ReleaseState.FAILED,
        Action.UPGRADE,
        Reason.RETRYING,
    ),
    "a rollback is requested": (
        at(there=recorded(), requests=BACK),
        ReleaseState.ROLLBACK_REQUESTED,
        Action.ROLLBACK,
        Reason.ROLLBACK_REQUESTED,
    ),
    "a rollback is requested, an upgrade failed a moment ago": (
        at(there=recorded("failed"), requests=BACK, attempt=failed_attempt()),
        ReleaseState.ROLLBACK_REQUESTED,
        Action.ROLLBACK,
        Reason.ROLLBACK_REQUESTED,
    ),
    "a rollback is requested, that rollback failed a moment ago": (
        at(there=recorded("failed"), requests=BACK, attempt=Attempt("Rollback", WANTED, NOW, 1, BACK)),
        ReleaseState.ROLLBACK_REQUESTED,
        Action.WAIT,
        Reason.BACKING_OFF,
    ),
    "rolled back, interrupted before the note": (
        at(there=recorded(ours=False, copied_from=frozenset({2}), usable=frozenset({3})), requests=BACK),
        ReleaseState.ROLLBACK_REQUESTED,
        Action.ROLLBACK,
        Reason.ROLLBACK_REQUESTED,
    ),
    "rolled back as requested": (
        at(there=rolled_back(), requests=BACK),
        ReleaseState.ROLLED_BACK,
        Action.NOTHING,
        Reason.ROLLED_BACK,
    ),
    "rolled back, the spec was edited since": (
        at("cccc", rolled_back(), requests=BACK),
        ReleaseState.OUT_OF_SYNC,
        Action.UPGRADE,
        Reason.SPEC_CHANGED,
    ),
    "rolled back, then upgraded to an edited spec": (
        at(there=recorded(asked=BACK_ASKED), requests=BACK),
        ReleaseState.IN_SYNC,
        Action.NOTHING,
        Reason.IN_SYNC,
    ),
    "rolled back, and no longer requested": (
        at(there=rolled_back()),
        ReleaseState.OUT_OF_SYNC,
        Action.UPGRADE,
        Reason.SPEC_CHANGED,
    ),
    "rolled back, an upgrade is requested": (
        at(there=rolled_back(), requests=dataclasses.replace(BACK, force="now")),
        ReleaseState.UPGRADE_REQUESTED,
        Action.UPGRADE,
        Reason.FORCED,
    ),
    "a rollback is requested to a revision whose accounts others have replaced": (
        at(there=recorded(), requests=BACK, replaced=lambda revision: f"revision {revision} has others"),
        ReleaseState.ROLLBACK_IMPOSSIBLE,
        Action.NOTHING,
        Reason.ROLLBACK_IMPOSSIBLE,
    ),
    "a rollback is requested to a revision that is not there": (
        at(there=recorded(), requests=Requests(rollback="9")),
        ReleaseState.ROLLBACK_IMPOSSIBLE,
        Action.NOTHING,
        Reason.ROLLBACK_IMPOSSIBLE,
    ),
    "rolled back, another rollback is requested to a revision that is not there": (
        at(there=rolled_back(), requests=Requests(rollback="9")),
        ReleaseState.ROLLBACK_IMPOSSIBLE,
        Action.NOTHING,
        Reason.ROLLBACK_IMPOSSIBLE,
    ),
    "newest revision by a manual helm upgrade": (
        at(there=recorded(ours=False)),
        ReleaseState.OUT_OF_SYNC,
        Action.UPGRADE,
        Reason.FOREIGN_CHANGE,
    ),
    "last revision failed long ago": (
        at(there=recorded("failed"), attempt=failed_attempt(age=3600)),
        ReleaseState.FAILED,
        Action.UPGRADE,
        Reason.RETRYING,
    ),
    "last revision failed a moment ago": (
        at(there=recorded("failed"), attempt=failed_attempt()),
        ReleaseState.FAILED,
        Action.WAIT,
        Reason.BACKING_OFF,
    ),
    "last revision failed a moment ago, another try is requested": (
        at(there=recorded("failed"), attempt=failed_attempt(), requests=Requests(reconcile="now")),
        ReleaseState.FAILED,
        Action.UPGRADE,
        Reason.RETRYING,
    ),
    "last revision failed a moment ago, at a requested try": (
        at(
            there=recorded("failed"),
            attempt=Attempt("Upgrade", WANTED, NOW, 1, Requests(reconcile="now")),
            requests=Requests(reconcile="now"),
        ),
        ReleaseState.FAILED,
        Action.WAIT,
        Reason.BACKING_OFF,
    ),
    "last revision failed a moment ago, the spec was edited since": (
        at(there=recorded("failed", digest="bbbb"), attempt=failed_attempt(digest="bbbb")),
        ReleaseState.FAILED,
        Action.UPGRADE,
        Reason.RETRYING,
    ),
    "last revision failed, its writer recorded no attempt": (
        at(there=recorded("failed")),
        ReleaseState.FAILED,
        Action.UPGRADE,
        Reason.RETRYING,
    ),
    "last revision failed because a request was lost, its hook still runs": (
        at(there=recorded("failed"), attempt=LOST, open_hook=OpenHook("db-sync", NOW + 60)),
        ReleaseState.FAILED,
        Action.WAIT,
        Reason.BACKING_OFF,
    ),
    "last revision failed because a request was lost, its hook still runs after its timeout": (
        at(there=recorded("failed"), attempt=LOST, open_hook=OpenHook("db-sync", NOW)),
        ReleaseState.FAILED,
        Action.UPGRADE,
        Reason.RETRYING,
    ),
    "last revision failed because a request was lost, its hook still runs, another try is requested": (
        at(
            there=recorded("failed"),
            attempt=LOST,
            open_hook=OpenHook("db-sync", NOW + 60),
            requests=Requests(reconcile="now"),
        ),
        ReleaseState.FAILED,
        Action.UPGRADE,
        Reason.RETRYING,
    ),
    "last revision failed because a request was lost, its hook still runs, the spec was edited since": (
        at("cccc", recorded("failed"), attempt=LOST, open_hook=OpenHook("db-sync", NOW + 60)),
        ReleaseState.FAILED,
        Action.UPGRADE,
        Reason.RETRYING,
    ),
    "unlocked a moment ago": (
        at(there=recorded("failed"), attempt=failed_attempt(action="Unlock")),
        ReleaseState.FAILED,
        Action.UPGRADE,
        Reason.RETRYING,
    ),
    "unlocked a moment ago, not for the first time in a row": (
        at(there=recorded("failed"), attempt=failed_attempt(2, action="Unlock")),
        ReleaseState.FAILED,
        Action.WAIT,
        Reason.BACKING_OFF,
    ),
    "pending, ours: the writer is dead": (
        at(there=recorded("pending-upgrade")),
        ReleaseState.LOCKED,
        Action.UNLOCK,
        Reason.UNLOCKING,
    ),
    "pending first install, ours": (
        at(there=recorded("pending-install")),
        ReleaseState.LOCKED,
        Action.UNLOCK,
        Reason.UNLOCKING,
    ),
    "pending rollback, ours": (
        at(there=recorded("pending-rollback")),
        ReleaseState.LOCKED,
        Action.UNLOCK,
        Reason.UNLOCKING,
    ),
    "pending rollback that was requested": (
        at(
            there=recorded("pending-rollback", ours=False, copied_from=frozenset({2})),
            requests=BACK,
        ),
        ReleaseState.LOCKED,
        Action.UNLOCK,
        Reason.UNLOCKING,
    ),
    "pending rollback of another Helm": (
        at(there=recorded("pending-rollback", ours=False, copied_from=frozenset({2}))),
        ReleaseState.IN_PROGRESS,
        Action.WAIT,
        Reason.BUSY_ELSEWHERE,
    ),
    "pending, ours, cut off a moment after it was unlocked": (
        at(there=recorded("pending-upgrade"), attempt=failed_attempt(action="Unlock")),
        ReleaseState.LOCKED,
        Action.UNLOCK,
        Reason.UNLOCKING,
    ),
    "pending, ours, cut off a moment after it was unlocked, not for the first time": (
        at(there=recorded("pending-upgrade"), attempt=failed_attempt(2, action="Unlock")),
        ReleaseState.LOCKED,
        Action.WAIT,
        Reason.BACKING_OFF,
    ),
    "pending, another Helm": (
        at(there=recorded("pending-upgrade", ours=False)),
        ReleaseState.IN_PROGRESS,
        Action.WAIT,
        Reason.BUSY_ELSEWHERE,
    ),
    "pending, another Helm, aged out": (
        at(there=recorded("pending-upgrade", ours=False), unchanged_for=1801),
        ReleaseState.LOCKED,
        Action.UNLOCK,
        Reason.UNLOCKING,
    ),
    "half uninstalled, desired again": (
        at(there=recorded("uninstalling", removing=True)),
        ReleaseState.HALF_UNINSTALLED,
        Action.UNINSTALL,
        Reason.RETRYING,
    ),
    "being uninstalled by another Helm": (
        at(there=recorded("uninstalling")),
        ReleaseState.IN_PROGRESS,
        Action.WAIT,
        Reason.BUSY_ELSEWHERE,
    ),
    "half uninstalled by another Helm, aged out": (
        at(there=recorded("uninstalling"), unchanged_for=1801),
        ReleaseState.HALF_UNINSTALLED,
        Action.UNINSTALL,
        Reason.RETRYING,
    ),
    "uninstalled with its history kept, desired again": (
        at(there=recorded("uninstalled")),
        ReleaseState.HALF_UNINSTALLED,
        Action.UNINSTALL,
        Reason.RETRYING,
    ),
    "desired, not installed, a Secret is missing": (
        at("", obstacle=MISSING),
        ReleaseState.ABSENT,
        Action.WAIT,
        Reason.SECRET_MISSING,
    ),
    "deployed, a Secret is missing": (
        at("", recorded(), obstacle=MISSING),
        ReleaseState.OUT_OF_SYNC,
        Action.WAIT,
        Reason.SECRET_MISSING,
    ),
    "deployed, a Secret is missing, others have changed objects of it": (
        at("", recorded(), obstacle=MISSING, drift=drifted()),
        ReleaseState.DRIFTED,
        Action.CORRECT,
        Reason.DRIFTED,
    ),
    "deployed, a Secret is missing, an upgrade is requested": (
        at("", recorded(), obstacle=MISSING, requests=FORCED),
        ReleaseState.UPGRADE_REQUESTED,
        Action.WAIT,
        Reason.SECRET_MISSING,
    ),
    "deployed, a Secret is missing, a rollback is requested": (
        at("", recorded(), obstacle=MISSING, requests=BACK),
        ReleaseState.ROLLBACK_REQUESTED,
        Action.ROLLBACK,
        Reason.ROLLBACK_REQUESTED,
    ),
    "rolled back while a Secret was missing": (
        at("", rolled_back(desired_at_rollback=""), obstacle=MISSING, requests=BACK),
        ReleaseState.ROLLED_BACK,
        Action.NOTHING,
        Reason.ROLLED_BACK,
    ),
    "rolled back while a Secret was missing, which is there again": (
        at(there=rolled_back(desired_at_rollback=""), requests=BACK),
        ReleaseState.ROLLED_BACK,
        Action.NOTHING,
        Reason.ROLLED_BACK,
    ),
    "last revision failed, a Secret is missing": (
        at("", recorded("failed"), obstacle=MISSING),
        ReleaseState.FAILED,
        Action.WAIT,
        Reason.SECRET_MISSING,
    ),
    "pending, ours, a Secret is missing": (
        at("", recorded("pending-upgrade"), obstacle=MISSING),
        ReleaseState.LOCKED,
        Action.UNLOCK,
        Reason.UNLOCKING,
    ),
    "half uninstalled, desired again, a Secret is missing": (
        at("", recorded("uninstalling", removing=True), obstacle=MISSING),
        ReleaseState.HALF_UNINSTALLED,
        Action.UNINSTALL,
        Reason.RETRYING,
    ),
    "deployed as desired, its repository is unavailable": (
        at(there=recorded(), obstacle=AWAY),
        ReleaseState.IN_SYNC,
        Action.NOTHING,
        Reason.IN_SYNC,
    ),
    "suspended": (
        at(there=recorded(digest="bbbb"), suspended="its spec"),
        ReleaseState.OUT_OF_SYNC,
        Action.NOTHING,
        Reason.SUSPENDED,
    ),
    "no longer desired": (
        at(None, recorded()),
        ReleaseState.UNWANTED,
        Action.UNINSTALL,
        Reason.NO_LONGER_WANTED,
    ),
    "no longer desired, pending of a dead writer": (
        at(None, recorded("pending-install")),
        ReleaseState.UNWANTED,
        Action.UNINSTALL,
        Reason.NO_LONGER_WANTED,
    ),
    "no longer desired, pending, another Helm": (
        at(None, recorded("pending-upgrade", ours=False)),
        ReleaseState.IN_PROGRESS,
        Action.WAIT,
        Reason.BUSY_ELSEWHERE,
    ),
    "no longer desired, pending, another Helm, aged out": (
        at(None, recorded("pending-upgrade", ours=False), unchanged_for=1801),
        ReleaseState.UNWANTED,
        Action.UNINSTALL,
        Reason.NO_LONGER_WANTED,
    ),
    "no longer desired, being uninstalled by another Helm": (
        at(None, recorded("uninstalling")),
        ReleaseState.IN_PROGRESS,
        Action.WAIT,
        Reason.BUSY_ELSEWHERE,
    ),
    "no longer desired, half uninstalled": (
        at(None, recorded("uninstalling", removing=True)),
        ReleaseState.UNWANTED,
        Action.UNINSTALL,
        Reason.NO_LONGER_WANTED,
    ),
    "no longer desired, half uninstalled by another Helm, aged out": (
        at(None, recorded("uninstalling"), unchanged_for=1801),
        ReleaseState.UNWANTED,
        Action.UNINSTALL,
        Reason.NO_LONGER_WANTED,
    ),
    "no longer desired, objects could not be corrected a moment ago": (
        at(None, recorded(), attempt=failed_attempt(digest="", action="Correct")),
        ReleaseState.UNWANTED,
        Action.UNINSTALL,
        Reason.NO_LONGER_WANTED,
    ),
    "no longer desired, others depend on it": (
        at(None, recorded(), dependents=("nova",)),
        ReleaseState.UNWANTED,
        Action.WAIT,
        Reason.WAITING_FOR_DEPENDENTS,
    ),
    "no longer desired, uninstall failed a moment ago": (
        at(
            None,
            recorded("uninstalling", removing=True),
            attempt=failed_attempt(digest="", action="Uninstall"),
        ),
        ReleaseState.UNWANTED,
        Action.WAIT,
        Reason.BACKING_OFF,
    ),
    "no longer desired, gone": (at(None), ReleaseState.GONE, Action.NOTHING, Reason.GONE),
}


@pytest.mark.parametrize(("interrupted", "pause"), [(True, 60), (False, 300)])
def test_the_api_server_is_forgiven_sooner_than_a_release(interrupted: bool, pause: float) -> None:
    last = dataclasses.replace(failed_attempt(failures=20), interrupted=interrupted)
    assert decide(at(attempt=last, jitter=1.0)).again_after == pause
    assert decide(dataclasses.replace(at(attempt=last, jitter=1.0), retry_cap=30)).again_after == 30


def test_objects_of_others_are_looked_at_again_within_half_a_minute() -> None:
    last = dataclasses.replace(failed_attempt(failures=20), taken=True)
    assert decide(at(attempt=last, jitter=1.0)).again_after == 30


@pytest.mark.parametrize(("situation", "state", "action", "reason"), TABLE.values(), ids=TABLE.keys())
def test_each_situation_is_one_state_and_has_one_next_action(
    situation: ReleaseSituation, state: ReleaseState, action: Action, reason: Reason
) -> None:
    decision = decide(situation)
    assert release_state(situation).state == state
    assert (decision.action, decision.reason) == (action, reason)


@pytest.mark.slow
def test_the_action_is_that_of_the_state_unless_it_is_held_back() -> None:
    tabled = {state for _, state, _, _ in TABLE.values()}
    assert tabled == set(ReleaseState)
    for situation in every_situation():
        asked_for = ACTION_OF[release_state(situation).state]
        assert decide(situation).action in (asked_for, Action.WAIT, Action.NOTHING)


# By gate: what holds back an action there, and the reason that is then reported.
HELD = {
    Gate.SUSPENSION: (at(suspended="its spec"), Reason.SUSPENDED),
    Gate.OWNER: (at(there=recorded(), owner="other"), Reason.RELEASE_NAME_TAKEN),
    Gate.DEPENDENTS: (at(None, recorded(), dependents=("nova",)), Reason.WAITING_FOR_DEPENDENTS),
    Gate.CHART_AND_VALUES: (at("", obstacle=MISSING), Reason.SECRET_MISSING),
    Gate.DEPENDENCIES: (at(unmet=("mariadb",)), Reason.WAITING_FOR_DEPENDENCY),
    Gate.DRIFT_MODE: (at(there=recorded(), drift=drifted(), drift_mode="Warn"), Reason.DRIFTED),
    Gate.RECURRING_DRIFT: (at(there=recorded(), drift=drifted(3, NOW)), Reason.DRIFT_RECURS),
    Gate.RUNNING_HOOK: (
        at(there=recorded("failed"), attempt=LOST, open_hook=OpenHook("db-sync", NOW + 9)),
        Reason.BACKING_OFF,
    ),
    Gate.BACKOFF: (at(attempt=failed_attempt()), Reason.BACKING_OFF),
    Gate.PLAN: (at(planning=True), Reason.PLAN_PENDING),
    Gate.SIZE: (at(too_large=lambda: "2 MiB"), Reason.RELEASE_TOO_LARGE),
}
# Asked when the action begins.
AT_THE_BEGINNING = {Gate.SLOT, Gate.OBJECT_OWNER, Gate.IMMUTABLE_FIELDS}


def test_each_gate_holds_back_an_action_and_says_why() -> None:
    assert set(HELD) | AT_THE_BEGINNING == set(Gate)
    assert {gate: decide(situation).reason for gate, (situation, _) in HELD.items()} == {
        gate: reason for gate, (_, reason) in HELD.items()
    }
    assert all(decide(situation).action in (Action.WAIT, Action.NOTHING) for situation, _ in HELD.values())


def test_of_two_gates_the_first_one_says_why() -> None:
    everything = at(
        there=recorded("failed", "bbbb"),
        suspended="its spec",
        owner="other",
        obstacle=MISSING,
        unmet=("mariadb",),
        attempt=LOST,
        open_hook=OpenHook("db-sync", NOW + 9),
        planning=True,
        too_large=lambda: "2 MiB",
    )
    free = [
        {},
        {"suspended": ""},
        {"owner": ""},
        {"obstacle": None},
        {"unmet": ()},
        {"open_hook": None, "attempt": failed_attempt()},
        {"attempt": None},
        {"planning": False},
        {"too_large": str},
    ]
    reported, situation = [], everything
    for step in free:
        situation = dataclasses.replace(situation, **step)
        reported.append(decide(situation).reason)
    assert reported == [
        Reason.SUSPENDED,
        Reason.RELEASE_NAME_TAKEN,
        Reason.SECRET_MISSING,
        Reason.WAITING_FOR_DEPENDENCY,
        Reason.BACKING_OFF,
        Reason.BACKING_OFF,
        Reason.PLAN_PENDING,
        Reason.RELEASE_TOO_LARGE,
        Reason.RETRYING,
    ]


@pytest.mark.slow
def test_the_size_is_asked_for_only_when_nothing_else_holds_the_action_back() -> None:
    asked: list[str] = []
    for situation in every_situation():
        asked.clear()
        decision = decide(dataclasses.replace(situation, too_large=lambda: asked.append("size") or ""))
        assert bool(asked) == (decision.action in (Action.INSTALL, Action.UPGRADE))


@pytest.mark.parametrize(
    ("situation", "reason"),
    [
        (at(there=recorded(digest="bbbb")), Reason.PLAN_PENDING),
        (at(None, recorded()), Reason.PLAN_PENDING),
        (at(there=recorded("failed")), Reason.RETRYING),
        (at(None, recorded("uninstalling", removing=True)), Reason.NO_LONGER_WANTED),
        (at(there=recorded("pending-upgrade")), Reason.UNLOCKING),
        (at(there=recorded(), drift=drifted()), Reason.DRIFTED),
        (at(there=recorded(), requests=FORCED), Reason.FORCED),
        (at(there=recorded(), requests=BACK), Reason.ROLLBACK_REQUESTED),
    ],
)
def test_a_plan_lets_only_what_has_begun_or_is_asked_for_by_name(
    situation: ReleaseSituation, reason: Reason
) -> None:
    assert decide(dataclasses.replace(situation, planning=True)).reason == reason


def every_situation() -> Iterator[ReleaseSituation]:
    """All states of the parts that a decision depends on, with each other."""
    statuses = (
        *("deployed", "failed", "superseded", "pending-upgrade", "pending-rollback", "uninstalling"),
        "uninstalled",
    )
    found = [None, rolled_back(), rolled_back(desired_at_rollback="bbbb")]
    found += [recorded("uninstalling", removing=True)]
    found += [
        recorded(status, digest, ours=ours, copied_from=frozenset() if ours else frozenset({2}))
        for status in statuses
        for digest in (WANTED, "bbbb")
        for ours in (True, False)
    ]
    asked = [Requests(), FORCED, BACK, Requests(rollback="9"), Requests(reconcile="now")]
    attempts = [None, failed_attempt(), failed_attempt(age=3600), Attempt("Rollback", WANTED, NOW, 1, BACK)]
    attempts.append(failed_attempt(lacks_right=True))
    for desired, there, requests, attempt in itertools.product((WANTED, None), found, asked, attempts):
        for suspended, unmet in itertools.product(("", "its spec"), ((), ("mariadb",))):
            yield at(desired, there, requests=requests, attempt=attempt, suspended=suspended, unmet=unmet)
        if desired is not None:
            yield at("", there, requests=requests, attempt=attempt, obstacle=MISSING)
            yield at(desired, there, requests=requests, attempt=attempt, obstacle=AWAY)
    drifts = (drifted(), drifted(3, NOW), drifted(3, NOW - 3600), Drift(error="unreadable"))
    attempts += [failed_attempt(digest="", action="Correct")]
    for there, requests, attempt, drift in itertools.product(found, asked, attempts, drifts):
        for mode in ("Correct", "Warn"):
            yield at(there=there, requests=requests, attempt=attempt, drift=drift, drift_mode=mode)


@pytest.mark.slow
def test_no_state_is_without_an_answer_and_none_breaks_a_promise() -> None:
    seen = set()
    for situation in every_situation():
        decision = decide(situation)
        seen.add((decision.action, decision.reason))
        if situation.suspended:
            assert decision.action == Action.NOTHING
        if decision.action == Action.ROLLBACK:
            assert situation.requests == BACK, "a rollback is made only where one is requested"
        if decision.action in (Action.INSTALL, Action.UPGRADE) and situation.unmet:
            assert decision.reason == Reason.FORCED, "only an operator is served before a dependency"
        if decision.action in (Action.INSTALL, Action.UPGRADE):
            assert situation.obstacle is None, "nothing is made without its chart and values"
        if situation.recorded and situation.recorded.status == "uninstalling" and not situation.suspended:
            at_work = decision.reason == Reason.BUSY_ELSEWHERE
            assert at_work != situation.recorded.removing, "another Helm at work is left alone"
        if decision.action == Action.UNINSTALL and situation.desired is not None:
            assert situation.recorded is not None and situation.recorded.status.startswith("uninstall")
        if decision.action == Action.CORRECT:
            assert situation.recorded is not None and situation.recorded.status == "deployed"
            assert situation.drift_mode == "Correct"
        if decision.action == Action.UNLOCK:
            assert situation.recorded is not None and situation.recorded.status.startswith("pending-")
    assert seen >= {(action, reason) for _, _, action, reason in TABLE.values()} - {
        (Action.WAIT, Reason.WAITING_FOR_DEPENDENTS),
        (Action.WAIT, Reason.RELEASE_NAME_TAKEN),
        (Action.WAIT, Reason.OBJECT_NAME_TAKEN),
    }


def test_every_wait_that_no_event_ends_says_when_to_look_again() -> None:
    timed = {Reason.BACKING_OFF, Reason.RIGHT_MISSING, Reason.BUSY_ELSEWHERE, Reason.DRIFT_RECURS}
    waits = [decide(situation) for situation, _, _, reason in TABLE.values() if reason in timed]
    assert waits
    assert all(wait.again_after is not None and wait.again_after > 0 for wait in waits)


@pytest.mark.parametrize("cap", [60.0, 300.0])
def test_failures_in_a_row_wait_longer_each_time_up_to_a_cap(cap: float) -> None:
    pauses = [
        decide(
            at(there=recorded("failed"), attempt=failed_attempt(failures), retry_cap=cap),
        ).again_after
        or 0
        for failures in range(1, 12)
    ]
    assert pauses == sorted(pauses)
    assert pauses[0] < 5
    assert cap / 2 <= pauses[-1] <= cap


def test_for_want_of_a_right_every_pause_is_a_minute() -> None:
    attempts = [failed_attempt(failures, lacks_right=True) for failures in (1, 2, 9)]
    pauses = [decide(at(there=recorded("failed"), attempt=attempt)).again_after for attempt in attempts]
    assert pauses == [60.0, 60.0, 60.0]


def test_a_backoff_message_does_not_change_while_it_waits() -> None:
    attempt = failed_attempt(4)
    first = decide(at(there=recorded("failed"), attempt=attempt))
    later = decide(dataclasses.replace(at(there=recorded("failed"), attempt=attempt), now=NOW + 7))
    assert isinstance(first, NextAction)
    assert first.message == later.message


def documented(beginning: str) -> list[list[str]]:
    """The cells of the table of docs/releases.md whose head begins so."""
    page = (Path(__file__).parents[3] / "docs" / "releases.md").read_text(encoding="utf-8")
    table = page.partition(f"\n| {beginning} |")[2].partition("\n\n")[0]
    rows = [line for line in table.splitlines()[2:] if line.startswith("| ")]
    return [[cell.strip() for cell in row.strip("|").split("|")] for row in rows]


def test_the_documented_table_is_the_one_tested() -> None:
    assert documented("What is found") == [
        [name, state, action, f"`{reason}`"] for name, (_, state, action, reason) in TABLE.items()
    ]


def test_the_documented_states_are_those_of_the_code() -> None:
    shown = [(state, action) for state, _, action in documented("State")]
    assert shown == [(state, ACTION_OF[state]) for state in ReleaseState]


def test_the_documented_gates_are_those_of_the_code_in_their_order() -> None:
    shown = {gate: reason for gate, _, reason in documented("Gate")}
    assert list(shown) == list(Gate)
    assert all(f"`{reason}`" in shown[gate] for gate, (_, reason) in HELD.items())
