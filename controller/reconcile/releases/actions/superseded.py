"""Whether what a running action serves is still asked for: the newest spec wins."""

from __future__ import annotations

from controller.domain.api.region_spec import VolumePolicy
from controller.domain.releases.actions import MAKING, Action
from controller.domain.releases.bundle import ReleaseSpec
from controller.domain.releases.requests import Requests
from controller.reconcile.releases.action_request import ActionRequest, RunningAction
from controller.reconcile.releases.observe_release import ResolvedRelease


def is_superseded(
    running: RunningAction,
    desired: ResolvedRelease | None,
    requests: Requests,
    *,
    volumes: VolumePolicy,
    suspended: str,
) -> bool:
    """Whether the action is to be ended. `desired` is None where the release is to go.

    What is suspended is left to end by itself, and so is what an earlier pass has ended already. But none
    goes on deleting volumes that are to stay: it has marked none of them before it called Helm.
    """
    if running.cancellation.cancelled:
        return False
    served = running.request
    if volumes == "Retain" and _deletes_volumes(served):
        return True
    if suspended:
        return False
    match served.action:
        case Action.UNINSTALL:
            # One that makes room for a new install goes on as long as there is one to come.
            hooks_skipped = requests.skips_hooks and not served.requests.skips_hooks
            return hooks_skipped or (served.spec is None) == (desired is not None)
        case Action.ROLLBACK:
            return requests.rollback != served.requests.rollback or _serves_another(served, desired)
        case Action.INSTALL | Action.UPGRADE:
            # Another try is what runs already; a rollback needs something to go back to.
            rollback = (
                requests.rollback if requests.rollback_revision and served.action == Action.UPGRADE else ""
            )
            asked = Requests(force=requests.force, rollback=rollback)
            return asked.asks_more_than(served.requests) or _serves_another(served, desired)
        case Action.CORRECT:
            return desired is None or served.spec is None or not _same(served.spec, desired.spec)
        case _:
            return False


def _deletes_volumes(served: ActionRequest) -> bool:
    """Whether volumes go that it drops. An uninstall that makes room for a new install leaves all."""
    drops = served.action in MAKING or (served.action == Action.UNINSTALL and served.spec is None)
    return drops and served.volumes == "Delete"


def _serves_another(served: ActionRequest, desired: ResolvedRelease | None) -> bool:
    if desired is None or served.spec is None:
        return True
    if desired.digest and served.digest:
        return desired.digest != served.digest
    # What is desired was not known, now or when the action began, as a Secret or a chart was missing:
    # the spec itself tells.
    return not _same(served.spec, desired.spec)


def _same(before: ReleaseSpec, now: ReleaseSpec) -> bool:
    return (before.chart, before.values) == (now.chart, now.values)
