"""What a support file shows of an object: a list of parts for each kind, so that nothing else can slip in.

Pure. Contents of Secrets, ConfigMaps and environments, arguments and most annotations are in no list.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from controller.domain.api.names import GROUP

_ANNOTATION = re.compile(rf"(^|[./]){re.escape(GROUP)}/")
# Keyed digests of passwords: no secret, and no use.
_LEFT_OUT = (f"{GROUP}/written",)
_META = ("name", "namespace", "uid", "labels", "generation", "resourceVersion", "creationTimestamp")
_META_MORE = ("deletionTimestamp", "finalizers", "ownerReferences")
_CONTAINER = ("name", "image", "imagePullPolicy", "resources", "ports", "restartPolicy")
_WORKLOAD = (
    "replicas",
    "selector",
    "strategy",
    "updateStrategy",
    "minReadySeconds",
    "completions",
    "parallelism",
    "backoffLimit",
    "activeDeadlineSeconds",
    "suspend",
    "schedule",
    "minAvailable",
    "maxUnavailable",
)
_POD = (
    "nodeName",
    "nodeSelector",
    "affinity",
    "tolerations",
    "priorityClassName",
    "serviceAccountName",
    "hostNetwork",
    "restartPolicy",
    "schedulerName",
)
# By kind, the fields of `spec` beside those that pods and workloads have.
_SPEC: Mapping[str, tuple[str, ...]] = {
    "Service": ("type", "clusterIP", "selector", "ports", "externalName"),
    "PersistentVolumeClaim": ("accessModes", "resources", "storageClassName", "volumeName", "volumeMode"),
    "Node": ("taints", "unschedulable", "podCIDR"),
    "Lease": ("holderIdentity", "leaseDurationSeconds", "acquireTime", "renewTime", "leaseTransitions"),
    "ResourceQuota": ("hard", "scopes"),
}
# Fields at the top of kinds without a `spec`.
_TOP: Mapping[str, tuple[str, ...]] = {
    "StorageClass": ("provisioner", "reclaimPolicy", "volumeBindingMode", "allowVolumeExpansion"),
    "Event": (
        "type",
        "reason",
        "message",
        "count",
        "firstTimestamp",
        "lastTimestamp",
        "eventTime",
        "involvedObject",
        "source",
        "reportingComponent",
    ),
}
_NODE_STATUS = ("conditions", "capacity", "allocatable", "addresses", "nodeInfo")


def meta_of(obj: Mapping[str, Any]) -> dict[str, Any]:
    """Name, labels, times, and the annotations of this product."""
    meta = obj["metadata"]
    shown = _some(meta, (*_META, *_META_MORE))
    notes = {
        key: text
        for key, text in (meta.get("annotations") or {}).items()
        if _ANNOTATION.search(key) and key not in _LEFT_OUT
    }
    return {**shown, "annotations": notes} if notes else shown


def whole(obj: Mapping[str, Any]) -> dict[str, Any]:
    """An object of this product: spec and status as they are."""
    parts = {"apiVersion": obj.get("apiVersion"), "kind": obj.get("kind"), "metadata": meta_of(obj)}
    return parts | _some(obj, ("spec", "status"))


def reduced(obj: Mapping[str, Any], kind: str) -> dict[str, Any]:
    """An object of Kubernetes, by what is listed for its kind."""
    spec = obj.get("spec") or {}
    shown: dict[str, Any] = {"kind": kind, "metadata": meta_of(obj), **_some(obj, _TOP.get(kind, ()))}
    parts = _some(spec, _SPEC.get(kind, ()))
    if kind == "Pod":
        parts = _pod_spec(spec)
    elif "template" in spec or kind in ("PodDisruptionBudget", "CronJob"):
        parts = _some(spec, _WORKLOAD)
        template = (spec.get("template") or {}).get("spec")
        parts |= {"pod": _pod_spec(template)} if template else {}
    shown |= {"spec": parts} if parts else {}
    status = obj.get("status")
    if status:
        shown["status"] = _some(status, _NODE_STATUS) if kind == "Node" else status
    return shown


def names_of(obj: Mapping[str, Any], kind: str) -> dict[str, Any]:
    """A Secret or ConfigMap: what it is called, and the names of its keys."""
    keys = sorted([*(obj.get("data") or {}), *(obj.get("binaryData") or {})])
    shown = {"kind": kind, "metadata": meta_of(obj), "keys": keys}
    return shown | _some(obj, ("type", "immutable"))


def definition_of(obj: Mapping[str, Any]) -> dict[str, Any]:
    """A CustomResourceDefinition: its versions, and whether it is served."""
    spec = obj.get("spec") or {}
    versions = [_some(one, ("name", "served", "storage")) for one in spec.get("versions") or ()]
    conditions = (obj.get("status") or {}).get("conditions") or []
    return {"metadata": meta_of(obj), "versions": versions, "conditions": conditions}


def revision_of(obj: Mapping[str, Any]) -> dict[str, Any]:
    """A revision of a release, from the labels of Helm's record; its content is not read."""
    labels = obj["metadata"].get("labels") or {}
    return {
        "release": labels.get("name", ""),
        "revision": labels.get("version", ""),
        "status": labels.get("status", ""),
        "modifiedAt": labels.get("modifiedAt", ""),
        "created": obj["metadata"].get("creationTimestamp", ""),
        "labels": {key: text for key, text in labels.items() if key.startswith(GROUP)},
    }


def _pod_spec(spec: Mapping[str, Any]) -> dict[str, Any]:
    shown = _some(spec, _POD)
    for part in ("initContainers", "containers"):
        if spec.get(part):
            shown[part] = [_some(one, _CONTAINER) for one in spec[part]]
    return shown


def _some(found: Mapping[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
    return {name: found[name] for name in names if found.get(name) not in (None, "", [], {})}
