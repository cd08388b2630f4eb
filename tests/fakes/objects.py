"""What the API server knows of objects: who they are, what may change in them, what belongs to whom."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from typing import Any

from controller.domain.values.chart_values import copied
from controller.errors import Conflict, ObjectRefused
from controller.ports.kubernetes import KubeObject, Resource

Identity = tuple[str, str, str, str]  # api version, kind, namespace, name

WITH_STATUS = {
    "OpenStackDeployment",
    "HelmBundle",
    "ComputeMaintenance",
    "OpenStackServer",
    "RegionRestore",
    "MachineSet",
    "OpenStackMachineTemplate",
    "Deployment",
    "StatefulSet",
    "DaemonSet",
    "Job",
    "Pod",
    "PersistentVolumeClaim",
    "Node",
}
WITHOUT_GENERATION = {"Secret", "ConfigMap", "Event", "Node", "Namespace", "PersistentVolumeClaim", "Lease"}
CLUSTER_SCOPED = {
    "Node",
    "Namespace",
    "ComputeMaintenance",
    "CustomResourceDefinition",
    "ClusterRole",
    "ClusterRoleBinding",
}

SYSTEM_FIELDS = (
    "name",
    "namespace",
    "uid",
    "resourceVersion",
    "generation",
    "creationTimestamp",
    "deletionTimestamp",
)


def space_of(resource: Resource, namespace: str | None) -> str:
    return (namespace or "default") if resource.namespaced else ""


def identity_of(obj: Mapping[str, Any]) -> Identity:
    meta = obj["metadata"]
    space = "" if obj["kind"] in CLUSTER_SCOPED else meta.get("namespace") or "default"
    return (obj["apiVersion"], obj["kind"], space, meta["name"])


def settable(obj: Mapping[str, Any], subresource: str, has_status: bool) -> KubeObject:
    """What a writer may set through this endpoint, plus the identity."""
    meta = {k: part for k, part in obj["metadata"].items() if k not in SYSTEM_FIELDS or k == "name"}
    if obj["kind"] not in CLUSTER_SCOPED:
        meta["namespace"] = obj["metadata"].get("namespace") or "default"
    wanted = {"apiVersion": obj["apiVersion"], "kind": obj["kind"], "metadata": copied(meta)}
    if subresource == "status":
        wanted["metadata"] = {key: part for key, part in meta.items() if key in ("name", "namespace")}
        copy_key(obj, wanted, "status")
        return wanted
    for key, part in obj.items():
        if key not in wanted and not (key == "status" and has_status):
            wanted[key] = copied(part)
    return wanted


def ownable(obj: Mapping[str, Any]) -> KubeObject:
    """Without what the server itself keeps."""
    meta = {key: part for key, part in obj.get("metadata", {}).items() if key not in SYSTEM_FIELDS}
    rest = {k: v for k, v in obj.items() if k not in ("apiVersion", "kind", "metadata")}
    return {**rest, "metadata": meta} if meta else rest


def desired(obj: Mapping[str, Any]) -> KubeObject:
    return {key: part for key, part in obj.items() if key not in ("metadata", "status")}


def copy_key(source: Mapping[str, Any], target: KubeObject, key: str) -> None:
    if key in source:
        target[key] = copied(source[key])
    else:
        target.pop(key, None)


def check_version(stored: Mapping[str, Any], obj: Mapping[str, Any]) -> None:
    meta = obj.get("metadata", {})
    if (
        meta.get("resourceVersion", stored["metadata"]["resourceVersion"])
        != stored["metadata"]["resourceVersion"]
    ):
        raise Conflict(f"{stored['kind']} {stored['metadata']['name']} has been modified")
    if meta.get("uid", stored["metadata"]["uid"]) != stored["metadata"]["uid"]:
        raise Conflict(f"{stored['kind']} {stored['metadata']['name']} is another object (uid)")


def check_patched(stored: Mapping[str, Any], obj: Mapping[str, Any], subresource: str) -> None:
    """As `check_version`, except a patch the uid is a field that cannot change, and of a status no field."""
    meta = {key: part for key, part in obj.get("metadata", {}).items() if key != "uid"}
    check_version(stored, {"metadata": meta})
    uid = obj.get("metadata", {}).get("uid", stored["metadata"]["uid"])
    if not subresource and uid != stored["metadata"]["uid"]:
        raise ObjectRefused(f"metadata.uid: Invalid value: {uid}: field is immutable")


def merge_patched(target: Any, patch: Any) -> Any:
    if not isinstance(patch, Mapping):
        return copied(patch)
    result = copied(dict(target)) if isinstance(target, Mapping) else {}
    for key, part in patch.items():
        if part is None:
            result.pop(key, None)
        else:
            result[key] = merge_patched(result.get(key), part)
    return result


def convert_secret(obj: KubeObject) -> None:
    """As the API server does: `stringData` becomes `data`, `data` must be base64, the type is never empty."""
    if obj["kind"] != "Secret":
        return
    plain = obj.pop("stringData", None)
    if plain:
        texts = {key: base64.b64encode(text.encode()).decode() for key, text in plain.items()}
        obj["data"] = {**(obj.get("data") or {}), **texts}
    obj.setdefault("type", "Opaque")
    for key, text in obj.get("data", {}).items():
        try:
            base64.b64decode(text, validate=True)
        except (binascii.Error, TypeError, ValueError):
            raise ObjectRefused(f"data.{key}: illegal base64 data") from None


def check_immutable(before: Mapping[str, Any], after: Mapping[str, Any]) -> None:
    if before["kind"] == "StatefulSet":
        _check_stateful_set(before.get("spec") or {}, after.get("spec") or {})
    if before["kind"] == "Job":
        template = [(one.get("spec") or {}).get("template") for one in (before, after)]
        if template[0] != template[1]:
            raise ObjectRefused("spec.template: Invalid value: field is immutable")
    if before["kind"] not in ("Secret", "ConfigMap"):
        return
    if before.get("type") != after.get("type"):
        raise ObjectRefused("type: field is immutable")
    if before.get("immutable") and desired(before) != desired(after):
        raise ObjectRefused("data: field is immutable when `immutable` is set")


def _check_stateful_set(before: Mapping[str, Any], after: Mapping[str, Any]) -> None:
    """The words of apps/v1, ValidateStatefulSetUpdate."""
    free = (
        "replicas",
        "ordinals",
        "template",
        "updateStrategy",
        "revisionHistoryLimit",
        "persistentVolumeClaimRetentionPolicy",
        "minReadySeconds",
    )
    if any(before.get(key) != after.get(key) for key in before.keys() | after.keys() if key not in free):
        fields = ", ".join(f"'{key}'" for key in free)
        raise ObjectRefused(
            f"spec: Forbidden: updates to statefulset spec for fields other than {fields} are forbidden"
        )
