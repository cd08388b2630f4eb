"""Facts of a pod, small enough to keep thousands of them, and why it does not serve. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from controller.domain.api.conditions import find
from controller.domain.shared.times import seconds_of

# The kubelet's own limit of last words (kubernetes: pkg/kubelet/container/runtime.go), and a bound for other
# texts. It is much more than is ever shown, because a text is shortened only after redaction: a part of a
# secret would not be found.
OUTPUT_LIMIT = 4096
TEXT_LIMIT = 16384

# Seconds that a container must run before it is no longer reported as crashing. Between two crashes it runs
# for a while, but it is the same fault, with the same text.
CRASH_SHOWN_FOR = 600.0
# The kubelet's longest back-off, and a margin: a later start was not caused by a crash.
LONGEST_BACK_OFF = 360.0
# Ready turns False a moment after a crash, when the container may already run again.
NOTICED_WITHIN = 10.0
# Ends that went unobserved, after a reboot of the node (containerd; kubernetes: pkg/kubelet/kubelet_pods.go).
UNSEEN_ENDS = frozenset({"Unknown", "ContainerStatusUnknown"})
BEING_CREATED = frozenset({"ContainerCreating", "PodInitializing"})

# Reasons that the kubelet gives for a container that waits (kubernetes: pkg/kubelet/images/types.go and
# pkg/kubelet/kuberuntime/kuberuntime_container.go).
IMAGE_REASONS = frozenset(
    {
        *("ErrImagePull", "ImagePullBackOff", "ErrImageNeverPull", "InvalidImageName"),
        *("ImageInspectError", "RegistryUnavailable", "SignatureValidationFailed"),
    }
)
CONFIG_REASONS = frozenset(
    {
        *("CreateContainerConfigError", "CreateContainerError", "RunContainerError"),
        *("PreCreateHookError", "PreStartHookError", "PostStartHookError"),
    }
)
# The kubelet alternates between a short error and a back-off that repeats it: without these words both are
# the same.
_REPEATED = re.compile(
    r'^(Back-off pulling image "[^"]*"(: )?|ErrImagePull: |rpc error: code = \w+ desc = )+'
)


class CauseKind(StrEnum):
    """Why a pod does not serve, the most informative kinds last."""

    UNSCHEDULABLE = "Unschedulable"
    IMAGE = "ImagePullBackOff"
    CONFIG = "CreateContainerConfigError"
    CRASH = "CrashLoopBackOff"
    FAILED = "Failed"
    NODE = "NodeLost"
    UNREADY = "ReadinessLost"
    TERMINATING = "Terminating"
    WAITING = "WaitingForDependency"
    STARTING = "Starting"


ORDER = {kind: place for place, kind in enumerate(CauseKind)}


@dataclass(frozen=True, slots=True)
class PodCause:
    """Why a pod does not serve.

    `output` is the output of a container before its end, not yet redacted. `since` in seconds since the
    epoch, 0.0 if not known. `waits_for` names what an init container of kubernetes-entrypoint waits for, as
    `Job/nova-db-sync` or `Service/openstack/keystone-api`. From the moment `until` on, `later` is the cause,
    if there is one.
    """

    kind: CauseKind
    text: str
    output: str = ""
    since: float = 0.0
    container: str = ""
    waits_for: tuple[str, ...] = ()
    until: float = 0.0
    later: PodCause | None = None

    def at(self, now: float) -> PodCause:
        """The cause at the moment `now`, if the pod's status does not change."""
        return self if self.later is None or now < self.until else self.later


@dataclass(frozen=True, slots=True)
class PodFacts:
    """One pod that a workload owns.

    `cause` is None if it serves, or has succeeded. `owner` is (kind, name) of the workload; for a ReplicaSet,
    its Deployment. `revision` is the hash of its template. `claims` are those of its volumes.
    """

    name: str
    owner: tuple[str, str]
    revision: str
    created: float
    succeeded: bool = False
    deleting: float = 0.0
    claims: tuple[str, ...] = ()
    cause: PodCause | None = None


