"""Carries out one decided action on one release, and reports how it went. Blocking; runs in a slot."""

from __future__ import annotations

from controller.domain.releases.actions import Action
from controller.domain.releases.attempt import Attempt
from controller.errors import ControllerError, HelmCancelled
from controller.ports.helm import Cancellation, HelmRequest
from controller.reconcile.releases.action_request import ActionOutcome, ActionRequest, Done
from controller.reconcile.releases.actions.action_error import ActionError, ActionErrors
from controller.reconcile.releases.actions.correct import correct
from controller.reconcile.releases.actions.helm_request import helm_request
from controller.reconcile.releases.actions.install import install
from controller.reconcile.releases.actions.rollback import rollback
from controller.reconcile.releases.actions.uninstall import uninstall
from controller.reconcile.releases.actions.unlock import unlock
from controller.reconcile.releases.actions.upgrade import upgrade
from controller.reconcile.releases.drift.watch import DriftWatch
from controller.reconcile.releases.hooks.progress import HookFollower
from controller.reconcile.releases.parts import BundleSettings, ReleasePorts
from controller.reconcile.shared.action_log import log_action


class ReleaseActions:
    """The effects behind `Action`. Each is idempotent: killed anywhere, it is decided upon again.

    `history` is how many revisions Helm keeps.
    """

    def __init__(
        self, ports: ReleasePorts, settings: BundleSettings, *, hooks: HookFollower, drift: DriftWatch
    ) -> None:
        self._ports = ports
        self._drift = drift
        self._history = settings.history
        self._causes = ActionErrors(ports, hooks, settings.reserved)

    def perform(self, request: ActionRequest, cancellation: Cancellation) -> ActionOutcome:
        """Does it and reports how it went; errors of Kubernetes and Helm end in the outcome."""
        clock = self._ports.clock
        started, began = clock.now(), clock.monotonic()
        cause, superseded, done = ActionError(""), False, Done()
        try:
            done = self._act(request, cancellation)
        except ControllerError as failure:
            ended = isinstance(failure, HelmCancelled) and cancellation.cancelled
            superseded = ended and not cancellation.overdue
            cause = self._causes.explain(request, failure, superseded=superseded)
        error = cause.text
        duration = clock.monotonic() - began
        # An action that was ended because it is no longer desired has not failed. An action that had to be
        # unlocked has failed: its container was killed before it could report this.
        failed = bool(error) or request.action == Action.UNLOCK
        # Whole seconds, as the status keeps it: what a restart reads back must be the same.
        finished = float(int(clock.now()))
        # What had to be unlocked was left by the failure before it, or by the end of the container.
        explained = bool(error) and not superseded
        interrupted = cause.interrupted if explained else failed and request.interrupted
        failures = 0
        if failed:
            failures = request.failures if superseded else request.failures_with(interrupted=interrupted)
        attempt = Attempt(
            action=str(request.action),
            digest=request.digest,
            finished=finished,
            failures=failures,
            requests=request.requests,
            unlocks=request.unlocks + (request.action == Action.UNLOCK and not error),
            interrupted=interrupted,
            lacks_right=cause.lacks_right,
            taken=cause.taken,
            lasting=cause.lasting,
            started=started,
            duration=duration,
            error=error,
        )
        _log_end(request, error, duration, superseded=superseded, done=done)
        return ActionOutcome(attempt, cause.hooks, superseded, done)

    def _act(self, request: ActionRequest, cancellation: Cancellation) -> Done:
        ports = self._ports
        match request.action:
            case Action.INSTALL:
                return install(ports, request, self._helm_request(request), cancellation)
            case Action.UPGRADE:
                return upgrade(ports, request, self._helm_request(request), cancellation)
            case Action.ROLLBACK:
                return Done(rollback(ports, request, cancellation))
            case Action.UNINSTALL:
                return Done(uninstall(ports, request, cancellation))
            case Action.UNLOCK:
                unlock(ports.records, request)
                return Done()
            case Action.CORRECT:
                return Done(correct(self._drift, request, cancellation))
            case _:
                raise ValueError(f"{request.action} is not an action of Helm")

    def _helm_request(self, request: ActionRequest) -> HelmRequest:
        return helm_request(self._ports.charts, request, history=self._history)


def _log_end(request: ActionRequest, error: str, duration: float, *, superseded: bool, done: Done) -> None:
    failed = bool(error) and not superseded
    what = f"release {request.release}: {request.action}{' (Jobs that come first)' if done.half else ''}"
    ending = "JobsSucceeded" if done.half else "Failed" if failed else "Ended" if superseded else "Succeeded"
    log_action(
        str(request.action).lower(),
        f"{request.namespace}/{request.release}",
        what if failed else f"{what} {error or 'succeeded'}",
        error=error if failed else "",
        reason=f"{request.action}{ending}",
        release=request.release,
        bundle=request.bundle,
        duration=round(duration, 3),
    )
