"""What the secrets container reads of a region: its features, its generation, and which services it has."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from controller.domain.api.names import DEPLOYMENT_LABEL, SERVICE_LABEL
from controller.domain.api.region_spec import Features, parse_region_spec
from controller.ports.kubernetes import HELMBUNDLE, Kube, KubeObjects


def services_of(bundles: KubeObjects) -> frozenset[str]:
    """The services that have a HelmBundle."""
    return frozenset(str(bundle["metadata"]["labels"][SERVICE_LABEL]) for bundle in bundles)


def features_of(osdpl: Mapping[str, Any]) -> Features:
    """Its features, with defaults. Raises SpecInvalid."""
    return parse_region_spec(osdpl.get("spec")).features


def generation_of(osdpl: Mapping[str, Any]) -> int:
    """Its generation; 0 where the API server gave none."""
    return int(osdpl["metadata"].get("generation") or 0)


def bundles_of(kube: Kube, osdpl: Mapping[str, Any]) -> KubeObjects:
    """The HelmBundles of its services. Raises KubeError."""
    labels = f"{DEPLOYMENT_LABEL}={osdpl['metadata']['name']},{SERVICE_LABEL}"
    return kube.list(HELMBUNDLE, osdpl["metadata"]["namespace"], labels=labels)
