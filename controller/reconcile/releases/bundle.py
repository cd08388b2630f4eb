"""Brings the releases of one HelmBundle to what its spec says, one step at a pass."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from controller.domain.api.keys import BundleKey
from controller.domain.api.object_meta import parse_meta
from controller.domain.api.object_owner import made_by_bundle
from controller.domain.api.reasons import NORMAL, Reason
from controller.domain.api.region_spec import VolumePolicy
from controller.domain.releases.actions import MAKING, Action, NextAction
from controller.domain.releases.attempt import Attempt
from controller.domain.releases.bundle import BundleSpec
from controller.domain.releases.bundle_object import Bundle, parse_bundle
from controller.domain.releases.gates import no_slot, owned_by
from controller.domain.releases.reported_state import BEGUN, ReportedState, resting_state
from controller.domain.shared import metrics
from controller.domain.shared.redaction import Redactor
from controller.errors import Forbidden, SpecInvalid
from controller.ports.kubernetes import HELMBUNDLE, KubeObject
from controller.reconcile.releases.action_deadline import action_deadline
from controller.reconcile.releases.action_request import ActionOutcome, ActionRequest, RunningAction
from controller.reconcile.releases.action_slots import ActionSlots
from controller.reconcile.releases.actions.perform import ReleaseActions
from controller.reconcile.releases.actions.superseded import is_superseded
from controller.reconcile.releases.bundle_finalizer import (
    BUNDLE_FINALIZER,
    may_go,
    may_go_without_rights,
)
from controller.reconcile.releases.bundle_status import BundleStatusWriter
from controller.reconcile.releases.decide import ReleaseDecisions
from controller.reconcile.releases.drift.event_filter import report_drift
from controller.reconcile.releases.drift.watch import DriftWatch
from controller.reconcile.releases.histories import ReleaseHistories
from controller.reconcile.releases.hooks.progress import LASTS_AFTER, NO_HOOKS, HookFollower, ObservedHooks
from controller.reconcile.releases.kept_claims.reported import KeptClaims
from controller.reconcile.releases.observe_bundle import ObservedBundle, PassResults
from controller.reconcile.releases.observe_release import (
    ObservedRelease,
    as_recorded,
    observe_release,
    resolve_release,
)
from controller.reconcile.releases.parts import BundleListeners, BundleSettings, ReleasePorts
from controller.reconcile.releases.planning.bundle_plan import BundlePlanner
from controller.reconcile.releases.release_sizes import ReleaseSizes
from controller.reconcile.releases.release_view import as_before, release_view
from controller.reconcile.releases.waiting_bundles import WaitingBundles
from controller.reconcile.shared.secret_values import SecretValues

log = logging.getLogger(__name__)
# Until it is looked whether a right has been granted meanwhile: no event says so.
DENIED_SECONDS = 60.0


class BundleReconciler:
    """Level-triggered: every pass reads the bundle, Helm's records and the Secrets it refers to.

    `slots` runs the actions, `hooks` follows what they wait for, `drift` what others do to releases.
    """

    def __init__(
        self,
        ports: ReleasePorts,
        settings: BundleSettings,
        listeners: BundleListeners,
        *,
        slots: ActionSlots,
        hooks: HookFollower,
        drift: DriftWatch,
    ) -> None:
        self._ports = ports
        self._settings = settings
        self._listeners = listeners
        self._slots = slots
        self._hooks = hooks
        self._drift = drift
        self._report = BundleStatusWriter(ports.kube, ports.clock)
        self._sizes = ReleaseSizes(ports)
        self._decisions = ReleaseDecisions(ports, drift, self._sizes, settings)
        self._actions = ReleaseActions(ports, settings, hooks=hooks, drift=drift)
        self._planner = BundlePlanner(ports, settings, sizes=self._sizes)
        self._waiting = WaitingBundles()
        self._names: dict[BundleKey, frozenset[str]] = {}
        self._histories = ReleaseHistories(ports.records, ports.clock)
        self._kept = KeptClaims(ports.as_charts, ports.records, ports.clock)

    def reconcile(self, key: BundleKey) -> float | None:
        """One pass; the seconds until the next that nothing will announce, None when the bundle is gone."""
        try:
            with self._waiting.observe(key) as waits_for:
                return self._reconcile_once(key, waits_for)
        finally:
            for bundle in self._slots.next_refused():
                self._listeners.requeue(bundle)

    def _reconcile_once(self, key: BundleKey, waits_for: set[str]) -> float | None:
        namespace, name = key
        obj = self._ports.kube.get(HELMBUNDLE, name, namespace)
        if obj is None:
            self._drift.leave_bundle(key)
            self._keep_only(key, ())
            return None
        generation = int(obj["metadata"].get("generation") or 0)
        try:
            bundle = parse_bundle(obj)
        except SpecInvalid as error:
            if not obj["metadata"].get("deletionTimestamp"):
                self._report.write_invalid(obj, error, generation)
                return self._settings.resync
            # What cannot be read can still go: its releases are known by their records.
            volumes: VolumePolicy = "Delete" if _asks_to_delete_volumes(obj) else "Retain"
            bundle = Bundle(**vars(parse_meta(obj)), spec=BundleSpec((), volumes=volumes))
        try:
            return self._reconcile_read(key, obj, bundle, waits_for)
        except Forbidden as error:
            if not may_go_without_rights(self._ports.kube, namespace, deleting=bundle.deleting):
                self._report.write_denied(obj, error, generation)
                return DENIED_SECONDS
            # Our Roles have gone with the namespace, and so goes whatever its releases have there.
            BUNDLE_FINALIZER.remove(self._ports.kube, obj)
            self._keep_only(key, ())
            return None

    def _reconcile_read(
        self, key: BundleKey, obj: KubeObject, bundle: Bundle, waits_for: set[str]
    ) -> float | None:
        namespace, name = key
        if not bundle.deleting:
            BUNDLE_FINALIZER.ensure(self._ports.kube, obj)
        # Taken before the records are read: an action that ends in between would make them look as if
        # its writer had died. Its end has this bundle looked at once more.
        busy = self._slots.busy()
        named = {name for one in bundle.spec.releases for name in (one.name, *one.depends_on)}
        histories = self._histories.read(namespace, name, named)
        observed = ObservedBundle(bundle, obj, histories, busy, SecretValues(self._ports.kube, namespace))
        results = PassResults()
        names = observed.names()
        for release in names:
            self._reconcile_release(observed, results, release)
        self._keep_only(key, names)
        waits_for.update(results.waits_for)
        if may_go(deleting=bundle.deleting, remaining=results.remaining):
            BUNDLE_FINALIZER.remove(self._ports.kube, obj)
            self._keep_only(key, ())
            return None
        if results.put_off:
            self._report.write_halfway(obj, bundle, results.views, observed.paused)
            return self._settings.resync
        self._report.write(obj, bundle, results.views, observed.paused, self._planner.plan(observed, results))
        return min([*results.again, self._settings.resync])

    def _keep_only(self, bundle: BundleKey, names: Iterable[str]) -> None:
        """Forgets what is remembered of releases that the bundle had, and has no longer."""
        before, now = self._names.get(bundle, frozenset()), frozenset(names)
        for name in before - now:
            self._slots.forget((bundle[0], name))
            self._sizes.forget((bundle[0], name))
            self._decisions.forget((bundle[0], name))
        if now:
            self._names[bundle] = now
        else:
            self._names.pop(bundle, None)

    def _reconcile_release(self, observed: ObservedBundle, results: PassResults, name: str) -> None:
        """Decides on one release, acts, and adds its view."""
        release = self._observe(observed, name)
        key = observed.key(name)
        running, seen = observed.busy.get(key), NO_HOOKS
        if running is not None and running.request.bundle != observed.bundle.name:
            decision = owned_by(made_by_bundle(running.request.bundle))
            state = _resting(decision, release)
            if release.desired is None:
                return
        elif running is not None:
            seen = self._follow(observed, results, release, running)
            if running.request.action == Action.CORRECT:
                results.drifts[name] = self._drift.known(key, running.request.version)
            else:
                self._drift.leave(key)
            state, reason = BEGUN[running.request.action]
            decision = NextAction(running.request.action, reason, seen.message, seen.again_after)
        else:
            decision = self._decisions.decide(observed, results, release)
            state, decision = self._act(observed, results, release, decision)
        if decision.reason == Reason.IN_SYNC:
            self._ports.measures.count(metrics.DIGEST_SKIPS, release=name)
        if decision.reason == Reason.GONE:
            self._drift.leave(key)
            return
        ours = running is not None and running.request.bundle == observed.bundle.name
        results.remaining = results.remaining or bool(release.revisions) or ours
        if decision.again_after is not None:
            results.again.append(decision.again_after)
        results.waits_for.update(decision.waits_for)
        last = release.revisions[-1] if release.revisions else None
        results.kept[name] = self._kept.ensure_marks(observed.bundle.namespace, name, last, decision)
        view = self._sizes.shown(
            observed, release_view(observed, results, release, decision, state, hooks=seen.hooks)
        )
        if name in results.put_off:
            results.views.extend(as_before(observed, view))
            return
        results.views.append(view)
        report_drift(self._ports.events, observed.obj, view, corrected=decision.action == Action.CORRECT)

    def _observe(self, observed: ObservedBundle, name: str) -> ObservedRelease:
        spec = next((item for item in observed.bundle.spec.releases if item.name == name), None)
        desired = None
        if spec is not None and not observed.bundle.deleting:
            ports = self._ports
            desired = resolve_release(
                spec, observed.secrets, ports.charts, ports.digest_key, ports.option_files
            )
        revisions = observed.histories.get(name, ())
        if desired is not None:
            desired = as_recorded(desired, revisions)
        if desired is None and revisions and revisions[-1].bundle != observed.bundle.name:
            # The release belongs to another bundle, or has no owner: this bundle may not remove it.
            revisions = ()
        return observe_release(
            name,
            spec,
            desired=desired,
            revisions=revisions,
            outcome=self._slots.outcome(observed.key(name)),
            bundle=observed.obj,
        )

    def _follow(
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
        remaining = deadline.seconds - running.age(self._ports.clock)
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

    def _act(
        self,
        observed: ObservedBundle,
        results: PassResults,
        release: ObservedRelease,
        decision: NextAction,
    ) -> tuple[ReportedState, NextAction]:
        """Starts what was decided, if there is a slot for it; the state from now on, and why."""
        if decision.action not in BEGUN:
            return _resting(decision, release), decision
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
            return _resting(decision, release), decision
        if not started:
            refused = no_slot()
            return _resting(refused, release), refused
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


def _resting(decision: NextAction, release: ObservedRelease) -> ReportedState:
    return resting_state(decision, release.last_status, as_desired=release.is_as_desired)


def _reported(done: str) -> str:
    return f": {done}" if done else ""


def _asks_to_delete_volumes(obj: Mapping[str, Any]) -> bool:
    spec = obj.get("spec")
    return isinstance(spec, Mapping) and spec.get("volumes") == "Delete"


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
