"""Waits until a region is Ready or gone, and reports the progress."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Any

from rich.padding import Padding

from controller.cli.cluster import Cluster
from controller.cli.exit_codes import ExitCode
from controller.cli.output import soft_wrapped, stderr, stdout
from controller.cli.views.hook_jobs import RunningJob, lasting, pod_error, running_jobs
from controller.cli.views.progress.display import ProgressDisplay, progress_display
from controller.cli.views.progress.region_progress import ProgressTracker, RegionRows
from controller.cli.views.progress.text import reasons_against
from controller.cli.views.readiness import RegionOutcome, explain_silence
from controller.cli.views.release_rows import ACTIVE, release_rows, short_duration
from controller.domain.shared.plurals import count
from controller.errors import ApiUnavailable
from controller.ports.kubernetes import OSDPL, KubeObject, KubeObjects
from controller.ports.system import Clock

POLL_SECONDS = 1.0
# Seconds to wait for a plan of the newest spec.
PLAN_WITHIN = 60.0


class Goal(StrEnum):
    """What is waited for."""

    READY = "ready"
    PLANNED = "planned"
    DELETED = "deleted"


def wait_for_region(
    cluster: Cluster,
    region: KubeObject,
    *,
    goal: Goal,
    timeout: float,
    clock: Clock,
    sleep: Callable[[float], None],
) -> ExitCode:
    """Looks at the region until the goal, the timeout (seconds), or until only a person can help.

    Progress goes to stderr, the end of it to stdout. While the API server does not answer, waiting goes
    on: it may be one of the things that come back.
    """
    meta = region["metadata"]
    started = clock.monotonic()
    tracker = ProgressTracker(meta["name"], meta["namespace"], int(meta.get("generation") or 0), started)
    display = progress_display(stderr(), clock)
    progress: RegionRows | None = None
    try:
        while True:
            progress = _observe(cluster, region, tracker, display, clock) or progress
            code = _decide(progress, goal)
            if code is not None:
                break
            remaining = started + timeout - clock.monotonic()
            if remaining <= 0:
                code = ExitCode.NOT_READY
                break
            sleep(min(POLL_SECONDS, remaining))
    except KeyboardInterrupt:
        code = ExitCode.INTERRUPTED
    finally:
        display.close()
    _conclude(meta, progress, code, goal, clock.monotonic() - started)
    return code


def _observe(
    cluster: Cluster, region: KubeObject, tracker: ProgressTracker, display: ProgressDisplay, clock: Clock
) -> RegionRows | None:
    meta = region["metadata"]
    try:
        found = cluster.kube.get(OSDPL, meta["name"], meta["namespace"])
        if found is not None and found["metadata"].get("uid") != meta.get("uid"):
            found = None  # another region with the same name
        bundles = cluster.bundles(region)
        jobs = _jobs(cluster, meta["namespace"], bundles, clock)
        errors = pod_error(cluster.pods_of_jobs(meta["namespace"], lasting(jobs)))
    except ApiUnavailable:
        return None
    progress = tracker.observe(found, bundles, clock.monotonic(), jobs=jobs, errors=errors)
    display.show(progress, explain_silence(found, progress.waited) if found is not None else "")
    return progress


def _jobs(cluster: Cluster, namespace: str, bundles: KubeObjects, clock: Clock) -> tuple[RunningJob, ...]:
    """The running Jobs, read only while a release may wait for one."""
    if not any(row.phase in ACTIVE for row in release_rows(bundles)):
        return ()
    return running_jobs(cluster.unfinished_jobs(namespace), clock.now())


def _decide(progress: RegionRows | None, goal: Goal) -> ExitCode | None:
    """The exit code, or None to continue."""
    if progress is None:
        return None
    outcome = progress.readiness.outcome
    if goal == Goal.DELETED:
        return ExitCode.OK if outcome == RegionOutcome.GONE and not progress.rows else None
    if outcome == RegionOutcome.READY or (goal == Goal.PLANNED and progress.readiness.planned):
        return ExitCode.OK
    if outcome == RegionOutcome.NEEDS_EDIT or (goal == Goal.READY and progress.needs_person):
        return ExitCode.NEEDS_EDIT
    return ExitCode.REFUSED if outcome == RegionOutcome.GONE else None


def _conclude(
    meta: Mapping[str, Any], progress: RegionRows | None, code: ExitCode, goal: Goal, waited: float
) -> None:
    name, namespace = meta["name"], meta["namespace"]
    console = stdout()
    took = short_duration(waited)
    if code == ExitCode.OK:
        done = f"deleted, in {took}"
        if goal == Goal.READY and progress is not None:
            done = f"Ready, {count(progress.done, 'release')} installed, in {took}"
        if goal == Goal.PLANNED:
            done = f"planned, in {took}; osctl plan {name} -n {namespace} shows it"
        console.print(f"{name}: {done}", style="green")
        return
    if code == ExitCode.INTERRUPTED:
        again = f"osctl wait {name} -n {namespace}"
        stderr().print(f"stopped waiting; the controller continues. Wait again: {again}")
        return
    desired = {Goal.READY: "Ready", Goal.PLANNED: "planned", Goal.DELETED: "deleted"}[goal]
    ending = {
        ExitCode.NOT_READY: f"not {desired} after {took}; the controller continues",
        ExitCode.NEEDS_EDIT: f"will not become {desired} before a person acts",
        ExitCode.REFUSED: "was deleted meanwhile",
    }[code]
    console.print(f"{name}: {ending}", style="bold red")
    lines = reasons_against(progress) if progress is not None else ("the API server does not answer",)
    for line in lines if code != ExitCode.REFUSED else ():
        console.print(Padding(soft_wrapped(line), (0, 0, 0, 2), expand=False))
