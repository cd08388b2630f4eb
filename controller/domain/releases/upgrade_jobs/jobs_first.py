"""The first half of an upgrade: the present release, with the new Jobs that its new pods will wait for.

Pure. Helm sends workloads before it runs the hooks of an upgrade. So the upgrade has two revisions: in the
first, the release stays unchanged, and the new Jobs run; the second is the upgrade.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from typing import Any

from controller.domain.api.names import HOOK, MANAGED_BY, RELEASE_NAME, RELEASE_NAMESPACE
from controller.domain.releases.hooks import DELETE_POLICY, EVENTS, WEIGHT
from controller.domain.releases.upgrade_jobs.awaited_jobs import template_of

KubeObject = Mapping[str, Any]
# Kind and name, of what lies in the namespace of the one that refers to it.
Reference = tuple[str, str]

# The place for the objects as texts in the values of such a revision, and for the values of the complete
# upgrade. Nothing reads the latter by its path, because no pod runs with them yet.
OBJECTS_KEY, GIVEN_KEY = "osctlObjects", "osctlGiven"
# The digest of such a revision: it serves no spec.
NO_DIGEST = "0" * 40
# What a Job is granted, in place of what it was granted before.
RIGHTS = ("Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding")
# The fields of a pod that name each kind of file.
_SOURCES: Mapping[str, str] = {
    **dict.fromkeys(("configMap", "configMapRef", "configMapKeyRef"), "ConfigMap"),
    **dict.fromkeys(("secret", "secretRef", "secretKeyRef"), "Secret"),
}
COPIED = ("ConfigMap", "Secret")
_COPY, _LONGEST_NAME = "-jobs-first", 253
_PAIR = re.compile(r"\\u(d[89ab][0-9a-f]{2})\\u(d[c-f][0-9a-f]{2})")


def values_of(objects: Iterable[KubeObject], given: Mapping[str, Any]) -> dict[str, Any]:
    """What the chart that makes just these objects is given."""
    return {OBJECTS_KEY: [as_text(obj) for obj in objects], GIVEN_KEY: dict(given)}


def as_text(obj: KubeObject) -> str:
    """One line of JSON that YAML reads alike, which joins no surrogates and has other ends of lines."""
    text = json.dumps(obj, separators=(",", ":"))
    return _PAIR.sub(lambda pair: f"\\U{_joined(pair[1], pair[2]):08x}", text)


def _joined(high: str, low: str) -> int:
    return 0x10000 + ((int(high, 16) - 0xD800) << 10) + (int(low, 16) - 0xDC00)


def as_hooks(jobs: Sequence[KubeObject], release: str, namespace: str) -> tuple[KubeObject, ...]:
    """The Jobs as hooks that run one after the other, in this order, and stay.

    Each has Helm's marks of the release: one that is no hook in the whole upgrade is the release's then.
    """
    found = []
    for place, job in enumerate(jobs, start=1):
        meta = dict(job["metadata"])
        notes = {
            **(meta.get("annotations") or {}),
            HOOK: "post-upgrade",
            WEIGHT: str(place),
            DELETE_POLICY: "before-hook-creation",
            RELEASE_NAME: release,
            RELEASE_NAMESPACE: namespace,
        }
        labels = {**(meta.get("labels") or {}), MANAGED_BY: "Helm"}
        found.append({**job, "metadata": {**meta, "annotations": notes, "labels": labels}})
    return tuple(found)


def copies_of(objects: Iterable[KubeObject]) -> tuple[KubeObject, ...]:
    """The files of Jobs under separate names, as hooks that are removed when the Jobs have succeeded.

    Serving pods still read the old files when one of their containers restarts.
    """
    found = []
    for obj in objects:
        meta = obj["metadata"]
        notes = {
            **(meta.get("annotations") or {}),
            HOOK: "post-upgrade",
            WEIGHT: "0",
            DELETE_POLICY: "before-hook-creation,hook-succeeded",
        }
        found.append({**obj, "metadata": {**meta, "name": copy_name(meta["name"]), "annotations": notes}})
    return tuple(found)


def copy_name(name: str) -> str:
    """The name of what is copied for the Jobs."""
    return f"{name[: _LONGEST_NAME - len(_COPY)]}{_COPY}"


def with_copies(job: KubeObject, copied: Set[Reference]) -> KubeObject:
    """The Job with its pods' references to what was copied turned to the copies."""
    spec = job.get("spec") or {}
    return {**job, "spec": {**spec, "template": _redirected(spec.get("template"), copied)}}


