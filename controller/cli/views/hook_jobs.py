"""The Jobs that a changing release waits for, and why one makes no progress. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from controller.cli.views.release_rows import ACTIVE, ReleaseRow, parse_time, short_duration

KubeObject = Mapping[str, Any]
JOB_NAME = "batch.kubernetes.io/job-name"
# Labels with the release of an object: OpenStack-Helm's, and the one that Kubernetes recommends.
RELEASE_LABELS = ("release_group", "app.kubernetes.io/instance")
# Seconds after which a running Job is checked more closely.
LASTS_AFTER = 10.0
# Lasting error states of a container, from the kubelet's image and container managers.
_STUCK = frozenset(
    (
        *("ImagePullBackOff", "ErrImagePull", "InvalidImageName", "ErrImageNeverPull"),
        *("CrashLoopBackOff", "CreateContainerConfigError", "CreateContainerError", "RunContainerError"),
    )
)


@dataclass(frozen=True)
class RunningJob:
    """A Job that has not ended. `release` is empty if it names none; `seconds` is its run time."""

    name: str
    release: str
    seconds: float


def running_jobs(jobs: Iterable[KubeObject], now: float) -> tuple[RunningJob, ...]:
    """The Jobs that have not ended, longest running first. `now` in seconds since the epoch."""
    found = []
    for job in jobs:
        meta, status = job["metadata"], job.get("status") or {}
        ended = any(
            condition.get("type") in ("Complete", "Failed") and condition.get("status") == "True"
            for condition in status.get("conditions") or []
        )
        if ended or meta.get("deletionTimestamp"):
            continue
        labels = meta.get("labels") or {}
        release = next((str(labels[label]) for label in RELEASE_LABELS if labels.get(label)), "")
        started = parse_time(status.get("startTime") or meta.get("creationTimestamp"))
        # The cluster's clock may be ahead of ours.
        seconds = max(0.0, now - started) if started is not None else 0.0
        found.append(RunningJob(str(meta["name"]), release, seconds))
    return tuple(sorted(found, key=lambda job: -job.seconds))


def lasting(jobs: Sequence[RunningJob], most: int = 5) -> tuple[str, ...]:
    """Names of the Jobs whose pods are checked."""
    return tuple(job.name for job in jobs if job.seconds >= LASTS_AFTER)[:most]


def pod_error(pods: Iterable[KubeObject]) -> dict[str, str]:
    """Why pods of Jobs make no progress, by the name of the Job, without healthy ones."""
    found: dict[str, str] = {}
    for pod in pods:
        job = str((pod["metadata"].get("labels") or {}).get(JOB_NAME) or "")
        error = _container_error(pod) or _placement_error(pod)
        if job and error:
            found.setdefault(job, error)
    return found


def _container_error(pod: KubeObject) -> str:
    status = pod.get("status") or {}
    for container in [*(status.get("initContainerStatuses") or []), *(status.get("containerStatuses") or [])]:
        waiting = (container.get("state") or {}).get("waiting") or {}
        reason = str(waiting.get("reason") or "")
        if reason in _STUCK:
            about = container.get("image") if "Image" in reason else f"container {container.get('name')}"
            return f"{reason} {about}"
    return ""


def _placement_error(pod: KubeObject) -> str:
    for condition in (pod.get("status") or {}).get("conditions") or []:
        if condition.get("type") == "PodScheduled" and condition.get("reason") == "Unschedulable":
            return f"the pod cannot be scheduled: {condition.get('message') or 'Unschedulable'}"
    return ""


def with_jobs(
    rows: Iterable[ReleaseRow], jobs: Sequence[RunningJob], errors: Mapping[str, str]
) -> tuple[ReleaseRow, ...]:
    """The rows; those in progress have the Job that they wait for, and its error if there is one."""
    rows = tuple(rows)
    names = sorted((row.release for row in rows), key=len, reverse=True)
    by_release: dict[str, RunningJob] = {}
    for job in jobs:
        by_release.setdefault(job.release or _by_name(job.name, names), job)
    return tuple(
        _with_job(row, by_release[row.release], errors)
        if row.phase in ACTIVE and row.release in by_release
        else row
        for row in rows
    )


def _by_name(job: str, releases: Iterable[str]) -> str:
    """The release with the longest name that the Job's name begins with; charts name Jobs so."""
    return next((release for release in releases if job.startswith(f"{release}-")), "")


def _with_job(row: ReleaseRow, job: RunningJob, errors: Mapping[str, str]) -> ReleaseRow:
    error = errors.get(job.name, "")
    message = f"Job {job.name} runs for {short_duration(job.seconds)}"
    return replace(row, message=message, error=f"{job.name}: {error}" if error else "")
