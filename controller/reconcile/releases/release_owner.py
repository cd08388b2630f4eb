"""The owner of a release: another bundle, another program or person, or the controller's own installation."""

from __future__ import annotations

from controller.domain.api.keys import ReleaseKey
from controller.domain.api.object_owner import RESERVED, made_by_bundle, made_by_others
from controller.ports.helm import Revision
from controller.ports.kubernetes import HELMBUNDLE, Kube
from controller.reconcile.releases.observe_bundle import ObservedBundle


class ReleaseOwners:
    """`reserved` is the release that the controller itself was installed as."""

    def __init__(self, kube: Kube, reserved: ReleaseKey | None) -> None:
        self._kube = kube
        self._reserved = reserved

    def of_another(self, observed: ObservedBundle, release: str, revisions: tuple[Revision, ...]) -> str:
        """What is said of its owner, where the release is not the bundle's to have; empty where it is.

        That of a bundle that is gone is. Raises KubeError.
        """
        key = observed.key(release)
        if key == self._reserved:
            return RESERVED
        last = revisions[-1] if revisions else None
        if last is None or last.bundle == observed.bundle.name:
            return ""
        namespace = observed.bundle.namespace
        if not last.bundle:
            return "" if last.handed_over else made_by_others(release, namespace, last.version)
        there = self._kube.get(HELMBUNDLE, last.bundle, namespace)
        return "" if there is None else made_by_bundle(last.bundle)
