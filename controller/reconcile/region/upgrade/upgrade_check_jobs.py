"""Makes the checks before an upgrade that are programs of the services, as Jobs beside what runs.

Its images are mostly those of the version to come, and its configuration is that of today. The name of a Job
says what it answers, so a pass that finds it does not make another, whoever made it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from controller.domain.api.names import (
    DEPLOYMENT_LABEL,
    RECONCILE_ANNOTATION,
    UPGRADE_CHECK_LABEL,
)
from controller.domain.region.upgrade.check_outcome import (
    check_end,
    has_failed,
    has_succeeded,
    is_pod_of,
    judge_output,
    while_it_runs,
)
from controller.domain.region.upgrade.upgrade_checks import CheckRun, ServiceUpgradeCheck, check_job
from controller.domain.region.upgrade.upgrade_state import Check, CheckState, Upgrade
from controller.domain.shared.redaction import Redactor, redact_urls
from controller.errors import Conflict, Forbidden, KubeError, ObjectRefused
from controller.ports.kubernetes import DEPLOYMENT, JOB, POD, Kube, KubeObject, KubeObjects
from controller.reconcile.shared.action_log import log_action
from controller.reconcile.shared.secret_values import SecretValues

# A report has some ten checks of a few lines each, and programs log beside it.
LOG_LINES = 400
# A check that cannot be made holds the upgrade: an operator may know better.
_SKIP = "correct it, or name the check in spec.upgrade.skipChecks"


@dataclass(frozen=True)
class CheckView:
    """What the checks of a pass look at. `desired` are the bundles of the target, `bundles` those that
    run. An upgrade that is not `remembered` in the status yet has no Jobs: a process that is killed now would
    leave behind what no other one knows."""

    osdpl: KubeObject
    upgrade: Upgrade
    checks: Sequence[ServiceUpgradeCheck]
    desired: KubeObjects
    bundles: KubeObjects
    remembered: bool = True

    @property
    def namespace(self) -> str:
        """That of the region."""
        return str(self.osdpl["metadata"]["namespace"])

    @property
    def request(self) -> str:
        """What the checks of this pass answer: an edit, or a request, has them made again."""
        meta = self.osdpl["metadata"]
        asked = (meta.get("annotations") or {}).get(RECONCILE_ANNOTATION) or ""
        return f"{self.upgrade.started:.0f} {self.upgrade.target} {meta.get('generation')} {asked}"


class CheckJobs:
    """The Jobs of one pass."""

    def __init__(self, kube: Kube, view: CheckView) -> None:
        self._kube = kube
        self._view = view
        self._before = {check.name: check for check in view.upgrade.checks}
        self._pods: KubeObjects | None = None
        self._redactor: Redactor | None = None

    def outcomes(self) -> tuple[Check, ...]:
        """The checks as they are now. Begins those that have not; raises KubeError.

        What answers older requests stays: Kubernetes deletes a Job some hours after its end.
        """
        runs = list(self._runs())
        if not self._view.remembered:
            return tuple(_not_begun(run) if isinstance(run, CheckRun) else run for run in runs)
        there = {str(job["metadata"]["name"]): job for job in _jobs(self._kube, self._view.osdpl)}
        return tuple(
            self._outcome(run, there.get(run.job)) if isinstance(run, CheckRun) else run for run in runs
        )

    def _runs(self) -> Iterator[CheckRun | Check]:
        """Each check of a release that runs, or why it cannot be made."""
        request = self._view.request
        there = {str(release["name"]) for release in _releases(self._view.bundles)}
        for check in self._view.checks:
            about = check.about
            bundles = self._view.bundles if about.running else self._view.desired
            for release in _releases(bundles):
                if release["name"] not in there or (release.get("chart") or {}).get("name") != about.chart:
                    continue
                images = (release.get("values") or {}).get("images") or {}
                image = str((images.get("tags") or {}).get(about.tag) or "")
                if image:
                    yield CheckRun(check, image, request)
                else:
                    text = f"the values of {release['name']} have no images.tags.{about.tag}; {_SKIP}"
                    yield Check(about.name, CheckState.FAILED, text, check.service)

    def _outcome(self, run: CheckRun, job: KubeObject | None) -> Check:
        name, service = run.check.about.name, run.check.service
        if job is None:
            return self._begin(run)
        if has_succeeded(job):
            return Check(name, CheckState.PASSED, service=service, job=run.job)
        before = self._before.get(name)
        if has_failed(job):
            if before is not None and before.job == run.job:
                return before
            return self._failed(run, job, before.message if before is not None and not before.job else "")
        state, text = while_it_runs(self._pod(run.job))
        return Check(name, state, redact_urls(text), service)

    def _begin(self, run: CheckRun) -> Check:
        about, service = run.check.about, run.check.service
        workload = self._kube.get(DEPLOYMENT, about.workload, self._view.namespace)
        if workload is None:
            text = f'there is no Deployment "{about.workload}" whose pod could make it; {_SKIP}'
            return Check(about.name, CheckState.FAILED, text, service)
        return self._make(run, check_job(run, workload, self._view.osdpl))

    def _make(self, run: CheckRun, job: KubeObject) -> Check:
        """Begins a check by this Job."""
        about, service = run.check.about, run.check.service
        try:
            self._kube.create(job)
        except Conflict:
            return _not_begun(run)
        except (ObjectRefused, Forbidden) as error:
            text = f"its Job was refused: {error}; {_SKIP}"
            return Check(about.name, CheckState.FAILED, text, service)
        place = f"{self._view.namespace}/{run.job}"
        log_action("create-job", place, f"check {about.name} begins with image {run.image}")
        return _not_begun(run)

    def _failed(self, run: CheckRun, job: KubeObject, before: str) -> Check:
        about, pod = run.check.about, self._pod(run.job)
        end = check_end(job, pod, before, run.within)
        state, text = CheckState.FAILED, end.why
        if end.code is not None and pod is not None:
            log = self._log(str(pod["metadata"]["name"]))
            state, text = judge_output(end.code, log, about.findings)
        if state == CheckState.FAILED:
            text = f"{text}; {about.remedy or (self._again() if about.migrates else _SKIP)}"
        return Check(about.name, state, redact_urls(text), run.check.service, run.job)

    def _again(self) -> str:
        """What to do about a migration of data that failed: the region serves without it."""
        name = self._view.osdpl["metadata"]["name"]
        command = f"osctl reconcile {name} -n {self._view.namespace}"
        skip = "or name it in spec.upgrade.skipChecks"
        return f"the region serves meanwhile; correct it, and let it continue: {command}; {skip}"

    def _log(self, pod: str) -> str:
        try:
            text = self._kube.pod_log(pod, self._view.namespace, container="check", tail_lines=LOG_LINES)
        except KubeError as error:
            return f"its log cannot be read: {error}"
        if self._redactor is None:
            self._redactor = Redactor(SecretValues(self._kube, self._view.namespace).of_no_release())
        return self._redactor.redact(text)

    def _pod(self, job: str) -> KubeObject | None:
        """The newest pod of a Job."""
        if self._pods is None:
            self._pods = self._kube.list(POD, self._view.namespace, labels=UPGRADE_CHECK_LABEL)
        own = [pod for pod in self._pods if is_pod_of(pod, job)]
        return max(own, key=lambda pod: str(pod["metadata"].get("creationTimestamp")), default=None)


def _not_begun(run: CheckRun) -> Check:
    return Check(run.check.about.name, CheckState.RUNNING, service=run.check.service)


def _jobs(kube: Kube, osdpl: KubeObject) -> KubeObjects:
    meta = osdpl["metadata"]
    labels = f"{UPGRADE_CHECK_LABEL},{DEPLOYMENT_LABEL}={meta['name']}"
    return kube.list(JOB, str(meta["namespace"]), labels=labels)


def _releases(bundles: KubeObjects) -> Iterator[Mapping[str, Any]]:
    for bundle in bundles:
        yield from (bundle.get("spec") or {}).get("releases") or ()
