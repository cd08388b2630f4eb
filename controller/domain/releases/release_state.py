"""The state of one release: what Helm's records and the cluster hold, beside what is desired."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from controller.domain.api.reasons import Reason
from controller.domain.releases.requests import is_answered
from controller.domain.releases.situation import Recorded, ReleaseSituation


class ReleaseState(StrEnum):
    """What a release is found to be. One action follows from each; gates may hold it back."""

    GONE = "Gone"
    """Not desired, and nothing is recorded of it."""
    ABSENT = "Absent"
    """Wanted, and nothing is recorded of it."""
    IN_PROGRESS = "InProgress"
    """Another Helm is at work on it."""
    UNWANTED = "Unwanted"
    """Installed or partly installed, and no longer desired."""
    LOCKED = "Locked"
    """Its newest revision is pending (pending-install, pending-upgrade, …), and who began it is dead."""
    HALF_UNINSTALLED = "HalfUninstalled"
    """Wanted again, after its uninstall has begun."""
    ROLLBACK_REQUESTED = "RollbackRequested"
    """An operator asks for an older revision, which is there."""
    UPGRADE_REQUESTED = "UpgradeRequested"
    """An operator asks for an upgrade, though nothing may have changed."""
    FAILED = "Failed"
    """Its newest revision failed."""
    OUT_OF_SYNC = "OutOfSync"
    """Its newest revision is not what is desired, as far as is known, or it is not ours."""
    ROLLBACK_IMPOSSIBLE = "RollbackImpossible"
    """As desired, except that a requested rollback is impossible."""
    UNREADABLE = "Unreadable"
    """Its newest revision is what is desired; its record cannot be read, so drift is not known."""
    DRIFTED = "Drifted"
    """Others have changed objects of it, and its revision stays: it is what is desired, or no other can be
    made, as its chart or values cannot be had."""
    ROLLED_BACK = "RolledBack"
    """At an older revision at an operator's request, until the spec or the request changes."""
    IN_SYNC = "InSync"
    """As desired."""


@dataclass(frozen=True)
class ObservedState:
    """The state, and why it is so. `again_after`: seconds until it changes by itself, None if it does not."""

    state: ReleaseState
    reason: Reason
    message: str = ""
    again_after: float | None = None


# How often, in seconds, it is looked whether another Helm has come to an end.
FOREIGN_CHECK_SECONDS = 30.0


def release_state(situation: ReleaseSituation) -> ObservedState:
    """The one state that the release is in. The table in docs/releases.md lists every case."""
    recorded = situation.recorded
    if recorded is None:
        if situation.desired is None:
            return ObservedState(ReleaseState.GONE, Reason.GONE)
        return ObservedState(ReleaseState.ABSENT, Reason.NOT_INSTALLED)
    foreign = _is_foreign(situation, recorded)
    remaining = situation.foreign_grace - situation.unchanged_for
    if foreign and remaining > 0:
        text = f"another Helm is working on revision {recorded.version} ({recorded.status})"
        again_after = min(remaining, FOREIGN_CHECK_SECONDS)
        return ObservedState(ReleaseState.IN_PROGRESS, Reason.BUSY_ELSEWHERE, text, again_after)
    if situation.desired is None:
        return ObservedState(ReleaseState.UNWANTED, Reason.NO_LONGER_WANTED)
    if recorded.pending:
        # The Lease makes us the only writer and no action of ours runs: its writer is dead.
        text = "of another Helm aged out" if foreign else "was cut off"
        text = f"revision {recorded.version} {text}"
        return ObservedState(ReleaseState.LOCKED, Reason.UNLOCKING, text)
    if recorded.half_uninstalled:
        # Killed in the middle of an uninstall that an edit has taken back since: what is half gone is
        # taken away whole, and the next step installs again.
        return ObservedState(ReleaseState.HALF_UNINSTALLED, Reason.RETRYING, "left half uninstalled")
    return _state_of_revision(situation, recorded)


