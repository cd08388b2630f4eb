"""Facts of the workloads of Helm releases: Deployments, StatefulSets, DaemonSets and Jobs. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from controller.domain.api.conditions import find
from controller.domain.api.names import HOOK, RELEASE_LABELS, RELEASE_NAME, RELEASE_NAMESPACE
from controller.domain.shared.times import seconds_of

# Hooks that do not belong to a running release.
OTHER_HOOKS = frozenset({"test", "test-success", "test-failure", "pre-delete", "post-delete"})


@dataclass(frozen=True, slots=True)
class Rollout:
    """Counts of pods as the workload's own controller publishes them.

    `desired` pods are desired; `current` exist; `updated` are of the newest template; `ready` and `available`
    of all that exist. `partition` pods of a StatefulSet are kept at the older template; `on_delete`: pods get
    the newest template only after a deletion.
    """

    desired: int
    current: int = 0
    updated: int = 0
    ready: int = 0
    available: int = 0
    partition: int = 0
    on_delete: bool = False
    misscheduled: int = 0


@dataclass(frozen=True, slots=True)
class Workload:
    """One workload of a release. For Jobs `rollout` counts completions and `failed` its failed pods.

    `stuck` is the controller's own reason why it cannot continue, or empty. `off`: it is disabled (scaled to
    zero, suspended, being deleted) and does not count. `homeless`: the node labels of a DaemonSet that no
    node matches, which is also `off`. `missing`: its release contains it, but the API server does not have
    it. `cron` names the CronJob of a Job. `run` is the UID of a Job without a CronJob, which Helm creates
    again to run it again. `started` is the begin of a Job, or the creation of another workload (seconds since
    the epoch). `rolled_out`: a Deployment's newest revision was complete once, so its controller's deadline
    no longer applies (kubernetes: pkg/controller/deployment/progress.go).
    """

    kind: str
    name: str
    release: str
    component: str
    rollout: Rollout
    generation: int = 0
    observed: int = 0
    started: float = 0.0
    stuck: str = ""
    done: bool = False
    failed: int = 0
    paused: bool = False
    hook: bool = False
    off: bool = False
    homeless: str = ""
    missing: bool = False
    cron: str = ""
    run: str = ""
    rolled_out: bool = False


@dataclass(frozen=True, slots=True)
class Manifest:
    """The objects of one revision of a release: its running workloads, as if they were missing, the names of
    its hook Jobs, and its Services as `name.namespace`."""

    workloads: tuple[Workload, ...]
    hook_jobs: frozenset[str]
    services: frozenset[str] = frozenset()


def parse_manifest(
    release: str, namespace: str, objects: Iterable[Mapping[str, Any]], hooks: Iterable[Mapping[str, Any]]
) -> Manifest:
    """The manifest of a release in `namespace`, from its rendered objects and hooks.

    Objects for other namespaces are omitted, because they are not watched.
    """
    workloads, services = [], set()
    for obj in objects:
        meta = obj.get("metadata") or {}
        here = meta.get("name") and (meta.get("namespace") or namespace) == namespace
        if here and obj.get("kind") == "Service":
            services.add(f"{meta['name']}.{namespace}")
        if here and obj.get("kind") in ("Deployment", "StatefulSet", "DaemonSet"):
            marked = {**meta, "annotations": {**(meta.get("annotations") or {}), RELEASE_NAME: release}}
            found = parse_workload({**obj, "metadata": marked})
            if found is not None and not found.off:
                workloads.append(replace(found, missing=True))
    jobs = [hook.get("metadata") or {} for hook in hooks if hook.get("kind") == "Job"]
    hook_jobs = frozenset(str(meta["name"]) for meta in jobs if meta.get("name"))
    return Manifest(tuple(workloads), hook_jobs, frozenset(services))


def common_manifest(revisions: Sequence[Manifest]) -> Manifest:
    """The expected objects during a change between these revisions, the newest last: workloads that all of
    them contain, and all of their Services and hook Jobs.
    """
    names = [{(one.kind, one.name) for one in manifest.workloads} for manifest in revisions]
    shared = frozenset.intersection(*map(frozenset, names))
    workloads = tuple(one for one in revisions[-1].workloads if (one.kind, one.name) in shared)
    return Manifest(
        workloads,
        frozenset().union(*(manifest.hook_jobs for manifest in revisions)),
        frozenset().union(*(manifest.services for manifest in revisions)),
    )


def parse_workload(obj: Mapping[str, Any]) -> Workload | None:
    """The facts of a workload; None if it does not belong to a release, or to a part that does not count.

    A Job of a CronJob is identified by the labels of the CronJob's template.
    """
    meta = obj["metadata"]
    kind = str(obj["kind"])
    annotations = meta.get("annotations") or {}
    hook = annotations.get(HOOK)
    owners = meta.get("ownerReferences") or []
    owner: Mapping[str, Any] = next((one for one in owners if one.get("controller")), {})
    cron = str(owner.get("name") or "") if kind == "Job" and owner.get("kind") == "CronJob" else ""
    release = _labelled_release(obj) if cron else _release(obj, annotations)
    if not release or (owner and not cron) or (hook and OTHER_HOOKS & set(str(hook).split(","))):
        return None
    spec, status = obj.get("spec") or {}, obj.get("status") or {}
    rollout = _PARTS[kind](spec, status)
    failed_condition = find(status.get("conditions") or [], "Failed") if kind == "Job" else {}
    complete = find(status.get("conditions") or [], "Complete") if kind == "Job" else {}
    return Workload(
        kind=kind,
        name=str(meta["name"]),
        release=release,
        component=_label(obj, "component") or cron or str(meta["name"]),
        rollout=rollout,
        generation=int(meta.get("generation") or 0),
        # A Job's status has none; startTime shows that its controller has observed it.
        observed=int(status.get("observedGeneration") or (meta.get("generation", 0) if kind == "Job" else 0)),
        started=seconds_of(status.get("startTime") or meta.get("creationTimestamp")),
        stuck=_text_of(failed_condition)
        if failed_condition.get("status") == "True"
        else _stuck(kind, status),
        done=complete.get("status") == "True",
        failed=int(status.get("failed") or 0) if kind == "Job" else 0,
        paused=kind == "Deployment" and bool(spec.get("paused")),
        rolled_out=find(status.get("conditions") or [], "Progressing").get("reason")
        == "NewReplicaSetAvailable",
        hook=bool(hook),
        cron=cron,
        run=str(meta.get("uid") or "") if kind == "Job" and not cron else "",
        off=bool(meta.get("deletionTimestamp")) or bool(spec.get("suspend")) or _is_zero(kind, obj, rollout),
        homeless=_homeless(kind, obj, rollout),
    )


def _release(obj: Mapping[str, Any], annotations: Mapping[str, Any]) -> str:
    if annotations.get(RELEASE_NAME):
        home = annotations.get(RELEASE_NAMESPACE)
        # A release of another namespace may put objects into this one; names are unique in each only.
        return "" if home and home != obj["metadata"].get("namespace") else str(annotations[RELEASE_NAME])
    return _labelled_release(obj) if HOOK in annotations else ""


def _labelled_release(obj: Mapping[str, Any]) -> str:
    return next((found for label in RELEASE_LABELS if (found := _label(obj, label))), "")


def _label(obj: Mapping[str, Any], name: str) -> str:
    """A label of the object, or of its pods: upstream's charts do not label every Job itself."""
    template = ((obj.get("spec") or {}).get("template") or {}).get("metadata") or {}
    own = (obj["metadata"].get("labels") or {}).get(name)
    return str(own or (template.get("labels") or {}).get(name) or "")


