"""Whether claims are left of releases that do not have them any more, and what must not go before they do."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from controller.domain.api.names import KEPT_LABEL, MANAGED_BY, MANAGED_BY_US, SERVICE_LABEL
from controller.domain.api.region_spec import VolumePolicy
from controller.ports.kubernetes import PVC, Kube


def has_kept_claims(kube: Kube, namespace: str) -> bool:
    """Whether any claim there is labelled as kept, of whatever release. Raises KubeError."""
    return bool(releases_with_kept_claims(kube, namespace))


def releases_with_kept_claims(kube: Kube, namespace: str) -> frozenset[str]:
    """The releases that claims there were kept of. Raises KubeError."""
    kept = [one["metadata"] for one in kube.list_metadata(PVC, namespace, labels=KEPT_LABEL)]
    return frozenset(str(meta["labels"][KEPT_LABEL]) for meta in kept if not meta.get("deletionTimestamp"))


def credentials_name(service: str) -> str:
    """The Secret that holds what was generated for a service."""
    return f"{service}-credentials"


def is_credentials(meta: Mapping[str, Any]) -> bool:
    """Whether a Secret of ours with this metadata holds what was generated for a service. Certificates and
    the like carry the same labels."""
    return bool(meta["name"] == credentials_name(str((meta.get("labels") or {}).get(SERVICE_LABEL))))


def is_clouds_export(meta: Mapping[str, Any]) -> bool:
    """Whether the Secret with the clouds.yaml is ours, by its metadata, and not the operator's own."""
    return (meta.get("labels") or {}).get(MANAGED_BY) == MANAGED_BY_US


def credentials_policy(kube: Kube, namespace: str, volumes: VolumePolicy) -> VolumePolicy:
    """What becomes of the credentials of a region that goes, by its `spec.volumes`.

    With `Delete` they go, but not before the last claim that was kept earlier: one service's data may be
    encrypted with the keys of another. Raises KubeError.
    """
    if volumes != "Delete":
        return "Retain"
    return "Retain" if has_kept_claims(kube, namespace) else "Delete"
