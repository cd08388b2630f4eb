"""Runs one container: Kopf watches, a queue of keys, threads that reconcile them, and the Lease.

Kopf serves as a watcher only. Its handlers put keys into the queue and return; it never patches an
object, keeps no annotations and sets no finalizers, so that several containers on one object cannot
disturb each other.
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import threading
import time
import traceback
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import kopf

from controller.adapters.health_endpoint import serve_health
from controller.adapters.kube_connection import Connection, kopf_login
from controller.errors import ApiUnavailable, ControllerError
from controller.ports import Resource
from controller.reconcile.lease import RENEW_EVERY, RETRY_EVERY, WriterLease
from controller.reconcile.work_queue import WorkQueue
from controller.settings import Settings

log = logging.getLogger(__name__)

# What a reconciler is asked to look at: the kind of look, a namespace, a name.
Key = tuple[str, str, str]
Reconcile = Callable[[str, str], float | None]

# Work that takes longer than this without an end, or a loop that stands still, is a broken container.
STUCK_AFTER = 600.0
# Exit codes; Kubernetes starts the container again, and it waits for the Lease.
LEASE_LOST = 70
WATCHES_ENDED = 71
HELM_DETACHED = 72
LEASE_BROKEN = 73
LOOP_STILL_AFTER = 60.0
# How often the end of a Lease is looked for.
FENCE_EVERY = 0.5


def _no_keys(_: Mapping[str, Any]) -> Iterable[Key]:
    return ()


@dataclass(frozen=True)
class Watch:
    """One resource to watch in the region's namespace, and the keys that a change of an object concerns.

    `seen` is given each event before: its type (ADDED, MODIFIED, DELETED, or None for an object of the
    list that a watch begins with) and the object. It runs in the event loop and must not wait.
    """

    resource: Resource
    keys: Callable[[Mapping[str, Any]], Iterable[Key]] = _no_keys
    seen: Callable[[str | None, Mapping[str, Any]], None] | None = None


@dataclass(frozen=True)
class Container:
    """All that differs between containers. `reconcilers` maps the first part of a key to its reconciler."""

    name: str
    watches: tuple[Watch, ...]
    reconcilers: Mapping[str, Reconcile]
    queue: WorkQueue[Key]
    workers: int = 2


@dataclass
class _Tenure:
    """Since when this process holds the Lease: before that it has no work to be late with."""

    held: threading.Event = field(default_factory=threading.Event)
    since: float = 0.0

    def begin(self) -> None:
        self.since = time.monotonic()
        self.held.set()

    def late(self, container: Container) -> str:
        """What is wrong with the container's work, nothing when all is well."""
        if not self.held.is_set():
            return ""
        age = min(container.queue.oldest(), time.monotonic() - self.since)
        return f"the oldest work waits for {age:.0f} s" if age > STUCK_AFTER else ""


class _Heartbeat:
    """When Kopf's event loop last turned."""

    def __init__(self) -> None:
        self.last = time.monotonic()

    async def beat(self) -> None:
        while True:
            self.last = time.monotonic()
            await asyncio.sleep(1)

    def still(self) -> str:
        age = time.monotonic() - self.last
        return f"the event loop stands still for {age:.0f} s" if age > LOOP_STILL_AFTER else ""


def run_container(
    container: Container, settings: Settings, connection: Connection, lease: WriterLease
) -> int:
    """Runs until a signal or the end of the watches; gives the exit code: 0 after a signal.

    Nothing is written before the Lease is held; when it is lost the process ends at once, with code 70.
    Work under way is not waited for: what it leaves half done is found and finished by the next run,
    which must be able to do so after a kill anyway.
    """
    heartbeat, tenure = _Heartbeat(), _Tenure()
    ended = threading.Event()
    codes: list[int] = []

    def stop(code: int) -> None:
        codes.append(code)
        ended.set()

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop(0))
    if settings.health_port:
        checks = {"loop": heartbeat.still, "queue": lambda: tenure.late(container)}
        serve_health(settings.health_port, checks)
    _start("lease", _keep_lease, lease, container, tenure, ended)

    def watch() -> None:
        try:
            kopf.run(
                registry=_registry(container, connection, heartbeat),
                settings=_kopf_settings(),
                standalone=True,
                namespaces=[settings.region_namespace],
            )
        finally:
            # A dead watcher ends Kopf; without watches the container is blind, and starts anew.
            stop(WATCHES_ENDED)

    # Not on the main thread: there Kopf would answer signals itself, and take seconds to wind down
    # what need not be wound down.
    threading.Thread(target=watch, name="watch", daemon=True).start()
    ended.wait()
    container.queue.close()
    if codes[0] == 0:
        lease.release()
    return codes[0]


def exit_container(code: int) -> None:
    """Ends the process now: threads inside a Helm call cannot be joined."""
    logging.shutdown()
    os._exit(code)


