"""Whether what a running action serves is still asked for: the newest spec wins."""

from __future__ import annotations

from controller.domain.releases.actions import MAKING, Action
from controller.domain.releases.bundle import ReleaseSpec
from controller.domain.releases.requests import Requests
from controller.reconcile.releases.action_slots import RunningAction
from controller.reconcile.releases.observe_release import ResolvedRelease


def is_superseded(
    running: RunningAction, wanted: ResolvedRelease | None, requests: Requests, *, suspended: str
) -> bool:
    """Whether the action is to be ended. `wanted` is None where the release is to go.

    What is suspended is left to end by itself, and so is what an earlier pass has ended already.
    """
    if suspended or running.cancellation.cancelled:
        return False
    match running.action:
        case Action.UNINSTALL:
            # One that makes room for a new install goes on as long as there is one to come.
            hooks_skipped = requests.skips_hooks and not running.requests.skips_hooks
            return hooks_skipped or (running.spec is None) == (wanted is not None)
        case Action.ROLLBACK:
            return requests.rollback != running.requests.rollback or _serves_another(running, wanted)
        case Action.INSTALL | Action.UPGRADE:
            # Another try is what runs already; a rollback needs something to go back to.
            rollback = (
                requests.rollback if requests.rollback_revision and running.action == Action.UPGRADE else ""
            )
            asked = Requests(force=requests.force, rollback=rollback)
            return asked.asks_more_than(running.requests) or _serves_another(running, wanted)
        case Action.CORRECT:
            return wanted is None or running.spec is None or not _same(running.spec, wanted.spec)
        case _:
            return False


def seconds_allowed(running: RunningAction, wanted: ResolvedRelease | None, *, suspended: str) -> float:
    """Seconds that the action may take in all: by the newest spec less than it was given, never more."""
    if suspended or wanted is None or running.action not in MAKING:
        return running.timeout
    return min(running.timeout, float(wanted.spec.timeout))


def _serves_another(running: RunningAction, wanted: ResolvedRelease | None) -> bool:
    if wanted is None or running.spec is None:
        return True
    if wanted.digest and running.digest:
        return wanted.digest != running.digest
    # What is wanted could not be told, now or when the action began, as a Secret or a chart was missing:
    # the spec itself tells.
    return not _same(running.spec, wanted.spec)


def _same(before: ReleaseSpec, now: ReleaseSpec) -> bool:
    return (before.chart, before.values) == (now.chart, now.values)
