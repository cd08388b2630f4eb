"""The Jobs of a release that its new pods wait for, as the pods' own start-up waits name them. Pure.

Both chart sources have kubernetes-entrypoint in an init container, which waits until each Job that its
environment names has succeeded once, whatever image that Job had.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from controller.domain.releases.hooks import hook_weight, runs_before, runs_in

KubeObject = Mapping[str, Any]

# What replaces its pods when its template changes, and what begins new ones by a clock.
PODS_OF = ("Deployment", "StatefulSet", "DaemonSet", "CronJob")
SERVING = PODS_OF[:3]
_JOB = "Job"
_WAITS = ("DEPENDENCY_JOBS", "DEPENDENCY_JOBS_JSON")


def template_of(obj: KubeObject) -> Mapping[str, Any]:
    """The pod template of a workload or Job, empty where it has none."""
    spec = obj.get("spec") or {}
    if obj.get("kind") == "CronJob":
        spec = (spec.get("jobTemplate") or {}).get("spec") or {}
    return spec.get("template") or {}


def images_of(obj: KubeObject) -> Mapping[str, str]:
    """The image of each container by its name, except containers that only wait."""
    return {str(one.get("name")): str(one.get("image")) for one in _containers(obj) if not _waits(one)}


def upgrade_jobs(manifest: Iterable[KubeObject], hooks: Iterable[KubeObject]) -> tuple[KubeObject, ...]:
    """The Jobs that an upgrade makes after it has sent the workloads, or beside them."""
    plain = [obj for obj in manifest if obj.get("kind") == _JOB]
    # What runs before the upgrade is over before the first workload is sent.
    after = [
        one
        for one in hooks
        if one.get("kind") == _JOB and runs_in(one, "Upgrade") and not runs_before(one, "Upgrade")
    ]
    return (*plain, *after)


def awaited_by(obj: KubeObject, jobs: Sequence[KubeObject], namespace: str) -> tuple[KubeObject, ...]:
    """Those of the Jobs that the pods of a workload, or of a Job, wait for themselves."""
    waits = [wait for one in _containers(obj) for wait in _parse_waits(one, namespace)]
    return tuple(job for job in jobs if any(_is_meant(wait, job, namespace) for wait in waits))


def all_awaited(
    workloads: Iterable[KubeObject], jobs: Sequence[KubeObject], namespace: str
) -> tuple[KubeObject, ...]:
    """Those that the workloads' pods wait for, with those that these wait for in turn.

    In an order in which each can run: after what it waits for, else by weight and name, as Helm has it.
    """
    found: dict[str, KubeObject] = {}
    open_ = list(workloads)
    while open_:
        for job in awaited_by(open_.pop(), jobs, namespace):
            if _name(job) not in found:
                found[_name(job)] = job
                open_.append(job)
    needs = {name: {_name(one) for one in awaited_by(job, jobs, namespace)} for name, job in found.items()}
    remaining = sorted(found, key=lambda name: (hook_weight(found[name]), name))
    ordered: list[str] = []
    while remaining:
        # In a circle none can ever succeed: then their weights are all that is known.
        free = (name for name in remaining if not needs[name] - set(ordered) - {name})
        ordered.append(next(free, remaining[0]))
        remaining.remove(ordered[-1])
    return tuple(found[name] for name in ordered)


def _containers(obj: KubeObject) -> list[Mapping[str, Any]]:
    spec = template_of(obj).get("spec") or {}
    return [*(spec.get("initContainers") or ()), *(spec.get("containers") or ())]


def _waits(container: Mapping[str, Any]) -> bool:
    return any(str(one.get("name")).startswith("DEPENDENCY_") for one in container.get("env") or ())


def _parse_waits(container: Mapping[str, Any], namespace: str) -> Iterator[Mapping[str, Any]]:
    """As kubernetes-entrypoint reads them: `[NAMESPACE:]NAME,…`, or a list of maps."""
    variables = {one.get("name"): one.get("value") for one in container.get("env") or ()}
    for text in str(variables.get(_WAITS[0]) or "").split(","):
        where, _, name = text.strip().rpartition(":")
        if name:
            yield {"name": name, "namespace": where or namespace}
    try:
        listed = json.loads(variables.get(_WAITS[1]) or "[]")
    except (TypeError, ValueError):
        return
    yield from (one for one in listed if isinstance(one, Mapping)) if isinstance(listed, list) else ()


def _is_meant(wait: Mapping[str, Any], job: KubeObject, namespace: str) -> bool:
    meta = job["metadata"]
    if (wait.get("namespace") or namespace) != (meta.get("namespace") or namespace):
        return False
    if wait.get("name"):
        return bool(wait["name"] == meta["name"])
    labels, there = wait.get("labels") or {}, meta.get("labels") or {}
    return bool(labels) and all(there.get(key) == value for key, value in labels.items())


def _name(job: KubeObject) -> str:
    return str(job["metadata"]["name"])
