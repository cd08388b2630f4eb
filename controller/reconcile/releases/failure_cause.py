"""Why a Helm action failed, in the words that a person needs: the Job, its pod, what it said last.

Helm itself says that a hook failed, or that time is up; what the hook suffered from is known of its pods.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from controller.domain.api.keys import ReleaseKey
from controller.domain.releases.hooks import AWAITED, EVENTS, HookPhase, HookView
from controller.domain.shared.redaction import Redactor
from controller.errors import ControllerError, HelmCancelled, HelmFailed
from controller.ports.helm import HelmClient, HookRun
from controller.ports.kubernetes import JOB, POD
from controller.reconcile.releases.hooks.progress import HookEnd, HookProgress

_PHASES = {
    "Succeeded": HookPhase.SUCCEEDED,
    "Failed": HookPhase.FAILED,
    # Nothing runs any more when an action has ended, but for what Helm has lost sight of.
    "Running": HookPhase.FAILED,
}


@dataclass(frozen=True)
class FailureCause:
    """Why an action failed, and how far its hooks were. `interrupted`: the way to the API server, or that
    one itself, is to blame, and not the release."""

    text: str
    hooks: tuple[HookView, ...] = ()
    interrupted: bool = False


class FailureCauses:
    """Asks Helm for the hook that failed, and the cluster for what that one suffered from."""

    def __init__(self, helm: HelmClient, hooks: HookProgress) -> None:
        self._helm = helm
        self._hooks = hooks

    def of(self, key: ReleaseKey, action: str, failure: HelmFailed, redactor: Redactor) -> FailureCause:
        """The cause of an action's failure; Helm's own words where no hook is to blame."""
        cut = failure.cut if isinstance(failure, HelmCancelled) else ""
        namespace, release = key
        events = set(EVENTS.get(action, ()))
        unexplained = FailureCause(str(failure), interrupted=failure.interrupted)
        if not events:
            return unexplained
        try:
            every = self._helm.hooks(release, namespace)
        except ControllerError:
            return unexplained
        runs = [run for run in every if set(run.events) & events]
        views = tuple(HookView(run.name, _phase(run)) for run in runs if run.kind in AWAITED)
        culprit = next((run for run in runs if _phase(run) == HookPhase.FAILED), None)
        if culprit is None:
            return replace(unexplained, hooks=views)
        end, unread = HookEnd(), ""
        asked = {JOB.kind: self._hooks.why_failed, POD.kind: self._hooks.why_pod_failed}.get(culprit.kind)
        if asked is not None:
            try:
                end = asked(key, culprit.name, redactor, cut=bool(cut))
            except ControllerError as error:
                unread = f"{culprit.kind} {culprit.name} (its state cannot be read: {error})"
        why = end.why or unread
        now = end.view
        if now is None and unread and failure.interrupted:
            now = HookView(culprit.name, HookPhase.RUNNING)
        if now is not None:
            views = tuple(now if view.name == culprit.name else view for view in views)
        # By Helm's record it failed; but Helm takes a hook for failed that it cannot see any more.
        seen_to_fail = end.view is not None and end.view.phase == HookPhase.FAILED
        if failure.interrupted and not seen_to_fail:
            of_hook = f"; its hook: {why}" if why else f" (hook {culprit.kind} {culprit.name})"
            return FailureCause(f"{failure}{of_hook}", views, interrupted=True)
        if not why:
            return FailureCause(f"{failure} (hook {culprit.kind} {culprit.name})", views)
        beginning = f"{cut}: its hook" if cut else "a hook failed"
        return FailureCause(f"{beginning}: {why}", views)


def _phase(run: HookRun) -> HookPhase:
    return _PHASES.get(run.phase, HookPhase.PENDING)
