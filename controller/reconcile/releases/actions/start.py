"""Starts the action that was decided for a release in a slot, and reports how it ended."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from controller.domain.api.reasons import NORMAL, Reason
from controller.domain.releases.actions import MAKING, Action, NextAction
from controller.domain.releases.attempt import Attempt
from controller.domain.releases.gates import no_slot
from controller.domain.releases.reported_state import BEGUN, ReportedState
from controller.domain.shared.redaction import Redactor
from controller.reconcile.releases.action_request import ActionOutcome, ActionRequest, RunningAction
from controller.reconcile.releases.action_slots import ActionSlots
from controller.reconcile.releases.actions.perform import ReleaseActions
from controller.reconcile.releases.drift.watch import DriftWatch
from controller.reconcile.releases.histories import ReleaseHistories
from controller.reconcile.releases.hooks.progress import LASTS_AFTER, HookFollower
from controller.reconcile.releases.kept_claims.reported_claims import KeptClaims
from controller.reconcile.releases.observe_bundle import ObservedBundle, PassResults
from controller.reconcile.releases.observe_release import ObservedRelease
from controller.reconcile.releases.parts import BundleListeners, BundleSettings, ReleasePorts
from controller.reconcile.releases.waiting_bundles import WaitingBundles


class ActionStarter:
    """Starts actions. What a pass remembers of a release is read again when an action on it ends."""

    def __init__(
        self,
        ports: ReleasePorts,
        settings: BundleSettings,
        listeners: BundleListeners,
        *,
        slots: ActionSlots,
        hooks: HookFollower,
        drift: DriftWatch,
        waiting: WaitingBundles,
        histories: ReleaseHistories,
        kept: KeptClaims,
    ) -> None:
        self._ports = ports
        self._settings = settings
        self._listeners = listeners
        self._slots = slots
        self._hooks = hooks
        self._waiting = waiting
        self._histories = histories
        self._kept = kept
        self._actions = ReleaseActions(ports, settings, hooks=hooks, drift=drift)

    def start(
        self,
        observed: ObservedBundle,
        results: PassResults,
        release: ObservedRelease,
        decision: NextAction,
    ) -> tuple[ReportedState, NextAction]:
        """Starts what was decided, if there is a slot for it; the state from now on, and why."""
        if decision.action not in BEGUN:
            return release.resting_state(decision), decision
        resolved = release.desired.resolved if release.desired else None
        secrets = resolved.secrets if resolved else observed.secrets_of(release.name)
        self._listeners.learn(secrets)
        request = replace(
            _request(observed, release, decision, secrets), uninstall_within=self._settings.uninstall_within
        )
        clock = self._ports.clock
        running = RunningAction(
            request, clock.now(), self._ports.helm.new_cancellation(), began=clock.monotonic()
        )
        started = self._slots.start(
            running,
            lambda: self._perform(running),
            crashed=lambda error: _crash(request, error, self._ports.clock.now()),
            finished=lambda: self._ended(observed, request),
        )
        if not started and self._slots.closed:
            # It waits for no slot, and nothing is to be said of what this process will not do.
            results.put_off.add(release.name)
            return release.resting_state(decision), decision
        if not started:
            refused = no_slot()
            return release.resting_state(refused), refused
        # No watch reports what an action waits for that has no Job; one that is soon over is looked at then.
        return BEGUN[decision.action][0], replace(decision, again_after=LASTS_AFTER)

    def _perform(self, running: RunningAction) -> ActionOutcome:
        # All of it happens while this action holds the slot: no other action works on the release.
        request = running.request
        self._histories.acted_on(request.key, request.bundle)
        self._kept.forget(request.namespace)
        self._hooks.begin(request.key)
        try:
            return self._actions.perform(request, running.cancellation)
        finally:
            self._hooks.end(request.key)
            self._kept.forget(request.namespace)
            self._histories.acted_on(request.key, request.bundle)

    def _ended(self, observed: ObservedBundle, request: ActionRequest) -> None:
        # First the work that others wait for, then the news of it.
        self._listeners.note_end((request.namespace, request.bundle))
        for key in (*self._waiting.woken_by(request.namespace, request.release), *self._slots.next_refused()):
            self._listeners.requeue(key)
        outcome = self._slots.outcome(request.key)
        error = outcome.attempt.error if outcome else ""
        if outcome and request.action == Action.UNLOCK and not error:
            text = (
                f"release {request.release}: revision {request.version} was interrupted and is marked failed"
            )
            reason = Reason.UNLOCKED
            self._report_end(observed.obj, reason.event, reason, text)
        elif outcome and request.action == Action.CORRECT and not error and not outcome.done.text:
            return  # all was right again before it began
        elif outcome and outcome.done.half:
            text = f"{request.action} of release {request.release}: {outcome.done.text}"
            self._report_end(observed.obj, NORMAL, Reason.UPGRADE_JOBS_SUCCEEDED, text)
        elif outcome and request.action != Action.UNLOCK:
            reason = Reason(f"{request.action}{'Failed' if error else 'Succeeded'}")
            ending = f"failed: {error}" if error else f"succeeded{_reported(outcome.done.text)}"
            text = f"{request.action} of release {request.release} {ending}"
            kind = NORMAL if outcome.superseded else reason.event
            self._report_end(observed.obj, kind, reason, text)

    def _report_end(self, obj: Mapping[str, Any], type_: str, reason: Reason, text: str) -> None:
        # `perform` has logged it.
        self._ports.events.emit(obj, type_=type_, reason=reason, message=text, logged=True)


def _reported(done: str) -> str:
    return f": {done}" if done else ""


def _request(
    observed: ObservedBundle, release: ObservedRelease, decision: NextAction, secrets: Iterable[str]
) -> ActionRequest:
    desired, attempt = release.desired, release.attempt
    current = release.revisions[-1].version if release.revisions else 0
    making = decision.action in MAKING
    digest = desired.digest if desired and (making or decision.action == Action.UNLOCK) else ""
    return ActionRequest(
        action=decision.action,
        bundle=observed.bundle.name,
        release=release.name,
        namespace=observed.bundle.namespace,
        version=current + 1 if making else current,
        digest=digest,
        spec_digest=desired.spec_digest if desired and making else "",
        spec=desired.spec if desired else None,
        resolved_values=desired.resolved.values if desired and desired.resolved else None,
        redactor=Redactor(secrets),
        failures=attempt.failures if attempt and attempt.digest == digest else 0,
        interrupted=bool(attempt and attempt.digest == digest and attempt.interrupted),
        requests=observed.requests(release.name),
        volumes=observed.bundle.spec.volumes,
        skip_hooks=observed.skips_hooks(release.name),
        unlocks=attempt.unlocks if attempt else 0,
    )


def _crash(request: ActionRequest, error: Exception, now: float) -> ActionOutcome:
    attempt = Attempt(
        action=str(request.action),
        digest=request.digest,
        finished=float(int(now)),
        failures=request.failures_with(interrupted=False),
        requests=request.requests,
        unlocks=request.unlocks,
        started=now,
        error=f"internal error ({type(error).__name__}); the container's log has the stack",
    )
    return ActionOutcome(attempt)
