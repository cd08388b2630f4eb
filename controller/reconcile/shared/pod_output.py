"""What tells more than the status of a workload or a pod: ends of logs, and Events of pods."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any, TypeVar

from controller.domain.api.conditions import timestamp
from controller.domain.health.region_health import ComponentHealth
from controller.domain.health.workload_health import WorkloadHealth
from controller.errors import ApiUnavailable, KubeError
from controller.ports.kubernetes import EVENT, Kube
from controller.ports.system import Clock

log = logging.getLogger(__name__)

# Something is read again when it may tell something newer, and never more than a few at one pass.
KEPT = 120.0
READ_AT_ONCE = 5
LINES = 10
# Before the newest of many similar messages (client-go, tools/record/events_cache.go).
_COMBINED = "(combined from similar events): "
# Pods are made within seconds: where there are none after so many, the cluster may have said why.
LACKING_FOR = 15.0
# Seconds for which a starting container may be unready before its probe's result is read.
UNREADY_FOR = 15.0
# A workload's controller that is refused tries again within 1000 s: an older word is about the past.
TEXT_KEPT = 1200.0

Key = TypeVar("Key", bound=Hashable)


class _Place(Enum):
    """Where it is read, and for how many seconds it must have been desired before."""

    LOG = "log", 0.0
    # What says of a workload why its pods cannot be made.
    WORKLOAD = "events of a workload", LACKING_FOR
    # What probes have said, and why a container cannot be started.
    POD = "events of a pod", UNREADY_FOR

    @property
    def after(self) -> float:
        return self.value[1]


@dataclass(frozen=True, slots=True)
class _Source:
    """What to read: of a pod and a container, or of a workload by kind and name. Words from before `since`
    (seconds since the epoch) are of another of that name."""

    place: _Place
    first: str
    second: str
    since: float = 0.0


def in_thread(work: Callable[[], None]) -> None:
    """Does it beside, on a thread of its own."""
    threading.Thread(target=work, name="output", daemon=True).start()


def at_once(work: Callable[[], None]) -> None:
    """Does it here and now."""
    work()


def _nothing() -> None:
    """Notifies no one."""


class PodOutput:
    """Reads in one namespace the end of the log of containers that died without a termination message, and
    why the pods of a workload cannot be created. Only one reconciler may use it.

    `beside` reads in the background, and calls `changed()` when there is new output. A kubelet that does not
    answer therefore delays nothing, and the known facts are reported without its output.
    """

    def __init__(
        self,
        kube: Kube,
        clock: Clock,
        namespace: str,
        *,
        beside: Callable[[Callable[[], None]], None] = at_once,
        changed: Callable[[], None] = _nothing,
    ) -> None:
        self._kube = kube
        self._clock = clock
        self._namespace = namespace
        self._beside = beside
        self._changed = changed
        self._lock = threading.Lock()
        self._known: dict[_Source, tuple[float, str]] = {}
        self._requested: dict[_Source, float] = {}
        self._reading = False

    def added(self, components: Mapping[Key, ComponentHealth]) -> dict[Key, ComponentHealth]:
        """The components, with what is known of those whose worst pod does not say why, or lack pods."""
        sources = {key: _sources(one.verdict) for key, one in components.items()}
        due = self._due(frozenset().union(*sources.values()))
        if due:
            self._have_read(due)
        with self._lock:
            known = dict(self._known)
        return {key: _with_output(one, sources[key], known) for key, one in components.items()}

    def _have_read(self, due: Sequence[_Source]) -> None:
        try:
            self._beside(lambda: self._read_all(due))
        except RuntimeError as error:
            # No thread can be started: the next pass may be able to.
            reason = type(error).__name__
            extra = {"object": self._namespace, "reason": reason}
            log.warning("events and logs of pods cannot be read now: %s", reason, extra=extra)
        else:
            return
        with self._lock:
            self._reading = False

    def _due(self, every: frozenset[_Source]) -> Sequence[_Source]:
        now = self._clock.monotonic()
        with self._lock:
            for gone in self._known.keys() - every:
                del self._known[gone]
            self._requested = {one: self._requested.get(one, now) for one in every}
            desired = [one for one, since in self._requested.items() if now - since >= one.place.after]
            # The oldest first, so that each has its turn however many there are.
            ages = {one: self._known[one][0] if one in self._known else -KEPT for one in desired}
            stale = sorted(
                (one for one, read in ages.items() if now - read >= KEPT),
                key=lambda one: (ages[one], one.place.value, one.first, one.second),
            )
            due = [] if self._reading else stale[:READ_AT_ONCE]
            self._reading = self._reading or bool(due)
            return due

    def _read_all(self, due: Sequence[_Source]) -> None:
        changed = False
        try:
            for source in due:
                try:
                    text, away = self._read(source), False
                except ApiUnavailable as error:
                    extra = {"object": source.first, "reason": type(error).__name__}
                    log.debug("%s %s: %s", source.first, source.second, error, extra=extra)
                    text, away = "", True
                with self._lock:
                    before = self._known.get(source)
                    # A container that has just started again has logged nothing yet: its end counts.
                    text = text or (before[1] if before else "")
                    self._known[source] = (self._clock.monotonic(), text)
                changed = changed or before is None or before[1] != text
                if away:
                    # The others would only wait for it as long again.
                    break
        finally:
            with self._lock:
                self._reading = False
        if changed:
            self._changed()

    def _read(self, source: _Source) -> str:
        match source.place:
            case _Place.LOG:
                return self._log(source)
            case _Place.WORKLOAD:
                about = f"involvedObject.kind={source.first},involvedObject.name={source.second}"
                return self._events(source, f"{about},reason=FailedCreate")
            case _Place.POD:
                about = f"involvedObject.kind=Pod,involvedObject.name={source.first}"
                return self._events(source, f"{about},type=Warning")

    def _log(self, source: _Source) -> str:
        """Of the run that has ended: where the container runs again, that is the one before."""
        for previous in (True, False):
            text = self._kube.pod_log(
                source.first, self._namespace, container=source.second, tail_lines=LINES, previous=previous
            ).strip()
            if text:
                return text
        return ""

    def _events(self, source: _Source, fields: str) -> str:
        """The newest word of the workload's controller, or of the kubelet on the container."""
        try:
            found = self._kube.list(EVENT, self._namespace, fields=fields)
        except ApiUnavailable:
            raise
        except KubeError as error:
            extra = {"object": source.first, "reason": type(error).__name__}
            log.debug("events of %s %s: %s", source.first, source.second, error, extra=extra)
            return ""
        if source.place is _Place.POD:
            found = [one for one in found if _explains(one, source.second)]
        newest = max(found, key=_moment, default=None)
        oldest = max(self._clock.now() - TEXT_KEPT, source.since)
        if newest is None or _moment(newest) < timestamp(oldest):
            return ""
        return str(newest.get("message") or "").removeprefix(_COMBINED)


