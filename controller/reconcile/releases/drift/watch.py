"""Looks after the objects of deployed releases: what others change or delete is found, and corrected.

Three things have an object compared with its release's manifest: an event that says it has changed, a
list that says it is not as it was (a watch that begins again), and a slow round over everything. Events of
a status, or of our own writes, are recognized by the fingerprint of the object and cost no request.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from controller.domain.api.keys import BundleKey, ReleaseKey
from controller.domain.releases.drift.difference import NO_DRIFT, Drift, Drifted, ObjectId
from controller.domain.shared import backoff, metrics
from controller.errors import ApiUnavailable, KubeError
from controller.ports.helm import Cancellation, ReleaseRecords
from controller.ports.kubernetes import Kube, KubeObject, MetadataWatch, Resource, resource_of
from controller.ports.metrics import Metrics, NoMetrics
from controller.ports.system import Clock
from controller.reconcile.releases.drift.compare import (
    MALFORMED,
    Corrected,
    cannot_compare,
    compare,
    correct,
    not_comparable,
)
from controller.reconcile.releases.drift.index import DriftIndex, Followed, Tracked
from controller.reconcile.releases.drift.recorded_objects import recorded_objects
from controller.reconcile.releases.drift.schedule import ComparisonSchedule
from controller.reconcile.releases.drift.unanswered_objects import UnansweredObjects
from controller.reconcile.releases.parts import DriftRates
from controller.reconcile.shared.action_log import log_action

log = logging.getLogger(__name__)

# What could not be compared is tried again after so many seconds, if no event does before.
REFUSED_SECONDS = 300.0
# The first round over a release that was deployed or found a moment ago is spread over this many seconds,
# over fewer where releases are given less time to settle.
FIRST_ROUND = 60.0


@dataclass(frozen=True)
class Correction:
    """What a correction has corrected, and what is still wrong."""

    corrected: tuple[Drifted, ...] = ()
    remaining: tuple[Drifted, ...] = ()

    def __str__(self) -> str:
        shown = "; ".join(str(one) for one in self.corrected[:3])
        more = len(self.corrected) - 3
        return f"{shown}{f'; and {more} more' if more > 0 else ''}"


class DriftWatch:
    """`controller.ports.kubernetes.WatchSink`, and what a pass over a bundle asks. Safe from any thread.

    `kube` acts as the account of charts: what is compared and corrected, they have chosen.
    `reconcile_after(seconds)` has `reconcile` called once more, `changed_bundle(key)` a bundle looked at.
    """

    def __init__(
        self,
        *,
        kube: Kube,
        records: ReleaseRecords,
        watch: MetadataWatch,
        clock: Clock,
        reconcile_after: Callable[[float], None],
        changed_bundle: Callable[[BundleKey], None],
        pace: DriftRates,
        measures: Metrics | None = None,
    ) -> None:
        self._kube = kube
        self._records = records
        self._watch = watch
        self._clock = clock
        self._reconcile_after = reconcile_after
        self._changed_bundle = changed_bundle
        self._pace = pace
        self._measures = measures or NoMetrics()
        self._lock = threading.Lock()
        self._index = DriftIndex()
        self._schedule = ComparisonSchedule(self._index, clock, pace)
        self._failures = 0

    # -- for the pass at a bundle

    def known(self, key: ReleaseKey, revision: int) -> Drift:
        """What differs of a release, as long as this revision of it is the deployed one."""
        with self._lock:
            tracked = self._index.releases.get(key)
            if tracked is None or tracked.followed.revision != revision:
                return NO_DRIFT
            return self._index.drift(key, self._clock.now())

    def follow(self, key: ReleaseKey, followed: Followed) -> None:
        """The release is deployed as desired: from now on its objects are looked after."""
        with self._lock:
            due = self._clock.monotonic() + self._pace.settle
            begun = self._index.follow(key, followed, due)
        if begun:
            self._reconcile_after(self._pace.settle)

    def leave(self, key: ReleaseKey) -> None:
        """The release has a running action, is gone, or is not ours: changes of its objects are no drift."""
        with self._lock:
            self._index.leave(key)

    def leave_bundle(self, bundle: BundleKey) -> None:
        """The bundle is gone."""
        with self._lock:
            for key, tracked in list(self._index.releases.items()):
                if tracked.followed.bundle == bundle:
                    self._index.leave(key)

    # -- for the watches

    def listed(self, resource: Resource, namespace: str, metadata: Sequence[Mapping[str, Any]]) -> None:
        """See `WatchSink`: what is missing, or not as it was, is compared."""
        found = {str(one.get("name")): one for one in metadata}
        with self._lock:
            of_kind = self._index.of_kind(resource.api_version, resource.kind, namespace)
            for object_ in of_kind:
                one = found.get(object_.name)
                # What was never compared waits for its turn in the round.
                never = one is not None and not self._index.was_compared(object_)
                if not never and (one is None or not self._index.is_as_known(object_, one)):
                    self._schedule.touch(object_)
            touched = self._schedule.has_touched
        if touched:
            self._reconcile_after(0.0)

    def changed(self, resource: Resource, metadata: Mapping[str, Any], *, gone: bool) -> None:
        """See `WatchSink`."""
        where = str(metadata.get("namespace") or "")
        object_ = ObjectId(resource.api_version, resource.kind, where, str(metadata.get("name")))
        with self._lock:
            if not self._index.owners(object_):
                return
            if not gone and self._index.is_as_known(object_, metadata):
                return
            after = self._schedule.touch(object_)
        self._reconcile_after(after)

    # -- for the queue

    def reconcile(self) -> float | None:
        """Compares what is due, one second's worth of it; the seconds until there is more to do.

        Raises KubeError when the API server is away; what was due then is due still.
        """
        with self._lock:
            pause = self._schedule.pause()
            if pause > 0.0:
                return pause
            unread, batch = self._schedule.due()
        spent = 0
        try:
            for key in unread:
                self._read(key)
                spent += 1
            while batch:
                key, objects = next(iter(batch.items()))
                spent += self._compare(key, objects)
                del batch[key]
            self._failures = 0
        except BaseException:
            self._failures += 1
            raise
        finally:
            # Events ask for a pass at once, also while the API server is away: they wait as well.
            pause = backoff.RECONNECT_PAUSES.after(self._failures, 1.0)
            with self._lock:
                left = (object_ for objects in batch.values() for object_ in objects)
                self._schedule.put_back(left, max(spent / self._pace.qps, pause))
        with self._lock:
            return self._schedule.until_next()

    def correct(self, key: ReleaseKey, revision: int, cancellation: Cancellation) -> Correction:
        """Puts the release's objects right: edited ones by an apply, missing ones by making them again.

        No hook of the release runs but a Job that was missing. Raises KubeError, ReleaseMissing.
        """
        with self._lock:
            tracked = self._index.releases.get(key)
            if tracked is None or tracked.followed.revision != revision:
                return Correction()
            desired = list(tracked.found)
            tracked.tried = dict(tracked.found)
        unanswered = UnansweredObjects()
        done: list[Drifted] = []
        remaining: list[Drifted] = []
        for object_, obj in (self._recorded(key, tracked, desired) or {}).items():
            if cancellation.cancelled:
                break
            try:
                one = self._correct_objects(key, tracked, object_, obj)
            except ApiUnavailable as error:
                unanswered.note(object_)
                if unanswered.is_away:
                    raise
                remaining.append(not_comparable(object_, error, tracked.found.get(object_)))
                continue
            if one.remaining is not None:
                remaining.append(one.remaining)
            elif one.found is not None:
                done.append(one.found)
                log_action("correct", object_.place, f"{one.found}; corrected", release=key[1])
            with self._lock:
                if one.found is not None and one.remaining is None:
                    self._index.corrected(object_, self._clock.now(), one.found.by)
                self._settle(key, tracked, object_, one.remaining, one.fingerprint)
        return Correction(tuple(done), tuple(remaining))

    # -- inside

    def _correct_objects(
        self, key: ReleaseKey, tracked: Tracked, object_: ObjectId, obj: KubeObject
    ) -> Corrected:
        """The state of the object, and its remaining differences. An object that must not be touched does not
        prevent the correction of others. Raises ApiUnavailable."""
        observed = partial(compare, self._kube, obj, key[1], key[0], tracked.followed.rules)
        try:
            return correct(self._kube, observed)
        except ApiUnavailable:
            raise
        except KubeError as error:
            text = f"{object_} cannot be corrected"
            log_action("correct", object_.place, text, error=error, release=key[1])
            before = tracked.found.get(object_)
            return Corrected(before, not_comparable(object_, error, before), "")

    def _read(self, key: ReleaseKey) -> None:
        """Learns which objects the release has, and has their kinds watched."""
        with self._lock:
            tracked = self._index.releases.get(key)
        if tracked is None:
            return
        found = self._recorded(key, tracked, None)
        with self._lock:
            if self._index.releases.get(key) is not tracked or found is None:
                return
            self._index.fill(key, found)
            first = min(FIRST_ROUND, 6 * self._pace.settle)
            tracked.due = self._clock.monotonic() + first * backoff.steady_jitter("/".join(key))
        for resource, namespace in {(resource_of(obj), one.namespace) for one, obj in found.items()}:
            self._watch.follow(resource, namespace, self)

    def _compare(self, key: ReleaseKey, objects: list[ObjectId]) -> int:
        with self._lock:
            tracked = self._index.releases.get(key)
        if tracked is None:
            return 0
        found = self._recorded(key, tracked, objects)
        asked = len(objects)
        while objects:
            object_ = objects.pop(0)  # whatever becomes of it, only the others go back to the round
            obj = (found or {}).get(object_)
            drifted, seen, again = None, "", 0.0
            if obj is not None:
                try:
                    compared = compare(self._kube, obj, key[1], key[0], tracked.followed.rules)
                    drifted, seen = compared.drifted, compared.fingerprint
                except ApiUnavailable as error:
                    _log_not_compared(object_, error, key[1])
                    with self._lock:
                        if self._schedule.unanswered(object_):
                            raise
                    continue
                except (KubeError, *MALFORMED) as error:
                    _log_not_compared(object_, error, key[1])
                    # What was found before may well be so still.
                    drifted = tracked.found.get(object_) or cannot_compare(object_, error)
                    again = REFUSED_SECONDS if drifted else 0.0
            with self._lock:
                self._schedule.compared(object_, answered=bool(obj), again=again)
                tracked.compared[object_] = self._clock.monotonic()
                if found is not None:
                    self._settle(key, tracked, object_, drifted, seen)
        return asked

    def _settle(
        self, key: ReleaseKey, tracked: Tracked, object_: ObjectId, drifted: Drifted | None, seen: str
    ) -> None:
        if self._index.releases.get(key) is not tracked:
            return
        if self._index.settle(key, object_, drifted, seen):
            if drifted is not None:
                self._measures.count(metrics.DRIFT_FOUND, release=key[1])
            self._changed_bundle(tracked.followed.bundle)

    def _recorded(
        self, key: ReleaseKey, tracked: Tracked, desired: Collection[ObjectId] | None
    ) -> dict[ObjectId, KubeObject] | None:
        """Objects of the release, of all or of those that are desired; None when the record does not show
        them."""
        if desired is not None and not desired:
            return {}
        recorded = recorded_objects(self._records, key, tracked.followed.revision, desired)
        with self._lock:
            changed = tracked.error != recorded.problem or recorded.objects is None
            tracked.error = recorded.problem
            if recorded.objects is None:
                tracked.due = self._clock.monotonic() + self._pace.resync
        if changed:
            self._changed_bundle(tracked.followed.bundle)
        return recorded.objects


def _log_not_compared(object_: ObjectId, error: Exception, release: str) -> None:
    extra = {"object": object_.place, "release": release, "reason": type(error).__name__}
    # The text of any other error could quote what a Secret holds.
    text = str(error) if isinstance(error, KubeError) else "the manifest of the release is malformed"
    log.warning("cannot compare %s: %s", object_, text, extra=extra)
