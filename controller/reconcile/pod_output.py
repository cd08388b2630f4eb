"""What tells more than the status of a workload or a pod: ends of logs, and Events of refused pods."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from controller.domain.conditions import timestamp
from controller.domain.health import ComponentHealth
from controller.domain.workload_health import Verdict
from controller.errors import ApiUnavailable, KubeError
from controller.ports import EVENT, Clock, Kube

log = logging.getLogger(__name__)

# Something is read again when it may tell something newer, and never more than a few at one look.
KEPT = 120.0
READ_AT_ONCE = 5
LINES = 10
# Pods are made within seconds: where there are none after so many, the cluster may have said why.
LACKING_FOR = 15.0
# A workload's controller that is refused tries again within 1000 s: an older word is about the past.
WORD_KEPT = 1200.0

Key = TypeVar("Key", bound=Hashable)


@dataclass(frozen=True, slots=True, order=True)
class _Source:
    """Where to read: the log of a container of a pod, or the Events of a workload by kind and name."""

    events: bool
    first: str
    second: str

    @property
    def after(self) -> float:
        """For how many seconds it must have been wanted before it is read."""
        return LACKING_FOR if self.events else 0.0


def in_thread(work: Callable[[], None]) -> None:
    """Does it beside, on a thread of its own."""
    threading.Thread(target=work, name="output", daemon=True).start()


def at_once(work: Callable[[], None]) -> None:
    """Does it here and now."""
    work()


def _nothing() -> None:
    """Nobody is told."""


class PodOutput:
    """Reads in one namespace what containers that died without a termination message last logged, and
    why nobody can make the pods of a workload. To be asked by one reconciler.

    `beside` has the reading done, and `told()` is called when it brought anything new: a kubelet that
    does not answer then holds up nobody, and what is known is told without.
    """

    def __init__(
        self,
        kube: Kube,
        clock: Clock,
        namespace: str,
        *,
        beside: Callable[[Callable[[], None]], None] = at_once,
        told: Callable[[], None] = _nothing,
    ) -> None:
        self._kube = kube
        self._clock = clock
        self._namespace = namespace
        self._beside = beside
        self._told = told
        self._lock = threading.Lock()
        self._known: dict[_Source, tuple[float, str]] = {}
        self._wanted: dict[_Source, float] = {}
        self._reading = False

    def added(self, components: Mapping[Key, ComponentHealth]) -> dict[Key, ComponentHealth]:
        """The components, with what is known of those whose worst pod died silently, or lack pods."""
        sources = {key: _source(one.verdict) for key, one in components.items()}
        due = self._due(frozenset(one for one in sources.values() if one is not None))
        if due:
            self._have_read(due)
        with self._lock:
            known = dict(self._known)
        return {key: _with_output(one, sources[key], known) for key, one in components.items()}

    def _have_read(self, due: Sequence[_Source]) -> None:
        try:
            self._beside(lambda: self._read_all(due))
        except RuntimeError as error:
            # No thread can be started: the next look may be able to.
            log.warning("what explains failures cannot be read now: %s", type(error).__name__)
        else:
            return
        with self._lock:
            self._reading = False

    def _due(self, every: frozenset[_Source]) -> Sequence[_Source]:
        now = self._clock.monotonic()
        with self._lock:
            for gone in self._known.keys() - every:
                del self._known[gone]
            self._wanted = {one: self._wanted.get(one, now) for one in every}
            wanted = [one for one, since in self._wanted.items() if now - since >= one.after]
            # The oldest first, so that each has its turn however many there are.
            ages = {one: self._known[one][0] if one in self._known else -KEPT for one in wanted}
            stale = sorted((read, one) for one, read in ages.items() if now - read >= KEPT)
            due = [] if self._reading else [one for _, one in stale[:READ_AT_ONCE]]
            self._reading = self._reading or bool(due)
            return due

    def _read_all(self, due: Sequence[_Source]) -> None:
        news = False
        try:
            for source in due:
                try:
                    text, away = self._events(source) if source.events else self._log(source), False
                except ApiUnavailable as error:
                    log.debug("%s %s: %s", source.first, source.second, error)
                    text, away = "", True
                with self._lock:
                    before = self._known.get(source)
                    # A container that has just started again has logged nothing yet: its end counts.
                    text = text or (before[1] if before else "")
                    self._known[source] = (self._clock.monotonic(), text)
                news = news or before is None or before[1] != text
                if away:
                    # The others would only wait for it as long again.
                    break
        finally:
            with self._lock:
                self._reading = False
        if news:
            self._told()

    def _log(self, source: _Source) -> str:
        text = self._kube.pod_log(source.first, self._namespace, container=source.second, tail_lines=LINES)
        return text.strip()

    def _events(self, source: _Source) -> str:
        """The newest word of the workload's controller on why it could not make a pod."""
        about = f"involvedObject.kind={source.first},involvedObject.name={source.second}"
        try:
            found = self._kube.list(EVENT, self._namespace, fields=f"{about},reason=FailedCreate")
        except ApiUnavailable:
            raise
        except KubeError as error:
            log.debug("events of %s %s: %s", source.first, source.second, error)
            return ""
        newest = max(found, key=_moment, default=None)
        if newest is None or _moment(newest) < timestamp(self._clock.now() - WORD_KEPT):
            return ""
        return str(newest.get("message") or "")


def _source(verdict: Verdict) -> _Source | None:
    if verdict.silent is not None:
        return _Source(False, *verdict.silent)
    if verdict.lacking is not None:
        return _Source(True, *verdict.lacking)
    return None


def _with_output(
    component: ComponentHealth, source: _Source | None, known: Mapping[_Source, tuple[float, str]]
) -> ComponentHealth:
    if source is None:
        return component
    output = known[source][1] if source in known else ""
    verdict = replace(component.verdict, output=output, awaited=source not in known)
    return replace(component, verdict=verdict)


def _moment(event: Mapping[str, Any]) -> str:
    """When an Event last came: RFC 3339 in UTC sorts as text."""
    made = event["metadata"].get("creationTimestamp")
    return str(event.get("lastTimestamp") or event.get("eventTime") or made or "")
