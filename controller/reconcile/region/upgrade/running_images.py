"""What the tags of a region's images stand for, as the nodes have pulled them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from controller.domain.region.upgrade.upgrade_state import RunningImage
from controller.ports.kubernetes import POD, Kube

# Both chart sources mark their pods by it.
_OF_CHARTS = "application"
MOST_IMAGES = 200


def observe_images(kube: Kube, namespace: str) -> tuple[RunningImage, ...]:
    """The images of the region's pods, each with its digest. Raises KubeError."""
    found = {one for pod in kube.list(POD, namespace, labels=_OF_CHARTS) for one in _images(pod)}
    return tuple(sorted(found, key=lambda one: (one.image, one.digest))[:MOST_IMAGES])


def _images(pod: Mapping[str, Any]) -> Iterator[RunningImage]:
    spec, status = pod.get("spec") or {}, pod.get("status") or {}
    for containers, statuses in (
        ("containers", "containerStatuses"),
        ("initContainers", "initContainerStatuses"),
    ):
        names = {str(one.get("name")): str(one.get("image") or "") for one in spec.get(containers) or ()}
        for one in status.get(statuses) or ():
            # Such as registry/image@sha256:…, or sha256:… for an image that was loaded by hand.
            digest = str(one.get("imageID") or "").rpartition("@")[2]
            image = names.get(str(one.get("name")), "")
            if image and digest.startswith("sha256:"):
                yield RunningImage(image, digest)
