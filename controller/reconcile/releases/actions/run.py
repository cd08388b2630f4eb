"""Carries out one decided action on one release through the Helm port. Blocking; runs in a slot."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from controller.domain.api.conditions import shorten
from controller.domain.api.names import (
    BUNDLE_LABEL,
    CHART_VERSION_LABEL,
    DIGEST_LABEL,
    FORCE_LABEL,
    HELD_DIGEST_LABEL,
    REVISION_LABEL,
    ROLLBACK_LABEL,
    ROLLED_BACK_TO_LABEL,
    SKIP_HOOKS_RELEASE_PREFIX,
    SPEC_DIGEST_LABEL,
)
from controller.domain.releases.actions import Action
from controller.domain.releases.bundle import ReleaseSpec, VolumePolicy
from controller.domain.releases.requests import NOTHING_ASKED, Requests, label_of
from controller.domain.releases.situation import Attempt
from controller.domain.shared.redaction import Redactor
from controller.domain.values.chart_values import Values
from controller.errors import (
    ApiUnavailable,
    ControllerError,
    DriftRefused,
    HelmCancelled,
    HelmFailed,
    KubeError,
    ReleaseMissing,
)
from controller.ports.charts import ChartSource
from controller.ports.helm import (
    Cancellation,
    HelmClient,
    HelmRequest,
    ReleaseRecords,
    RenderedRelease,
    Revision,
)
from controller.ports.kubernetes import Kube
from controller.ports.system import Clock
from controller.reconcile.releases.action_slots import ActionOutcome
from controller.reconcile.releases.actions.immutable_jobs import replace_immutable_jobs
from controller.reconcile.releases.actions.immutable_objects import refuse_fixed_changes
from controller.reconcile.releases.actions.uninstall import ReleaseRemoval, Removal
from controller.reconcile.releases.actions.volume_keeper import VolumeKeeper
from controller.reconcile.releases.drift.watch import DriftWatch
from controller.reconcile.releases.failure_cause import FailureCause, FailureCauses
from controller.reconcile.releases.hooks.previous_runs import delete_last_runs
from controller.reconcile.releases.hooks.progress import HookProgress
from controller.reconcile.releases.recorded_secrets import RecordedSecrets

log = logging.getLogger(__name__)

# A status is for people and shares 1.5 MB with 500 releases.
ERROR_LIMIT = 1000
# How long an uninstall and its hooks may take; nothing is left that could say otherwise.
UNINSTALL_SECONDS = 600
# Names of kept volumes in an Event.
MOST_KEPT = 10


@dataclass(frozen=True)
class ActionRequest:
    """One action on one release, complete: nothing is looked up again while it runs.

    `version` is the revision that an install, upgrade or rollback will make, or the one that others work
    on. `values` are resolved and hold secrets; `redactor` knows them. `failures` is the number in a row
    before this action, `interrupted` whether the last of them was none of the release's own. `requests` is
    what the operator asks for. `spec` is None for what is to go for good; `skip_hooks`: without the hooks of
    its deletion. `unlocks` is how many actions were cut off before.
    """

    action: Action
    bundle: str
    release: str
    namespace: str
    version: int
    digest: str = ""
    spec_digest: str = ""
    spec: ReleaseSpec | None = None
    values: Values | None = None
    redactor: Redactor = field(default_factory=Redactor)
    failures: int = 0
    interrupted: bool = False
    requests: Requests = NOTHING_ASKED
    volumes: VolumePolicy = "Retain"
    skip_hooks: bool = False
    unlocks: int = 0

    @property
    def timeout(self) -> int:
        """Seconds that the action may take."""
        return self.spec.timeout if self.spec else UNINSTALL_SECONDS

    def failures_with(self, *, interrupted: bool) -> int:
        """The number of failures in a row with one more. The first of the release's own begins again: how
        often requests were lost before says nothing of how soon it may be mended."""
        return 1 if self.interrupted and not interrupted else self.failures + 1


class ReleaseActions:
    """The effects behind `Action`. Each is idempotent: killed anywhere, it is decided upon again.

    `history` is how many revisions Helm keeps.
    """

    def __init__(
        self,
        *,
        kube: Kube,
        helm: HelmClient,
        records: ReleaseRecords,
        charts: ChartSource,
        clock: Clock,
        hooks: HookProgress,
        drift: DriftWatch,
        history: int = 5,
    ) -> None:
        self._kube = kube
        self._helm = helm
        self._records = records
        self._charts = charts
        self._clock = clock
        self._drift = drift
        self._removal = ReleaseRemoval(kube, helm, records)
        self._volumes = VolumeKeeper(kube, records)
        self._history = history
        self._causes = FailureCauses(helm, hooks)
        self._secrets = RecordedSecrets(kube, records)

    def perform(self, job: ActionRequest, cancellation: Cancellation) -> ActionOutcome:
        """Does it and tells how it went; errors of Kubernetes and Helm end in the outcome."""
        started, began = self._clock.now(), self._clock.monotonic()
        steps: dict[Action, Callable[[ActionRequest, Cancellation], str | None]] = {
            Action.INSTALL: self._install,
            Action.UPGRADE: self._upgrade,
            Action.ROLLBACK: self._rollback,
            Action.UNINSTALL: self._uninstall,
            Action.UNLOCK: self._unlock,
            Action.CORRECT: self._correct,
        }
        cause, superseded, done = FailureCause(""), False, ""
        try:
            done = steps[job.action](job, cancellation) or ""
        except ControllerError as failure:
            ended = isinstance(failure, HelmCancelled) and cancellation.cancelled
            superseded = ended and not cancellation.overdue
            cause = self._explain(job, failure, superseded=superseded)
        error = cause.text
        duration = self._clock.monotonic() - began
        # What was ended because nobody wants it any more has not failed. What had to be unlocked has: its
        # container did not live to say so.
        failed = bool(error) or job.action == Action.UNLOCK
        # Whole seconds, as the status keeps it: what a restart reads back must be the same.
        finished = float(int(self._clock.now()))
        unlocks = job.unlocks + (job.action == Action.UNLOCK and not error)
        # What had to be unlocked was left by the failure before it, or by the end of the container.
        told = bool(error) and not superseded
        interrupted = cause.interrupted if told else failed and job.interrupted
        failures = 0
        if failed:
            failures = job.failures if superseded else job.failures_with(interrupted=interrupted)
        attempt = Attempt(str(job.action), job.digest, finished, failures, job.requests, unlocks, interrupted)
        _log_end(job, error, duration, superseded=superseded)
        return ActionOutcome(attempt, started, duration, error, cause.hooks, superseded, done)

    def _install(self, job: ActionRequest, cancellation: Cancellation) -> str:
        request = self._request(job)
        rendered = self._helm.render(request)
        kept = self._keep_volumes(job, rendered, request)
        # A release whose records are lost may have left runs of its hooks.
        self._delete_last_runs(job, rendered, cancellation)
        self._helm.install(request, cancellation)
        return kept

    def _upgrade(self, job: ActionRequest, cancellation: Cancellation) -> str:
        request = self._request(job)
        kept = self._make_way(job, self._helm.render(request), cancellation, request)
        self._helm.upgrade(request, cancellation)
        return kept

    def _rollback(self, job: ActionRequest, cancellation: Cancellation) -> str:
        """Goes back, and notes in the new revision that it did: killed in between, the note is made then."""
        target, kept = job.requests.rollback_revision, ""
        if not self._is_back(job, target):
            before = self._records.manifest(job.release, job.namespace, target)
            kept = self._make_way(job, before, cancellation)
            try:
                self._helm.rollback(
                    job.release, job.namespace, target, timeout=job.timeout, cancellation=cancellation
                )
            except HelmFailed:
                self._give_up_rollback(job)
                raise
        newest = self._newest(job)
        if newest is None:
            raise ReleaseMissing(f"release {job.release} vanished while it was rolled back")
        labels = {
            REVISION_LABEL: str(newest.version),
            ROLLED_BACK_TO_LABEL: f"{target}.{newest.version}",
            HELD_DIGEST_LABEL: job.digest,
            # A spec whose digest nobody could tell was never served: this revision must not stand for it.
            SPEC_DIGEST_LABEL: job.spec_digest if job.digest else "",
            **_request_labels(job),
        }
        self._records.relabel(job.release, job.namespace, newest.version, labels)
        return kept

    def _make_way(
        self,
        job: ActionRequest,
        rendered: RenderedRelease,
        cancellation: Cancellation,
        request: HelmRequest | None = None,
    ) -> str:
        """Before an action of Helm's that would fail at objects that cannot be changed, or delete volumes;
        which it keeps."""
        refuse_fixed_changes(self._kube, rendered, job.release, job.namespace)
        kept = self._keep_volumes(job, rendered, request)
        replace_immutable_jobs(self._kube, rendered, job.release, job.namespace)
        self._delete_last_runs(job, rendered, cancellation)
        return kept

    def _keep_volumes(
        self, job: ActionRequest, rendered: RenderedRelease, request: HelmRequest | None
    ) -> str:
        """Has Helm leave what the release will not have any more; the same in words."""
        if request is not None and self._volumes.has_volumes(job.release, job.namespace):
            # A chart may ask the cluster whether to make a claim: what counts is what Helm will send.
            rendered = self._helm.render(request, server=True)
        if job.volumes == "Retain":
            self._volumes.refuse(rendered, job.namespace, str(job.action).lower())
        return keeps(self._volumes.keep(job.release, job.namespace, rendered, job.volumes))

    def _delete_last_runs(
        self, job: ActionRequest, rendered: RenderedRelease, cancellation: Cancellation
    ) -> None:
        delete_last_runs(
            self._kube,
            rendered.hooks,
            str(job.action),
            job.namespace,
            cancellation=cancellation,
            timeout=job.timeout,
        )

    def _give_up_rollback(self, job: ActionRequest) -> None:
        """Helm leaves a rollback whose hook failed as pending, which it is not any more."""
        newest = self._newest(job)
        if newest is not None and newest.status == "pending-rollback":
            self._records.mark_failed(job.release, job.namespace, newest.version, "its rollback failed")

    def _is_back(self, job: ActionRequest, target: int) -> bool:
        """Whether the newest revision is a rollback to `target` that lacks only its note."""
        revisions = self._records.observe(job.namespace, releases=(job.release,)).get(job.release, ())
        if not revisions or revisions[-1].status != "deployed" or revisions[-1].ours:
            return False
        newest = revisions[-1]
        origins = {target} | {one.origin for one in revisions if one.version == target and one.origin}
        return newest.version > target and newest.origin in origins

    def _newest(self, job: ActionRequest) -> Revision | None:
        revisions = self._records.observe(job.namespace, releases=(job.release,)).get(job.release, ())
        return revisions[-1] if revisions else None

    def _unlock(self, job: ActionRequest, cancellation: Cancellation) -> None:
        del cancellation  # one conditional write: over before it could be cancelled
        self._records.mark_failed(job.release, job.namespace, job.version, "its writer ended while at work")

    def _uninstall(self, job: ActionRequest, cancellation: Cancellation) -> str:
        removal = Removal(
            job.release,
            job.namespace,
            job.version,
            job.timeout,
            for_good=job.spec is None,
            hooks=not job.skip_hooks,
            volumes=job.volumes,
        )
        return keeps(self._removal.remove(removal, cancellation))

    def _correct(self, job: ActionRequest, cancellation: Cancellation) -> str:
        """Puts objects right that others have changed; gives which."""
        correction = self._drift.correct((job.namespace, job.release), job.version, cancellation)
        if correction.remaining:
            raise DriftRefused("; ".join(str(one) for one in correction.remaining))
        return str(correction)

    def _unreadable(self, job: ActionRequest) -> str:
        """The record of a revision that Helm does not find although it is there."""
        try:
            newest = self._newest(job)
        except ControllerError:
            return ""
        return f"sh.helm.release.v1.{job.release}.v{newest.version}" if newest else ""

    def _request(self, job: ActionRequest) -> HelmRequest:
        if job.spec is None or job.values is None:
            raise HelmFailed(f"{job.action} of {job.release} without a spec")
        chart = job.spec.chart
        labels = {
            BUNDLE_LABEL: job.bundle,
            DIGEST_LABEL: job.digest,
            SPEC_DIGEST_LABEL: job.spec_digest,
            REVISION_LABEL: str(job.version),
            **_request_labels(job),
        }
        if chart.version:
            labels[CHART_VERSION_LABEL] = chart.version.replace("+", "_")[:63]
        return HelmRequest(
            release=job.release,
            namespace=job.namespace,
            chart_path=self._charts.locate(chart),
            values=job.values,
            labels=labels,
            timeout=job.timeout,
            max_history=self._history,
            description=f"{job.action} by openstack-controller",
        )

    def _explain(self, job: ActionRequest, failure: ControllerError, *, superseded: bool) -> FailureCause:
        """Why it failed, redacted and no longer than a status can hold."""
        if superseded:
            return FailureCause("ended early: what it served is not asked for any more")
        lost = isinstance(failure, ApiUnavailable) or (
            isinstance(failure, HelmFailed) and failure.interrupted
        )
        try:
            redactor = self._secrets.redactor((job.namespace, job.release), job)
        except KubeError as trouble:
            text = f"{job.action} failed; why is not told, as its secrets cannot be read: {trouble}"
            return FailureCause(text, interrupted=lost)
        cause = FailureCause(str(failure), interrupted=lost)
        unreadable = self._unreadable(job) if isinstance(failure, ReleaseMissing) else ""
        if unreadable:
            cause = FailureCause(
                f"Helm cannot read its record: delete the Secret {unreadable}, and what is left counts"
            )
        elif isinstance(failure, HelmFailed):
            key = (job.namespace, job.release)
            cause = self._causes.of(key, str(job.action), failure, redactor)
        text = shorten(" ".join(redactor.redact(cause.text).split()), ERROR_LIMIT)
        if cause.hooks and job.action == Action.UNINSTALL and not cause.interrupted:
            way_out = f"kubectl annotate hb {job.bundle} {SKIP_HOOKS_RELEASE_PREFIX}/{job.release}=true"
            text = f"{text}; to remove it without its hooks: {way_out}"
        return replace(cause, text=text)


def keeps(volumes: Sequence[str]) -> str:
    """`keeps PersistentVolumeClaim/a, …`, empty for none."""
    more = f" and {len(volumes) - MOST_KEPT} more" if len(volumes) > MOST_KEPT else ""
    return f"keeps {', '.join(volumes[:MOST_KEPT])}{more}" if volumes else ""


def _request_labels(job: ActionRequest) -> Mapping[str, str]:
    """Marks of what was asked for."""
    return {
        FORCE_LABEL: label_of(job.requests.force),
        ROLLBACK_LABEL: label_of(job.requests.rollback),
    }


def _log_end(job: ActionRequest, error: str, duration: float, *, superseded: bool) -> None:
    failed = bool(error) and not superseded
    extra = {
        "release": job.release,
        "action": str(job.action),
        "duration": round(duration, 3),
        "reason": f"{job.action}{'Failed' if failed else 'Ended' if superseded else 'Succeeded'}",
    }
    ending = f"failed: {error}" if failed else error or "succeeded"
    level = logging.WARNING if failed else logging.INFO
    log.log(level, "%s of release %s %s", job.action, job.release, ending, extra=extra)