def _is_zero(kind: str, obj: Mapping[str, Any], rollout: Rollout) -> bool:
    if kind == "DaemonSet":
        # Before its controller has observed it, zero is not valid.
        seen = (obj.get("status") or {}).get("observedGeneration")
        # Misscheduled: its only nodes may be lost ones.
        none = rollout.desired == 0 and rollout.misscheduled == 0
        return none and seen is not None and seen == obj["metadata"].get("generation")
    return rollout.desired == 0


def _homeless(kind: str, obj: Mapping[str, Any], rollout: Rollout) -> str:
    """The labels that no node has together, as `key=value, …`; empty if a node matches, or none is needed."""
    if kind != "DaemonSet" or obj["metadata"].get("deletionTimestamp") or not _is_zero(kind, obj, rollout):
        return ""
    pod = ((obj.get("spec") or {}).get("template") or {}).get("spec") or {}
    return ", ".join(f"{key}={value}" for key, value in sorted((pod.get("nodeSelector") or {}).items()))


def _stuck(kind: str, status: Mapping[str, Any]) -> str:
    if kind != "Deployment":
        return ""
    conditions = status.get("conditions") or []
    failure = find(conditions, "ReplicaFailure")
    if failure.get("status") == "True":
        return _text_of(failure)
    progressing = find(conditions, "Progressing")
    return _text_of(progressing) if progressing.get("status") == "False" else ""


def _text_of(condition: Mapping[str, Any]) -> str:
    return (
        ": ".join(str(condition[key]) for key in ("reason", "message") if condition.get(key))
        or "no reason given"
    )


def _count(value: Any, default: int = 0) -> int:
    return default if value is None else int(value)


def _deployment(spec: Mapping[str, Any], status: Mapping[str, Any]) -> Rollout:
    return Rollout(
        desired=_count(spec.get("replicas"), 1),
        current=_count(status.get("replicas")),
        updated=_count(status.get("updatedReplicas")),
        ready=_count(status.get("readyReplicas")),
        available=_count(status.get("availableReplicas")),
    )


def _statefulset(spec: Mapping[str, Any], status: Mapping[str, Any]) -> Rollout:
    strategy = spec.get("updateStrategy") or {}
    rolling = strategy.get("rollingUpdate") or {}
    return Rollout(
        desired=_count(spec.get("replicas"), 1),
        current=_count(status.get("replicas")),
        updated=_count(status.get("updatedReplicas")),
        ready=_count(status.get("readyReplicas")),
        available=_count(status.get("availableReplicas")),
        partition=_count(rolling.get("partition")),
        on_delete=strategy.get("type") == "OnDelete",
    )


def _daemonset(spec: Mapping[str, Any], status: Mapping[str, Any]) -> Rollout:
    return Rollout(
        desired=_count(status.get("desiredNumberScheduled")),
        current=_count(status.get("currentNumberScheduled")),
        updated=_count(status.get("updatedNumberScheduled")),
        ready=_count(status.get("numberReady")),
        available=_count(status.get("numberAvailable")),
        on_delete=(spec.get("updateStrategy") or {}).get("type") == "OnDelete",
        misscheduled=_count(status.get("numberMisscheduled")),
    )


def _job(spec: Mapping[str, Any], status: Mapping[str, Any]) -> Rollout:
    # Without completions, any one success completes the Job (batch/v1 JobSpec).
    desired = _count(spec.get("completions"), 1)
    done = _count(status.get("succeeded"))
    return Rollout(
        desired=desired, current=_count(status.get("active")), ready=min(done, desired), available=done
    )


_PARTS = {"Deployment": _deployment, "StatefulSet": _statefulset, "DaemonSet": _daemonset, "Job": _job}