def _kopf_settings() -> kopf.OperatorSettings:
    settings = kopf.OperatorSettings()
    settings.posting.enabled = False
    settings.scanning.disabled = True
    # A watch that the network cut silently ends with the server's time-out at the latest.
    settings.watching.server_timeout = 240
    settings.watching.client_timeout = 300
    settings.watching.connect_timeout = 10
    # The first list in pieces, and no object kept after it was seen: with Kopf's defaults 2000 pods take
    # 180 MB at the peak, so 20.
    settings.watching.chunk_size = 50
    settings.queueing.idle_timeout = 0.1
    settings.watching.reconnect_backoff = 1
    settings.networking.connect_timeout = 5
    settings.networking.request_timeout = 60
    return settings


def _registry(container: Container, connection: Connection, heartbeat: _Heartbeat) -> kopf.OperatorRegistry:
    registry = kopf.OperatorRegistry()

    @kopf.on.login(registry=registry)
    def login(**_: Any) -> kopf.ConnectionInfo:
        return kopf_login(connection)

    @kopf.on.startup(registry=registry)
    async def start(memo: kopf.Memo, **_: Any) -> None:
        memo.heartbeat = asyncio.create_task(heartbeat.beat())

    @kopf.on.cleanup(registry=registry)
    async def end(memo: kopf.Memo, **_: Any) -> None:
        # Kopf waits seconds for tasks that outlive its own.
        memo.heartbeat.cancel()

    for watch in container.watches:
        _register(registry, container.queue, watch)
    return registry


def _register(registry: kopf.OperatorRegistry, queue: WorkQueue[Key], watch: Watch) -> None:
    group, _, version = watch.resource.api_version.rpartition("/")

    @kopf.on.event(
        group, version, watch.resource.plural, registry=registry, id=f"watch-{watch.resource.plural}"
    )
    async def changed(event: Mapping[str, Any], **_: Any) -> None:
        if watch.seen is not None:
            watch.seen(event.get("type"), event["object"])
        for key in watch.keys(event["object"]):
            queue.add(key)


def _start(name: str, target: Callable[..., None], *given: object) -> None:
    threading.Thread(target=target, args=given, name=name, daemon=True).start()


def _keep_lease(lease: WriterLease, container: Container, tenure: _Tenure, ended: threading.Event) -> None:
    """Takes the Lease, lets the workers begin, and renews it; any error ends the process."""
    try:
        if not _take_lease(lease, ended):
            return
        log.info("holding the Lease of %s", container.name)
        tenure.begin()
        _start("fence", _fence, lease, ended)
        for number in range(container.workers):
            _start(f"worker-{number}", _work, container)
        renewed = True
        while not ended.wait(RENEW_EVERY if renewed else RETRY_EVERY):
            renewed = lease.try_take()
    except BaseException as error:
        # Without this thread nothing renews, or nothing ever begins: a new process may do better.
        log.error("the Lease cannot be kept: %s\n%s", type(error).__name__, _stack(error))
        exit_container(LEASE_BROKEN)
        raise


def _take_lease(lease: WriterLease, ended: threading.Event) -> bool:
    """Waits for the Lease; False when the container ends before."""
    waiting = False
    # One that was long in coming may be as good as over.
    while not lease.try_take() or lease.lost():
        if not waiting:
            log.info("waiting for the Lease: another pod holds it, or the API server does not answer")
            waiting = True
        if ended.wait(1.0):
            return False
    return True


def _fence(lease: WriterLease, ended: threading.Event) -> None:
    """Ends the process when the Lease is lost, on a thread that waits for no server."""
    while not ended.wait(FENCE_EVERY):
        if lease.lost():
            # At once, without ceremony: a write from now on could meet another pod's.
            log.error("the Lease is lost: another pod may be at work, so this container ends")
            exit_container(LEASE_LOST)


def _stack(error: BaseException) -> str:
    """Where it came from, without the error's own text, which may hold what a library was given."""
    return "".join(traceback.format_tb(error.__traceback__))


def _work(container: Container) -> None:
    queue = container.queue
    while (key := queue.take()) is not None:
        kind, namespace, name = key
        began = time.monotonic()
        extra = {"object": f"{namespace}/{name}"}
        try:
            again = container.reconcilers[kind](namespace, name)
        except ControllerError as error:
            asked = error.retry_after if isinstance(error, ApiUnavailable) else None
            pause = queue.failed(key, not_before=asked or 0.0)
            log.warning("%s %s: %s; again in %.1f s", kind, name, error, pause, extra=extra)
        except Exception as error:  # noqa: BLE001 - the edge of a thread: one object must not stop all
            pause = queue.failed(key)
            log.error(
                "%s %s: %s; again in %.1f s\n%s",
                kind,
                name,
                type(error).__name__,
                pause,
                _stack(error),
                extra=extra,
            )
        else:
            queue.done(key, again_after=again)
            took = time.monotonic() - began
            log.debug("looked at %s %s", kind, name, extra={**extra, "duration": round(took, 3)})
