"""Whether claims are left of releases that do not have them any more, and what must not go before they do."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from controller.domain.api.names import KEPT_LABEL, SERVICE_LABEL
from controller.domain.region.apply_policy import parse_apply_policy
from controller.domain.releases.bundle import VolumePolicy
from controller.ports.kubernetes import PVC, Kube


def has_kept_claims(kube: Kube, namespace: str) -> bool:
    """Whether any claim there is labelled as kept, of whatever release. Raises KubeError."""
    kept = kube.list_metadata(PVC, namespace, labels=KEPT_LABEL)
    return any(not one["metadata"].get("deletionTimestamp") for one in kept)


def is_credentials(meta: Mapping[str, Any]) -> bool:
    """Whether a Secret of ours with this metadata holds what was generated for a service. Certificates and
    the like carry the same labels."""
    return bool(meta["name"] == f"{(meta.get('labels') or {}).get(SERVICE_LABEL)}-credentials")


def credentials_policy(kube: Kube, osdpl: Mapping[str, Any]) -> VolumePolicy:
    """What becomes of the region's credentials. With `volumes: Delete` they go, but not before the last claim
    that was kept earlier: one service's data may be encrypted with the keys of another. Raises KubeError.
    """
    if parse_apply_policy(osdpl.get("spec")).volumes != "Delete":
        return "Retain"
    return "Retain" if has_kept_claims(kube, str(osdpl["metadata"]["namespace"])) else "Delete"
