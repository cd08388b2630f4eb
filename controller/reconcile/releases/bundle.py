"""Brings the releases of one HelmBundle to what its spec says, one step at a pass."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from typing import Any

from controller.domain.api.keys import BundleKey
from controller.domain.api.object_meta import parse_meta
from controller.domain.api.object_owner import made_by_bundle
from controller.domain.api.reasons import Reason
from controller.domain.api.region_spec import VolumePolicy
from controller.domain.releases.actions import Action, NextAction
from controller.domain.releases.bundle import BundleSpec, ReleaseSpec
from controller.domain.releases.bundle_object import Bundle, parse_bundle
from controller.domain.releases.gates import owned_by
from controller.domain.releases.reported_state import BEGUN
from controller.domain.shared import metrics
from controller.errors import Forbidden, SpecInvalid
from controller.ports.kubernetes import HELMBUNDLE, KubeObject
from controller.reconcile.releases.action_slots import ActionSlots
from controller.reconcile.releases.actions.follow import ActionFollower
from controller.reconcile.releases.actions.start import ActionStarter
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
from controller.reconcile.releases.hooks.progress import NO_HOOKS, HookFollower
from controller.reconcile.releases.kept_claims.reported_claims import KeptClaims
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
        self._drift = drift
        self._report = BundleStatusWriter(ports.kube, ports.clock)
        self._sizes = ReleaseSizes(ports)
        self._decisions = ReleaseDecisions(ports, drift, self._sizes, settings)
        self._planner = BundlePlanner(ports, settings, sizes=self._sizes)
        self._waiting = WaitingBundles()
        self._names: dict[BundleKey, frozenset[str]] = {}
        self._histories = ReleaseHistories(ports.records, ports.clock)
        self._kept = KeptClaims(ports.as_charts, ports.records, ports.clock)
        self._follower = ActionFollower(ports.clock, listeners, slots=slots, hooks=hooks)
        self._starter = ActionStarter(
            ports,
            settings,
            listeners,
            slots=slots,
            hooks=hooks,
            drift=drift,
            waiting=self._waiting,
            histories=self._histories,
            kept=self._kept,
        )

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
        named = {name for one in _asked_for(bundle) for name in (one.name, *one.depends_on)}
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
            state = release.resting_state(decision)
            if release.desired is None:
                return
        elif running is not None:
            seen = self._follower.follow(observed, results, release, running)
            if running.request.action == Action.CORRECT:
                results.drifts[name] = self._drift.known(key, running.request.version)
            else:
                self._drift.leave(key)
            state, reason = BEGUN[running.request.action]
            decision = NextAction(running.request.action, reason, seen.message, seen.again_after)
        else:
            decision = self._decisions.decide(observed, results, release)
            state, decision = self._starter.start(observed, results, release, decision)
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


def _asks_to_delete_volumes(obj: Mapping[str, Any]) -> bool:
    spec = obj.get("spec")
    return isinstance(spec, Mapping) and spec.get("volumes") == "Delete"


def _asked_for(bundle: Bundle) -> tuple[ReleaseSpec, ...]:
    """The releases of the bundle, and those that it is planned to have: others may have installed these."""
    planned = bundle.spec.planned
    return (*bundle.spec.releases, *(planned.releases if planned is not None else ()))
