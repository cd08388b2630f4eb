"""How a watch goes on after all that can happen to one."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pykube
import pytest

from controller.adapters.kubernetes.connection import Connection
from controller.adapters.kubernetes.metadata_watch import MetadataWatches
from controller.domain.shared import backoff
from controller.ports.kubernetes import CONFIGMAP, Resource
from sandbox.patience import Patience
from tests.fakes.world import FakeRandomness

DEADLINE = 60.0


class Server(ThreadingHTTPServer):
    """Answers lists with `items`, and each watch with the next of `streams`: lines, or a status code."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.items: list[str] = []
        self.streams: list[list[Mapping[str, Any]] | int] = []
        self.asked: list[dict[str, str]] = []
        self.ended = threading.Event()


class _Handler(BaseHTTPRequestHandler):
    server: Server

    def do_GET(self) -> None:
        query = {key: values[0] for key, values in parse_qs(urlsplit(self.path).query).items()}
        self.server.asked.append(query)
        if "watch" not in query:
            items = [{"metadata": {"name": name, "managedFields": [1]}} for name in self.server.items]
            self._say(200, [{"metadata": {"resourceVersion": "7"}, "items": items}])
            return
        if not self.server.streams:
            self.server.ended.wait(DEADLINE)
            return
        stream = self.server.streams.pop(0)
        if isinstance(stream, int):
            self._say(stream, [{"message": "no"}])
        else:
            self._say(200, stream)

    def _say(self, code: int, objects: Sequence[Mapping[str, Any]]) -> None:
        self.send_response(code)
        self.end_headers()
        for obj in objects:
            self.wfile.write(json.dumps(obj).encode() + b"\n")

    def log_message(self, *_: object) -> None:
        """Quiet."""


class Seen:
    def __init__(self) -> None:
        self.lists: list[list[str]] = []
        self.events: list[tuple[str, bool]] = []

    def listed(self, resource: Resource, namespace: str, metadata: Sequence[Mapping[str, Any]]) -> None:
        assert not any("managedFields" in one for one in metadata)
        self.lists.append([one["name"] for one in metadata])

    def changed(self, resource: Resource, metadata: Mapping[str, Any], *, gone: bool) -> None:
        self.events.append((metadata["name"], gone))


def event(kind: str, name: str, version: str) -> dict[str, Any]:
    return {"type": kind, "object": {"metadata": {"name": name, "resourceVersion": version}}}


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.setattr(backoff, "delay", lambda *_, **__: 0.01)
    server = Server()
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    yield server
    server.ended.set()
    server.shutdown()
    server.server_close()


def watched(server: Server) -> Seen:
    url = f"http://127.0.0.1:{server.server_port}"
    connection = Connection(pykube.KubeConfig.from_url(url), None, None)
    seen = Seen()
    MetadataWatches(connection, FakeRandomness(), user_agent="test").follow(CONFIGMAP, "openstack", seen)
    return seen


def until(condition: Callable[[], Any], server: Server) -> None:
    patience = Patience(DEADLINE)
    while not condition():
        assert not patience.is_over(), server.asked
        time.sleep(0.005)


def versions(server: Server) -> list[str]:
    """Where each request began: at a list, or at a version."""
    return [query.get("resourceVersion", "list") for query in server.asked]


def test_a_stream_that_ends_goes_on_where_it_was(server: Server) -> None:
    server.items = ["a"]
    server.streams = [
        [event("MODIFIED", "a", "8"), event("BOOKMARK", "", "12")],
        [event("DELETED", "a", "13")],
    ]
    seen = watched(server)
    until(lambda: len(server.asked) == 4, server)
    assert versions(server) == ["list", "7", "12", "13"]
    assert seen.lists == [["a"]]
    assert seen.events == [("a", False), ("a", True)]


@pytest.mark.parametrize(
    "outdated", [410, [{"type": "ERROR", "object": {"code": 410, "message": "too old"}}]]
)
def test_a_version_that_is_forgotten_means_a_new_list(server: Server, outdated: Any) -> None:
    server.streams = [outdated]
    seen = watched(server)
    until(lambda: len(server.asked) == 4, server)
    assert versions(server) == ["list", "7", "list", "7"]
    assert len(seen.lists) == 2


@pytest.mark.parametrize("fault", [500, 429, [{"type": "ERROR", "object": {"code": 500, "message": "x"}}]])
def test_a_server_in_trouble_is_asked_again_for_the_same(server: Server, fault: Any) -> None:
    server.streams = [[event("ADDED", "b", "9")], fault]
    watched(server)
    until(lambda: len(server.asked) == 4, server)
    assert versions(server) == ["list", "7", "9", "9"]


def test_helms_records_are_not_asked_for(server: Server) -> None:
    watched(server)
    until(lambda: len(server.asked) == 2, server)
    assert {query["labelSelector"] for query in server.asked} == {"owner!=helm"}
