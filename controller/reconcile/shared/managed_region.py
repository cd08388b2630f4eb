"""Which osdpl this controller runs: every container must give the same answer."""

from __future__ import annotations

from controller.ports.kubernetes import OSDPL, Kube


def managed_region(kube: Kube, namespace: str) -> str:
    """Name of the one osdpl that is served, empty when there is none.

    It is the oldest, by name where two were made in the same second. One that is being deleted is
    served until it is gone, else two regions would share releases.
    """
    order = sorted(
        (str(osdpl["metadata"].get("creationTimestamp") or ""), str(osdpl["metadata"]["name"]))
        for osdpl in kube.list(OSDPL, namespace)
    )
    return order[0][1] if order else ""
