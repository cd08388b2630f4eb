"""The next action of a release: one for each state, unless a gate holds it back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from controller.domain.releases.actions import Action, NextAction
from controller.domain.releases.gates import Check, gates
from controller.domain.releases.release_state import ObservedState, ReleaseState, release_state
from controller.domain.releases.situation import ReleaseSituation

ACTION_OF: Mapping[ReleaseState, Action] = {
    ReleaseState.GONE: Action.NOTHING,
    ReleaseState.ABSENT: Action.INSTALL,
    ReleaseState.IN_PROGRESS: Action.WAIT,
    ReleaseState.UNWANTED: Action.UNINSTALL,
    ReleaseState.LOCKED: Action.UNLOCK,
    ReleaseState.HALF_UNINSTALLED: Action.UNINSTALL,
    ReleaseState.ROLLBACK_REQUESTED: Action.ROLLBACK,
    ReleaseState.UPGRADE_REQUESTED: Action.UPGRADE,
    ReleaseState.FAILED: Action.UPGRADE,
    ReleaseState.OUT_OF_SYNC: Action.UPGRADE,
    ReleaseState.ROLLBACK_IMPOSSIBLE: Action.NOTHING,
    ReleaseState.UNREADABLE: Action.NOTHING,
    ReleaseState.DRIFTED: Action.CORRECT,
    ReleaseState.ROLLED_BACK: Action.NOTHING,
    ReleaseState.IN_SYNC: Action.NOTHING,
}


def next_action(observed: ObservedState, checks: Sequence[Check]) -> NextAction:
    """What the state asks for, or what the first gate that holds it back says."""
    step = NextAction(
        ACTION_OF[observed.state], observed.reason, observed.message, again_after=observed.again_after
    )
    return next((gate for check in checks if (gate := check(step)) is not None), step)


def decide(situation: ReleaseSituation) -> NextAction:
    """The one next action. The table in docs/releases.md lists every case."""
    return next_action(release_state(situation), gates(situation))
