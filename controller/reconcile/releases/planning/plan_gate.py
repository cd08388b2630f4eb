"""What mode Plan leaves of a decision: what has begun is finished, and nothing else is begun."""

from __future__ import annotations

from controller.domain.api.reasons import Reason
from controller.domain.releases.next_action import Action, NextAction
from controller.reconcile.releases.observe_release import ObservedRelease

_DELETED = ("uninstalling", "uninstalled")


def gated_by_plan(decision: NextAction, release: ObservedRelease) -> NextAction:
    """The decision, if its action was begun for the very same wish, or an operator asked for it by name."""
    last = release.revisions[-1] if release.revisions else None
    if decision.action in (Action.INSTALL, Action.UPGRADE):
        wanted = release.resolved.digest if release.resolved else ""
        begun = last is not None and last.digest == wanted
    elif decision.action == Action.UNINSTALL:
        begun = last is not None and last.status in _DELETED
    else:
        return decision
    if begun:
        return decision
    text = f"the bundle's mode is Plan: status.plan tells what its {decision.action} would do"
    return NextAction(Action.NOTHING, Reason.PLAN_PENDING, text)
