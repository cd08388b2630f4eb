"""Carries out one decided action on one release through the Helm port. Blocking; runs in a slot."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass, field

from controller.domain.bundle import ReleaseSpec, Values, VolumePolicy
from controller.domain.conditions import shorten
from controller.domain.names import (
    BUNDLE_LABEL,
    CHART_VERSION_LABEL,
    DIGEST_LABEL,
    REVISION_LABEL,
)
from controller.domain.redaction import Redactor
from controller.domain.release_state import Action, Attempt
from controller.errors import ControllerError, HelmFailed, ReleaseMissing
from controller.ports import (
    SECRET,
    Cancellation,
    ChartSource,
    Clock,
    HelmClient,
    HelmRequest,
    Kube,
    ReleaseRecords,
)
from controller.reconcile.action_slots import Outcome
from controller.reconcile.immutable_jobs import replace_immutable_jobs

log = logging.getLogger(__name__)

# A status is for people and shares 1.5 MB with 500 releases.
ERROR_LIMIT = 1000


@dataclass(frozen=True)
class Job:
    """One action on one release, complete: nothing is looked up again while it runs.

    `version` is the revision that an install or upgrade will make, or the one that an unlock repairs.
    `values` are resolved and hold secrets; `redactor` knows them. `failures` is the number in a row
    before this action, `force` the operator's request that it serves.
    """

    action: Action
    bundle: str
    release: str
    namespace: str
    version: int
    digest: str = ""
    spec: ReleaseSpec | None = None
    values: Values | None = None
    redactor: Redactor = field(default_factory=Redactor)
    failures: int = 0
    force: str = ""
    volumes: VolumePolicy = "Retain"


class ReleaseActions:
    """The effects behind `Action`. Each is idempotent: killed anywhere, it is decided upon again."""

    def __init__(
        self,
        *,
        kube: Kube,
        helm: HelmClient,
        records: ReleaseRecords,
        charts: ChartSource,
        clock: Clock,
        history: int = 5,
    ) -> None:
        self._kube = kube
        self._helm = helm
        self._records = records
        self._charts = charts
        self._clock = clock
        self._history = history

    def perform(self, job: Job, cancellation: Cancellation) -> Outcome:
        """Does it and tells how it went; errors of Kubernetes and Helm end in the outcome."""
        started, began = self._clock.now(), self._clock.monotonic()
        steps: dict[Action, Callable[[Job, Cancellation], None]] = {
            Action.INSTALL: self._install,
            Action.UPGRADE: self._upgrade,
            Action.UNINSTALL: self._uninstall,
            Action.UNLOCK: self._unlock,
        }
        error = ""
        try:
            steps[job.action](job, cancellation)
        except ControllerError as failure:
            error = self._explain(job, failure)
        duration = self._clock.monotonic() - began
        failures = job.failures + 1 if error else 0
        # Whole seconds, as the status keeps it: what a restart reads back must be the same.
        finished = float(int(self._clock.now()))
        attempt = Attempt(str(job.action), job.digest, finished, failures, job.force)
        extra = {
            "release": job.release,
            "action": str(job.action),
            "duration": round(duration, 3),
            "reason": f"{job.action}{'Failed' if error else 'Succeeded'}",
        }
        log.log(
            logging.WARNING if error else logging.INFO,
            "%s of release %s %s",
            job.action,
            job.release,
            f"failed: {error}" if error else "succeeded",
            extra=extra,
        )
        return Outcome(attempt, started, duration, error)

    def _install(self, job: Job, cancellation: Cancellation) -> None:
        self._helm.install(self._request(job), cancellation)

    def _upgrade(self, job: Job, cancellation: Cancellation) -> None:
        request = self._request(job)
        replace_immutable_jobs(self._kube, self._helm.render(request), job.release, job.namespace)
        self._helm.upgrade(request, cancellation)

    def _unlock(self, job: Job, cancellation: Cancellation) -> None:
        del cancellation  # one conditional write: over before it could be cancelled
        self._records.mark_failed(job.release, job.namespace, job.version, "its writer ended while at work")

    def _uninstall(self, job: Job, cancellation: Cancellation) -> None:
        # First what Helm would leave, then the release: a kill in between leaves the release, so that
        # this is done again. The other order would forget what there was. And before either the
        # record, so that a release that is wanted again is not taken for whole.
        try:
            self._records.mark_uninstalling(job.release, job.namespace, job.version)
        except ReleaseMissing:
            return
        self._records.delete_hooks(job.release, job.namespace)
        if job.volumes == "Delete":
            self._delete_kept_secrets(job)
            self._records.delete_claims(job.release, job.namespace)
        else:
            self._records.retain_claims(job.release, job.namespace)
        self._helm.uninstall(job.release, job.namespace, cancellation=cancellation)

    def _delete_kept_secrets(self, job: Job) -> None:
        """Keys that a chart keeps beside its volumes (Keystone's fernet keys) go where those go."""
        rendered = self._records.manifest(job.release, job.namespace, job.version)
        for obj in (*rendered.manifest, *rendered.hooks):
            kept = (obj["metadata"].get("annotations") or {}).get("helm.sh/resource-policy") == "keep"
            if obj.get("kind") == SECRET.kind and kept:
                self._kube.delete(SECRET, str(obj["metadata"]["name"]), job.namespace)

    def _request(self, job: Job) -> HelmRequest:
        if job.spec is None or job.values is None:
            raise HelmFailed(f"{job.action} of {job.release} without a spec")
        chart = job.spec.chart
        labels = {
            BUNDLE_LABEL: job.bundle,
            DIGEST_LABEL: job.digest,
            REVISION_LABEL: str(job.version),
        }
        if chart.version:
            labels[CHART_VERSION_LABEL] = chart.version.replace("+", "_")[:63]
        return HelmRequest(
            release=job.release,
            namespace=job.namespace,
            chart_path=self._charts.locate(chart),
            values=job.values,
            labels=labels,
            timeout=job.spec.timeout,
            max_history=self._history,
            description=f"{job.action} by openstack-controller",
        )

    def _explain(self, job: Job, failure: ControllerError) -> str:
        text = str(failure)
        if isinstance(failure, HelmFailed) and job.action in (Action.INSTALL, Action.UPGRADE):
            text = f"{text}{self._failed_hooks(job)}"
        return shorten(" ".join(job.redactor.redact(text).split()), ERROR_LIMIT)

    def _failed_hooks(self, job: Job) -> str:
        try:
            hooks = self._helm.hooks(job.release, job.namespace)
        except ControllerError:
            return ""
        bad = [
            f"{hook.kind} {hook.name}: {hook.phase}" for hook in hooks if hook.phase in ("Failed", "Running")
        ]
        return f" (hooks: {', '.join(bad)})" if bad else ""
