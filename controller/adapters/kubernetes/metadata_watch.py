"""Watches of objects' metadata: one thread and one connection for each resource of a namespace.

A watch lists once, then receives changes. When the stream ends it continues from the last version; only if
the API server no longer has that (410), it lists again. Only a version is kept here.
"""

from __future__ import annotations

import json
import logging
import threading
import time
import traceback
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import urlencode

import requests

from controller.adapters.kubernetes.client import CONNECT_TIMEOUT, PAGE, answer_error, resource_url
from controller.adapters.kubernetes.connection import Connection, open_client
from controller.domain.shared import backoff
from controller.errors import ApiUnavailable, Forbidden, KubeError, ObjectMissing
from controller.ports.kubernetes import Resource, WatchSink
from controller.ports.system import Randomness

log = logging.getLogger(__name__)

LIST = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
OBJECT = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
# How long the server keeps a stream open, and how long it may be silent before it counts as cut; a
# bookmark comes about every minute.
STREAM_SECONDS, SILENCE_SECONDS = 300, 120.0
# A stream that ends sooner was cut.
SHORTEST_SECONDS = 5.0
# Helm's records change with every action, are large, and belong to no release.
SELECTOR = "owner!=helm"
# If a right or the resource is missing, this does not change soon.
REFUSED_SECONDS = 600.0


class _Outdated(KubeError):
    """The version is no longer available: list again."""


class MetadataWatches:
    """`controller.ports.kubernetes.MetadataWatch` on one API server."""

    def __init__(self, connection: Connection, randomness: Randomness, *, user_agent: str) -> None:
        self._connection = connection
        self._randomness = randomness
        self._user_agent = user_agent
        self._lock = threading.Lock()
        self._begun: set[tuple[Resource, str]] = set()
        self._ended = threading.Event()

    def follow(self, resource: Resource, namespace: str, sink: WatchSink) -> None:
        with self._lock:
            if (resource, namespace) in self._begun or self._ended.is_set():
                return
            self._begun.add((resource, namespace))
        name = f"watch-{resource.plural}"
        watch = _Watch(self._connection, resource, namespace, sink, self._user_agent)
        threading.Thread(target=self._keep, args=(watch,), name=name, daemon=True).start()

    def stop(self) -> None:
        """Ends all watches: each at its next event, at the latest when its stream ends."""
        self._ended.set()

    def _keep(self, watch: _Watch) -> None:
        failures, logged = 0, False
        where = f"{watch.namespace}/{watch.resource.plural}"
        while not self._ended.is_set():
            began, refused = time.monotonic(), False
            try:
                watch.run(self._ended)
            except (Forbidden, ObjectMissing) as error:
                refused = True
                # Cluster-scoped objects are watched only if the installation grants it; logged once.
                level = logging.DEBUG if logged else logging.WARNING
                extra = {"object": where, "reason": type(error).__name__}
                log.log(
                    level, "cannot watch: %s; tried again every %.0f s", error, REFUSED_SECONDS, extra=extra
                )
                logged = True
            except KubeError as error:
                if isinstance(error, _Outdated):
                    watch.version = ""
                extra = {"object": where, "reason": type(error).__name__}
                log.info("a watch was cut: %s", error, extra=extra)
            # Any error: a thread has no caller to raise to, and without this watch its kind is not followed.
            except Exception as error:  # noqa: BLE001
                watch.version = ""
                stack = "".join(traceback.format_tb(error.__traceback__))
                reason = type(error).__name__
                log.error("a watch failed: %s\n%s", reason, stack, extra={"object": where, "reason": reason})
            # Also after a stream that ended at once without an error, because it would do so again.
            lasted = time.monotonic() - began > SHORTEST_SECONDS
            failures = 0 if lasted else failures + 1
            pause = backoff.RECONNECT_PAUSES.after(failures, self._randomness.jitter())
            self._ended.wait(REFUSED_SECONDS if refused else pause)


class _Watch:
    """One watch. `version` is where to continue, empty for a list first."""

    def __init__(
        self, connection: Connection, resource: Resource, namespace: str, sink: WatchSink, user_agent: str
    ) -> None:
        self._connection = connection
        self.resource = resource
        self.namespace = namespace
        self._sink = sink
        self._user_agent = user_agent
        self._client = open_client(connection)
        self.version = ""

    def run(self, ended: threading.Event) -> None:
        """Until the stream ends. Raises KubeError."""
        if not self.version:
            self._list()
        for event in self._stream():
            if ended.is_set():
                return
            self._take(event)

    def _list(self) -> None:
        query = {"limit": str(PAGE), "labelSelector": SELECTOR}
        items: list[Mapping[str, Any]] = []
        while True:
            with self._get(query, LIST, stream=False) as response:
                try:
                    page = response.json()
                except ValueError:
                    raise ApiUnavailable(f"{self.resource.plural}: an answer without JSON") from None
            items += [_brief(one.get("metadata") or {}) for one in page.get("items") or []]
            meta = page.get("metadata") or {}
            if not meta.get("continue"):
                break
            query["continue"] = str(meta["continue"])
        self.version = str(meta.get("resourceVersion") or "")
        self._sink.listed(self.resource, self.namespace, items)

    def _stream(self) -> Iterator[Mapping[str, Any]]:
        query = {
            "watch": "1",
            "allowWatchBookmarks": "true",
            "resourceVersion": self.version,
            "timeoutSeconds": str(STREAM_SECONDS),
            "labelSelector": SELECTOR,
        }
        with self._get(query, OBJECT, stream=True) as response:
            try:
                for line in response.iter_lines(chunk_size=None):
                    if line:
                        yield json.loads(line)
            except (requests.RequestException, ValueError) as error:
                raise ApiUnavailable(f"{self.resource.plural}: {type(error).__name__}") from error

    def _take(self, event: Mapping[str, Any]) -> None:
        kind, obj = event.get("type"), event.get("object") or {}
        if kind == "ERROR":
            if obj.get("code") == 410:
                raise _Outdated(f"{self.resource.plural}: version {self.version} is forgotten")
            raise ApiUnavailable(f"{self.resource.plural}: {obj.get('message')}")
        meta = obj.get("metadata") or {}
        if kind != "BOOKMARK":
            self._sink.changed(self.resource, _brief(meta), gone=kind == "DELETED")
        # Only after it was handled, so that a failed event comes again.
        self.version = str(meta.get("resourceVersion") or self.version)

    def _get(self, query: Mapping[str, str], accept: str, *, stream: bool) -> requests.Response:
        url = resource_url(self.resource, self.namespace)
        headers = {"Accept": accept, "User-Agent": self._user_agent, **self._connection.headers()}
        target = f"{url}?{urlencode(query)}"
        try:
            response: requests.Response = self._client.session.get(
                f"{self._client.url.rstrip('/')}{target}",
                headers=headers,
                stream=stream,
                timeout=(CONNECT_TIMEOUT, SILENCE_SECONDS),
            )
        except requests.RequestException as error:
            raise ApiUnavailable(f"GET {url}: {type(error).__name__}") from error
        if response.status_code == 410:
            raise _Outdated(f"GET {url}: 410")
        if response.status_code >= 400:
            raise answer_error("GET", target, response)
        return response


def _brief(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Without large fields that are not needed."""
    return {key: value for key, value in metadata.items() if key != "managedFields"}
