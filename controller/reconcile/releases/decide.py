"""Decides on one release of a bundle: gathers what the pure decision depends on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from controller.domain.api.keys import ReleaseKey
from controller.domain.api.reasons import Reason
from controller.domain.releases.actions import Action, NextAction
from controller.domain.releases.drift.difference import NO_DRIFT, Drift
from controller.domain.releases.next_action import decide
from controller.domain.releases.situation import OpenHook, ReleaseSituation
from controller.domain.values.account_names import replaced_accounts, replaced_passwords
from controller.domain.values.chart_values import Values, coalesced
from controller.errors import ChartInvalid, HelmFailed
from controller.ports.kubernetes import HELMBUNDLE
from controller.reconcile.releases.drift.index import Followed
from controller.reconcile.releases.drift.watch import DriftWatch
from controller.reconcile.releases.histories import RecordAges
from controller.reconcile.releases.hooks.running_hooks import find_running_hook
from controller.reconcile.releases.observe_bundle import ObservedBundle, PassResults
from controller.reconcile.releases.observe_release import (
    ObservedRelease,
    is_deployed,
    recorded,
    steady_jitter,
)
from controller.reconcile.releases.parts import BundleSettings, ReleasePorts
from controller.reconcile.releases.release_owner import ReleaseOwners
from controller.reconcile.releases.release_sizes import ReleaseSizes

_RESTING = (
    Reason.IN_SYNC,
    Reason.ROLLED_BACK,
    Reason.ROLLBACK_IMPOSSIBLE,
    Reason.DRIFTED,
    Reason.DRIFT_RECURS,
    Reason.RECORD_UNREADABLE,
)

# The least time for another Helm to work on a release that is no longer desired.
FOREIGN_REMOVAL_SECONDS = 1800.0


class ReleaseDecisions:
    """What a pass cannot tell from its own bundle alone is asked of the other bundles here."""

    def __init__(
        self, ports: ReleasePorts, drift: DriftWatch, sizes: ReleaseSizes, settings: BundleSettings
    ) -> None:
        self._kube = ports.kube
        self._records = ports.records
        self._charts = ports.charts
        self._clock = ports.clock
        self._drift = drift
        self._sizes = sizes
        self._retry_cap = settings.retry_cap
        self._owners = ReleaseOwners(ports.kube, settings.reserved)
        self._ages = RecordAges(ports.clock)

    def forget(self, key: ReleaseKey) -> None:
        """No bundle has the release any more."""
        self._ages.forget(key)

    def decide(self, observed: ObservedBundle, results: PassResults, release: ObservedRelease) -> NextAction:
        """The next step for the release: what its state asks for, unless a gate holds it back.

        Raises KubeError when other bundles cannot be read.
        """
        situation = self._situation(observed, results, release)
        decision = decide(situation)
        self._follow_drift(observed, release, decision, planning=situation.planning)
        return _with_obstacle(decision, release)

    def _situation(
        self, observed: ObservedBundle, results: PassResults, release: ObservedRelease
    ) -> ReleaseSituation:
        """All that the decision depends on. Other objects are read only where they may count."""
        desired, spec = release.desired, release.spec
        last = release.revisions[-1] if release.revisions else None
        situation = ReleaseSituation(
            desired=desired.digest if desired else None,
            recorded=recorded(release.revisions),
            attempt=release.attempt,
            now=self._clock.now(),
            jitter=steady_jitter(release.name, release.attempt),
            suspended=observed.suspended(release.name),
            obstacle=desired.obstacle if desired else None,
            requests=observed.requests(release.name),
            planning=observed.bundle.spec.mode == "Plan" and not observed.bundle.deleting,
            retry_cap=self._retry_cap,
            foreign_grace=_foreign_grace(release),
            unchanged_for=self._ages.unchanged_for(observed.key(release.name), last),
            drift_mode=spec.drift if spec else "Ignore",
            replaced=lambda revision: self._replaced(observed, release, revision),
            too_large=lambda: self._sizes.too_large(observed, release),
        )
        if situation.suspended:
            return situation
        owner = ""
        if desired is not None:
            owner = self._owners.of_another(observed, release.name, release.revisions)
        if owner:
            return replace(situation, owner=owner)
        unmet: tuple[str, ...] = ()
        if spec is not None and desired is not None:
            unmet = tuple(name for name in spec.depends_on if not self._is_met(observed, release, name))
        dependents: tuple[str, ...] = ()
        way_out = ""
        if desired is None and release.revisions:
            dependents, way_out = self._dependents(observed, release.name)
        results.drifts[release.name] = self._known_drift(observed, release)
        return replace(
            situation,
            unmet=unmet,
            dependents=dependents,
            way_out=way_out,
            open_hook=self._open_hook(observed, release),
            drift=results.drifts[release.name],
        )

    def _replaced(self, observed: ObservedBundle, release: ObservedRelease, revision: int) -> str:
        """By the values of the newest revision, and by those that are desired, with the chart's own: those
        alone may name an account. What cannot be read names none: Helm cannot go back to it either."""
        namespace, name = observed.key(release.name)
        try:
            before = self._records.effective_values(name, namespace, revision)
            newest = self._records.effective_values(name, namespace, release.revisions[-1].version)
        except HelmFailed:
            return ""
        after = (newest, *self._desired_values(release))
        found = [
            one
            for values in after
            for one in (*replaced_accounts(before, values), *replaced_passwords(before, values))
        ]
        return ", ".join(dict.fromkeys(found))

    def _desired_values(self, release: ObservedRelease) -> tuple[Values, ...]:
        """None where nothing is desired. Without the chart's own where the chart is not to be had."""
        desired = release.desired
        if desired is None or desired.resolved is None:
            return ()
        try:
            return (coalesced(self._charts.defaults(desired.spec.chart), desired.resolved.values),)
        except ChartInvalid:
            return (desired.resolved.values,)

    def _is_met(self, observed: ObservedBundle, release: ObservedRelease, dependency: str) -> bool:
        """Whether the dependency is met. For an install, a dependency that is being removed is not met: its
        removal would wait for the new release without end."""
        revisions = observed.histories.get(dependency, ())
        if not is_deployed(revisions):
            return False
        bundle = revisions[-1].bundle
        if release.revisions or bundle in ("", observed.bundle.name):
            return True
        found = self._kube.get(HELMBUNDLE, bundle, observed.bundle.namespace)
        if found is None:
            return True
        named = {one.get("name") for one in (found.get("spec") or {}).get("releases") or []}
        return dependency in named and not found["metadata"].get("deletionTimestamp")

    def _open_hook(self, observed: ObservedBundle, release: ObservedRelease) -> OpenHook | None:
        """What the last attempt has left at work on what is desired still."""
        spec, desired, attempt = release.spec, release.desired, release.attempt
        last = release.revisions[-1] if release.revisions else None
        if spec is None or desired is None or attempt is None or last is None or not attempt.interrupted:
            return None
        if not (last.ours and last.status == "failed" and last.serves == attempt.digest == desired.digest):
            return None
        return find_running_hook(
            self._kube, self._records, observed.key(release.name), last, float(spec.timeout)
        )

    def _known_drift(self, observed: ObservedBundle, release: ObservedRelease) -> Drift:
        spec, revisions = release.spec, release.revisions
        if spec is None or spec.drift == "Ignore" or not revisions:
            return NO_DRIFT
        return self._drift.known(observed.key(release.name), revisions[-1].version)

    def _follow_drift(
        self, observed: ObservedBundle, release: ObservedRelease, decision: NextAction, *, planning: bool
    ) -> None:
        """Has the objects of a release looked after that is deployed and to stay as it is."""
        key, spec = observed.key(release.name), release.spec
        last = release.revisions[-1] if release.revisions else None
        failed = release.attempt is not None and release.attempt.action == Action.CORRECT
        obstacle = release.desired.obstacle if release.desired else None
        rests = (
            decision.reason in _RESTING
            # What is deployed goes on, whatever its next revision waits for.
            or (obstacle is not None and decision.reason == obstacle.reason)
            or decision.action == Action.CORRECT
            or (decision.reason in (Reason.BACKING_OFF, Reason.RIGHT_MISSING) and failed)
        )
        rests = rests and not planning and last is not None and last.status == "deployed"
        if not rests or last is None or spec is None or spec.drift == "Ignore":
            self._drift.leave(key)
            return
        bundle = (observed.bundle.namespace, observed.bundle.name)
        asked = observed.requests(release.name).reconcile
        self._drift.follow(key, Followed(bundle, last.version, spec.drift_ignore, asked))

    def _dependents(self, observed: ObservedBundle, release: str) -> tuple[tuple[str, ...], str]:
        """Installed releases of the namespace, of any bundle, whose spec depends on this one; and what a
        person does about them, empty where they go by themselves.

        Those that this one itself depends on do not count: in a circle nothing could ever go.
        """
        needs: dict[str, set[str]] = {}
        bundle_of: dict[str, str] = {}
        for obj in self._kube.list(HELMBUNDLE, observed.bundle.namespace):
            for other in (obj.get("spec") or {}).get("releases") or []:
                name = str(other.get("name"))
                needs.setdefault(name, set()).update(other.get("dependsOn") or [])
                if not obj["metadata"].get("deletionTimestamp"):
                    bundle_of[name] = obj["metadata"]["name"]
        below = _reachable(needs, release)
        found = {name for name, needed in needs.items() if release in needed} - below
        if not found:
            return (), ""
        installed = self._records.observe(observed.bundle.namespace, releases=found)
        dependents = tuple(sorted(name for name in found if installed.get(name)))
        staying = sorted({bundle_of[name] for name in dependents if name in bundle_of})
        return dependents, _way_out(observed, release, staying)


