"""The size of a broker's volume if the spec sets none: the present size.

Kubernetes fixes it for the life of a StatefulSet. A region of a controller that left it to the chart goes on
as it is; a broker that is not there yet gets what this controller's own template says.
"""

from __future__ import annotations

from typing import Any

from controller.domain.api.names import RELEASE_NAME
from controller.domain.values.chart_values import Path, Values, lookup
from controller.domain.values.layer import Layer
from controller.errors import Forbidden
from controller.ports.kubernetes import STATEFULSET, Kube, KubeObject, KubeObjects
from controller.reconcile.region.kept_values import (
    is_written_by_template,
    values_there,
    with_releases,
    with_values,
)
from controller.render.region import Region, RegionRelease

_CHART = "rabbitmq"
_CLAIM = "rabbitmq-data"
_SIZE: Path = ("volume", "size")
_FIELD = ("spec", "features", "messaging", "volumeSize")
_LAYER = "the existing StatefulSet"


def keep_volume_sizes(kube: Kube, osdpl: KubeObject, region: Region, bundles: KubeObjects) -> Region:
    """The region with the sizes that the claims of live brokers have, where the spec sets none.

    `bundles`: the region's HelmBundles. What they ask for already is not looked up again. Raises KubeError.
    """
    if lookup(osdpl, _FIELD) is not None:
        return region
    before = values_there(bundles)
    asked = [
        release
        for bundle in region.bundles
        for release in bundle.releases
        if _is_ours(release) and _differs(release, before.get(release.spec.name))
    ]
    sizes = _live_sizes(kube, str(osdpl["metadata"]["namespace"])) if asked else {}
    kept = [
        with_values(one, Layer(_LAYER, {"volume": {"size": sizes[one.spec.name]}}))
        for one in asked
        if one.spec.name in sizes
    ]
    return with_releases(region, kept)


def _is_ours(release: RegionRelease) -> bool:
    """Whether the size comes from our own template: values of an operator are not changed."""
    return release.spec.chart.name == _CHART and is_written_by_template(release, _SIZE)


def _differs(release: RegionRelease, before: Values | None) -> bool:
    return before is not None and lookup(before, _SIZE) != lookup(release.merged.values, _SIZE)


def _live_sizes(kube: Kube, namespace: str) -> dict[str, str]:
    """Sizes of the claims of brokers, by release."""
    try:
        live = kube.list(STATEFULSET, namespace)
    except Forbidden:
        return {}  # Helm may make none either
    found: dict[str, str] = {}
    for obj in live:
        release = str((obj["metadata"].get("annotations") or {}).get(RELEASE_NAME) or "")
        for claim in obj["spec"].get("volumeClaimTemplates") or []:
            size: Any = lookup(claim, ("spec", "resources", "requests", "storage"))
            if release and size and lookup(claim, ("metadata", "name")) == _CLAIM:
                found[release] = str(size)
    return found
