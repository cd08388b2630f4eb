"""Where cinder-volume runs with a store of type lvm, in a region that has no node for it yet.

Volumes are on the disks of one node, which a label names. A region of an older controller has no such label,
and would lose cinder-volume. The pod therefore stays where the chart puts it until a node has the label.
"""

from __future__ import annotations

from dataclasses import replace

from controller.domain.api.spec_rules import running_region as rules
from controller.domain.values.chart_values import lookup
from controller.domain.values.layer import Layer
from controller.errors import Forbidden
from controller.ports.kubernetes import NODE, Kube, KubeObjects
from controller.reconcile.region.kept_values import (
    is_written_by_template,
    values_there,
    with_releases,
    with_values,
)
from controller.render.region import Region

_CHART = "cinder"
_KEY = ("labels", "volume", "node_selector_key")
_VALUE = ("labels", "volume", "node_selector_value")
_LAYER = "no node has the label"


def keep_volume_place(kube: Kube, region: Region, bundles: KubeObjects) -> Region:
    """The region with the chart's own selector of cinder-volume, and a warning, while no node has the label
    that the template asks for, and the HelmBundle that is there does not ask for it. Raises KubeError."""
    release = region.release(_CHART)
    before = values_there(bundles).get(_CHART)
    if release is None or before is None or not is_written_by_template(release, _KEY):
        return region
    key, value = (str(lookup(release.merged.values, path)) for path in (_KEY, _VALUE))
    chosen = lookup(release.merged.defaults, _KEY), lookup(release.merged.defaults, _VALUE)
    # What has the selector keeps it: without its node, nowhere else are those disks.
    if lookup(before, _KEY) == key or None in chosen or _is_labelled(kube, key, value):
        return region
    labels = {"volume": {"node_selector_key": chosen[0], "node_selector_value": chosen[1]}}
    warning = rules.VOLUME_NODE_MISSING.at(
        "spec.features.blockStorage.backends", key=key, chosen=chosen[0], value=value
    )
    kept = with_releases(region, [with_values(release, Layer(_LAYER, {"labels": labels}))])
    return replace(kept, warnings=(*region.warnings, warning))


def _is_labelled(kube: Kube, key: str, value: str) -> bool:
    """Whether any node has the label. Who may see none does not know of one."""
    try:
        return bool(kube.list_metadata(NODE, labels=f"{key}={value}"))
    except Forbidden:
        return False
