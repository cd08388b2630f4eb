"""The Lease that makes a container the only writer of its kind.

Two pods run for a minute when a node dies and its pod is replaced; both must not act, nor must two
installations for one region. A container takes the Lease of its own name, in the region's namespace, before
its first write and ends itself when it cannot renew it in time. The holder is the pod, so that a restarted
container takes its own Lease again at once.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from controller.domain.api.names import WORK_AGE_ANNOTATION
from controller.errors import Conflict, Forbidden, KubeError
from controller.ports.kubernetes import LEASE, Kube, KubeObject
from controller.ports.system import Clock
from controller.reconcile.shared.managed_region import is_ending

# After a renewal that failed, so that a cut connection does not use up the time there is.
RETRY_EVERY = 0.5
# Seconds. No pass takes as long as this; what does is reported on the Lease, which is renewed by
# a thread of its own whatever the work does.
STUCK_AFTER = 120.0


@dataclass(frozen=True, slots=True)
class LeaseTimes:
    """Seconds: for `duration` after its last renewal a Lease keeps others out.

    A holder gives up well before: client-go keeps the same distance (leaderelection: RenewDeadline 10 s
    under LeaseDuration 15 s).
    """

    duration: int = 15

    @property
    def renew_every(self) -> float:
        return self.duration / 3

    @property
    def give_up_after(self) -> float:
        return self.duration * 2 / 3

    @property
    def answer_within(self) -> float:
        """A renewal against a server that hangs ends in time for another one."""
        return self.duration * 4 / 15

    @property
    def end_after(self) -> float:
        """Work that has not given up by then is ended from outside, before another pod may begin."""
        return self.duration * 5 / 6

    @property
    def silent_for(self) -> float:
        """A busy node, or one long call, holds a process up for less: after that it counts as dead."""
        return self.duration * 4.0


def lease_name(container: str) -> str:
    """Name of a container's Lease, in the namespace of the region."""
    return f"osctl-{container}"


def lease_holder(pod_namespace: str, pod_name: str) -> str:
    """By what a container is known as the holder: two installations may have pods of one name."""
    return f"{pod_namespace}/{pod_name}"


class _Lost(Exception):
    """The Lease that we hold is not as we left it: others have had it since, or have it now."""


@dataclass
class _SeenLease:
    stamp: str = ""
    since: float = 0.0


