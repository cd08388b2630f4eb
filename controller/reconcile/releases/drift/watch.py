"""Looks after the objects of deployed releases: what others change or delete is found, and corrected.

Three things have an object compared with its release's manifest: an event that says it has changed, a
list that says it is not as it was (a watch that begins again), and a slow round over everything. Events of
a status, or of our own writes, are recognized by the fingerprint of the object and cost no request.
"""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from controller.domain.api.keys import BundleKey, ReleaseKey
from controller.domain.releases.drift.difference import NO_DRIFT, Drift, Drifted, ObjectId
from controller.domain.shared import backoff, metrics
from controller.errors import ApiUnavailable, ChartInvalid, HelmFailed, KubeError, ReleaseMissing
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
    identify,
    is_named,
    not_comparable,
)
from controller.reconcile.releases.drift.index import DriftIndex, Followed, Tracked
from controller.reconcile.releases.drift.unanswered_objects import UnansweredObjects
from controller.reconcile.releases.parts import DriftRates
from controller.reconcile.shared.action_log import log_action

log = logging.getLogger(__name__)

# An object that changes all the time is compared no more often than this, in seconds.
QUIET = 1.0
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
        self._touched: dict[ObjectId, float] = {}  # when to compare it, monotonic
        self._round: deque[ObjectId] = deque()
        self._unanswered = UnansweredObjects()
        self._not_before = 0.0
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
                    self._touch(object_)
            touched = bool(self._touched)
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
            after = self._touch(object_)
        self._reconcile_after(after)

    # -- for the queue

    def reconcile(self) -> float | None:
        """Compares what is due, one second's worth of it; the seconds until there is more to do.

        Raises KubeError when the API server is away; what was due then is due still.
        """
        now = self._clock.monotonic()
        with self._lock:
            if now < self._not_before:
                return self._not_before - now
            self._unanswered.begin_round()
            unread, batch = self._due(now)
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
                self._round.extend(object_ for objects in batch.values() for object_ in objects)
                self._not_before = self._clock.monotonic() + max(spent / self._pace.qps, pause)
        return self._next()

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
        for object_, obj in (self._objects(key, tracked, desired) or {}).items():
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

    def _touch(self, object_: ObjectId) -> float:
        now = self._clock.monotonic()
        if object_ in self._unanswered and object_ in self._touched:
            return self._touched[object_] - now
        last = self._index.compared(object_)
        due = now if last is None else max(now, last + QUIET)
        self._touched[object_] = min(due, self._touched.get(object_, due))
        return due - now

    def _due(self, now: float) -> tuple[list[ReleaseKey], dict[ReleaseKey, list[ObjectId]]]:
        """Releases whose manifest is to be read, and objects to compare: first those that have changed."""
        budget = max(1, int(self._pace.qps))
        unread = []
        for key, tracked in self._index.releases.items():
            if tracked.due > now:
                continue
            if not tracked.read:
                unread.append(key)
                continue
            tracked.due = now + self._pace.resync * (0.8 + 0.4 * backoff.steady_jitter("/".join(key)))
            self._round.extend(tracked.prints)
            self._index.forget_old_corrections(self._clock.now())
        touched = [object_ for object_, due in self._touched.items() if due <= now]
        chosen = sorted(touched, key=lambda one: one in self._unanswered)[:budget]
        while self._round and len(chosen) < budget:
            chosen.append(self._round.popleft())
        batch: dict[ReleaseKey, list[ObjectId]] = {}
        for object_ in dict.fromkeys(chosen):
            owners = self._index.owners(object_)
            if not owners:
                self._touched.pop(object_, None)
                self._unanswered.forget(object_)
            elif self._touched.get(object_, now) <= now or object_ not in self._unanswered:
                for owner in owners:
                    batch.setdefault(owner, []).append(object_)
        return unread[:budget], batch

    def _next(self) -> float | None:
        with self._lock:
            now = self._clock.monotonic()
            times = [*self._touched.values(), *(one.due for one in self._index.releases.values())]
            if self._round:
                times.append(now)
            if not times:
                return None
            return max(min(times), self._not_before, now + 0.01) - now

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
        found = self._objects(key, tracked, objects)
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
                        self._touched[object_] = self._clock.monotonic() + self._unanswered.note(object_)
                        if self._unanswered.is_away:
                            raise
                    continue
                except (KubeError, *MALFORMED) as error:
                    _log_not_compared(object_, error, key[1])
                    # What was found before may well be so still.
                    drifted = tracked.found.get(object_) or cannot_compare(object_, error)
                    again = self._clock.monotonic() + REFUSED_SECONDS if drifted else 0.0
            with self._lock:
                (self._unanswered.answered if obj else self._unanswered.forget)(object_)
                self._touched.pop(object_, None)
                if again:
                    self._touched[object_] = again
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

    def _objects(
        self, key: ReleaseKey, tracked: Tracked, desired: Iterable[ObjectId]
    ) -> dict[ObjectId, KubeObject] | None:
        """Those of the release that are desired; None when the record does not show them."""
        chosen = set(desired)
        found = self._recorded(key, tracked, {one.name for one in chosen}) if chosen else {}
        return None if found is None else {one: obj for one, obj in found.items() if one in chosen}

    def _recorded(
        self, key: ReleaseKey, tracked: Tracked, names: set[str] | None
    ) -> dict[ObjectId, KubeObject] | None:
        """Objects of the release from its record; None when the record does not show them."""
        problem = ""
        found: dict[ObjectId, KubeObject] | None
        try:
            objects = self._records.required_objects(key[1], key[0], tracked.followed.revision, names=names)
            found = {identify(obj, key[0]): obj for obj in objects if is_named(obj)}
        except ReleaseMissing:
            # The pass of its bundle sees the same, and knows what to do.
            found = None
        except HelmFailed as error:
            found, problem = None, str(error)
        except (ChartInvalid, *MALFORMED) as error:
            # Whatever a record holds, it is this release's alone: others are compared.
            found, problem = None, f"the record of the release is malformed ({type(error).__name__})"
            extra = {"object": f"{key[0]}/{key[1]}", "reason": type(error).__name__}
            log.error("release %s: %s", key[1], problem, extra=extra)
        with self._lock:
            changed = tracked.error != problem or found is None
            tracked.error = problem
            if found is None:
                tracked.due = self._clock.monotonic() + self._pace.resync
        if changed:
            self._changed_bundle(tracked.followed.bundle)
        return found


def _log_not_compared(object_: ObjectId, error: Exception, release: str) -> None:
    extra = {"object": object_.place, "release": release, "reason": type(error).__name__}
    # The text of any other error could quote what a Secret holds.
    told = str(error) if isinstance(error, KubeError) else "the manifest of the release is malformed"
    log.warning("cannot compare %s: %s", object_, told, extra=extra)
