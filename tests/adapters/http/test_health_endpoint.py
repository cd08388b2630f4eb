"""What a container answers to probes and scrapes."""

from __future__ import annotations

import http.client
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import pytest

from controller.adapters.http import health_endpoint
from controller.adapters.http.health_endpoint import (
    MOST_CONNECTIONS,
    Endpoint,
    EndpointUnavailable,
    serve_endpoint,
)
from controller.adapters.system.metrics import PrometheusMetrics
from controller.domain.shared import metrics


@contextmanager
def served(endpoint: Endpoint, address: str = "127.0.0.1") -> Iterator[int]:
    server = serve_endpoint(endpoint, 0, address=address)
    try:
        yield server.server_address[1]
    finally:
        server.shutdown()
        server.server_close()


def ask(port: int, path: str, method: str = "GET", host: str = "127.0.0.1") -> tuple[int, str]:
    connection = http.client.HTTPConnection(host, port, timeout=60)
    connection.request(method, path)
    response = connection.getresponse()
    answer = response.status, response.read().decode()
    connection.close()
    return answer


def fine() -> str:
    return ""


def broken() -> str:
    return "the oldest work has waited for 700 s"


def test_alive_while_every_check_passes() -> None:
    with served(Endpoint(alive={"queue": fine})) as port:
        assert ask(port, "/healthz") == (200, "ok\n")


def test_a_check_that_fails_is_named_with_its_reason() -> None:
    with served(Endpoint(alive={"loop": fine, "queue": broken})) as port:
        assert ask(port, "/healthz") == (503, "queue: the oldest work has waited for 700 s\n")


def test_alive_and_not_ready() -> None:
    with served(Endpoint(alive={"queue": fine}, ready={"lease": broken})) as port:
        assert ask(port, "/healthz")[0] == 200
        assert ask(port, "/readyz")[0] == 503


def test_what_is_not_alive_is_not_ready() -> None:
    with served(Endpoint(alive={"queue": broken}, ready={"lease": fine})) as port:
        assert ask(port, "/readyz")[0] == 503


def test_a_scrape_gets_what_was_measured() -> None:
    recorder = PrometheusMetrics("helmbundle")
    recorder.count(metrics.HELM_RETRIES, release="nova")
    with served(Endpoint(exposition=recorder.exposition)) as port:
        status, text = ask(port, "/metrics")
    assert status == 200
    assert 'osctl_helm_retries_total{release="nova"} 1.0' in text


def test_other_paths_are_not_found() -> None:
    with served(Endpoint()) as port:
        assert ask(port, "/")[0] == 404


def test_a_request_for_the_head_gets_no_body() -> None:
    with served(Endpoint()) as port:
        assert ask(port, "/healthz", method="HEAD") == (200, "")


def test_a_query_does_not_change_the_path() -> None:
    with served(Endpoint()) as port:
        assert ask(port, "/healthz?verbose=1")[0] == 200


@pytest.mark.skipif(not socket.has_dualstack_ipv6(), reason="the machine has no IPv6")
def test_both_families_of_addresses_are_served() -> None:
    with served(Endpoint(), address="") as port:
        assert ask(port, "/healthz", host="::1")[0] == 200
        assert ask(port, "/healthz", host="127.0.0.1")[0] == 200


def test_a_port_that_is_taken_is_an_error_that_names_the_setting() -> None:
    with served(Endpoint()) as port, pytest.raises(EndpointUnavailable, match=rf"HEALTH_PORT.* {port}: "):
        serve_endpoint(Endpoint(), port, address="127.0.0.1")


def test_a_client_that_sends_nothing_delays_no_other() -> None:
    with served(Endpoint()) as port, socket.create_connection(("127.0.0.1", port), timeout=60):
        assert ask(port, "/healthz")[0] == 200


# -- who holds connections open


def connected(port: int, within: float = 60) -> socket.socket:
    return socket.create_connection(("127.0.0.1", port), timeout=within)


def test_open_connections_keep_no_other_client_away() -> None:
    with served(Endpoint()) as port:
        before = threading.active_count()
        held = [connected(port) for _ in range(3 * MOST_CONNECTIONS)]
        try:
            for _ in range(10):
                assert ask(port, "/healthz") == (200, "ok\n")
            # The oldest were cut off, the newest are waited for.
            assert held[0].recv(1) == b""
            assert threading.active_count() <= before + MOST_CONNECTIONS + 2
            held[-1].sendall(b"GET /healthz HTTP/1.0\r\n\r\n")
            assert held[-1].recv(12) == b"HTTP/1.0 200"
        finally:
            for one in held:
                one.close()


def test_many_that_connect_at_one_moment_are_all_taken() -> None:
    with served(Endpoint()) as port:
        # One that the kernel drops is tried again after a second at the earliest.
        for one in [connected(port, within=0.9) for _ in range(3 * MOST_CONNECTIONS)]:
            one.close()


def test_who_sends_a_request_forever_is_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(health_endpoint, "REQUEST_TIMEOUT", 0.3)
    with served(Endpoint()) as port, connected(port) as slow:
        slow.sendall(b"GET /metrics HTTP/1.0\r\n")
        slow.settimeout(0.1)
        until = time.monotonic() + 30
        with pytest.raises((BrokenPipeError, ConnectionResetError)):
            while time.monotonic() < until:
                slow.sendall(b"x: y\r\n")
                with suppress(TimeoutError):
                    slow.recv(1)