def _state_of_revision(situation: ReleaseSituation, recorded: Recorded) -> ObservedState:
    """The state of a desired release whose newest action has come to an end."""
    requests, impossible = situation.requests, ""
    if not is_answered(requests.rollback, recorded.asked):
        # One that was served is not looked at again: what was edited since is newer.
        impossible = _why_impossible(situation, recorded)
        if not impossible:
            text = f"a rollback to revision {requests.rollback_revision} is requested"
            return ObservedState(ReleaseState.ROLLBACK_REQUESTED, Reason.ROLLBACK_REQUESTED, text)
    another = _another_revision(situation, recorded)
    if another is not None:
        # While chart or values cannot be had, what is deployed is kept as it is.
        stays = situation.obstacle is not None and recorded.status == "deployed" and recorded.ours
        return (_drift(situation) if stays else None) or another
    if impossible:
        return ObservedState(ReleaseState.ROLLBACK_IMPOSSIBLE, Reason.ROLLBACK_IMPOSSIBLE, impossible)
    return _drift(situation) or _at_rest(situation, recorded)


def _another_revision(situation: ReleaseSituation, recorded: Recorded) -> ObservedState | None:
    """Why the release needs another revision, None when the newest one is to stay."""
    if not is_answered(situation.requests.force, recorded.forced):
        text = "an annotation requests an upgrade"
        return ObservedState(ReleaseState.UPGRADE_REQUESTED, Reason.FORCED, text)
    if _is_rolled_back(situation, recorded):
        return None
    if recorded.status == "superseded":
        text = f"the record of the revision after {recorded.version} is missing"
        return ObservedState(ReleaseState.OUT_OF_SYNC, Reason.RECORD_MISSING, text)
    if recorded.status != "deployed":
        return ObservedState(ReleaseState.FAILED, Reason.RETRYING, "the last revision failed")
    if not recorded.ours:
        text = f"revision {recorded.version} was not created by this controller"
        return ObservedState(ReleaseState.OUT_OF_SYNC, Reason.FOREIGN_CHANGE, text)
    if recorded.digest != situation.desired:
        return ObservedState(ReleaseState.OUT_OF_SYNC, Reason.SPEC_CHANGED)
    return None


def _drift(situation: ReleaseSituation) -> ObservedState | None:
    """What others have done to the objects of a release that keeps its revision, None for nothing."""
    drift = situation.drift
    if drift.error:
        return ObservedState(ReleaseState.UNREADABLE, Reason.RECORD_UNREADABLE, drift.error)
    return ObservedState(ReleaseState.DRIFTED, Reason.DRIFTED, str(drift)) if drift.objects else None


def _at_rest(situation: ReleaseSituation, recorded: Recorded) -> ObservedState:
    if not _is_rolled_back(situation, recorded):
        return ObservedState(ReleaseState.IN_SYNC, Reason.IN_SYNC)
    edited = "its spec is edited, " if recorded.desired_at_rollback else ""
    text = (
        f"kept at revision {recorded.rolled_back_to} by a rollback until {edited}the rollback is no "
        "longer requested, or an upgrade is"
    )
    return ObservedState(ReleaseState.ROLLED_BACK, Reason.ROLLED_BACK, text)


def _is_rolled_back(situation: ReleaseSituation, recorded: Recorded) -> bool:
    """Whether a rollback overrides the release's spec; one that is no longer requested does not. If the spec
    was unknown at the rollback, it stays as long as it is requested."""
    return bool(
        situation.requests.rollback
        and recorded.status == "deployed"
        and recorded.rolled_back_to
        and recorded.desired_at_rollback in ("", situation.desired)
    )


def _why_impossible(situation: ReleaseSituation, recorded: Recorded) -> str:
    """Why the rollback that is asked for cannot be made; empty when it can.

    No Job makes accounts for a rollback, and those that others have replaced are deleted.
    """
    requests = situation.requests
    desired = requests.rollback_revision
    if not desired:
        return f'the requested rollback does not name a revision: "{requests.rollback}"'
    if desired in recorded.copied_from:
        return ""  # it is made already, and only to be noted
    if desired in recorded.usable:
        accounts = situation.replaced(desired)
        taken = "which other accounts have replaced"
        return f"revision {desired} logs in as {accounts}, {taken}" if accounts else ""
    there = ", ".join(str(version) for version in sorted(recorded.usable)) or "none"
    return f"there is no revision {desired}; there is: {there}"


def _is_foreign(situation: ReleaseSituation, recorded: Recorded) -> bool:
    """Whether someone else's Helm has begun what the record shows, and may be at it still."""
    if recorded.status == "uninstalling":
        return not recorded.removing
    # A rollback has the labels of the revision that it goes back to until it is done.
    our_rollback = (
        recorded.status == "pending-rollback"
        and situation.requests.rollback_revision in recorded.copied_from
        and not is_answered(situation.requests.rollback, recorded.asked)
    )
    return recorded.pending and not recorded.ours and not our_rollback
