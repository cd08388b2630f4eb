"""Runs one container: watches, a queue of keys, threads that reconcile them, and the Lease."""

from __future__ import annotations

import logging
import os
import platform
import threading
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Protocol

from controller.adapters.http.health_endpoint import Endpoint, serve_endpoint
from controller.adapters.kubernetes.connection import Connection
from controller.adapters.kubernetes.watches import Key, SignsOfLife, Watch, run_watches
from controller.adapters.system.logs import log_context
from controller.adapters.system.metrics import PrometheusMetrics
from controller.domain.shared import metrics
from controller.errors import ApiUnavailable, ControllerError, ObjectReplaced
from controller.ports.metrics import Metrics
from controller.ports.system import Clock
from controller.reconcile.shared.leases.board import LeaseBoard
from controller.reconcile.shared.leases.keeping import LEASE_BROKEN, LEASE_LOST
from controller.reconcile.shared.work_queue import WorkQueue
from controller.settings import Settings

log = logging.getLogger(__name__)

Reconcile = Callable[[str, str], float | None]

# Work that takes longer than this without an end, or a loop that stands still, is a broken container.
STUCK_AFTER = 600.0
# Exit codes; Kubernetes starts the container again, and it waits for the Lease.
WATCHES_ENDED = 71
WORKER_ENDED = 74
# How often the end of a Lease is looked for, and its beginning.
FENCE_EVERY = 0.5
AWAIT_EVERY = 0.1
# How often the order to stop is looked for.
STOP_CHECK_SECONDS = 0.1
# What a pass was about has gone meanwhile: so long until the next, should no event bring it earlier.
REPLACED_RETRY_SECONDS = 1.0


class Background(Protocol):
    """Work that goes on beside the passes, on threads of its own."""

    def close(self) -> None:
        """Nothing more is begun."""
        ...

    def under_way(self) -> Sequence[str]:
        """What has been begun and may still write, in words for the log."""
        ...


@dataclass(frozen=True)
class Container:
    """All that differs between containers. `reconcilers` maps the first part of a key to its reconciler.

    `background` is what its passes begin and do not wait for. `namespaces`: those that it watches beside the
    region's.
    """

    name: str
    watches: tuple[Watch, ...]
    reconcilers: Mapping[str, Reconcile]
    queue: WorkQueue[Key]
    workers: int = 2
    background: tuple[Background, ...] = ()
    namespaces: tuple[str, ...] = ()

    def wind_down(self) -> None:
        """Nothing more is begun but the passes that write down how work in the background has ended."""
        self.queue.wind_down()
        for work in self.background:
            work.close()

    def under_way(self) -> list[str]:
        """All that may still write once it winds down, in words.

        The background is asked first: its passes begin nothing any more, and what ends there asks for one.
        """
        background = [one for work in self.background for one in work.under_way()]
        keys = self.queue.unfinished()
        return background + [
            f"the reconciliation of {kind} {namespace}/{name}" for kind, namespace, name in keys
        ]


@dataclass
class _Tenure:
    """Since when this process holds the Lease: before that it has no work to be late with.

    `stands_by`: whether another pod of the same Deployment works, so that it is right to wait.
    """

    stands_by: Callable[[], bool] = lambda: False
    held: threading.Event = field(default_factory=threading.Event)
    since: float = 0.0

    def begin(self) -> None:
        self.since = time.monotonic()
        self.held.set()

    def waits(self) -> str:
        """Why there is no work yet, nothing when there is."""
        if self.held.is_set() or self.stands_by():
            return ""
        return "another pod holds the Lease, or the API server does not answer"

    def late(self, container: Container) -> str:
        """What is wrong with the container's work, nothing when all is well."""
        age = self.waited(container)
        return f"the oldest work has waited for {age:.0f} s" if age > STUCK_AFTER else ""

    def waited(self, container: Container) -> float:
        """Seconds for which the oldest work has been waiting, or under way, that could have been done."""
        return min(container.queue.oldest(), self._age())

    def blind(self, signs: SignsOfLife) -> str:
        """Which watches are dead, nothing when none is, or none is needed yet.

        What keeps a process from the Lease may keep it from the watches: the API server is away. A new one
        would hear no more, and be late when the API server is back, for it is not started at once.
        """
        return signs.watches_are_dead(within=self._age())

    def _age(self) -> float:
        return time.monotonic() - self.since if self.held.is_set() else 0.0