def _redirected(value: Any, copied: Set[Reference]) -> Any:
    if isinstance(value, list):
        return [_redirected(one, copied) for one in value]
    if not isinstance(value, Mapping):
        return value
    found = {key: _redirected(part, copied) for key, part in value.items()}
    for key, kind in _SOURCES.items():
        part = found.get(key)
        if isinstance(part, Mapping):
            name = "secretName" if "secretName" in part else "name"
            if (kind, str(part.get(name))) in copied:
                found[key] = {**part, name: copy_name(str(part[name]))}
    return found


def without_upgrade(hooks: Iterable[KubeObject]) -> tuple[KubeObject, ...]:
    """The hooks, none of which an upgrade runs: a removal is to know of them."""
    found = []
    for hook in hooks:
        notes = (hook.get("metadata") or {}).get("annotations") or {}
        events = [one.strip() for one in str(notes.get(HOOK)).split(",")]
        others = [one for one in events if one and one not in EVENTS["Upgrade"]]
        if others:
            meta = {**hook["metadata"], "annotations": {**notes, HOOK: ",".join(others)}}
            found.append({**hook, "metadata": meta})
    return tuple(found)


def as_it_is(recorded: KubeObject, live: KubeObject) -> dict[str, Any]:
    """A workload of a record with the pods that the one in the cluster has."""
    kept = {key: value for key, value in (live.get("spec") or {}).items() if key == "replicas"}
    spec = {**(recorded.get("spec") or {}), **kept}
    if recorded.get("kind") == "CronJob":
        spec["jobTemplate"] = (live.get("spec") or {}).get("jobTemplate") or {}
    else:
        spec["template"] = template_of(live)
    return {**recorded, "spec": spec}


def references_of(jobs: Iterable[KubeObject], objects: Sequence[KubeObject]) -> frozenset[Reference]:
    """What of the objects the pods of the Jobs need: files, variables, volumes, accounts and their rights."""
    found = {one for job in jobs for one in _references(template_of(job).get("spec") or {})}
    accounts = {name for kind, name in found if kind == "ServiceAccount"}
    for obj in objects:
        if str(obj.get("kind")).endswith("RoleBinding") and any(
            one.get("kind") == "ServiceAccount" and one.get("name") in accounts
            for one in obj.get("subjects") or ()
        ):
            role = obj.get("roleRef") or {}
            found |= {(str(obj["kind"]), str(obj["metadata"]["name"]))}
            found |= {(str(role.get("kind")), str(role.get("name")))}
    return frozenset(found)


def _references(spec: Mapping[str, Any]) -> Iterator[Reference]:
    yield "ServiceAccount", str(spec.get("serviceAccountName") or "default")
    for volume in spec.get("volumes") or ():
        yield from _of_source(volume)
        if claim := volume.get("persistentVolumeClaim"):
            yield "PersistentVolumeClaim", str(claim.get("claimName"))
        for source in (volume.get("projected") or {}).get("sources") or ():
            yield from _of_source(source)
    for container in (*(spec.get("initContainers") or ()), *(spec.get("containers") or ())):
        for one in container.get("envFrom") or ():
            yield "ConfigMap", str((one.get("configMapRef") or {}).get("name"))
            yield "Secret", str((one.get("secretRef") or {}).get("name"))
        for one in container.get("env") or ():
            source = one.get("valueFrom") or {}
            yield "ConfigMap", str((source.get("configMapKeyRef") or {}).get("name"))
            yield "Secret", str((source.get("secretKeyRef") or {}).get("name"))


def _of_source(source: Mapping[str, Any]) -> Iterator[Reference]:
    secret = source.get("secret") or {}
    yield "ConfigMap", str((source.get("configMap") or {}).get("name"))
    yield "Secret", str(secret.get("secretName") or secret.get("name"))
