"""Whether a restore holds a region: nothing else may change it then."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from controller.domain.restores.restore_spec import parse_restore_spec
from controller.domain.restores.restore_state import restore_in
from controller.errors import Forbidden, ObjectMissing
from controller.ports.kubernetes import RESTORE, Kube, KubeObject, KubeObjects


def holding_restore(kube: Kube, osdpl: Mapping[str, Any]) -> KubeObject | None:
    """The RegionRestore that holds the region now, None without one. Raises KubeError."""
    meta = osdpl["metadata"]
    for obj in restores_of(kube, str(meta["namespace"]), str(meta["name"])):
        try:
            holds = restore_in(obj.get("status") or {}).holds
        except ValueError:
            # It may have stopped services: they are left alone until a person has looked.
            holds = True
        if holds:
            return obj
    return None


def restores_of(kube: Kube, namespace: str, region: str) -> KubeObjects:
    """The RegionRestores of a region, the oldest first."""
    try:
        found = kube.list(RESTORE, namespace)
    except (ObjectMissing, Forbidden):
        # The definition or the right comes with our own chart, and is not there before its upgrade.
        return []
    own = [one for one in found if parse_restore_spec(one["spec"]).region == region]
    return sorted(own, key=lambda one: (str(one["metadata"]["creationTimestamp"]), one["metadata"]["name"]))
