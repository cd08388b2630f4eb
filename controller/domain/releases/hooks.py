"""Hook Jobs of a release: how far each is, and why one does not get on. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from controller.domain.api.conditions import find, timestamp
from controller.domain.api.names import HOOK, RELEASE_LABELS, RELEASE_NAME
from controller.domain.api.shortened_text import shorten
from controller.domain.health.pods import CauseKind, PodFacts
from controller.domain.health.workload_health import Surroundings, WorkloadHealth, judge_workload
from controller.domain.health.workloads import Workload, parse_workload
from controller.domain.releases.kept_claims import is_kept
from controller.domain.shared.times import seconds_of

JOB_NAME = "batch.kubernetes.io/job-name"
WEIGHT = "helm.sh/hook-weight"
DELETE_POLICY = "helm.sh/hook-delete-policy"
OUTPUT_SHOWN = 400

# Helm waits for the end of these, and of nothing else that a hook makes.
AWAITED = ("Job", "Pod")

# Events of hooks by Helm's action, in their order.
EVENTS: Mapping[str, tuple[str, str]] = {
    "Install": ("pre-install", "post-install"),
    "Upgrade": ("pre-upgrade", "post-upgrade"),
    "Rollback": ("pre-rollback", "post-rollback"),
    "Uninstall": ("pre-delete", "post-delete"),
}

# What kubernetes-entrypoint says of a dependency that is not met, and of one that is (airshipit's and
# openstack-helm's, entrypoint.go).
_UNMET = re.compile(r"Resolving dependency (.+?) failed: (.+?)(?: - Trying again.*| \.)?$")
_MET = re.compile(r"Dependency (.+?) is resolved")


class HookPhase(StrEnum):
    """How far a hook is."""

    PENDING = "Pending"
    RUNNING = "Running"
    SUCCEEDED = "Succeeded"
    FAILED = "Failed"


@dataclass(frozen=True, slots=True)
class HookRef:
    """An object that a hook makes and that Helm waits for."""

    kind: str
    name: str


@dataclass(frozen=True, slots=True)
class HookView:
    """One hook as its bundle's status shows it. `since` in seconds since the epoch, 0.0 if not known."""

    name: str
    phase: HookPhase
    since: float = 0.0

    def entry(self) -> dict[str, Any]:
        """The entry of `status.releases[].hooks`."""
        entry = {"name": self.name, "phase": str(self.phase)}
        return {**entry, "since": timestamp(self.since)} if self.since else entry


@dataclass(frozen=True, slots=True)
class HookJob:
    """A Job that a hook made. `since`: when it came into its phase; `created` in seconds since the epoch."""

    name: str
    uid: str
    phase: HookPhase
    since: float
    created: float
    workload: Workload

    @property
    def view(self) -> HookView:
        return HookView(self.name, self.phase, self.since)


def parse_hook_job(obj: Mapping[str, Any]) -> HookJob | None:
    """The facts of a Job; None for one that is no hook of Helm."""
    meta, status = obj["metadata"], obj.get("status") or {}
    annotations = meta.get("annotations") or {}
    if HOOK not in annotations:
        return None
    # As a Job of a release like any other: those of a deletion are no part of a release's health.
    marked = {name: text for name, text in annotations.items() if name != HOOK}
    bare = {name: part for name, part in meta.items() if name not in ("ownerReferences", "annotations")}
    plain = {**bare, "annotations": {**marked, RELEASE_NAME: "-"}}
    workload = parse_workload({"kind": "Job", **obj, "metadata": plain})
    if workload is None:
        return None
    phase, since = _phase(status)
    created = seconds_of(meta.get("creationTimestamp"))
    return HookJob(str(meta["name"]), str(meta["uid"]), phase, since or created, created, workload)


def _phase(status: Mapping[str, Any]) -> tuple[HookPhase, float]:
    conditions = status.get("conditions") or []
    for type_, phase in (("Complete", HookPhase.SUCCEEDED), ("Failed", HookPhase.FAILED)):
        ended = find(conditions, type_)
        if ended.get("status") == "True":
            return phase, seconds_of(ended.get("lastTransitionTime"))
    started = seconds_of(status.get("startTime"))
    return (HookPhase.RUNNING, started) if started else (HookPhase.PENDING, 0.0)


