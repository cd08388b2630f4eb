"""Kubernetes objects as the API server shows them, with what a test wants different."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

NOW = 1_780_000_000.0


def at(age: float) -> str:
    """The moment `age` seconds before NOW, as Kubernetes writes it."""
    return datetime.fromtimestamp(NOW - age, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def condition(
    type_: str, status: str, reason: str = "", message: str = "", age: float = 60
) -> dict[str, str]:
    return {
        "type": type_,
        "status": status,
        "reason": reason,
        "message": message,
        "lastTransitionTime": at(age),
    }


def workload(
    kind: str, spec: Mapping[str, Any], status: Mapping[str, Any], *, name: str = "nova-api", **meta: Any
) -> dict[str, Any]:
    return {
        "apiVersion": "batch/v1" if kind == "Job" else "apps/v1",
        "kind": kind,
        "metadata": {
            "name": name,
            "namespace": "openstack",
            "uid": f"uid-{kind}-{name}",
            "resourceVersion": "7",
            "generation": 2,
            "creationTimestamp": at(300),
            "labels": {
                "application": "nova",
                "component": name.removeprefix("nova-"),
                "release_group": "nova",
            },
            "annotations": {
                "meta.helm.sh/release-name": "nova",
                "meta.helm.sh/release-namespace": "openstack",
            },
            **meta,
        },
        "spec": {"template": {"metadata": {"labels": {}}}, **spec},
        "status": dict(status),
    }


def deployment(replicas: int = 2, /, *, name: str = "nova-api", **status: Any) -> dict[str, Any]:
    """A Deployment that is rolled out completely, unless `status` says otherwise."""
    full = {
        "observedGeneration": 2,
        "replicas": replicas,
        "updatedReplicas": replicas,
        "readyReplicas": replicas,
        "availableReplicas": replicas,
        "conditions": [
            condition("Available", "True"),
            condition("Progressing", "True", "NewReplicaSetAvailable"),
        ],
    }
    return workload("Deployment", {"replicas": replicas}, {**full, **status}, name=name)


def statefulset(
    replicas: int = 3, strategy: Mapping[str, Any] | None = None, /, **status: Any
) -> dict[str, Any]:
    full = {
        "observedGeneration": 2,
        "replicas": replicas,
        "currentReplicas": replicas,
        "updatedReplicas": replicas,
        "readyReplicas": replicas,
        "availableReplicas": replicas,
    }
    spec = {"replicas": replicas, "updateStrategy": strategy or {"type": "RollingUpdate"}}
    return workload("StatefulSet", spec, {**full, **status}, name="mariadb-server")


def daemonset(nodes: int = 4, strategy: str = "RollingUpdate", /, **status: Any) -> dict[str, Any]:
    full = {
        "observedGeneration": 2,
        "desiredNumberScheduled": nodes,
        "currentNumberScheduled": nodes,
        "updatedNumberScheduled": nodes,
        "numberReady": nodes,
        "numberAvailable": nodes,
        "numberMisscheduled": 0,
    }
    return workload(
        "DaemonSet", {"updateStrategy": {"type": strategy}}, {**full, **status}, name="nova-compute"
    )


def job(
    *, name: str = "nova-db-sync", age: float = 60, spec: Mapping[str, Any] | None = None, **status: Any
) -> dict[str, Any]:
    return workload("Job", spec or {}, {"startTime": at(age), **status}, name=name)


def pod(
    name: str,
    owner: tuple[str, str] = ("ReplicaSet", "nova-api-5d9c7b"),
    *,
    age: float = 60,
    spec: Mapping[str, Any] | None = None,
    meta: Mapping[str, Any] | None = None,
    **status: Any,
) -> dict[str, Any]:
    """A pod that serves, unless `status` says otherwise."""
    full: dict[str, Any] = {
        "phase": "Running",
        "conditions": [condition("PodScheduled", "True"), condition("Ready", "True")],
        "containerStatuses": [container_status(ready=True)],
    }
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            "namespace": "openstack",
            "uid": f"uid-{name}",
            "resourceVersion": "7",
            "creationTimestamp": at(age),
            "labels": {"pod-template-hash": owner[1].rsplit("-", 1)[-1]} if owner[0] == "ReplicaSet" else {},
            "ownerReferences": [
                {"apiVersion": "apps/v1", "kind": owner[0], "name": owner[1], "uid": "x", "controller": True}
            ],
            **(meta or {}),
        },
        "spec": {
            "nodeName": "cmp1",
            "containers": [{"name": "api", "image": "registry.local/nova:2026.1"}],
            **(spec or {}),
        },
        "status": {**full, **status},
    }


def container_status(
    name: str = "api",
    state: Mapping[str, Any] | None = None,
    *,
    ready: bool = False,
    restarts: int = 0,
    last: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    return {
        "name": name,
        "ready": ready,
        "started": ready,
        "restartCount": restarts,
        "state": state or {"running": {"startedAt": at(50)}},
        "lastState": {"terminated": last} if last else {},
    }


def waiting(reason: str, message: str = "") -> dict[str, Any]:
    return {"waiting": {"reason": reason, "message": message}}


def ended(code: int = 1, message: str = "", reason: str = "Error", age: float = 20) -> dict[str, Any]:
    return {"exitCode": code, "reason": reason, "message": message, "finishedAt": at(age)}


def unready(*statuses: Mapping[str, Any], age: float = 60, message: str = "") -> dict[str, Any]:
    """Fields of a status of a pod whose containers do not all serve."""
    return {
        "conditions": [
            condition("PodScheduled", "True"),
            condition("Ready", "False", "ContainersNotReady", message, age),
        ],
        "containerStatuses": list(statuses),
    }


def crashing(message: str = "could not connect", restarts: int = 4) -> dict[str, Any]:
    words = "back-off 40s restarting failed container"
    return unready(
        container_status(state=waiting("CrashLoopBackOff", words), restarts=restarts, last=ended(1, message))
    )
