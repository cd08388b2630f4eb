"""The proxy that breaks answers, before a service of the test's own: what arrives, and what is answered."""

from __future__ import annotations

import http.client
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from types import SimpleNamespace
from typing import Any, cast
from urllib.parse import urlsplit

import pytest

from tests.openstack.proxy import Fault, Proxy, proxied


@pytest.fixture
def arrived() -> list[tuple[str, str]]:
    return []


@pytest.fixture
def proxy(arrived: list[tuple[str, str]]) -> Iterator[Proxy]:
    class Handler(BaseHTTPRequestHandler):
        def do_PUT(self) -> None:
            arrived.append((self.command, self.path))
            self.send_response(200)
            self.send_header("Content-Length", "4")
            self.end_headers()
            self.wfile.write(b"done")

        do_GET = do_PUT

        def log_message(self, *_: Any) -> None:
            """Quiet."""

    server = HTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    cloud = SimpleNamespace(url=lambda _: f"http://127.0.0.1:{server.server_port}")
    with proxied(cast(Any, cloud)) as made:
        yield made
    server.shutdown()
    server.server_close()


def put(proxy: Proxy, timeout: float = 10.0) -> tuple[int, bytes]:
    """Status and body of the answer to one write."""
    target = urlsplit(proxy.url)
    connection = http.client.HTTPConnection(str(target.hostname), target.port, timeout=timeout)
    try:
        connection.request("PUT", "/nova/v2.1/x", b"{}")
        answer = connection.getresponse()
        return answer.status, answer.read()
    finally:
        connection.close()


def test_what_no_rule_concerns_is_passed_on(proxy: Proxy, arrived: list[tuple[str, str]]) -> None:
    assert put(proxy) == (200, b"done")
    assert arrived == [("PUT", "/v2.1/x")]
    assert proxy.writes() == [("PUT", "/nova/v2.1/x")]


def test_a_write_that_fails_did_not_arrive(proxy: Proxy, arrived: list[tuple[str, str]]) -> None:
    proxy.rule = lambda *_: Fault(404, {"Content-Type": "text/html"}, b"default backend - 404")
    assert put(proxy) == (404, b"default backend - 404")
    assert (arrived, proxy.writes(), len(proxy.asked)) == ([], [], 1)


def test_a_write_may_be_done_and_its_answer_lost(proxy: Proxy, arrived: list[tuple[str, str]]) -> None:
    proxy.rule = lambda *_: Fault(503, acted=True)
    assert put(proxy)[0] == 503
    assert len(arrived) == len(proxy.writes()) == 1


@pytest.mark.slow
@pytest.mark.parametrize("acted", [False, True])
def test_a_write_whose_answer_hangs_was_done_or_never_is(
    proxy: Proxy, arrived: list[tuple[str, str]], acted: bool
) -> None:
    proxy.rule = lambda *_: Fault(504, hang=60.0, acted=acted)
    with pytest.raises(TimeoutError):
        put(proxy, timeout=0.3)
    proxy.ended.set()
    assert len(arrived) == acted