def parse_pod(obj: Mapping[str, Any]) -> PodFacts | None:
    """The facts of a pod; None if its owner is not a workload that counts."""
    meta = obj["metadata"]
    owner = _owner(meta)
    if owner is None:
        return None
    spec, status = obj.get("spec") or {}, obj.get("status") or {}
    labels = meta.get("labels") or {}
    revision = labels.get("pod-template-hash") or labels.get("controller-revision-hash") or ""
    deleting = seconds_of(meta.get("deletionTimestamp"))
    cause = _cause(spec, status, deleting, str(meta.get("namespace") or ""))
    if cause is not None and cause.since == 0.0:
        cause = replace(cause, since=seconds_of(meta.get("creationTimestamp")))
    return PodFacts(
        name=str(meta["name"]),
        owner=owner,
        revision=str(revision),
        created=seconds_of(meta.get("creationTimestamp")),
        succeeded=status.get("phase") == "Succeeded",
        deleting=deleting,
        claims=_claims(spec),
        cause=cause,
    )


def _owner(meta: Mapping[str, Any]) -> tuple[str, str] | None:
    for reference in meta.get("ownerReferences") or []:
        kind, name = str(reference.get("kind")), str(reference.get("name"))
        if not reference.get("controller"):
            continue
        if kind == "ReplicaSet":
            # A Deployment names its ReplicaSets <deployment>-<hash> (kubernetes:
            # pkg/controller/deployment/sync.go), and its pods carry the hash.
            digest = (meta.get("labels") or {}).get("pod-template-hash")
            if digest and name.endswith(f"-{digest}"):
                return "Deployment", name[: -len(digest) - 1]
            return None
        if kind in ("StatefulSet", "DaemonSet", "Job"):
            return kind, name
    return None


def _claims(spec: Mapping[str, Any]) -> tuple[str, ...]:
    named = (volume.get("persistentVolumeClaim") or {} for volume in spec.get("volumes") or [])
    return tuple(sorted(str(claim["claimName"]) for claim in named if claim.get("claimName")))


def _cause(
    spec: Mapping[str, Any], status: Mapping[str, Any], deleting: float, namespace: str
) -> PodCause | None:
    phase = status.get("phase")
    if phase == "Succeeded":
        return None
    conditions = status.get("conditions") or []
    ready = find(conditions, "Ready")
    containers = list(_by_name(spec.get("containers"), status.get("containerStatuses")))
    if deleting:
        # A silent node does not report the end of the pod, so the pod stays.
        lost = _lost(spec, containers, ready) if phase != "Failed" else None
        if lost is not None:
            return replace(lost, text=f"{lost.text}, so it cannot terminate")
        return PodCause(CauseKind.TERMINATING, "is being removed", since=deleting)
    if phase == "Failed":
        return _failed(status)
    if ready.get("status") == "True":
        return None
    scheduled = find(conditions, "PodScheduled")
    if scheduled.get("status") == "False":
        message = _bounded(scheduled.get("message") or scheduled.get("reason") or "no node fits")
        since = seconds_of(scheduled.get("lastTransitionTime"))
        return PodCause(CauseKind.UNSCHEDULABLE, f"Unschedulable: {message}", since=since)
    init_containers = list(_by_name(spec.get("initContainers"), status.get("initContainerStatuses")))
    if find(conditions, "Initialized").get("status") == "True":
        # Init containers that keep running (sidecars) count like the others.
        containers += [one for one in init_containers if _is_sidecar(one[0])]
    else:
        causes = (_init_cause(*container, namespace) for container in init_containers)
        if (met := next(filter(None, causes), None)) is not None:
            return met
    goes_on = spec.get("restartPolicy") in (None, "Always")
    found = next(filter(None, (_container_fault(*one, goes_on=goes_on) for one in containers)), None)
    return found or _unready(spec, containers, ready)


def _bounded(text: object) -> str:
    return str(text or "")[:TEXT_LIMIT]


def _by_name(
    specs: Sequence[Mapping[str, Any]] | None, statuses: Sequence[Mapping[str, Any]] | None
) -> Iterable[tuple[Mapping[str, Any], Mapping[str, Any]]]:
    """Each container of the spec with its status, or an empty one."""
    known = {status.get("name"): status for status in statuses or []}
    return [(spec, known.get(spec.get("name"), {})) for spec in specs or []]


def _failed(status: Mapping[str, Any]) -> PodCause:
    ended = [
        (str(one.get("name")), (one.get("state") or {}).get("terminated") or {})
        for one in (*(status.get("initContainerStatuses") or []), *(status.get("containerStatuses") or []))
    ]
    for name, end in ended:
        if end.get("exitCode"):
            return _with_output(CauseKind.FAILED, name, f"failed: {_ending(end)}", end)
    message = ": ".join(str(status[key]) for key in ("reason", "message") if status.get(key))
    return PodCause(CauseKind.FAILED, f"failed: {_bounded(message) or 'no reason is given'}")