def _sources(verdict: WorkloadHealth) -> frozenset[_Source]:
    found = []
    if verdict.silent is not None:
        found.append(_Source(_Place.LOG, *verdict.silent))
    if verdict.lacking is not None:
        found.append(_Source(_Place.WORKLOAD, *verdict.lacking))
    if verdict.probed is not None:
        found.append(_Source(_Place.POD, *verdict.probed))
    return frozenset(found)


def _with_output(
    component: ComponentHealth, sources: frozenset[_Source], known: Mapping[_Source, tuple[float, str]]
) -> ComponentHealth:
    """What the kubelet says of it comes first, then what it has said itself."""
    if not sources:
        return component
    verdict = component.verdict
    read = {one.place: known[one][1] for one in sources if one in known}
    # Of probes there may never be a word: nothing waits for it.
    awaited = any(one not in known for one in sources if one.place is not _Place.POD)
    own = read.get(_Place.LOG) or read.get(_Place.WORKLOAD) or verdict.output
    words = [text for text in (read.get(_Place.POD), own) if text]
    return replace(component, verdict=replace(verdict, output="; ".join(words), awaited=awaited))


def _explains(event: Mapping[str, Any], container: str) -> bool:
    """Whether an Event of a pod tells of this container, or of the pod, more than that it is tried again."""
    place = str((event.get("involvedObject") or {}).get("fieldPath") or "")
    return event.get("reason") != "BackOff" and (not place or place.endswith(f"{{{container}}}"))


def _moment(event: Mapping[str, Any]) -> str:
    """When an Event last came: RFC 3339 in UTC sorts as text."""
    made = event["metadata"].get("creationTimestamp")
    return str(event.get("lastTimestamp") or event.get("eventTime") or made or "")
