"""Follows an action under way, and ends it if its result is no longer desired or its time is up."""

from __future__ import annotations

from dataclasses import replace

from controller.ports.system import Clock
from controller.reconcile.releases.action_deadline import action_deadline
from controller.reconcile.releases.action_request import RunningAction
from controller.reconcile.releases.action_slots import ActionSlots
from controller.reconcile.releases.actions.superseded import is_superseded
from controller.reconcile.releases.hooks.progress import HookFollower, ObservedHooks
from controller.reconcile.releases.observe_bundle import ObservedBundle, PassResults
from controller.reconcile.releases.observe_release import ObservedRelease
from controller.reconcile.releases.parts import BundleListeners


class ActionFollower:
    """Looks at the actions of a bundle that are under way."""

    def __init__(
        self, clock: Clock, listeners: BundleListeners, *, slots: ActionSlots, hooks: HookFollower
    ) -> None:
        self._clock = clock
        self._listeners = listeners
        self._slots = slots
        self._hooks = hooks

    def follow(
        self,
        observed: ObservedBundle,
        results: PassResults,
        release: ObservedRelease,
        running: RunningAction,
    ) -> ObservedHooks:
        """What an action of ours is at; ends it when what it serves is not asked for any more, or not for
        so long."""
        key = observed.key(release.name)
        desired, suspended = release.desired, observed.suspended(release.name)
        superseded = is_superseded(
            running,
            desired,
            observed.requests(release.name),
            volumes=observed.bundle.spec.volumes,
            suspended=suspended,
        )
        newest = desired.spec if desired else None
        deadline = action_deadline(running.request.action, running.timeout, newest, suspended=suspended)
        remaining = deadline.seconds - running.age(self._clock)
        if superseded:
            running.cancellation.cancel()
        elif deadline.shortened and remaining <= 0:
            running.cancellation.cancel(deadline.overdue)
        elif deadline.shortened:
            results.again.append(remaining)
        seen = self._hooks.observe(key, replace(running, shortened_to=deadline.seconds))
        for bundle in self._slots.note_waiting(key, seen.waiting):
            self._listeners.requeue(bundle)
        if running.cancellation.cancelled:
            why = running.cancellation.overdue or "because another state is desired now"
            return ObservedHooks(seen.hooks, seen.waiting, f"is being stopped, {why}")
        return seen