def _is_sidecar(spec: Mapping[str, Any]) -> bool:
    return bool(spec.get("restartPolicy") == "Always")


def _init_cause(spec: Mapping[str, Any], status: Mapping[str, Any], namespace: str) -> PodCause | None:
    """Why the pod is still in this init container; None when it is past it."""
    state = status.get("state") or {}
    ended = state.get("terminated")
    if (ended and not ended.get("exitCode")) or (_is_sidecar(spec) and status.get("started")):
        return None
    found = _container_fault(spec, status)
    if found is not None:
        return found
    name = str(spec.get("name"))
    if "running" in state:
        since = seconds_of(state["running"].get("startedAt"))
        waits = _entrypoint_dependencies(spec, namespace)
        text = f"is in init container {name}"
        cause = PodCause(CauseKind.WAITING, text, since=since, container=name, waits_for=waits)
        return _after_crash(cause, status)
    return PodCause(CauseKind.STARTING, _being_created(state), container=name)


def _being_created(state: Mapping[str, Any]) -> str:
    message = _bounded((state.get("waiting") or {}).get("message"))
    return f"is being created: {message}" if message else "is being created"


def _container_fault(
    spec: Mapping[str, Any], status: Mapping[str, Any], *, goes_on: bool = False
) -> PodCause | None:
    """Why a container cannot run, or why it has just ended.

    One that `goes_on` must not end, even with exit code 0, which is the result of a failed liveness probe.
    """
    name, image = str(spec.get("name")), str(spec.get("image"))
    state = status.get("state") or {}
    waiting = state.get("waiting") or {}
    waiting_reason, message = str(waiting.get("reason") or ""), _bounded(waiting.get("message"))
    if waiting_reason in IMAGE_REASONS:
        detail = _REPEATED.sub("", message).strip()
        shown = (
            "ImagePullBackOff" if waiting_reason in ("ErrImagePull", "ImagePullBackOff") else waiting_reason
        )
        text = f"{shown}: image {image} cannot be pulled" + (f" ({detail})" if detail else "")
        return PodCause(CauseKind.IMAGE, text, container=name)
    if waiting_reason in CONFIG_REASONS:
        text = f"{waiting_reason}: container {name}: {message or 'no message is given'}"
        return PodCause(CauseKind.CONFIG, text, container=name)
    if "running" in state or waiting_reason in BEING_CREATED:
        return None
    last = state.get("terminated") or (status.get("lastState") or {}).get("terminated") or {}
    return _crash(name, last) if _died(status, last) or (last and goes_on) else None


def _died(status: Mapping[str, Any], last: Mapping[str, Any]) -> bool:
    return bool(last and (int(status.get("restartCount") or 0) or last.get("exitCode")))


def _crash(name: str, last: Mapping[str, Any]) -> PodCause:
    return _with_output(CauseKind.CRASH, name, f"CrashLoopBackOff: container {name} {_ending(last)}", last)


def _after_crash(cause: PodCause, status: Mapping[str, Any]) -> PodCause:
    """The cause of a container that runs and does not serve: for a while, its last crash."""
    last = (status.get("lastState") or {}).get("terminated") or {}
    started = seconds_of(((status.get("state") or {}).get("running") or {}).get("startedAt"))
    finished = seconds_of(last.get("finishedAt"))
    if not _died(status, last) or str(last.get("reason") or "") in UNSEEN_ENDS:
        return cause
    if not (started and finished) or started - finished > LONGEST_BACK_OFF:
        return cause
    return replace(_crash(cause.container, last), until=started + CRASH_SHOWN_FOR, later=cause)


def _ending(ended: Mapping[str, Any]) -> str:
    reason = str(ended.get("reason") or "")
    why = f" ({reason})" if reason not in ("", "Error", "Completed") else ""
    return f"ended with exit code {ended.get('exitCode', '?')}{why}"


def _with_output(kind: CauseKind, name: str, text: str, ended: Mapping[str, Any]) -> PodCause:
    output = str(ended.get("message") or "").strip()[-OUTPUT_LIMIT:]
    return PodCause(kind, text, output, seconds_of(ended.get("finishedAt")), name)


