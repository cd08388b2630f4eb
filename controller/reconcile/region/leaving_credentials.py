"""Whether a region that goes still has credentials that are to go with it."""

from __future__ import annotations

from controller.domain.api.names import (
    AMPHORA_LABEL,
    CERTIFICATE_LABEL,
    CLOUDS_SECRET,
    DEPLOYMENT_LABEL,
    EXCHANGE_LABEL,
    MANAGED_BY,
    MANAGED_BY_US,
    READER_SECRET,
    REGION_LABEL,
    SERVICE_LABEL,
)
from controller.domain.api.region_spec import VolumePolicy
from controller.ports.kubernetes import CONFIGMAP, SECRET, Kube, KubeObject
from controller.reconcile.shared.remaining_claims import credentials_policy, is_clouds_export, is_credentials


def credentials_have_to_go(kube: Kube, osdpl: KubeObject, volumes: VolumePolicy) -> bool:
    """Whether credentials that must be removed, or their exports, still exist. The secrets container removes
    them, and afterwards nothing would. Raises KubeError."""
    meta = osdpl["metadata"]
    for name in (CLOUDS_SECRET, READER_SECRET):
        clouds = kube.get(SECRET, name, meta["namespace"])
        if clouds is not None and is_clouds_export(clouds["metadata"]):
            return True
    ours = f"{DEPLOYMENT_LABEL}={meta['name']},{MANAGED_BY}={MANAGED_BY_US}"
    if kube.list_metadata(SECRET, meta["namespace"], labels=f"{ours},{CERTIFICATE_LABEL}"):
        return True
    # Texts for a partner stay with the partner.
    exchanged = f"{ours},{EXCHANGE_LABEL},!{REGION_LABEL}"
    for resource in (SECRET, CONFIGMAP):
        if kube.list_metadata(resource, meta["namespace"], labels=exchanged):
            return True
    if credentials_policy(kube, meta["namespace"], volumes) == "Retain":
        return False
    secrets = kube.list_metadata(SECRET, meta["namespace"], labels=f"{ours},{SERVICE_LABEL}")
    found = [secret["metadata"] for secret in secrets]
    return any(is_credentials(one) or AMPHORA_LABEL in one["labels"] for one in found)
