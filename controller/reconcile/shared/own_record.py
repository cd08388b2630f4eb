"""ConfigMaps in which the controller notes something under a well-known name."""

from __future__ import annotations

from controller.domain.api.names import MANAGED_BY, MANAGED_BY_US
from controller.errors import ObjectRefused
from controller.ports.kubernetes import CONFIGMAP, Kube, KubeObject


def own_record(kube: Kube, name: str, namespace: str) -> KubeObject | None:
    """The ConfigMap of that name, None where there is none.

    Raises KubeError: ObjectRefused where it is not the controller's own. What stands there is another's, and
    is neither believed nor written to.
    """
    live = kube.get(CONFIGMAP, name, namespace)
    if live is not None and (live["metadata"].get("labels") or {}).get(MANAGED_BY) != MANAGED_BY_US:
        raise ObjectRefused(
            f"ConfigMap {name} lacks the label {MANAGED_BY}={MANAGED_BY_US}, so it belongs to "
            "another program; rename or delete it, or restore the label"
        )
    return live