class WriterLease:
    """One container's Lease. One thread acquires and renews; `lost` may be asked from any thread.

    `kube` should answer or give up within a few seconds, and without retries of its own.
    """

    def __init__(
        self,
        kube: Kube,
        clock: Clock,
        *,
        name: str,
        namespace: str,
        holder: str,
        times: LeaseTimes = LeaseTimes(),
    ) -> None:
        self.times = times
        self._kube = kube
        self._clock = clock
        self._name = name
        self._namespace = namespace
        self._holder = holder
        self._seen = _SeenLease()
        self._renewed = clock.monotonic()
        # The times of renewal that the Lease may show if only we have written it since we hold it.
        self._written: set[str] = set()
        self._held = False
        self._lost = False
        self._work_age = 0.0
        # Why the last try came to nothing, in words for the log.
        self.trouble = ""

    def try_take(self, work_age: float = 0.0) -> bool:
        """Takes or renews the Lease; False while someone else holds it or the API does not answer.

        We take over another pod's Lease only after we saw it unchanged for its whole duration: clocks of two
        nodes are never compared. If our Lease is not as we left it, it is lost immediately. Another pod has
        it, or others deleted it, so that another pod may have had it since. Or the API server's state is an
        older one (etcd was restored), and watches that have seen a later state would stay silent.

        A namespace that is being deleted loses its Leases first, and accepts no new one. The last holder
        continues there, so that it can remove its finalizers.

        `work_age`: for how many seconds one piece of the container's work has been under way.
        """
        if self._lost:
            return False
        self._work_age = work_age
        asked_at = self._clock.monotonic()
        self.trouble = ""
        try:
            held = self._take()
        except KubeError as error:
            held = False
            self.trouble = f"the API server: {error}"
        except _Lost as error:
            self._lost = True
            self.trouble = str(error)
            return False
        if held:
            self._renewed = asked_at
        return held

    def lost(self) -> bool:
        """Whether others may have the Lease, or the last renewal is so long ago that they may soon."""
        return self._lost or self._clock.monotonic() - self._renewed > self.times.give_up_after

    def forfeited(self) -> bool:
        """Whether others may have had the Lease since we held it: `try_take` never takes it again."""
        return self._lost

    def release(self) -> None:
        """Lets another pod take over at once. A failure is no harm: the Lease ends by itself."""
        try:
            lease = self._kube.get(LEASE, self._name, self._namespace)
            if lease and (lease.get("spec") or {}).get("holderIdentity") == self._holder:
                freed = self._object(lease["metadata"], transitions=_transitions(lease))
                freed["spec"]["holderIdentity"] = ""
                self._kube.replace(freed)
        except KubeError:
            return

    def _take(self) -> bool:
        lease = self._observe()
        if lease is None:
            if self._held and not self._is_ending():
                raise _Lost("the Lease was deleted")
            return self._held or self._write(self._kube.create, self._object({}, transitions=0))
        spec = lease.get("spec") or {}
        holder = spec.get("holderIdentity") or ""
        if self._held and (holder != self._holder or str(spec.get("renewTime")) not in self._written):
            raise _Lost(f"{holder} holds it" if holder != self._holder else "another client has changed it")
        if holder not in ("", self._holder) and not self._expired(lease):
            return False
        transitions = _transitions(lease) + (holder != self._holder)
        return self._write(self._kube.replace, self._object(lease["metadata"], transitions=transitions))

    def _write(self, write: Callable[[dict[str, Any]], object], lease: dict[str, Any]) -> bool:
        moment = str(lease["spec"]["renewTime"])
        # Before it is sent: it may be stored without our ever hearing of it.
        self._written.add(moment)
        try:
            write(lease)
        except Conflict:
            return False
        self._held, self._written = True, {moment}
        return True

    def _observe(self) -> KubeObject | None:
        """The Lease, or None. A namespace that is being deleted loses our Role with it."""
        try:
            return self._kube.get(LEASE, self._name, self._namespace)
        except Forbidden:
            if self._held and self._is_ending():
                return None
            raise

    def _is_ending(self) -> bool:
        """Whether the namespace is being deleted: the API server accepts no new object there."""
        return is_ending(self._kube, self._namespace)

    def _expired(self, lease: dict[str, Any]) -> bool:
        now = self._clock.monotonic()
        stamp = str(lease["metadata"].get("resourceVersion"))
        if stamp != self._seen.stamp:
            self._seen = _SeenLease(stamp, now)
        duration = int((lease.get("spec") or {}).get("leaseDurationSeconds") or self.times.duration)
        return now - self._seen.since > duration

    def _object(self, metadata: dict[str, Any], *, transitions: int) -> dict[str, Any]:
        moment = datetime.fromtimestamp(self._clock.now(), UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        kept: dict[str, Any] = {key: metadata[key] for key in ("resourceVersion", "uid") if key in metadata}
        if self._work_age > STUCK_AFTER:
            kept["annotations"] = {WORK_AGE_ANNOTATION: str(int(self._work_age))}
        return {
            "apiVersion": LEASE.api_version,
            "kind": LEASE.kind,
            "metadata": {"name": self._name, "namespace": self._namespace, **kept},
            "spec": {
                "holderIdentity": self._holder,
                "leaseDurationSeconds": self.times.duration,
                "leaseTransitions": transitions,
                "renewTime": moment,
            },
        }


def _transitions(lease: dict[str, Any]) -> int:
    return int((lease.get("spec") or {}).get("leaseTransitions") or 0)
