"""What to do next with one Helm release: a pure function of what is wanted and what is there."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from controller.domain.api.conditions import timestamp
from controller.domain.api.reasons import Reason
from controller.domain.releases.bundle import DriftMode
from controller.domain.releases.drift import FIGHT_AFTER, NO_DRIFT, Drift
from controller.domain.releases.requests import NOTHING_ASKED, Requests, is_answered
from controller.domain.shared import backoff


class Action(StrEnum):
    """The next step for one release."""

    INSTALL = "Install"
    UPGRADE = "Upgrade"
    UNLOCK = "Unlock"
    CORRECT = "Correct"
    ROLLBACK = "Rollback"
    UNINSTALL = "Uninstall"
    WAIT = "Wait"
    NOTHING = "Nothing"


# The first pause, in seconds, before an object is corrected that others change again and again.
FIGHT_PAUSE = 15.0

# The longest pause, in seconds, after a failure that was none of the release's own.
INTERRUPTED_CAP = 60.0

# How often, in seconds, it is looked whether a hook has ended that no action waits for.
HOOK_CHECK_SECONDS = 5.0

# Actions that make a revision, for the sake of a digest.
MAKING = (Action.INSTALL, Action.UPGRADE, Action.ROLLBACK)


@dataclass(frozen=True)
class Recorded:
    """The newest revision in Helm's history, and whether any revision is deployed.

    `status` is Helm's word. `ours`: this very revision was made by us (its record says so).
    `modified` is in seconds since the epoch. `usable` are the revisions that can be gone back to;
    `copied_from` those that this one may be a rollback to, as its labels are theirs.

    `forced` and `asked` are the marks of the requests for an upgrade and for a rollback that were there
    when any of the revisions kept was made. `rolled_back_to` is the revision that this one went back to
    at our hands, 0 for none, and `held` the digest that was wanted then, empty if that was not known.
    `removing`: it is we who have begun to take the release apart.
    """

    version: int
    status: str
    digest: str
    ours: bool
    modified: float
    any_deployed: bool
    usable: frozenset[int] = frozenset()
    copied_from: frozenset[int] = frozenset()
    forced: frozenset[str] = frozenset()
    asked: frozenset[str] = frozenset()
    rolled_back_to: int = 0
    held: str = ""
    removing: bool = False


@dataclass(frozen=True)
class Attempt:
    """Our last action on the release. `failures` counts those in a row that ended badly for `digest`, again
    from the first of its own after interrupted ones: an Unlock tells of one that was cut off.

    `finished` is in seconds since the epoch. `requests` are those that were there when it began. `unlocks`
    is how often an action on the release was found cut off, this one included, since it was first installed.
    `interrupted`: the last of the failures was none of the release's own.
    """

    action: str
    digest: str
    finished: float
    failures: int
    requests: Requests = NOTHING_ASKED
    unlocks: int = 0
    interrupted: bool = False


@dataclass(frozen=True)
class OpenHook:
    """A hook's Job that an interrupted attempt has left at work, for what is wanted still. It is waited for
    `until` then, in seconds since the epoch."""

    name: str
    until: float


@dataclass(frozen=True)
class NextAction:
    """The next step, why, and in how many seconds to look again if nothing happens before.

    `waits_for` names the releases whose next change may change the decision.
    """

    action: Action
    reason: Reason
    message: str = ""
    again_after: float | None = None
    waits_for: tuple[str, ...] = ()


@dataclass(frozen=True)
class ReleaseSituation:
    """Everything the decision depends on.

    `desired` is the digest of chart and resolved values, None when the release is no longer wanted, empty
    as long as it cannot be told. `obstacle` says why chart or values cannot be had now, None if they can.
    `unmet` names dependencies that are not deployed, `dependents` installed releases that still need
    this one. `requests` is what the operator asks for. `suspended` says by what, empty when it is not.
    `jitter` in [0, 1) is the same at every pass at the same failure, else the shortest draw would win.
    `foreign_grace`: seconds after which what someone else's Helm has begun counts as dead.
    `retry_cap` is the longest pause between tries, in seconds.
    `open_hook` is what the next revision would cut off.
    `drift` is what differs from the deployed revision, `drift_mode` what is to happen with it.
    """

    desired: str | None
    recorded: Recorded | None
    attempt: Attempt | None
    now: float
    jitter: float
    suspended: str = ""
    obstacle: NextAction | None = None
    unmet: tuple[str, ...] = ()
    dependents: tuple[str, ...] = ()
    requests: Requests = NOTHING_ASKED
    foreign_grace: float = 1800.0
    retry_cap: float = backoff.CAP
    open_hook: OpenHook | None = None
    drift: Drift = NO_DRIFT
    drift_mode: DriftMode = "Correct"


def decide(situation: ReleaseSituation) -> NextAction:
    """The one next action. The table in docs/releases.md lists every case."""
    if situation.suspended:
        return NextAction(Action.NOTHING, Reason.SUSPENDED, f"suspended by {situation.suspended}")
    recorded = situation.recorded
    foreign = recorded is not None and _is_foreign(situation, recorded)
    if recorded is not None and foreign:
        left = recorded.modified + situation.foreign_grace - situation.now
        if left > 0:
            text = f"another Helm is at work on revision {recorded.version} ({recorded.status})"
            return NextAction(Action.WAIT, Reason.BUSY_ELSEWHERE, text, again_after=min(left, 30.0))
    if situation.desired is None:
        return _unwanted(situation)
    if recorded is None:
        return _gated(situation, NextAction(Action.INSTALL, Reason.NOT_INSTALLED))
    if _is_pending(recorded):
        # The Lease makes us the only writer and no action of ours runs: its writer is dead.
        text = "of another Helm aged out" if foreign else "was cut off"
        text = f"revision {recorded.version} {text}"
        return _backed_off(situation, NextAction(Action.UNLOCK, Reason.UNLOCKING, text))
    if recorded.status in ("uninstalling", "uninstalled"):
        # Killed in the middle of an uninstall that an edit has taken back since: what is half gone is
        # taken away whole, and the next step installs again.
        return _backed_off(situation, NextAction(Action.UNINSTALL, Reason.RETRYING, "left half uninstalled"))
    return _existing(situation, recorded)


def _existing(situation: ReleaseSituation, recorded: Recorded) -> NextAction:
    requests, impossible = situation.requests, ""
    if not is_answered(requests.rollback, recorded.asked):
        # One that was served is not looked at again: what was edited since is newer.
        impossible = _why_impossible(requests, recorded)
        if not impossible:
            text = f"a rollback to revision {requests.rollback_revision} was asked for"
            return _backed_off(situation, NextAction(Action.ROLLBACK, Reason.ROLLBACK_REQUESTED, text))
    if not is_answered(requests.force, recorded.forced):
        text = "an upgrade was asked for by annotation"
        forced = _gated(situation, NextAction(Action.UPGRADE, Reason.FORCED, text), dependencies=False)
        return _unserved(situation, recorded, forced)
    if _is_held(situation, recorded):
        if impossible:
            return NextAction(Action.NOTHING, Reason.ROLLBACK_IMPOSSIBLE, impossible)
        edited = "its spec is edited, " if recorded.held else ""
        text = (
            f"held at revision {recorded.rolled_back_to} by a rollback until {edited}"
            "the rollback is no longer asked for, or an upgrade is"
        )
        return _kept(situation, NextAction(Action.NOTHING, Reason.ROLLED_BACK, text))
    change = _change(situation, recorded)
    if change is not None:
        return _unserved(situation, recorded, _gated(situation, change))
    if impossible:
        return NextAction(Action.NOTHING, Reason.ROLLBACK_IMPOSSIBLE, impossible)
    return _kept(situation, NextAction(Action.NOTHING, Reason.IN_SYNC))


def _change(situation: ReleaseSituation, recorded: Recorded) -> NextAction | None:
    """The upgrade that the release needs, None when it is as it is wanted."""
    if recorded.status == "superseded":
        text = f"the record of the revision after {recorded.version} is missing"
        return NextAction(Action.UPGRADE, Reason.RECORD_MISSING, text)
    if recorded.status != "deployed":
        return NextAction(Action.UPGRADE, Reason.RETRYING, "the last revision failed")
    if not recorded.ours:
        text = f"revision {recorded.version} was not made by this controller"
        return NextAction(Action.UPGRADE, Reason.FOREIGN_CHANGE, text)
    if recorded.digest != situation.desired:
        return NextAction(Action.UPGRADE, Reason.SPEC_CHANGED)
    return None


def _unserved(situation: ReleaseSituation, recorded: Recorded, decision: NextAction) -> NextAction:
    """The decision; while chart or values cannot be had, what is deployed is kept as it is."""
    if decision is situation.obstacle and recorded.status == "deployed" and recorded.ours:
        return _kept(situation, decision)
    return decision


def _kept(situation: ReleaseSituation, rest: NextAction) -> NextAction:
    """What follows for a release that needs no other revision: its objects are kept as it made them."""
    drift = situation.drift
    if drift.error:
        return NextAction(Action.NOTHING, Reason.RECORD_UNREADABLE, drift.error)
    if not drift.objects:
        return rest
    if situation.drift_mode != "Correct":
        return NextAction(Action.NOTHING, Reason.DRIFTED, str(drift))
    if drift.corrections >= FIGHT_AFTER:
        fights = drift.corrections - FIGHT_AFTER + 1
        pause = backoff.delay(fights, situation.jitter, first=FIGHT_PAUSE, cap=situation.retry_cap)
        due = drift.corrected + pause
        if due > situation.now:
            by = f" by {', '.join(drift.rivals)}" if drift.rivals else ""
            text = (
                f"corrected {drift.corrections} times within an hour, and changed again{by}; "
                f"next correction at {timestamp(due + 1)}: {drift}"
            )
            return NextAction(Action.WAIT, Reason.DRIFT_RECURS, text, again_after=due - situation.now)
    correct = NextAction(Action.CORRECT, Reason.DRIFTED, str(drift))
    # The backoff belongs to what could not be corrected: that holds up nothing else of the release.
    return correct if drift.fresh else _backed_off(situation, correct)


def _is_held(situation: ReleaseSituation, recorded: Recorded) -> bool:
    """Whether a rollback keeps the release from what its spec says; one that is no longer asked for does
    not. Made while nobody could tell what was wanted, it stays as long as it is asked for."""
    return bool(
        situation.requests.rollback
        and recorded.status == "deployed"
        and recorded.rolled_back_to
        and recorded.held in ("", situation.desired)
    )


def _why_impossible(requests: Requests, recorded: Recorded) -> str:
    """Why the rollback that is asked for cannot be made; empty when it can."""
    wanted = requests.rollback_revision
    if not wanted:
        return f'the rollback asked for names no revision: "{requests.rollback}"'
    if wanted in recorded.usable or wanted in recorded.copied_from:
        return ""
    there = ", ".join(str(version) for version in sorted(recorded.usable)) or "none"
    return f"there is no revision {wanted} to go back to; there is: {there}"


def _unwanted(situation: ReleaseSituation) -> NextAction:
    if situation.recorded is None:
        return NextAction(Action.NOTHING, Reason.GONE)
    if situation.dependents:
        names = ", ".join(situation.dependents)
        return NextAction(
            Action.WAIT,
            Reason.WAITING_FOR_DEPENDENTS,
            f"still needed by {names}",
            waits_for=situation.dependents,
        )
    return _backed_off(situation, NextAction(Action.UNINSTALL, Reason.NO_LONGER_WANTED))


def _is_pending(recorded: Recorded) -> bool:
    return recorded.status.startswith("pending-")


def _is_foreign(situation: ReleaseSituation, recorded: Recorded) -> bool:
    """Whether someone else's Helm has begun what the record tells, and may be at it still."""
    if recorded.status == "uninstalling":
        return not recorded.removing
    # A rollback has the labels of the revision that it goes back to until it is done.
    our_rollback = (
        recorded.status == "pending-rollback"
        and situation.requests.rollback_revision in recorded.copied_from
        and not is_answered(situation.requests.rollback, recorded.asked)
    )
    return _is_pending(recorded) and not recorded.ours and not our_rollback


