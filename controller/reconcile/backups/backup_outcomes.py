"""What became of the Jobs of backups and drills."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from controller.domain.api.conditions import find, timestamp
from controller.domain.api.names import BACKUP_LABEL
from controller.domain.backups.backup_jobs import BACKUP, DRILL
from controller.domain.backups.backup_record import BackupRecord, parse_record
from controller.domain.backups.backup_state import BackupState, Outcome, Result, with_backup
from controller.domain.backups.job_ends import ended_at
from controller.domain.backups.requested_jobs import asked_backup
from controller.domain.shared.redaction import Redactor, redact_urls
from controller.domain.shared.times import seconds_of
from controller.errors import Forbidden
from controller.ports.kubernetes import JOB, POD, Kube, KubeObject, KubeObjects
from controller.reconcile.shared.secret_values import SecretValues

_LONGEST = 700


def with_outcomes(kube: Kube, state: BackupState, namespace: str, deployment: str) -> BackupState:
    """The state after the Jobs that have ended since, of the CronJobs or of a person. Raises KubeError."""
    jobs = kube.list(JOB, namespace, labels=f"{BACKUP_LABEL},{deployment}")
    for job in sorted(jobs, key=ended_at):
        what = (job["metadata"].get("labels") or {}).get(BACKUP_LABEL)
        before = {BACKUP: state.last, DRILL: state.drill}.get(str(what))
        if before is None or not ended_at(job) or not _is_newer(job, before):
            continue
        outcome, record = job_outcome(kube, job, lambda text: _redacted(kube, namespace, text))
        if what == BACKUP:
            state = with_backup(state, outcome, record)
        elif asked_backup(job) in ("", state.last_good.id if state.last_good else ""):
            state = BackupState(state.last, state.last_good, outcome, state.due)
    return state


def _is_newer(job: KubeObject, known: Outcome) -> bool:
    return (ended_at(job), str(job["metadata"]["name"])) > (seconds_of(known.ended), known.job)


def job_outcome(
    kube: Kube, job: KubeObject, redact: Callable[[str], str] = redact_urls
) -> tuple[Outcome, BackupRecord | None]:
    """How a Job has ended, and what its last container has left. Raises KubeError."""
    name, status = str(job["metadata"]["name"]), job.get("status") or {}
    complete = find(status.get("conditions") or (), "Complete").get("status") == "True"
    failed, ended = find(status.get("conditions") or (), "Failed"), timestamp(ended_at(job))
    pods = _pods(kube, str(job["metadata"]["namespace"]), name)
    if complete:
        record = next((found for pod in pods if (found := _record(pod)) is not None), None)
        record = replace(record, warning=redact(record.warning)) if record else None
        warning = record.warning if record else "its pod is gone, so its record is not known"
        return Outcome(name, ended, Result.SUCCEEDED, record.id if record else "", warning), record
    text = next((text for pod in pods if (text := _failure(pod))), "") or str(failed.get("message") or "")
    said = redact(" ".join(text.split()))[-_LONGEST:]
    return Outcome(name, ended, Result.FAILED, message=said or "its pod is gone"), None


def _redacted(kube: Kube, namespace: str, text: str) -> str:
    return redact_urls(Redactor(SecretValues(kube, namespace).of_no_release()).redact(text))


def _pods(kube: Kube, namespace: str, job: str) -> KubeObjects:
    """The pods of the Job, the newest first."""
    try:
        found = kube.list(POD, namespace, labels=f"job-name={job}")
    except Forbidden:
        return []
    return sorted(found, key=lambda pod: str(pod["metadata"].get("creationTimestamp")), reverse=True)


def _terminated(pod: KubeObject, key: str) -> list[tuple[str, Mapping[str, Any]]]:
    listed = (pod.get("status") or {}).get(key) or ()
    return [(str(one["name"]), (one.get("state") or {}).get("terminated") or {}) for one in listed]


def _record(pod: KubeObject) -> BackupRecord | None:
    for _, ended in _terminated(pod, "containerStatuses"):
        if not ended.get("exitCode") and (found := parse_record(str(ended.get("message") or ""))):
            return found
    return None


def _failure(pod: KubeObject) -> str:
    """The container that failed first, and its last lines."""
    for key in ("initContainerStatuses", "containerStatuses"):
        for name, ended in _terminated(pod, key):
            if ended.get("exitCode"):
                text = str(ended.get("message") or ended.get("reason") or "")
                return f"container {name} ended with code {ended['exitCode']}: {text}"
    return str((pod.get("status") or {}).get("message") or "")
