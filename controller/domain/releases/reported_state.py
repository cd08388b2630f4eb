"""The word of `status.releases[].state`: for an action under way, and for a release at rest. Pure."""

from __future__ import annotations

from enum import StrEnum

from controller.domain.api.reasons import Reason
from controller.domain.releases.actions import Action, NextAction


class ReportedState(StrEnum):
    """The one word for a release in `status.releases[].state`."""

    WAITING = "Waiting"
    INSTALLING = "Installing"
    UPGRADING = "Upgrading"
    DEPLOYED = "Deployed"
    FAILED = "Failed"
    UNINSTALLING = "Uninstalling"
    SUSPENDED = "Suspended"


# State and reason while an action runs.
BEGUN = {
    Action.INSTALL: (ReportedState.INSTALLING, Reason.INSTALLING),
    Action.UPGRADE: (ReportedState.UPGRADING, Reason.UPGRADING),
    Action.ROLLBACK: (ReportedState.UPGRADING, Reason.ROLLING_BACK),
    Action.UNLOCK: (ReportedState.UPGRADING, Reason.UNLOCKING),
    Action.CORRECT: (ReportedState.DEPLOYED, Reason.CORRECTING),
    Action.UNINSTALL: (ReportedState.UNINSTALLING, Reason.UNINSTALLING),
}

# Reasons to wait that people must look into.
_FAILING = (
    Reason.BACKING_OFF,
    Reason.RIGHT_MISSING,
    Reason.CHART_INVALID,
    Reason.CHART_NOT_FOUND,
    Reason.CHART_UNTRUSTED,
    Reason.OBJECT_NAME_TAKEN,
    Reason.REPOSITORY_DENIED,
    Reason.REPOSITORY_UNTRUSTED,
    Reason.RELEASE_NAME_TAKEN,
    Reason.RELEASE_TOO_LARGE,
    Reason.SPEC_INVALID,
)


def resting_state(decision: NextAction, last_status: str, *, as_desired: bool) -> ReportedState:
    """The state of a release at which no action runs.

    `last_status`: Helm's word for its newest revision, empty for none. `as_desired`: the controller made that
    revision for what is desired now.
    """
    if decision.reason == Reason.PLAN_PENDING:
        return ReportedState.SUSPENDED
    if decision.reason in (Reason.SUSPENDED, Reason.ROLLED_BACK):
        # Suspended as it should be is deployed all the same; otherwise it is not known what it lacks.
        if as_desired and last_status == "deployed":
            return ReportedState.DEPLOYED
        # Whoever suspends it to look into a failure must still see that.
        return ReportedState.FAILED if last_status == "failed" else ReportedState.SUSPENDED
    if decision.action == Action.NOTHING or decision.reason == Reason.DRIFT_RECURS:
        return ReportedState.DEPLOYED
    if decision.reason in _FAILING or last_status == "failed":
        return ReportedState.FAILED
    if decision.reason == Reason.REPOSITORY_UNAVAILABLE and not last_status:
        # What is deployed goes on running without its repository, and may well be as desired.
        return ReportedState.FAILED
    return ReportedState.WAITING
