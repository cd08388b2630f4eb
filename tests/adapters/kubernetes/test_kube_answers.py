"""Answers that no API server gives, and servers that give none."""

from __future__ import annotations

import json
import re
import socket
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pykube
import pytest

from controller.adapters.kubernetes.client import READ_TIMEOUT, RETRIES_WITHIN, PykubeClient
from controller.adapters.kubernetes.connection import Connection
from controller.errors import ApiUnavailable, ObjectTooLarge
from controller.ports.kubernetes import LEASE


class _Proxy(BaseHTTPRequestHandler):
    body = b""
    code = 200
    asked = 0

    def do_GET(self) -> None:
        type(self).asked += 1
        self.send_response(self.code)
        self.send_header("Content-Length", str(len(self.body)))
        self.end_headers()
        self.wfile.write(self.body)

    def log_message(self, *_: object) -> None:
        """Quiet."""


def _connection(port: int) -> Connection:
    return Connection(pykube.KubeConfig.from_url(f"http://127.0.0.1:{port}"), None, None)


@pytest.fixture
def proxy(monkeypatch: pytest.MonkeyPatch) -> Iterator[ThreadingHTTPServer]:
    # It is served by this very process: where that stands still, so does the answer.
    monkeypatch.setattr("controller.adapters.kubernetes.client.LOG_TIMEOUTS", (60.0, 60.0))
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


@pytest.mark.parametrize(
    ("code", "text"),
    [
        (500, "etcdserver: request is too large"),
        (500, "rpc error: code = ResourceExhausted desc = trying to send message larger than max (2 vs. 1)"),
        (413, "Request entity too large: limit is 3145728"),
    ],
)
def test_what_is_too_large_is_refused_at_once(
    proxy: ThreadingHTTPServer, monkeypatch: pytest.MonkeyPatch, code: int, text: str
) -> None:
    monkeypatch.setattr(_Proxy, "code", code)
    monkeypatch.setattr(_Proxy, "body", json.dumps({"message": text}).encode())
    began = time.monotonic()
    with pytest.raises(ObjectTooLarge, match=re.escape(text)):
        PykubeClient(_connection(proxy.server_port)).get(LEASE, "osctl-core", "openstack")
    assert time.monotonic() - began < RETRIES_WITHIN


def test_a_server_that_hangs_is_left_after_the_time_given_and_not_asked_again() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        kube = PykubeClient(_connection(silent.getsockname()[1]), read_timeout=0.2, retries_within=0)
        began = time.monotonic()
        with pytest.raises(ApiUnavailable):
            kube.get(LEASE, "osctl-core", "openstack")
        # A machine that stood still meanwhile counts, too.
        assert time.monotonic() - began < READ_TIMEOUT
        silent.setblocking(False)
        silent.accept()[0].close()
        with pytest.raises(BlockingIOError):
            silent.accept()


def test_a_log_is_asked_for_once(proxy: ThreadingHTTPServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """A kubelet that is gone makes the API server answer 500 each time."""
    monkeypatch.setattr(_Proxy, "code", 500)
    monkeypatch.setattr(_Proxy, "asked", 0)
    assert PykubeClient(_connection(proxy.server_port)).pod_log("web-0", "openstack", container="web") == ""
    assert _Proxy.asked == 1


def test_of_a_log_with_long_lines_the_end_is_kept(
    proxy: ThreadingHTTPServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = [f"{number} {'x' * 5000}" for number in range(9)] + ["ERROR: no such filter"]
    monkeypatch.setattr(_Proxy, "body", "\n".join(lines).encode())
    log = PykubeClient(_connection(proxy.server_port)).pod_log("web-0", "openstack", tail_lines=10)
    assert log.splitlines() == lines[-4:]


def test_that_a_log_is_gone_is_no_line_of_it(
    proxy: ThreadingHTTPServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A kubelet says so with success, in the place of the log of a container that was removed."""
    monkeypatch.setattr(_Proxy, "body", b"unable to retrieve container logs for containerd://0b6e90025ae0")
    log = PykubeClient(_connection(proxy.server_port)).pod_log("web-0", "openstack", previous=True)
    assert log == ""


def test_a_log_that_does_not_come_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("controller.adapters.kubernetes.client.LOG_TIMEOUTS", (0.1, 0.1))
    with socket.create_server(("127.0.0.1", 0)) as silent:
        assert PykubeClient(_connection(silent.getsockname()[1])).pod_log("web-0", "openstack") == ""
