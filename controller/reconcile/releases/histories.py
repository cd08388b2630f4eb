"""Helm's records, as passes need them: read for each pass, or for many at once when they come in crowds.

After a start every bundle is looked at, and a read for each would take longer than all else together.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from controller.domain.api.keys import ReleaseKey
from controller.ports.helm import ReleaseRecords, Revision
from controller.ports.system import Clock

Histories = Mapping[str, tuple[Revision, ...]]

# Seconds for which what was read at once serves other passes. Someone else's Helm is seen that much later.
SHARED_FOR = 1.0
# Longer than any read can take: what it began with must still be known when it ends.
FORGOTTEN_AFTER = 600.0
# So many passes within that time are a crowd.
CROWD = 8


@dataclass(frozen=True)
class _Shared:
    namespace: str
    since: float
    histories: Histories


class ReleaseHistories:
    """Reads histories; never gives one from before our own last action on the release. Thread-safe."""

    def __init__(self, records: ReleaseRecords, clock: Clock) -> None:
        self._records = records
        self._clock = clock
        self._lock = threading.Lock()
        self._reading = threading.Lock()
        self._recent_reads: deque[float] = deque(maxlen=CROWD)
        self._shared: _Shared | None = None
        self._acted: dict[tuple[ReleaseKey, str], float] = {}

    def acted_on(self, key: ReleaseKey, bundle: str) -> None:
        """An action on the release begins or has ended that `bundle` asked for: what was read before does
        not count."""
        with self._lock:
            now = self._clock.monotonic()
            self._acted = {one: at for one, at in self._acted.items() if now - at <= FORGOTTEN_AFTER}
            self._acted[key, bundle] = now

    def read(self, namespace: str, bundle: str, releases: Collection[str]) -> Histories:
        """As `ReleaseRecords.observe`. Raises KubeError."""
        if not self._crowded():
            return self._records.observe(namespace, bundle=bundle, releases=releases)
        shared = self._share(namespace)
        if self._is_outdated(shared, bundle, releases):
            return self._records.observe(namespace, bundle=bundle, releases=releases)
        return shared.histories

    def _crowded(self) -> bool:
        with self._lock:
            now = self._clock.monotonic()
            self._recent_reads.append(now)
            return len(self._recent_reads) == CROWD and now - self._recent_reads[0] <= SHARED_FOR

    def _share(self, namespace: str) -> _Shared:
        with self._reading:
            shared, now = self._shared, self._clock.monotonic()
            if shared is None or shared.namespace != namespace or now - shared.since > SHARED_FOR:
                shared = _Shared(namespace, now, self._records.observe(namespace))
                self._shared = shared
            return shared

    def _is_outdated(self, shared: _Shared, bundle: str, releases: Collection[str]) -> bool:
        """Whether something that the pass is about was acted on since the shared read began."""
        with self._lock:
            acted = {
                (name, by)
                for ((namespace, name), by), at in self._acted.items()
                if namespace == shared.namespace and at >= shared.since
            }
        # A release that the bundle does not name any more is its own by who acted: the shared read may
        # be from before its first record.
        return any(
            by == bundle or name in releases or _made_by(shared.histories.get(name, ()), bundle)
            for name, by in acted
        )


def _made_by(revisions: tuple[Revision, ...], bundle: str) -> bool:
    return any(revision.bundle == bundle for revision in revisions)


class RecordAges:
    """For how long the newest record of a release has been seen as it is, where it tells of something that
    has begun. By our own clock alone: who writes records has another. Thread-safe."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._since: dict[ReleaseKey, tuple[Revision, float]] = {}

    def unchanged_for(self, key: ReleaseKey, last: Revision | None) -> float:
        """Seconds; a process that has just begun has seen nothing yet."""
        now = self._clock.monotonic()
        with self._lock:
            if last is None or not (last.pending or last.half_uninstalled):
                self._since.pop(key, None)
                return 0.0
            known, since = self._since.get(key, (last, now))
            self._since[key] = (last, since if known == last else now)
            return now - self._since[key][1]

    def forget(self, key: ReleaseKey) -> None:
        """Forgets the release, which no bundle names."""
        with self._lock:
            self._since.pop(key, None)
