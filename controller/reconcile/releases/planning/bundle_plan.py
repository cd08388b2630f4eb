"""helmbundle's level of a plan: what would be done to each release of a bundle with mode Plan."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from controller.domain.api.keys import BundleKey
from controller.domain.api.shortened_text import shorten
from controller.domain.releases.bundle import PlannedSpec, ReleaseSpec
from controller.domain.releases.digests import fingerprint, values_digest
from controller.domain.releases.plan import (
    PlanAction,
    ReleaseEffects,
    bundle_plan,
    desired_digest,
    desired_of,
)
from controller.domain.releases.sizes.release_size import nearly_too_large, too_large
from controller.domain.shared.plurals import count
from controller.domain.shared.redaction import Redactor
from controller.domain.values.secret_refs import ResolvedValues, find_references, resolve
from controller.errors import ChartInvalid, HelmFailed, ReleaseMissing, SecretMissing, SpecInvalid
from controller.ports.helm import HelmRequest, RenderedRelease, Revision
from controller.reconcile.releases.actions.helm_request import next_revision
from controller.reconcile.releases.actions.object_owners import OwnerGuard
from controller.reconcile.releases.actions.take_over import runs_as_desired
from controller.reconcile.releases.kept_claims.keep_marks import VolumeKeeper
from controller.reconcile.releases.observe_bundle import ObservedBundle, PassResults
from controller.reconcile.releases.observe_release import DIGEST_LENGTH
from controller.reconcile.releases.parts import BundleSettings, ReleasePorts
from controller.reconcile.releases.planning.effects import DryRun, ObjectEffects
from controller.reconcile.releases.release_owner import ReleaseOwners
from controller.reconcile.releases.release_sizes import ReleaseSizes

PROBLEM_LIMIT = 2000
# Seconds until a plan that would fail is made again.
RETRY_SECONDS = 20.0
_NOTHING = RenderedRelease((), ())


@dataclass(frozen=True)
class _Candidate:
    """A release that would be touched, with all that its effects depend on.

    `values` are resolved, secrets that are not there yet by stand-ins, which `missing` counts.
    """

    name: str
    action: PlanAction
    revisions: tuple[Revision, ...]
    resolved: str = ""
    digest: str = ""
    spec: ReleaseSpec | None = None
    values: ResolvedValues | None = None
    missing: int = 0
    problem: str = ""

    def stamp(self) -> tuple[object, ...]:
        """A value that changes when the effects may have changed, except for changes of the cluster's
        objects."""
        last = self.revisions[-1] if self.revisions else None
        seen = (last.version, last.status, last.digest, last.handed_over) if last else ()
        return (self.name, self.action, self.resolved, self.digest, self.missing, self.problem, seen)


class BundlePlanner:
    """Plans what a bundle asks for, or what it is to become (`spec.planned`), by render and dry run.

    What it found is kept until the next pass without an event at most, while neither the spec nor Helm's
    records change.
    """

    def __init__(self, ports: ReleasePorts, settings: BundleSettings, *, sizes: ReleaseSizes) -> None:
        self._as_charts = ports.as_charts
        self._helm = ports.helm
        self._records = ports.records
        self._charts = ports.charts
        self._clock = ports.clock
        self._digest_key = ports.digest_key
        self._files = ports.option_files
        self._sizes = sizes
        self._keep = settings.resync
        self._owners = ReleaseOwners(ports.kube, settings.reserved)
        self._volumes = VolumeKeeper(ports.as_charts, ports.records)
        self._known: dict[BundleKey, tuple[object, float, tuple[ReleaseEffects, ...]]] = {}

    def plan(self, observed: ObservedBundle, results: PassResults) -> dict[str, Any] | None:
        """`status.plan` of the bundle; None with another mode. Raises KubeError when a server is away."""
        bundle = observed.bundle
        key = (bundle.namespace, bundle.name)
        if bundle.spec.mode != "Plan" or bundle.deleting:
            self._known.pop(key, None)
            return None
        target = bundle.spec.planned or PlannedSpec(bundle.spec.releases, bundle.spec.volumes)
        candidates = tuple(self._candidates(observed, target))
        stamp = (target.volumes, tuple(one.stamp() for one in candidates))
        known = self._known.get(key)
        now = self._clock.monotonic()
        if known is None or known[0] != stamp or now >= known[1]:
            effects = tuple(self._effects(observed, one, target) for one in candidates)
            # What would fail now may heal in the cluster, and no event says when.
            keep = min(self._keep, RETRY_SECONDS) if any(one.problem for one in effects) else self._keep
            known = (stamp, now + keep, effects)
            self._known[key] = known
        if any(one.problem for one in known[2]):
            results.again.append(RETRY_SECONDS)
        return bundle_plan(known[2], bundle.generation, self._desired(observed, target))

    def _desired(self, observed: ObservedBundle, target: PlannedSpec) -> str:
        """Digest of what is planned for; empty while a chart cannot be read, which the plan then reports."""
        spec = observed.obj["spec"]
        try:
            charts = [self._charts.digest(release.chart) for release in target.releases]
        except (ChartInvalid, SecretMissing):
            return ""
        return desired_digest(desired_of(spec.get("planned") or spec), charts)

    def _candidates(self, observed: ObservedBundle, target: PlannedSpec) -> Iterator[_Candidate]:
        for spec in target.releases:
            found = self._resolved(observed, spec)
            if found is not None:
                yield found
        named = {spec.name for spec in target.releases}
        for name in sorted(observed.names()):
            revisions = observed.histories.get(name, ())
            if name not in named and revisions and revisions[-1].bundle == observed.bundle.name:
                yield _Candidate(name, PlanAction.UNINSTALL, revisions)

    def _resolved(self, observed: ObservedBundle, spec: ReleaseSpec) -> _Candidate | None:
        """What would be done to the release, None for nothing."""
        revisions = observed.histories.get(spec.name, ())
        action = PlanAction.UPGRADE if revisions else PlanAction.INSTALL
        if spec.suspend or observed.suspended(spec.name):
            return None
        missing: set[tuple[str, str]] = set()

        def lookup(name: str, key: str) -> str | None:
            text = observed.secrets.lookup(name, key)
            if text is None and (name, key) not in suffixes:
                missing.add((name, key))
                return f"<{name}/{key}>"
            return text

        try:
            # Those of accounts that were never rotated are not there, and nothing is missing.
            references = find_references(spec.values)
            suffixes = {(one.name, one.key) for one in references if one.prefix is not None}
            upstream = bool(spec.chart.repository)
            files = self._files.with_chart(spec.chart.name)
            values = resolve(spec.values, lookup, files, release=spec.name, upstream=upstream)
            chart = self._charts.digest(spec.chart)
        except (ChartInvalid, SecretMissing, SpecInvalid) as error:
            return _Candidate(spec.name, action, revisions, spec=spec, problem=str(error))
        digest = ""
        if revisions:
            # Only then: the installation's key is made when it is first needed, and a plan makes nothing.
            full = values_digest(chart, spec.chart.version, values.values, self._digest_key())
            digest = full[:DIGEST_LENGTH]
            if not missing and _is_installed(
                revisions[-1], digest, rollback=observed.requests(spec.name).rollback
            ):
                return None
        owner = self._owners.of_another(observed, spec.name, revisions)
        return _Candidate(
            spec.name,
            action,
            revisions,
            resolved=fingerprint(
                {"chart": chart, "version": spec.chart.version, "values": dict(spec.values)}
            ),
            digest=digest,
            spec=spec,
            values=values,
            missing=len(missing),
            problem=f"the release {owner}" if owner else "",
        )

    def _effects(self, observed: ObservedBundle, one: _Candidate, target: PlannedSpec) -> ReleaseEffects:
        namespace = observed.bundle.namespace
        dry_run = DryRun(self._as_charts, one.name, namespace)
        redactor = Redactor(one.values.secrets if one.values else ())
        found, octets, problem, action = ObjectEffects(), 0, one.problem, one.action
        try:
            if one.action == PlanAction.UNINSTALL:
                claims = self._records.claims(one.name, namespace)
                delete = target.volumes == "Delete"
                found = dry_run.remove(self._recorded(one, namespace), claims, delete_volumes=delete)
            elif not problem and self._is_taken_over(one, namespace):
                action = PlanAction.TAKE_OVER
            elif not problem:
                rendered = self._helm.render(self._request(one, namespace), server=True)
                before = self._recorded(one, namespace).manifest
                dropped = self._volumes.dropped(one.name, namespace, rendered)
                found = dry_run.apply(rendered, one.action, before, dropped, volumes=target.volumes)
                guard = OwnerGuard(self._as_charts, self._records, one.name, namespace)
                found.problems += guard.observe(rendered, str(one.action)).taken
                if target.volumes == "Retain":
                    found.problems += self._volumes.problems(rendered, namespace, str(one.action).lower())
                if one.spec is not None and one.values is not None:
                    octets = self._sizes.of_rendered(one.spec, one.values, rendered)
                    problem = too_large(octets)
        except (ChartInvalid, HelmFailed, SecretMissing) as error:
            problem = str(error)
        notes = [note for note in (*found.notes, nearly_too_large(octets)) if note]
        if one.missing:
            missing = count(one.missing, "credential is", "credentials are")
            notes.append(f"{missing} still missing; this plan uses names instead")
        return ReleaseEffects(
            name=one.name,
            action=action,
            desired=one.resolved,
            before=one.revisions[-1].digest if one.revisions else "",
            after=one.digest,
            chart=_chart(one),
            objects=tuple(found.objects),
            restarts=tuple(found.restarts),
            pods=found.pods,
            jobs=tuple(found.jobs),
            hooks=tuple(found.hooks),
            octets=octets,
            notes=tuple(redactor.redact(note) for note in notes),
            problem=shorten(" ".join(redactor.redact(problem or found.problem()).split()), PROBLEM_LIMIT),
        )

    def _is_taken_over(self, one: _Candidate, namespace: str) -> bool:
        """Whether the release is another Helm's, was handed over, and would stay as it runs."""
        if one.missing or not one.revisions:
            return False
        return runs_as_desired(self._helm, self._records, self._request(one, namespace), one.revisions[-1])

    def _recorded(self, one: _Candidate, namespace: str) -> RenderedRelease:
        """What the newest revision that was deployed has put there, or else the newest one."""
        known = [rev for rev in one.revisions if rev.status == "deployed"] or list(one.revisions)
        if not known:
            return _NOTHING
        try:
            return self._records.manifest(one.name, namespace, known[-1].version)
        except ReleaseMissing:
            return _NOTHING

    def _request(self, one: _Candidate, namespace: str) -> HelmRequest:
        if one.spec is None or one.values is None:
            raise HelmFailed(f"release {one.name} without a spec")
        return HelmRequest(
            one.name,
            namespace,
            self._charts.locate(one.spec.chart),
            one.values.values,
            timeout=one.spec.timeout,
            revision=next_revision(one.revisions),
        )


def _is_installed(last: Revision, digest: str, *, rollback: str) -> bool:
    """Whether the release stays as it is: as desired, or where an operator has rolled it back to."""
    rolled_back = bool(rollback and last.rolled_back_to and last.desired_at_rollback == digest)
    return last.status == "deployed" and last.ours and (rolled_back or last.digest == digest)


def _chart(one: _Candidate) -> str:
    """`keystone 2025.2.1`, `keystone 2025.2.0 → 2025.2.1`; the version only where the spec names one."""
    if one.spec is None:
        return ""
    before = one.revisions[-1].chart_version if one.revisions else ""
    after = one.spec.chart.version
    version = f"{before} → {after}" if before and after and before != after else after
    return f"{one.spec.chart.name} {version}".strip()