def run_container(
    container: Container,
    *,
    settings: Settings,
    connection: Connection,
    lease: LeaseBoard,
    measures: PrometheusMetrics,
    clock: Clock,
) -> int:
    """Runs until a stop is requested or the watches end; gives the exit code: 0 after a request.

    Another process renews the Lease. Nothing is written before we hold it. When it is lost, the process ends
    immediately, with code 70. After a request to stop, no work begins. Running work has
    `settings.stop_within` seconds to end and to record its results, while the Lease is still renewed. Then
    the Lease is released. Longer work is interrupted: the next run finds and completes it, as after a kill,
    once the Lease has expired. A second request ends the wait.

    Raises EndpointUnavailable when the port of `settings` cannot be listened on.
    """
    tenure = _Tenure(lease.stands_by) if settings.standby else _Tenure()
    signs = SignsOfLife((watch.resource for watch in container.watches), clock)
    ended = threading.Event()
    # With which code to end, once there is a reason of our own.
    codes: list[int] = []
    _measure(container, settings, tenure, signs, measures)
    if settings.health_port:
        endpoint = _endpoint(container, tenure, signs, lease, measures)
        serve_endpoint(endpoint, settings.health_port, address=settings.health_address)
    following = _start("lease", _follow_lease, lease, container, tenure, ended, measures)

    # Not on the main thread: there Kopf would answer signals itself, and take seconds to wind down
    # what need not be wound down.
    watched = (container, settings, connection, signs, codes)
    threading.Thread(target=_watch, args=watched, name="watch", daemon=True).start()
    while not codes and not lease.stops():
        time.sleep(STOP_CHECK_SECONDS)
    code = codes[0] if codes else 0
    container.wind_down()
    if code == 0 and _comes_to_rest(container, settings.stop_within, lease):
        ended.set()
        following.join()
        lease.give_back()
    container.queue.close()
    return code


def _watch(
    container: Container, settings: Settings, connection: Connection, signs: SignsOfLife, codes: list[int]
) -> None:
    try:
        run_watches(
            container.watches,
            container.queue.add,
            connection=connection,
            namespaces=(settings.region_namespace, *container.namespaces),
            identity=settings.pod_name,
            signs=signs,
        )
    except BaseException as error:
        # Logged before the code is given: the main thread then ends the process at once.
        reason = type(error).__name__
        extra = {"object": container.name, "reason": reason}
        log.critical("the watches cannot continue: %s\n%s", reason, _stack(error), extra=extra)
        raise
    finally:
        # A dead watcher ends Kopf; without watches the container is blind, and starts again.
        codes.append(WATCHES_ENDED)


def _comes_to_rest(container: Container, seconds: float, lease: LeaseBoard) -> bool:
    """Waits until nothing runs, for at most so long, or until a second request to stop. Gives whether all
    work ended.

    The Lease is renewed and fenced meanwhile: what is under way still writes.
    """
    until = time.monotonic() + seconds
    logged = False
    while busy := container.under_way():
        named = ", ".join(busy)
        if time.monotonic() >= until or lease.stops() > 1:
            text = "stopped with unfinished work, which the next run continues: %s"
            log.warning(text, named, extra={"object": container.name, "reason": "StoppedAtWork"})
            return False
        if not logged:
            text = "stopping; waiting at most %.0f s for running work: %s"
            log.info(text, seconds, named, extra={"object": container.name, "reason": "Stopping"})
            logged = True
        time.sleep(STOP_CHECK_SECONDS)
    return True


def exit_container(code: int) -> None:
    """Ends the process now: threads inside a Helm call cannot be joined."""
    logging.shutdown()
    os._exit(code)


def _endpoint(
    container: Container,
    tenure: _Tenure,
    signs: SignsOfLife,
    lease: LeaseBoard,
    measures: PrometheusMetrics,
) -> Endpoint:
    """Alive: its loop turns, its watches are heard of, its work goes on. Ready: it works, and goes on to."""
    return Endpoint(
        alive={
            "loop": signs.loop_is_stuck,
            "watches": lambda: tenure.blind(signs),
            "queue": lambda: tenure.late(container),
        },
        ready={
            "lease": tenure.waits,
            "watches begun": signs.have_not_begun,
            "stop": lambda: "a stop was requested" if lease.stops() else "",
        },
        exposition=lambda accept: measures.exposition(accept, works=tenure.held.is_set()),
    )


def _measure(
    container: Container,
    settings: Settings,
    tenure: _Tenure,
    signs: SignsOfLife,
    measures: PrometheusMetrics,
) -> None:
    """Has each scrape ask how the container itself does."""
    queue = container.queue
    measures.set(
        metrics.BUILD_INFO,
        1,
        process=container.name,
        version=settings.version,
        python=platform.python_version(),
    )
    measures.track(metrics.QUEUE_KEYS, lambda: float(queue.overdue()))
    measures.track(metrics.QUEUE_OLDEST, lambda: tenure.waited(container))
    measures.track(metrics.LEASE_HELD, lambda: float(tenure.held.is_set()))
    for plural in signs.resources:
        measures.track(metrics.WATCH_SILENCE, partial(signs.silence, plural), resource=plural)
    for kind in container.reconcilers:
        # From the beginning, so that `increase` sees the first one.
        measures.count(metrics.QUEUE_RETRIES, 0, kind=kind)