def awaited_hooks(hooks: Iterable[Mapping[str, Any]], action: str) -> tuple[HookRef, ...]:
    """What an action waits for, of the objects of all hooks of a revision, in the order in which they run."""
    events = EVENTS.get(action, ())
    found = []
    for hook in hooks:
        meta, own = hook.get("metadata") or {}, _words(hook, HOOK)
        place = next((place for place, event in enumerate(events) if event in own), None)
        if hook.get("kind") in AWAITED and place is not None:
            weight = hook_weight(hook)
            # Those of one weight by name (helm.sh/helm/v4/pkg/action, hookByWeight).
            found.append((place, weight, str(meta["name"]), str(hook["kind"])))
    return tuple(dict.fromkeys(HookRef(kind, name) for _, _, name, kind in sorted(found)))


def runs_in(hook: Mapping[str, Any], action: str) -> bool:
    """Whether an action of Helm runs the hook."""
    return bool(_words(hook, HOOK) & set(EVENTS.get(action, ())))


def outlives_its_release(live: Mapping[str, Any], rendered: Mapping[str, Any], release: str) -> bool:
    """Whether a hook has made the object with the metadata `live` to be kept, and a hook of this release is
    to make and keep it again: Keystone's keys, which a chart of another source describes by other labels.

    A live label that names another release speaks against it.
    """
    labels = live.get("labels") or {}
    kept = all(HOOK in (meta.get("annotations") or {}) and is_kept(meta) for meta in (live, rendered))
    return kept and all(labels.get(label, release) == release for label in RELEASE_LABELS)


def runs_before(hook: Mapping[str, Any], action: str) -> bool:
    """Whether an action of Helm runs the hook before it sends the manifest."""
    return EVENTS[action][0] in _words(hook, HOOK)


def meets_its_last_run(hook: Mapping[str, Any], action: str) -> bool:
    """Whether an action of Helm runs the hook, and takes what its last run has left for the new one.

    So it is where the chart says when the hook's object is deleted, and that is not before it is made
    (helm.sh/helm/v4/pkg/action, execHook).
    """
    policies = _words(hook, DELETE_POLICY)
    return runs_in(hook, action) and bool(policies) and "before-hook-creation" not in policies


def _words(hook: Mapping[str, Any], annotation: str) -> set[str]:
    text = str(((hook.get("metadata") or {}).get("annotations") or {}).get(annotation) or "")
    return {word.strip().lower() for word in text.split(",")} - {""}


def hook_weight(hook: Mapping[str, Any]) -> int:
    """The place of the hook among those of its event, 0 where its chart gives none."""
    notes = (hook.get("metadata") or {}).get("annotations") or {}
    try:
        return int(str(notes.get(WEIGHT) or 0))
    except ValueError:
        return 0


def judge_hook(
    job: HookJob, pods: Sequence[PodFacts], others: Iterable[HookJob], now: float
) -> WorkloadHealth:
    """How a hook's Job fares, with what keeps its newest pod from getting on.

    It does not wait for those of the `others` that have succeeded.
    """
    finished = frozenset(f"Job/{one.name}" for one in others if one.phase == HookPhase.SUCCEEDED)
    return judge_workload(job.workload, pods, Surroundings({}, finished, now))


def entrypoint_of(pods: Sequence[PodFacts]) -> tuple[str, str] | None:
    """Pod and container of the newest pod's wait for its dependencies, None when it waits for none."""
    newest = max(pods, key=lambda pod: (pod.created, pod.name), default=None)
    cause = newest.cause if newest else None
    if newest is None or cause is None or cause.kind != CauseKind.WAITING or not cause.container:
        return None
    return newest.name, cause.container


def unmet_dependencies(log: str) -> str:
    """What kubernetes-entrypoint still waits for, from the end of its log; empty when it does not say."""
    unmet: dict[str, str] = {}
    for line in log.splitlines():
        met, failed = _MET.search(line), _UNMET.search(line.strip())
        if met:
            unmet.pop(met[1], None)
        elif failed:
            unmet[failed[1]] = failed[2]
    return "; ".join(f"{name}: {why}" for name, why in list(unmet.items())[:5])


def reported_hooks(job: str, verdict: WorkloadHealth, redact: Callable[[str], str], unmet: str = "") -> str:
    """A verdict on a hook in a sentence or two. Redacted before anything is cut."""
    named = verdict.text if verdict.text.startswith("Job ") else f"Job {job}: {verdict.text}"
    parts = [redact(named), redact(f"unmet: {unmet}") if unmet else ""]
    output = " ".join(redact(verdict.output).split()) if verdict.output else ""
    if len(output) > OUTPUT_SHOWN:
        # The end of an output is more informative than its beginning.
        output = f"… {output[-OUTPUT_SHOWN:]}"
    return shorten("; ".join(part for part in parts if part) + (f': "{output}"' if output else ""), 1000)
