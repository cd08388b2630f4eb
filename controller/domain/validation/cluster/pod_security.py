"""Pods that the Pod Security level of a namespace refuses. Pure.

The rules of https://kubernetes.io/docs/concepts/security/pod-security-standards, as far as charts of a region
come near them: what else they forbid is refused by the API server when it comes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from controller.domain.shared.plurals import count
from controller.errors import Problem

Object = Mapping[str, Any]

ENFORCE = "pod-security.kubernetes.io/enforce"
_BASELINE, _RESTRICTED = "baseline", "restricted"
_MOST_NAMED = 3
_BASELINE_CAPABILITIES = frozenset(
    (
        *("AUDIT_WRITE", "CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID", "KILL", "MKNOD", "NET_BIND_SERVICE"),
        *("SETFCAP", "SETGID", "SETPCAP", "SETUID", "SYS_CHROOT"),
    )
)
_RESTRICTED_VOLUMES = frozenset(
    (
        *("configMap", "csi", "downwardAPI", "emptyDir", "ephemeral", "persistentVolumeClaim", "projected"),
        "secret",
    )
)


def pod_security_problems(namespace: Object | None, objects: Iterable[Object]) -> list[Problem]:
    """One problem where the level of the region's namespace, None where there is none yet, refuses pods of
    these objects. A level that the cluster sets by default is not known."""
    meta = (namespace or {}).get("metadata") or {}
    level = str((meta.get("labels") or {}).get(ENFORCE) or "")
    if level not in (_BASELINE, _RESTRICTED):
        return []
    refused: dict[str, list[str]] = {}
    for obj in objects:
        pod = pod_of(obj)
        broken = list(dict.fromkeys(violations(pod, level))) if pod is not None else []
        if broken:
            refused[f"{obj['kind']}/{obj['metadata']['name']}"] = broken
    if not refused:
        return []
    reasons = dict.fromkeys(reason for broken in refused.values() for reason in broken)
    names = list(refused)
    more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
    text = (
        f"the Pod Security level {level} refuses pods of {count(len(names), 'object')} "
        f"({', '.join(names[:_MOST_NAMED])}{more}): {', '.join(reasons)}"
    )
    command = f"kubectl label namespace {meta.get('name')} {ENFORCE}=privileged --overwrite"
    return [Problem("namespace of the region", text, command)]


def pod_of(obj: Object) -> Mapping[str, Any] | None:
    """The spec of the pods that an object makes, None for one that makes none."""
    spec = obj.get("spec") or {}
    if obj.get("kind") == "Pod":
        return spec if isinstance(spec, Mapping) else None
    if obj.get("kind") == "CronJob":
        spec = (spec.get("jobTemplate") or {}).get("spec") or {}
    elif obj.get("kind") not in ("Deployment", "StatefulSet", "DaemonSet", "Job"):
        return None
    found = (spec.get("template") or {}).get("spec")
    return found if isinstance(found, Mapping) else None


def violations(pod: Mapping[str, Any], level: str) -> Iterator[str]:
    """What of a pod the level forbids, by the names of fields."""
    for name in ("hostNetwork", "hostPID", "hostIPC"):
        if pod.get(name):
            yield name
    volumes = pod.get("volumes") or ()
    if any("hostPath" in volume for volume in volumes):
        yield "hostPath"
    own = pod.get("securityContext") or {}
    for container in (*(pod.get("initContainers") or ()), *(pod.get("containers") or ())):
        context = container.get("securityContext") or {}
        yield from _of_container(container, context)
        if level == _RESTRICTED:
            yield from _restricted(own, context)
    if level == _RESTRICTED and any(set(volume) - {"name"} - _RESTRICTED_VOLUMES for volume in volumes):
        yield "volumes of other types"


def _of_container(container: Mapping[str, Any], context: Mapping[str, Any]) -> Iterator[str]:
    if context.get("privileged"):
        yield "privileged"
    if set((context.get("capabilities") or {}).get("add") or ()) - _BASELINE_CAPABILITIES:
        yield "capabilities.add"
    if any(port.get("hostPort") for port in container.get("ports") or ()):
        yield "hostPort"
    if context.get("procMount") not in (None, "Default"):
        yield "procMount"
    if (context.get("seccompProfile") or {}).get("type") == "Unconfined":
        yield "seccompProfile Unconfined"


def _restricted(pod: Mapping[str, Any], context: Mapping[str, Any]) -> Iterator[str]:
    if context.get("allowPrivilegeEscalation") is not False:
        yield "allowPrivilegeEscalation"
    if not context.get("runAsNonRoot", pod.get("runAsNonRoot")):
        yield "runAsNonRoot"
    if context.get("runAsUser", pod.get("runAsUser")) == 0:
        yield "runAsUser 0"
    profile = context.get("seccompProfile") or pod.get("seccompProfile") or {}
    if profile.get("type") not in ("RuntimeDefault", "Localhost"):
        yield "seccompProfile"
    if "ALL" not in ((context.get("capabilities") or {}).get("drop") or ()):
        yield "capabilities.drop"