def _start(name: str, target: Callable[..., None], *given: object) -> threading.Thread:
    thread = threading.Thread(target=target, args=given, name=name, daemon=True)
    thread.start()
    return thread


def _follow_lease(
    lease: LeaseBoard, container: Container, tenure: _Tenure, ended: threading.Event, measures: Metrics
) -> None:
    """Lets the workers begin once the Lease is held, and ends the process when it is lost.

    It shows the keeper that the process lives. On a thread that waits for no server. Any error ends the
    process.
    """
    try:
        while True:
            lease.beat(container.queue.longest() if tenure.held.is_set() else 0.0)
            if lease.lost():
                _end_without_lease(lease)
                return
            if lease.held() and not tenure.held.is_set():
                tenure.begin()
                for number in range(container.workers):
                    _start(f"worker-{number}", _work, container, measures)
            if ended.wait(FENCE_EVERY if tenure.held.is_set() else AWAIT_EVERY):
                return
    except BaseException as error:
        # Nothing would see the Lease end, or nothing ever begins: a new process may do better.
        reason = type(error).__name__
        extra = {"object": container.name, "reason": reason}
        log.error("the Lease cannot be watched: %s\n%s", reason, _stack(error), extra=extra)
        exit_container(LEASE_BROKEN)
        raise


def _end_without_lease(lease: LeaseBoard) -> None:
    # At once, without ceremony: a write from now on could meet another pod's.
    late = lease.age() - lease.times.renew_every
    why = "another pod may hold it, it was deleted, or etcd was restored"
    if not lease.is_forfeited():
        why = f"the renewal of the Lease is {late:.1f} s late, and another pod may soon take it"
    text = "the Lease is lost: %s; this container stops"
    log.error(text, why, extra={"object": "Lease", "reason": "LeaseLost"})
    exit_container(LEASE_LOST)


def _stack(error: BaseException) -> str:
    """The stack, without the error's own text, which may contain arguments of a library."""
    return "".join(traceback.format_tb(error.__traceback__))


def _work(container: Container, measures: Metrics) -> None:
    while (key := container.queue.take()) is not None:
        kind, namespace, name = key
        with log_context(kind=kind, object=f"{namespace}/{name}"):
            _reconcile(container, key, measures)


def _reconcile(container: Container, key: Key, measures: Metrics) -> None:
    """One pass; what it raises is logged and the key comes back."""
    queue, (kind, namespace, name) = container.queue, key
    began = time.monotonic()
    result = "error"
    try:
        again = container.reconcilers[kind](namespace, name)
    except ObjectReplaced as error:
        # Nothing has failed: what was found is of something that is no more.
        queue.done(key, again_after=REPLACED_RETRY_SECONDS)
        result = "success"
        extra = {"object": f"{namespace}/{name}", "reason": type(error).__name__}
        log.debug("%s %s: %s; reconciling again", kind, name, error, extra=extra)
    except ControllerError as error:
        asked = error.retry_after if isinstance(error, ApiUnavailable) else None
        pause = queue.failed(key, not_before=asked or 0.0)
        extra = {"object": f"{namespace}/{name}", "reason": type(error).__name__}
        log.warning("%s %s: %s; again in %.1f s", kind, name, error, pause, extra=extra)
    # Any error: a thread has no caller to raise to, and an object that fails must not hold up the others.
    except Exception as error:  # noqa: BLE001
        pause = queue.failed(key)
        reason = type(error).__name__
        text = "%s %s: %s; again in %.1f s\n%s"
        extra = {"object": f"{namespace}/{name}", "reason": reason}
        log.error(text, kind, name, reason, pause, _stack(error), extra=extra)
    except BaseException as error:
        # The error would end only this thread, unseen, and block the key without end. A new process serves
        # it.
        queue.failed(key)
        extra = {"object": f"{namespace}/{name}", "reason": type(error).__name__}
        log.critical("%s %s ends the process\n%s", kind, name, _stack(error), extra=extra)
        exit_container(WORKER_ENDED)
        raise
    else:
        queue.done(key, again_after=again)
        result = "success"
        took = time.monotonic() - began
        done = {"object": f"{namespace}/{name}", "reason": "Reconciled", "duration": round(took, 3)}
        log.debug("reconciled %s %s", kind, name, extra=done)
    measures.observe(metrics.RECONCILE_DURATION, time.monotonic() - began, kind=kind, result=result)
    if result == "error":
        measures.count(metrics.QUEUE_RETRIES, kind=kind)