def _way_out(observed: ObservedBundle, release: str, staying: Sequence[str]) -> str:
    """For a bundle that is being deleted below bundles that stay: neither can go on by itself."""
    if not (staying and observed.bundle.deleting):
        return ""
    kubectl = f"kubectl -n {observed.bundle.namespace}"
    patch = """'{"metadata":{"finalizers":null}}'"""
    keep = f"{kubectl} patch hb {observed.bundle.name} --type merge -p {patch}"
    others = f"{kubectl} delete hb {' '.join(staying)}"
    return f", which stays. To keep {release}: {keep}. To remove both: {others}"


def _foreign_grace(release: ObservedRelease) -> float:
    """Seconds after which another Helm counts as dead. A removal gets more time: a short timeout limits an
    install, and not a removal by hand."""
    timeout = float(release.spec.timeout) if release.spec else 0.0
    return timeout if release.spec and release.desired is not None else max(timeout, FOREIGN_REMOVAL_SECONDS)


def _with_obstacle(decision: NextAction, release: ObservedRelease) -> NextAction:
    """A release that is as its spec asks for says what it will lack with its next change."""
    obstacle = release.desired.obstacle if release.desired else None
    if obstacle is None or decision.reason != Reason.IN_SYNC:
        return decision
    text = f"as its spec requests, as far as is known: {obstacle.message}"
    return replace(decision, message=text, again_after=obstacle.again_after)


def _reachable(needs: Mapping[str, set[str]], start: str) -> set[str]:
    """Everything that `start` depends on, directly or not."""
    found: set[str] = set()
    open_ = [start]
    while open_:
        for name in needs.get(open_.pop(), set()) - found:
            found.add(name)
            open_.append(name)
    return found
