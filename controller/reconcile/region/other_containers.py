"""Whether the other containers live, by their Leases: who is dead cannot say so in a status."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from controller.domain.api.names import WORK_AGE_ANNOTATION
from controller.domain.region.facts import SilentContainers
from controller.ports.kubernetes import LEASE, Kube, KubeObject
from controller.ports.system import Clock
from controller.reconcile.shared.leases.lease import LeaseTimes, lease_name

log = logging.getLogger(__name__)

CHECK_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class SilenceTimes:
    """Seconds, all from the `duration` of a Lease, which its holder renews three times within that.

    `silent_after`: a restarted container is back within this time, unless Kubernetes delays a container that
    ends again and again. `far_apart`: passes further apart say nothing about the time between them, because
    no container renews while the API server is not available. `gap`: a longer pause between renewals means
    that the container died in between. `steady_for`: a silent container counts as alive again after renewals
    for so long without a gap. A container that ends again and again renews before it has examined anything.
    """

    duration: int = LeaseTimes().duration

    @property
    def silent_after(self) -> float:
        return 4.0 * self.duration

    @property
    def far_apart(self) -> float:
        return 2.0 * self.duration

    @property
    def gap(self) -> float:
        return self.duration / 3 + 1.5 * CHECK_SECONDS

    @property
    def steady_for(self) -> float:
        return 3.0 * self.duration


@dataclass
class _Heard:
    """The state of a Lease, since when it has been so, and since when it has been renewed without a gap;
    all by our own clock. `steady` is None while no renewal was seen."""

    stamp: str
    since: float
    times: SilenceTimes
    steady: float | None = None
    silent: bool = False

    def hear(self, stamp: str, stuck: bool, now: float) -> None:
        if stamp != self.stamp:
            if self.steady is None or now - self.since > self.times.gap:
                self.steady = now
            self.stamp, self.since = stamp, now
        if stuck:
            self.steady, self.silent = None, True
        elif now - self.since > self.times.silent_after:
            self.silent = True
        elif self.is_steady:
            self.silent = False

    def begin_again(self, now: float) -> None:
        """Forgets everything that was observed until now."""
        self.since, self.steady = now, None

    @property
    def is_steady(self) -> bool:
        """Whether it was renewed for long enough, up to the last time that was seen."""
        return self.steady is not None and self.since - self.steady >= self.times.steady_for


class OtherContainers:
    """Watches over the Leases of `containers`. `observe` is called by one thread at a time, `silence` by any.

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
        times: SilenceTimes = SilenceTimes(),
    ) -> None:
        self._times = times
        self._kube = kube
        self._clock = clock
        self._containers = tuple(containers)
        self._namespace = namespace
        self._changed = changed
        self._heard: dict[str, _Heard] = {}
        self._observed_at = clock.monotonic()
        self._silence = SilentContainers(unheard=frozenset(self._containers))

    def silence(self) -> SilentContainers:
        """Who has been silent for too long, as of the last pass."""
        return self._silence

    def observe(self) -> float:
        """Reads the Leases; seconds until the next pass. Raises KubeError."""
        leases = {name: self._kube.get(LEASE, lease_name(name), self._namespace) for name in self._containers}
        now = self._clock.monotonic()
        blind, self._observed_at = now - self._observed_at > self._times.far_apart, now
        for name, lease in leases.items():
            stamp = _stamp(lease)
            known = self._heard.setdefault(name, _Heard(stamp, now, self._times))
            if blind:
                known.begin_again(now)
            known.hear(stamp, _stuck(lease), now)
        before, self._silence = self._silence, self._judged()
        if before != self._silence:
            if before.silent != self._silence.silent:
                extra = {"object": self._namespace, "reason": "ContainerSilent"}
                names = sorted(self._silence.silent) or "none"
                log.warning("containers without a sign of life: %s", names, extra=extra)
            self._changed()
        return CHECK_SECONDS

    def _judged(self) -> SilentContainers:
        silent = {name for name, one in self._heard.items() if one.silent}
        unheard = {name for name, one in self._heard.items() if not one.is_steady}
        return SilentContainers(frozenset(silent), frozenset(unheard - silent))


def _stamp(lease: KubeObject | None) -> str:
    return str(lease["metadata"].get("resourceVersion")) if lease else ""


def _stuck(lease: KubeObject | None) -> bool:
    """Whether the container says of itself that a piece of its work does not end."""
    return lease is not None and WORK_AGE_ANNOTATION in (lease["metadata"].get("annotations") or {})
