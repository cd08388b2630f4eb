"""Which osdpl this controller runs: every container must give the same answer."""

from __future__ import annotations

from dataclasses import dataclass

from controller.ports.kubernetes import NAMESPACE, OSDPL, Kube
from controller.reconcile.shared.known_regions import MOST


@dataclass(frozen=True)
class Regions:
    """The names of all osdpls, the one that is served first.

    That is the oldest, by name where two were made in the same second. One that is being deleted is served
    until it is gone, else two regions would share releases.
    """

    names: tuple[str, ...]

    @property
    def managed(self) -> str:
        """The one that is served, empty when there is none."""
        return self.names[0] if self.names else ""

    def pause(self, name: str, resync: float) -> float | None:
        """Seconds until another look at one that is not served; None where an event will bring it.

        Only the next ones are looked at, should the end of the one that is served go unseen.
        """
        return resync if name in self.names[:MOST] else None


def observe_regions(kube: Kube, namespace: str) -> Regions:
    """All osdpls there are now; of none more than its metadata is read."""
    order = sorted(
        (str(osdpl["metadata"].get("creationTimestamp") or ""), str(osdpl["metadata"]["name"]))
        for osdpl in kube.list_metadata(OSDPL, namespace)
    )
    return Regions(tuple(name for _, name in order))


def managed_region(kube: Kube, namespace: str) -> str:
    """Name of the one osdpl that is served, empty when there is none."""
    return observe_regions(kube, namespace).managed


def is_ending(kube: Kube, namespace: str) -> bool:
    """Whether the namespace is being deleted: nothing can be made there, and our Roles there go. Raises
    KubeError."""
    found = kube.get(NAMESPACE, namespace)
    return found is not None and bool(found["metadata"].get("deletionTimestamp"))
