"""Whether the other containers live, by their Leases: who is dead cannot say so in a status."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from controller.domain.region_summary import Silence
from controller.ports import LEASE, Clock, Kube
from controller.reconcile.lease import lease_name

log = logging.getLogger(__name__)

# Seconds. A holder renews every 5 s; one that is started anew is back within this, but for one that
# Kubernetes holds back because it ends again and again.
SILENT_AFTER = 60.0
LOOK_EVERY = 10.0
# Looks further apart tell nothing of what was between them: while the API server is away nobody renews.
FAR_APART = 30.0


@dataclass
class _Heard:
    """The state of a Lease, since when it has been so by our own clock, and whether it was ever another."""

    stamp: str
    since: float
    moved: bool = False


class OtherContainers:
    """Watches over the Leases of `containers`. `look` is called by one thread at a time, `silence` by any.

    Clocks are never compared: what counts is how long we ourselves have seen no renewal. `changed()` is
    called when `silence` gives something else than before.
    """

    def __init__(
        self,
        kube: Kube,
        clock: Clock,
        *,
        containers: Iterable[str],
        namespace: str,
        changed: Callable[[], None],
    ) -> None:
        self._kube = kube
        self._clock = clock
        self._containers = tuple(containers)
        self._namespace = namespace
        self._changed = changed
        self._heard: dict[str, _Heard] = {}
        self._looked = clock.monotonic()
        self._silence = Silence(unheard=frozenset(self._containers))

    def silence(self) -> Silence:
        """Who has been silent for too long, as of the last look."""
        return self._silence

    def look(self) -> float:
        """Reads the Leases; seconds until the next look. Raises KubeError."""
        stamps = {name: self._stamp(name) for name in self._containers}
        now = self._clock.monotonic()
        blind, self._looked = now - self._looked > FAR_APART, now
        for name, stamp in stamps.items():
            known = self._heard.get(name)
            if known is None:
                self._heard[name] = _Heard(stamp, now)
            elif known.stamp != stamp:
                self._heard[name] = _Heard(stamp, now, moved=True)
            elif blind:
                known.since = now
        before, self._silence = self._silence, self._judged(now)
        if before != self._silence:
            if before.silent != self._silence.silent:
                log.warning("containers without a sign of life: %s", sorted(self._silence.silent) or "none")
            self._changed()
        return LOOK_EVERY

    def _judged(self, now: float) -> Silence:
        silent = {name for name, one in self._heard.items() if now - one.since > SILENT_AFTER}
        unheard = {name for name, one in self._heard.items() if not one.moved}
        return Silence(frozenset(silent), frozenset(unheard - silent))

    def _stamp(self, container: str) -> str:
        lease = self._kube.get(LEASE, lease_name(container), self._namespace)
        return str(lease["metadata"].get("resourceVersion")) if lease else ""
