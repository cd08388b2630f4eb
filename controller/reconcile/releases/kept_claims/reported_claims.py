"""Which claims are kept of releases, as a bundle's status reports it."""

from __future__ import annotations

import threading
from collections.abc import Mapping

from controller.domain.api.keys import ReleaseKey
from controller.domain.api.names import KEPT_LABEL
from controller.domain.api.reasons import Reason
from controller.domain.releases.actions import NextAction
from controller.ports.helm import ReleaseRecords, Revision
from controller.ports.kubernetes import PVC, Kube
from controller.ports.system import Clock
from controller.reconcile.releases.kept_claims.keep_marks import VolumeKeeper

# Seconds for which one list serves all passes. What people delete by hand is shown that much longer.
SHARED_FOR = 30.0

Kept = Mapping[str, tuple[str, ...]]
_AT_REST = (Reason.IN_SYNC, Reason.ROLLED_BACK)


class KeptClaims:
    """Read from the claims' labels: no memory of ours could miss one. Thread-safe."""

    def __init__(self, kube: Kube, records: ReleaseRecords, clock: Clock) -> None:
        self._kube = kube
        self._volumes = VolumeKeeper(kube, records)
        self._clock = clock
        self._lock = threading.Lock()
        self._known: dict[str, tuple[float, Kept]] = {}
        # What is known not to be in use, and by which revision.
        self._unused: dict[ReleaseKey, tuple[int, tuple[str, ...]]] = {}

    def forget(self, namespace: str) -> None:
        """An action there begins or has ended: what was read before does not count."""
        with self._lock:
            self._known.pop(namespace, None)

    def ensure_marks(
        self, namespace: str, release: str, last: Revision | None, decision: NextAction
    ) -> tuple[str, ...]:
        """Names of the release's kept claims, sorted. Removes the mark from a claim that the release still
        contains, after a change that did not happen. Raises KubeError and HelmFailed."""
        names, key = self._labelled(namespace).get(release, ()), (namespace, release)
        if not names or last is None or last.status != "deployed" or decision.reason not in _AT_REST:
            return names
        if self._unused.get(key) == (last.version, names):
            return names
        remaining = self._volumes.take_up(release, namespace, names, last.version)
        if remaining != names:
            self.forget(namespace)
        self._unused[key] = (last.version, remaining)
        return remaining

    def _labelled(self, namespace: str) -> Kept:
        with self._lock:
            now = self._clock.monotonic()
            since, kept = self._known.get(namespace, (now - SHARED_FOR, {}))
            if now - since < SHARED_FOR:
                return kept
            found: dict[str, list[str]] = {}
            for claim in self._kube.list_metadata(PVC, namespace, labels=KEPT_LABEL):
                meta = claim["metadata"]
                if not meta.get("deletionTimestamp"):
                    found.setdefault(str(meta["labels"][KEPT_LABEL]), []).append(str(meta["name"]))
            kept = {release: tuple(sorted(names)) for release, names in found.items()}
            self._known[namespace] = (now, kept)
            return kept
