"""Watches of the API server, through Kopf, and their signs of life.

Kopf serves only as a watcher: its handlers pass on events and return. It never patches an object, keeps no
annotations and sets no finalizers, so several containers cannot disturb each other on one object.
"""

from __future__ import annotations

import asyncio
import logging
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, cast

import aiohttp
import kopf

from controller.adapters.kubernetes.connection import Connection, as_kubectl_verifies, kopf_login
from controller.adapters.kubernetes.nesting import ShallowResponse
from controller.ports.kubernetes import Resource
from controller.ports.system import Clock

# The work of a reconciler: the kind of pass, a namespace, a name.
Key = tuple[str, str, str]

# Seconds of one watch request. Its end is a sign of life of the server.
REQUEST_SECONDS = 60
# A watch without a sign of life for this long is dead. A request, its silent loss (`INACTIVE_SECONDS`) and a
# second attempt fit into it.
SILENT_AFTER = 180.0
# Kubernetes sends a bookmark a minute at least; a watch without one was cut silently.
INACTIVE_SECONDS = 70.0
LOOP_STILL_AFTER = 60.0

# Kopf logs this because it does not run on the main thread. Our own handlers end the process, and with it the
# watches.
NEEDLESS = ("kopf._core.reactor.running", "OS signals are ignored")


def _no_keys(_: Mapping[str, Any]) -> Iterable[Key]:
    return ()


@dataclass(frozen=True)
class Watch:
    """One resource to watch in its container's namespaces, and the keys that a change of an object concerns.

    `seen` gets each event before that: its type (ADDED, MODIFIED, DELETED, or None for an object of the list
    that a watch begins with) and the object. It runs in the event loop and must not wait.
    """

    resource: Resource
    keys: Callable[[Mapping[str, Any]], Iterable[Key]] = _no_keys
    seen: Callable[[str | None, Mapping[str, Any]], None] | None = None


class SignsOfLife:
    """The last sign of life of each watch, and of the event loop of all."""

    def __init__(self, resources: Iterable[Resource], clock: Clock) -> None:
        self._clock = clock
        now = clock.monotonic()
        self._loop = now
        self._heard = {resource.plural: now for resource in resources}
        self._begun: set[str] = set()

    @property
    def resources(self) -> tuple[str, ...]:
        """The plurals of what is watched."""
        return tuple(self._heard)

    def turned(self) -> None:
        """The event loop has turned."""
        self._loop = self._clock.monotonic()

    def heard(self, plural: str) -> None:
        """The API server has answered a list or a watch of the resource, or reported an object."""
        if plural in self._heard:
            self._heard[plural] = self._clock.monotonic()
            self._begun.add(plural)

    def silence(self, plural: str) -> float:
        """Seconds since the watch's last sign of life, or since the start."""
        return self._clock.monotonic() - self._heard[plural]

    def loop_is_stuck(self) -> str:
        """The problem of the event loop, or nothing."""
        age = self._clock.monotonic() - self._loop
        return f"the event loop stands still for {age:.0f} s" if age > LOOP_STILL_AFTER else ""

    def watches_are_dead(self, within: float = math.inf) -> str:
        """The dead watches, or nothing. Only the last `within` seconds count."""
        dead = [
            f"{plural} for {age:.0f} s"
            for plural in self._heard
            if (age := min(self.silence(plural), within)) > SILENT_AFTER
        ]
        return f"no sign of life from the watches of {', '.join(dead)}" if dead else ""

    def have_not_begun(self) -> str:
        """The watches that the API server has not answered yet, or nothing."""
        missing = sorted(self._heard.keys() - self._begun)
        return f"no answer yet about {', '.join(missing)}" if missing else ""


def run_watches(
    watches: Iterable[Watch],
    add: Callable[[Key], None],
    *,
    connection: Connection,
    namespaces: Sequence[str],
    identity: str,
    signs: SignsOfLife,
) -> None:
    """Watches until a watch dies; `add` gets the keys that changes concern.

    Not on the main thread. `identity`: the watcher's name. Without it, Kopf needs a user name, which an image
    does not have.
    """
    registry = kopf.OperatorRegistry()

    @kopf.on.login(registry=registry)
    async def login(**_: Any) -> kopf.AiohttpSession:
        return api_session(connection, signs)

    @kopf.on.startup(registry=registry)
    async def start(memo: kopf.Memo, **_: Any) -> None:
        memo.heartbeat = asyncio.create_task(_beat(signs))

    @kopf.on.cleanup(registry=registry)
    async def end(memo: kopf.Memo, **_: Any) -> None:
        # Kopf waits seconds for tasks that outlive its own.
        memo.heartbeat.cancel()

    for watch in watches:
        _register(registry, watch, add, signs)
    _silence(*NEEDLESS)
    kopf.run(
        registry=registry,
        settings=_settings(),
        standalone=True,
        namespaces=list(dict.fromkeys(namespaces)),
        # A NewType of str that Kopf does not export.
        identity=cast(Any, identity),
    )


def _register(
    registry: kopf.OperatorRegistry, watch: Watch, add: Callable[[Key], None], signs: SignsOfLife
) -> None:
    group, _, version = watch.resource.api_version.rpartition("/")
    plural = watch.resource.plural

    @kopf.on.event(group, version, plural, registry=registry, id=f"watch-{plural}")
    async def changed(event: Mapping[str, Any], **_: Any) -> None:
        signs.heard(plural)
        if watch.seen is not None:
            watch.seen(event.get("type"), event["object"])
        for key in watch.keys(event["object"]):
            add(key)


def _settings() -> kopf.OperatorSettings:
    settings = kopf.OperatorSettings()
    settings.posting.enabled = False
    settings.scanning.disabled = True
    settings.watching.server_timeout = REQUEST_SECONDS
    settings.watching.client_timeout = 2 * REQUEST_SECONDS
    settings.watching.inactivity_timeout = INACTIVE_SECONDS
    settings.watching.connect_timeout = 10
    # The first list in pieces, and no object kept after it was seen: with Kopf's defaults 2000 pods take
    # 180 MB at the peak, so 20.
    settings.watching.chunk_size = 50
    settings.queueing.idle_timeout = 0.1
    settings.watching.reconnect_backoff = 1
    settings.networking.connect_timeout = 5
    settings.networking.request_timeout = 60
    return settings


def api_session(connection: Connection, signs: SignsOfLife) -> kopf.AiohttpSession:
    """Like Kopf's own, but it reports each answer: events alone are not enough, because there may be none."""
    info = kopf_login(connection)
    trace = aiohttp.TraceConfig()

    async def answered(_: Any, __: SimpleNamespace, params: aiohttp.TraceRequestEndParams) -> None:
        if params.response.status < 400:
            signs.heard(params.url.name)

    trace.on_request_end.append(answered)
    session = aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(limit=0, ssl=as_kubectl_verifies(info.as_ssl_context())),
        headers=info.as_http_headers(),
        trace_configs=[trace],
        response_class=ShallowResponse,
        # Its own reading of NO_PROXY knows no networks.
        proxy=connection.proxy,
    )
    return kopf.AiohttpSession(
        server=info.server, default_namespace=info.default_namespace, aiohttp_session=session
    )


async def _beat(signs: SignsOfLife) -> None:
    while True:
        signs.turned()
        await asyncio.sleep(1)


def _silence(logger: str, beginning: str) -> None:
    """Removes one message of a logger from the log."""
    logging.getLogger(logger).addFilter(lambda record: not record.getMessage().startswith(beginning))
