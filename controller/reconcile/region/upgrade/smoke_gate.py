"""The gate that uses a service after its step: a Job with the controller's own image runs `osctl smoke`.

The name of the Job says what it answers, so a pass that finds it does not make another, whoever made it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from controller.domain.api.names import (
    CLOUDS_CA_KEY,
    CLOUDS_KEY,
    CLOUDS_SECRET,
    DEPLOYMENT_LABEL,
    RECONCILE_ANNOTATION,
    UPGRADE_SMOKE_LABEL,
)
from controller.domain.region.upgrade.check_outcome import (
    check_end,
    has_failed,
    has_succeeded,
    is_pod_of,
    while_it_runs,
)
from controller.domain.region.upgrade.smoke_job import CONTAINER, SmokeCheck, smoke_failure, smoke_job
from controller.domain.region.upgrade.upgrade_state import Check, CheckState, StepRecord, Upgrade
from controller.domain.shared.redaction import Redactor, redact_urls
from controller.errors import Conflict, Forbidden, ObjectRefused
from controller.ports.kubernetes import DEPLOYMENT, JOB, POD, SECRET, Kube, KubeObject
from controller.reconcile.region.parts import OwnPods
from controller.reconcile.shared.action_log import log_action
from controller.reconcile.shared.secret_values import SecretValues

# The API that every service asks: where its pods go, ours may go too.
_KEYSTONE = "keystone-api"


class SmokeGate:
    """The checks of one upgrade, for one pass."""

    def __init__(self, kube: Kube, own: OwnPods, osdpl: KubeObject, upgrade: Upgrade) -> None:
        self._kube = kube
        self._own = own
        self._osdpl = osdpl
        self._upgrade = upgrade
        self._namespace = str(osdpl["metadata"]["namespace"])

    def outcome(self, step: StepRecord) -> Check:
        """How the check of a step is. Begins it if it has not begun; raises KubeError."""
        meta = self._osdpl["metadata"]
        asked = (meta.get("annotations") or {}).get(RECONCILE_ANNOTATION) or ""
        # Workloads that were not healthy since then are used again, as is all after an edit or a request.
        parts = (f"{self._upgrade.started:.0f}", self._upgrade.target, meta.get("generation"))
        request = " ".join(map(str, (*parts, f"{step.healthy_since:.0f}", asked)))
        check = SmokeCheck(step.name, step.service, self._own.image, request, self._own.pull_secrets)
        job = self._kube.get(JOB, check.job, self._namespace)
        if job is None:
            return self._begin(check)
        if has_succeeded(job):
            return Check(CONTAINER, CheckState.PASSED, service=step.service, job=check.job)
        pod = self._pod(check.job)
        if has_failed(job):
            # It was read once: secrets are not read again at each pass.
            if step.message.startswith(_beginning(check)):
                return Check(CONTAINER, CheckState.FAILED, step.message, step.service, check.job)
            return self._failed(check, job, pod)
        _, text = while_it_runs(pod)
        return Check(CONTAINER, CheckState.RUNNING, redact_urls(text), step.service)

    def _begin(self, check: SmokeCheck) -> Check:
        running = Check(CONTAINER, CheckState.RUNNING, service=check.service)
        clouds = (self._kube.get(SECRET, CLOUDS_SECRET, self._namespace) or {}).get("data") or {}
        if CLOUDS_KEY not in clouds:
            text = f'it waits for {CLOUDS_KEY} in Secret "{CLOUDS_SECRET}", which container secrets exports'
            return Check(CONTAINER, CheckState.RUNNING, text, check.service)
        keystone = self._kube.get(DEPLOYMENT, _KEYSTONE, self._namespace)
        try:
            self._kube.create(smoke_job(check, self._osdpl, keystone, authority=CLOUDS_CA_KEY in clouds))
        except Conflict:
            return running
        except (ObjectRefused, Forbidden) as error:
            text = f"the Job of osctl smoke was refused: {error}; {self._remedy()}"
            return Check(CONTAINER, CheckState.FAILED, text, check.service)
        log_action("create-job", f"{self._namespace}/{check.job}", f"osctl smoke of {check.step} begins")
        return running

    def _failed(self, check: SmokeCheck, job: KubeObject, pod: KubeObject | None) -> Check:
        end = check_end(job, pod, "")
        text = f"osctl smoke failed: {end.why}" if end.code is None else smoke_failure(end.code, _said(pod))
        redactor = Redactor(SecretValues(self._kube, self._namespace).of_no_release())
        text = f"{_beginning(check)}{redact_urls(redactor.redact(text))}; {self._remedy()}"
        return Check(CONTAINER, CheckState.FAILED, text, check.service, check.job)

    def _remedy(self) -> str:
        name = self._osdpl["metadata"]["name"]
        again = f"osctl reconcile {name} -n {self._namespace}"
        return f"correct the cause, then repeat the check: {again}; or set spec.upgrade.gates to Health"

    def _pod(self, job: str) -> KubeObject | None:
        """The newest pod of a Job."""
        listed = self._kube.list(POD, self._namespace, labels=UPGRADE_SMOKE_LABEL)
        own = [pod for pod in listed if is_pod_of(pod, job)]
        return max(own, key=lambda pod: str(pod["metadata"].get("creationTimestamp")), default=None)


def let_smoke_jobs_go(kube: Kube, osdpl: KubeObject) -> None:
    """Has Kubernetes delete the Jobs of an upgrade that is over, each at its end; we may not delete any.

    May be repeated. Raises KubeError.
    """
    meta = osdpl["metadata"]
    namespace = str(meta["namespace"])
    labels = f"{UPGRADE_SMOKE_LABEL},{DEPLOYMENT_LABEL}={meta['name']}"
    for job in kube.list(JOB, namespace, labels=labels):
        name = str(job["metadata"]["name"])
        if (job.get("spec") or {}).get("ttlSecondsAfterFinished") != 0:
            kube.merge_patch(JOB, name, namespace, {"spec": {"ttlSecondsAfterFinished": 0}})
            log_action("expire-job", f"{namespace}/{name}", "the upgrade is over")


def _beginning(check: SmokeCheck) -> str:
    return f"Job {check.job}: "


def _said(pod: Mapping[str, Any] | None) -> str:
    for one in ((pod or {}).get("status") or {}).get("containerStatuses") or ():
        end = (one.get("state") or {}).get("terminated") or {}
        return str(end.get("message") or "")
    return ""