def _unready(
    spec: Mapping[str, Any],
    containers: Sequence[tuple[Mapping[str, Any], Mapping[str, Any]]],
    ready: Mapping[str, Any],
) -> PodCause:
    since = seconds_of(ready.get("lastTransitionTime"))
    found = [cause for container in containers if (cause := _not_serving(*container, since)) is not None]
    if found:
        return min(found, key=lambda cause: ORDER[cause.kind])
    message = _bounded(ready.get("message")) or "no reason is given"
    lost = _lost(spec, containers, ready)
    return lost or PodCause(CauseKind.UNREADY, f"is not ready: {message}", since=since)


def _not_serving(spec: Mapping[str, Any], status: Mapping[str, Any], unready_since: float) -> PodCause | None:
    """Why this running container does not serve, or None."""
    state, name = status.get("state") or {}, str(spec.get("name"))
    if "running" not in state:
        return PodCause(CauseKind.STARTING, _being_created(state), container=name)
    if status.get("ready"):
        return None
    started = seconds_of(state["running"].get("startedAt"))
    restarted = bool((status.get("lastState") or {}).get("terminated"))
    if started > 0 and unready_since > started + (NOTICED_WITHIN if restarted else 0.0):
        text = f"lost readiness: the readiness probe of container {name} fails"
        return PodCause(CauseKind.UNREADY, text, since=unready_since, container=name)
    text = f"container {name} runs and is not ready yet"
    return _after_crash(PodCause(CauseKind.STARTING, text, since=started, container=name), status)


def _lost(
    spec: Mapping[str, Any],
    containers: Sequence[tuple[Mapping[str, Any], Mapping[str, Any]]],
    ready: Mapping[str, Any],
) -> PodCause | None:
    """Whether the pod's node is silent: its containers are ready and it is not, without a reason.

    The node controller leaves pods of such a node in this state (kubernetes: pkg/util/node/node.go).
    """
    serve = all(one.get("ready") and "running" in (one.get("state") or {}) for _, one in containers)
    if not serve or ready.get("status", "True") == "True" or ready.get("message"):
        return None
    since = seconds_of(ready.get("lastTransitionTime"))
    return PodCause(CauseKind.NODE, f"the node {spec.get('nodeName', '')} does not answer", since=since)


def _entrypoint_dependencies(spec: Mapping[str, Any], namespace: str) -> tuple[str, ...]:
    """What kubernetes-entrypoint waits for, from its environment (openstack-helm: helm-toolkit,
    snippets/_kubernetes_entrypoint_init_container.tpl): comma lists of names or namespace:name, and
    Jobs in JSON, by name or by labels. A namespace is reported only if it differs from the pod's.
    """
    texts = {str(one.get("name")): str(one.get("value") or "") for one in spec.get("env") or []}
    found = []
    for variable, kind in (
        ("DEPENDENCY_JOBS", "Job"),
        ("DEPENDENCY_DAEMONSET", "DaemonSet"),
        ("DEPENDENCY_SERVICE", "Service"),
    ):
        names = (part.strip().removeprefix(f"{namespace}:") for part in texts.get(variable, "").split(","))
        found += [f"{kind}/{name.replace(':', '/')}" for name in names if name]
    found += _jobs_in_json(texts.get("DEPENDENCY_JOBS_JSON", ""), namespace)
    if texts.get("DEPENDENCY_POD_JSON", "").strip() not in ("", "[]", '""'):
        found.append("other pods on its node")
    return tuple(found)


def _jobs_in_json(text: str, namespace: str) -> list[str]:
    """As `Job/<name>`, or with labels instead of a name, without unreadable entries."""
    try:
        listed = json.loads(text or "[]")
    except ValueError:
        return []
    found = []
    for one in listed if isinstance(listed, list) else []:
        if not isinstance(one, Mapping):
            continue
        labels = one.get("labels")
        labelled = (
            ",".join(f"{key}={value}" for key, value in labels.items()) if isinstance(labels, Mapping) else ""
        )
        name = str(one.get("name") or "") or (f"with labels {labelled}" if labelled else "")
        place = str(one.get("namespace") or namespace)
        if name:
            found.append(f"Job/{name}" if place == namespace else f"Job/{place}/{name}")
    return found