def _gated(situation: ReleaseSituation, go: NextAction, *, dependencies: bool = True) -> NextAction:
    """An action that serves the spec: not without its chart and values, nor before its dependencies."""
    if situation.obstacle is not None:
        return situation.obstacle
    if situation.unmet and dependencies:
        names = ", ".join(situation.unmet)
        text = f"waits for {names} to be deployed"
        return NextAction(Action.WAIT, Reason.WAITING_FOR_DEPENDENCY, text, waits_for=situation.unmet)
    return _backed_off(situation, go)


def _backed_off(situation: ReleaseSituation, go: NextAction) -> NextAction:
    last = situation.attempt
    # An edit is served at once: the backoff belongs to the digest that failed. So is a new request.
    digest = situation.desired if go.action in (*MAKING, Action.UNLOCK) else ""
    if last is None or last.digest != digest:
        return go
    if (last.action == Action.CORRECT) != (go.action == Action.CORRECT):
        # That an object cannot be corrected holds up nothing else.
        return go
    if situation.requests.asks_more_than(last.requests):
        return go
    hook = situation.open_hook
    if hook is not None and go.action in MAKING and situation.now < hook.until:
        text = (
            f"Job {hook.name} of the last attempt goes on: its end is waited for, until "
            f"{timestamp(hook.until)} at the latest"
        )
        left = hook.until - situation.now
        return NextAction(Action.WAIT, Reason.BACKING_OFF, text, again_after=min(left, HOOK_CHECK_SECONDS))
    # Whoever is cut off once goes on at once: it was a restart. Cut off again and again, it may be the cause.
    failures = last.failures - (last.action == Action.UNLOCK)
    if failures == 0:
        return go
    cap = min(situation.retry_cap, INTERRUPTED_CAP) if last.interrupted else situation.retry_cap
    due = last.finished + backoff.delay(failures, situation.jitter, cap=cap)
    if due <= situation.now:
        return go
    # The moment, not the seconds left: a message that counts down would be a status write a second.
    text = f"failed {last.failures} time(s), next try at {timestamp(due + 1)}"
    return NextAction(Action.WAIT, Reason.BACKING_OFF, text, again_after=due - situation.now)
