"""The provisioner of real nodes' storage classes: a claim gets a directory for as long as it lives.

Volumes are of the type `local`, which a kubelet treats as a disk: it gives them to the pod's fsGroup.
"""

from __future__ import annotations

import shutil
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sandbox.api import ApiConnection
from sandbox.node.plan import VOLUMES
from sandbox.profiles import STORAGE_CLASSES

PROVISIONER = "sandbox.osctl.dev/directory"
SELECTED_NODE = "volume.kubernetes.io/selected-node"
PROVISIONED_BY = "pv.kubernetes.io/provisioned-by"
_CLAIMS = "/api/v1/persistentvolumeclaims"
_VOLUMES = "/api/v1/persistentvolumes"


@dataclass(frozen=True)
class VolumeChanges:
    """Volumes to be made, as objects, and the names of those to be removed."""

    made: tuple[dict[str, Any], ...]
    removed: tuple[str, ...]


def storage_class_object(name: str) -> dict[str, Any]:
    """A StorageClass whose claims get a directory on the node of their pod."""
    default = {"storageclass.kubernetes.io/is-default-class": "true"} if name == STORAGE_CLASSES[0] else {}
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {"name": name, "annotations": default},
        "provisioner": PROVISIONER,
        "reclaimPolicy": "Delete",
        # A directory is on one node: the pod's node is chosen first.
        "volumeBindingMode": "WaitForFirstConsumer",
    }


def plan_volumes(
    claims: Iterable[Mapping[str, Any]],
    volumes: Iterable[Mapping[str, Any]],
    node: str,
    classes: Collection[str] = STORAGE_CLASSES,
) -> VolumeChanges:
    """What is to be made and removed on the node, for the claims and volumes that there are."""
    known = list(volumes)
    names = {volume["metadata"]["name"] for volume in known}
    made = tuple(
        volume_object(claim)
        for claim in claims
        if _is_wanted(claim, node, classes) and volume_name(claim) not in names
    )
    removed = tuple(
        volume["metadata"]["name"]
        for volume in known
        if (volume["metadata"].get("annotations") or {}).get(PROVISIONED_BY) == PROVISIONER
        and volume["spec"].get("persistentVolumeReclaimPolicy") == "Delete"
        and (volume.get("status") or {}).get("phase") == "Released"
        and volume["spec"].get("nodeAffinity") == _only_on(node)
    )
    return VolumeChanges(made, removed)


def _is_wanted(claim: Mapping[str, Any], node: str, classes: Collection[str]) -> bool:
    annotations = claim["metadata"].get("annotations") or {}
    return (
        claim["spec"].get("storageClassName") in classes
        and not claim["spec"].get("volumeName")
        and not claim["metadata"].get("deletionTimestamp")
        and annotations.get(SELECTED_NODE) == node
    )


def _only_on(node: str) -> dict[str, Any]:
    expression = {"key": "kubernetes.io/hostname", "operator": "In", "values": [node]}
    return {"required": {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}}


def volume_name(claim: Mapping[str, Any]) -> str:
    """The name of a claim's volume: the same at each try."""
    return f"pvc-{claim['metadata']['uid']}"


def volume_object(claim: Mapping[str, Any]) -> dict[str, Any]:
    """The PersistentVolume of a claim whose pod has a node."""
    metadata = claim["metadata"]
    name = volume_name(claim)
    node = metadata["annotations"][SELECTED_NODE]
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": name, "annotations": {PROVISIONED_BY: PROVISIONER}},
        "spec": {
            "capacity": {"storage": claim["spec"]["resources"]["requests"]["storage"]},
            "accessModes": claim["spec"]["accessModes"],
            "persistentVolumeReclaimPolicy": "Delete",
            "storageClassName": claim["spec"]["storageClassName"],
            "claimRef": {
                "apiVersion": "v1",
                "kind": "PersistentVolumeClaim",
                "namespace": metadata["namespace"],
                "name": metadata["name"],
                "uid": metadata["uid"],
            },
            "local": {"path": f"{VOLUMES}/{name}"},
            "nodeAffinity": _only_on(node),
        },
    }


def provision(api: ApiConnection, directory: Path, node: str) -> VolumeChanges:
    """Looks once and does what is to be done; `directory` is what that node has at its volumes' place.

    Raises ComponentFailed where the API server refuses, OSError where the disk does.
    """
    claims = (api.get(_CLAIMS) or {"items": []})["items"]
    volumes = (api.get(_VOLUMES) or {"items": []})["items"]
    changes = plan_volumes(claims, volumes, node)
    for volume in changes.made:
        # The directory first: a kubelet does not make it.
        place = directory / volume["metadata"]["name"]
        place.mkdir(parents=True, exist_ok=True)
        place.chmod(0o755)
        api.apply(volume)
    for name in changes.removed:
        shutil.rmtree(directory / name, ignore_errors=True)
        api.delete(f"{_VOLUMES}/{name}")
    return changes
