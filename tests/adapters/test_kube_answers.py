"""Answers that no API server gives, and servers that give none."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pykube
import pytest

from controller.adapters.kube import PykubeClient
from controller.adapters.kube_connection import Connection
from controller.errors import ApiUnavailable
from controller.ports import LEASE


class _Proxy(BaseHTTPRequestHandler):
    body = b""

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Length", str(len(self.body)))
        self.end_headers()
        self.wfile.write(self.body)

    def log_message(self, *_: object) -> None:
        """Quiet."""


def _connection(port: int) -> Connection:
    return Connection(pykube.KubeConfig.from_url(f"http://127.0.0.1:{port}"), None, None)


@pytest.fixture
def proxy() -> Iterator[ThreadingHTTPServer]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Proxy)
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    yield server
    server.shutdown()
    server.server_close()


@pytest.mark.parametrize("body", [b"<html>back soon</html>", b"", b"[]", b"null", b"\xff"])
def test_a_success_without_an_object_is_an_api_server_that_is_away(
    proxy: ThreadingHTTPServer, monkeypatch: pytest.MonkeyPatch, body: bytes
) -> None:
    monkeypatch.setattr(_Proxy, "body", body)
    with pytest.raises(ApiUnavailable, match="200 without a JSON object") as caught:
        PykubeClient(_connection(proxy.server_port)).get(LEASE, "osctl-core", "openstack")
    assert "back soon" not in str(caught.value)


def test_a_server_that_hangs_is_left_after_the_time_given_and_not_asked_again() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        kube = PykubeClient(_connection(silent.getsockname()[1]), read_timeout=0.2, retries_within=0)
        began = time.monotonic()
        with pytest.raises(ApiUnavailable):
            kube.get(LEASE, "osctl-core", "openstack")
        assert time.monotonic() - began < 3
