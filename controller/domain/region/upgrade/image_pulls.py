"""Images of the target that nodes pull before an upgrade begins: which, where, and by which Jobs. Pure."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from controller.domain.api.names import (
    DEPLOYMENT_LABEL,
    MANAGED_BY,
    MANAGED_BY_US,
    UPGRADE_CHECK_LABEL,
)
from controller.domain.api.object_meta import owned_by_region
from controller.domain.region.upgrade.upgrade_checks import CHECK_KEPT, CHECK_WITHIN

CHECK = "images-pulled"
# Both chart sources mark their pods by it.
PODS_OF_CHARTS = "application"
_RESOURCES = {"requests": {"cpu": "1m", "memory": "8Mi"}, "limits": {"memory": "64Mi"}}


@dataclass(frozen=True)
class NodePull:
    """The images that a node is to pull, and the Secrets that its pods pull theirs with."""

    node: str
    images: tuple[str, ...]
    secrets: tuple[str, ...] = ()

    def job(self, request: str) -> str:
        """The name of its Job. `request` says what it answers: for another one it is made again."""
        given = "\n".join((self.node, request, *self.images))
        return f"upgrade-pull-{hashlib.sha256(given.encode()).hexdigest()[:16]}"


def node_pulls(
    pods: Iterable[Mapping[str, Any]], before: Iterable[Mapping[str, Any]], after: Iterable[Mapping[str, Any]]
) -> tuple[NodePull, ...]:
    """What each node is to pull: the images that follow on those of its pods.

    `before` and `after` are the bundles that run, and those of the target.
    """
    following: dict[str, set[str]] = defaultdict(set)
    now = dict(_tags(before))
    for place, image in _tags(after):
        if image and now.get(place, image) != image:
            following[now[place]].add(image)
    images: dict[str, set[str]] = defaultdict(set)
    secrets: dict[str, set[str]] = defaultdict(set)
    for pod in pods:
        spec = pod.get("spec") or {}
        node = str(spec.get("nodeName") or "")
        containers = (*(spec.get("initContainers") or ()), *(spec.get("containers") or ()))
        wanted = {image for one in containers for image in following.get(str(one.get("image")), ())}
        if node and wanted:
            images[node] |= wanted
            secrets[node] |= {str(one.get("name")) for one in spec.get("imagePullSecrets") or ()}
    return tuple(
        NodePull(node, tuple(sorted(images[node])), tuple(sorted(secrets[node]))) for node in sorted(images)
    )


def pull_job(pull: NodePull, request: str, osdpl: Mapping[str, Any]) -> dict[str, Any]:
    """The Job of a node: one container of each image, which does nothing."""
    owner = osdpl["metadata"]
    marks = {UPGRADE_CHECK_LABEL: CHECK, MANAGED_BY: MANAGED_BY_US, DEPLOYMENT_LABEL: str(owner["name"])}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {
            "name": pull.job(request),
            "namespace": owner["namespace"],
            "labels": marks,
            "ownerReferences": [owned_by_region(owner)],
        },
        "spec": {
            "activeDeadlineSeconds": CHECK_WITHIN,
            "backoffLimit": 0,
            "ttlSecondsAfterFinished": CHECK_KEPT,
            "template": {"metadata": {"labels": dict(marks)}, "spec": _pod(pull)},
        },
    }


def _pod(pull: NodePull) -> dict[str, Any]:
    return {
        "nodeName": pull.node,
        "tolerations": [{"operator": "Exists"}],
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        "restartPolicy": "Never",
        "imagePullSecrets": [{"name": name} for name in pull.secrets],
        "securityContext": {
            "runAsNonRoot": True,
            "runAsUser": 65532,
            "runAsGroup": 65532,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        "containers": [
            {
                "name": f"image-{number}",
                "image": image,
                "imagePullPolicy": "IfNotPresent",
                "command": ["true"],
                "resources": _RESOURCES,
                "securityContext": {
                    "allowPrivilegeEscalation": False,
                    "readOnlyRootFilesystem": True,
                    "capabilities": {"drop": ["ALL"]},
                },
            }
            for number, image in enumerate(pull.images)
        ],
    }


def has_pulled(pod: Mapping[str, Any] | None) -> bool:
    """Whether the node has every image of a pod that failed: one without the program `true` is there too."""
    statuses = ((pod or {}).get("status") or {}).get("containerStatuses") or ()
    return bool(statuses) and all(one.get("imageID") for one in statuses)


def _tags(bundles: Iterable[Mapping[str, Any]]) -> Iterator[tuple[tuple[str, str], str]]:
    for bundle in bundles:
        for release in (bundle.get("spec") or {}).get("releases") or ():
            images = (release.get("values") or {}).get("images") or {}
            for name, tag in (images.get("tags") or {}).items():
                yield (str(release["name"]), str(name)), str(tag)
