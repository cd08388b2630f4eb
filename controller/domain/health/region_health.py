"""Health of the region: names and verdicts of components, flap damping, one condition.

Pure. Workloads of the releases in the region's bundles count, unless disabled. A component is the value of
OpenStack-Helm's label `component`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from controller.domain.api.conditions import Condition, Status, find, timestamp
from controller.domain.api.reasons import Reason
from controller.domain.api.shortened_text import shorten
from controller.domain.health.pods import PodFacts
from controller.domain.health.workload_health import (
    PROGRESS_DEADLINE,
    WORSE,
    Health,
    Surroundings,
    VolumeClaim,
    WorkloadHealth,
    judge_workload,
)
from controller.domain.health.workloads import Manifest, Workload
from controller.domain.shared.plurals import count

CONDITION = "WorkloadsHealthy"
MESSAGE_LIMIT = 1000
TEXT_SHOWN = 590
OUTPUT_SHOWN = 400
SHOWN = 3

ComponentKey = tuple[str, str]  # application, component


@dataclass(frozen=True)
class ComponentHealth:
    """One component judged. `revision` changes with every rollout of its workloads, and with every new run of
    its Jobs."""

    verdict: WorkloadHealth
    revision: Hashable


@dataclass(frozen=True)
class Release:
    """A desired release of the region. `deployed`: its bundle reports so for its present spec."""

    name: str
    deployed: bool
    revision: int = 0


@dataclass(frozen=True)
class Facts:
    """The observations of a region's workloads at `now` (seconds since the epoch).

    `pods` by owner (kind and name of the workload), `claims` by name. `manifests` of deployed releases by
    name, if readable. `progress_deadline`: as in Surroundings.
    """

    releases: Mapping[str, Release]
    workloads: Sequence[Workload]
    pods: Mapping[tuple[str, str], Sequence[PodFacts]]
    claims: Mapping[str, VolumeClaim]
    now: float
    manifests: Mapping[str, Manifest] = field(default_factory=dict)
    progress_deadline: float = PROGRESS_DEADLINE


def missing_workloads(
    workloads: Iterable[Workload], manifests: Mapping[str, Manifest]
) -> frozenset[Workload]:
    """Workloads of deployed releases that the cluster does not have."""
    seen = {(one.kind, one.name) for one in workloads}
    desired = (one for manifest in manifests.values() for one in manifest.workloads)
    return frozenset(one for one in desired if (one.kind, one.name) not in seen)


def judge_components(facts: Facts) -> dict[ComponentKey, ComponentHealth]:
    """Every component that counts, judged."""
    counted = [one for one in facts.workloads if _counts(one, facts)]
    counted += missing_workloads(facts.workloads, facts.manifests)
    met = frozenset(f"{one.kind}/{one.name}" for one in facts.workloads if _is_met(one))
    around = Surroundings(facts.claims, met, facts.now, facts.progress_deadline)

    def judge(one: Workload) -> WorkloadHealth:
        return judge_workload(one, facts.pods.get((one.kind, one.name), ()), around)

    result = {}
    for key, workloads in name_components(_last_runs(counted, judge)).items():
        verdicts = [judge(one) for one in workloads]
        revision = tuple(sorted((one.kind, one.name, one.run, one.generation) for one in workloads))
        result[key] = ComponentHealth(_together(verdicts), revision)
    return result


def _is_met(workload: Workload) -> bool:
    """Whether waiting pods no longer need to wait for it. For a DaemonSet they need only the pod on their
    node."""
    rollout = workload.rollout
    if workload.kind == "DaemonSet":
        return rollout.ready >= rollout.desired > 0
    return workload.kind == "Job" and workload.done


def _counts(workload: Workload, facts: Facts) -> bool:
    if (workload.off and not workload.homeless) or workload.release not in facts.releases:
        return False
    manifest = facts.manifests.get(workload.release)
    # Helm leaves the Jobs of hooks that a later revision no longer contains.
    return not (workload.hook and manifest and workload.name not in manifest.hook_jobs)


def _last_runs(workloads: Iterable[Workload], judge: Callable[[Workload], WorkloadHealth]) -> list[Workload]:
    """The workloads, with one representative Job of each CronJob: the last finished one, or a newer one
    that will not finish. A running one does not count, so that a region does not become unready every
    night.
    """
    result, runs = [], defaultdict(list)
    for one in workloads:
        if one.cron:
            runs[one.cron].append(one)
        else:
            result.append(one)
    for jobs in runs.values():
        jobs.sort(key=lambda job: (job.started, job.name), reverse=True)
        telling = (job for job in jobs if job.done or job.stuck or judge(job).health == Health.UNHEALTHY)
        result += [job for job in (next(telling, None),) if job]
    return result


def name_components(workloads: Iterable[Workload]) -> dict[ComponentKey, list[Workload]]:
    """The workloads of each component, under unique names.

    DaemonSets of one component are joined, because they are its variants for different nodes. If other
    workloads have the same name, each uses the name of its object, or kind and name if that is also taken.
    """
    result: dict[ComponentKey, list[Workload]] = {}
    by_release: dict[str, dict[str, list[Workload]]] = defaultdict(lambda: defaultdict(list))
    for one in sorted(workloads, key=lambda item: (item.kind, item.name)):
        by_release[one.release][one.component].append(one)
    for release, components in by_release.items():
        alone = {name: group for name, group in components.items() if _is_one(group)}
        crowded = [one for name, group in components.items() if name not in alone for one in group]
        names = [one.name for one in crowded]
        for name, group in alone.items():
            result[release, name] = group
        for one in crowded:
            free = one.name not in components and names.count(one.name) == 1
            result[release, one.name if free else f"{one.kind}/{one.name}"] = [one]
    return result


def _is_one(group: Sequence[Workload]) -> bool:
    return len(group) == 1 or all(one.kind == "DaemonSet" for one in group)


def _together(verdicts: Sequence[WorkloadHealth]) -> WorkloadHealth:
    """One verdict for the variants of a component: all their pods, the worst of their states.

    A variant without a node does not matter if another has one.
    """
    with_pods = [one for one in verdicts if one.desired]
    worst = max(with_pods or verdicts, key=lambda one: WORSE[one.health])
    ready, desired = sum(one.ready for one in verdicts), sum(one.desired for one in verdicts)
    return replace(worst, ready=ready, desired=desired)


def health_entries(
    components: Mapping[ComponentKey, ComponentHealth],
    before: Mapping[str, Any],
    now: float,
    redact: Callable[[str], str],
    redact_output: Callable[[str], str],
) -> dict[str, Any]:
    """`status.health`.

    `before` is the present one: `since` moves only when a status changes. `redact_output` is for output of
    containers, `redact` for everything else.
    """
    result: dict[str, dict[str, Any]] = defaultdict(dict)
    for (application, component), judged in sorted(components.items()):
        verdict = judged.verdict
        old = (before.get(application) or {}).get(component) or {}
        status = verdict.health
        entry = {
            "status": str(status),
            "ready": verdict.ready,
            "desired": verdict.desired,
            "since": (old.get("since") if old.get("status") == status else None) or timestamp(now),
            "message": _message(verdict, str(old.get("message") or ""), redact, redact_output),
        }
        result[application][component] = {name: value for name, value in entry.items() if value != ""}
    return dict(result)


def _message(
    verdict: WorkloadHealth, before: str, redact: Callable[[str], str], redact_output: Callable[[str], str]
) -> str:
    """Text and output, shortened only after redaction, because a part of a secret would not be found.

    While the output of the same failure is read again, the text from `before` stays.
    """
    text = redact(verdict.text)
    if verdict.awaited and before.startswith(f'{shorten(text, TEXT_SHOWN)}: "'):
        return redact(before)
    # The cause of missing pods comes from the cluster.
    of_output = redact if verdict.lacking else redact_output
    output = " ".join(of_output(verdict.output).split()) if verdict.output else ""
    if verdict.bereft and verdict.bereft in before:
        known = redact(before[before.index(verdict.bereft) :])
        text = shorten(text, TEXT_SHOWN)
        return f"{text}; {shorten(known, MESSAGE_LIMIT - len(text) - 2)}"
    if not output:
        return shorten(text, MESSAGE_LIMIT)
    if len(output) > OUTPUT_SHOWN:
        # The end of an output is more informative than its beginning.
        output = f"… {output[-OUTPUT_SHOWN:]}"
    return f'{shorten(text, TEXT_SHOWN)}: "{output}"'


def workloads_condition(
    health: Mapping[str, Mapping[str, Any]],
    releases: Mapping[str, Release],
    conditions: Iterable[Mapping[str, Any]],
    generation: int,
    *,
    deleting: bool = False,
) -> Condition:
    """`WorkloadsHealthy` from the entries of `status.health`.

    Unknown until the first release is deployed; from then on it is always judged, also while no release is
    deployed. Unknown again if none is requested, and for a region that is being removed (`deleting`).
    `conditions` are the present ones of the osdpl.
    """

    def condition(status: Status, reason: Reason, text: str) -> Condition:
        return Condition(CONDITION, status, reason, shorten(text, 4000), generation)

    if deleting:
        return condition("Unknown", Reason.DELETING, "the region is being removed")
    if not releases:
        return condition("Unknown", Reason.INITIALIZING, "no release is requested")
    listed = [
        (f"{application} {component}", entry)
        for application, components in health.items()
        for component, entry in components.items()
    ]
    troubled = [(name, entry) for name, entry in listed if entry["status"] != Health.READY]
    troubled.sort(key=lambda item: (-WORSE[Health(item[1]["status"])], item[0]))
    judged = find(conditions, CONDITION).get("status") in ("True", "False")
    if not judged and not any(release.deployed for release in releases.values()):
        text = "no release is deployed yet"
        return condition(
            "Unknown", Reason.INITIALIZING, f"{text}; {_listing(troubled)}" if troubled else text
        )
    if not troubled:
        text = (
            f"{count(len(listed), 'component is', 'components are')} ready"
            if listed
            else "the releases have no workloads"
        )
        without = [(name, entry) for name, entry in listed if not entry["desired"] and entry.get("message")]
        return condition("True", Reason.WORKLOADS_HEALTHY, "; ".join(filter(None, (text, _listing(without)))))
    failing = any(entry["status"] in (Health.UNHEALTHY, Health.UNKNOWN) for _, entry in troubled)
    reason = Reason.WORKLOADS_FAILING if failing else Reason.WORKLOADS_PROGRESSING
    return condition("False", reason, _listing(troubled))


def _listing(troubled: Sequence[tuple[str, Mapping[str, Any]]]) -> str:
    """`nova scheduler 0/2: pod nova-scheduler-6c5…: …`, the worst few."""
    parts = [
        f"{name} {entry['ready']}/{entry['desired']}: {entry.get('message') or entry['status']}"
        for name, entry in troubled[:SHOWN]
    ]
    more = len(troubled) - SHOWN
    return "; ".join(parts) + (f"; and {more} more" if more > 0 else "")
