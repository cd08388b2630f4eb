"""The HTTP endpoint of a container: `/healthz` (it lives), `/readyz` (it works), `/metrics`."""

from __future__ import annotations

import contextlib
import logging
import socket
import socketserver
import sys
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from controller.errors import ControllerError

log = logging.getLogger(__name__)

# What is wrong, empty when all is well.
Check = Callable[[], str]
# The metrics for the Accept header of a scrape: body and content type.
Exposition = Callable[[str], tuple[bytes, str]]

PLAIN = "text/plain; charset=utf-8"
# Total seconds of a client to send its request and read the answer.
REQUEST_TIMEOUT = 10.0
# Connections at a time: a kubelet, a Prometheus or two, and a person. Beyond that the oldest is closed, so
# that open connections of others do not block a kubelet.
MOST_CONNECTIONS = 16


class EndpointUnavailable(ControllerError):
    """The port cannot be listened on."""


@dataclass(frozen=True)
class Endpoint:
    """Answers requests. If `alive` fails, the container is restarted; `ready` includes it."""

    alive: Mapping[str, Check] = field(default_factory=dict)
    ready: Mapping[str, Check] = field(default_factory=dict)
    exposition: Exposition | None = None

    def answer(self, path: str, accept: str) -> tuple[int, bytes, str]:
        """Status, body and content type; a check's text says what is wrong."""
        if path == "/metrics" and self.exposition is not None:
            body, content_type = self.exposition(accept)
            return 200, body, content_type
        if path == "/healthz":
            return _verdict(self.alive)
        if path == "/readyz":
            return _verdict({**self.alive, **self.ready})
        return 404, b"there are /healthz, /readyz and /metrics\n", PLAIN


def serve_endpoint(endpoint: Endpoint, port: int, *, address: str = "") -> ThreadingHTTPServer:
    """Answers on `port` (0: any free one) from a daemon thread until `shutdown()`.

    `address` empty: every address of the machine, IPv6 and IPv4. Raises EndpointUnavailable.
    """

    class Handler(BaseHTTPRequestHandler):
        timeout = REQUEST_TIMEOUT

        def do_GET(self) -> None:
            self._answer(with_body=True)

        def do_HEAD(self) -> None:
            self._answer(with_body=False)

        def _answer(self, *, with_body: bool) -> None:
            path = self.path.partition("?")[0]
            status, body, content_type = endpoint.answer(path, self.headers.get("Accept") or "")
            self.send_response(status)
            self.send_header("Content-Type", content_type)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            if with_body:
                self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            """A probe every few seconds is nothing new."""

    try:
        server = _server_class(address)((address, port), Handler)
    except OSError as error:
        raise EndpointUnavailable(
            f"HEALTH_PORT: cannot listen on port {port}: {error.strerror or type(error).__name__}"
        ) from None
    threading.Thread(target=server.serve_forever, args=(0.05,), name="endpoint", daemon=True).start()
    return server


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    # The kernel's queue of new connections. With http.server's 5, a sixth at the same moment is dropped, and
    # its client tries again after one second, then two, then four.
    request_queue_size = 8 * MOST_CONNECTIONS

    def __init__(self, *given: Any) -> None:
        self._open: dict[socket.socket, float] = {}
        self._open_lock = threading.Lock()
        super().__init__(*given)

    def process_request(self, request: Any, client_address: Any) -> None:
        with self._open_lock:
            if len(self._open) >= MOST_CONNECTIONS:
                self._end(next(iter(self._open)))
            self._open[request] = time.monotonic() + REQUEST_TIMEOUT
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        with self._open_lock:
            self._open.pop(request, None)
            super().shutdown_request(request)

    def service_actions(self) -> None:
        """Called every 50 ms. A socket's own timeout applies to each part only."""
        now = time.monotonic()
        with self._open_lock:
            for one in [one for one, until in self._open.items() if until < now]:
                self._end(one)

    def _end(self, connection: socket.socket) -> None:
        """Its reader or writer gets an error, and closes it."""
        del self._open[connection]
        with contextlib.suppress(OSError):
            connection.shutdown(socket.SHUT_RDWR)

    def server_bind(self) -> None:
        if self.address_family == socket.AF_INET6:
            self.socket.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        # Not HTTPServer's own: that asks the name service for this machine's name, which may take long.
        socketserver.TCPServer.server_bind(self)

    def handle_error(self, request: object, client_address: object) -> None:
        """Logs the error in one line, except for a client that disconnected."""
        error = sys.exc_info()[1]
        if not isinstance(error, OSError):
            reason = type(error).__name__
            extra = {"object": "health endpoint", "reason": reason}
            log.error("a request to the health endpoint failed: %s", reason, extra=extra)


class _DualStackServer(_Server):
    address_family = socket.AF_INET6


def _server_class(address: str) -> type[_Server]:
    return _DualStackServer if ":" in address or (not address and socket.has_dualstack_ipv6()) else _Server


def _verdict(checks: Mapping[str, Check]) -> tuple[int, bytes, str]:
    wrong = [f"{name}: {text}" for name, check in checks.items() if (text := check())]
    return 503 if wrong else 200, ("\n".join(wrong) or "ok").encode() + b"\n", PLAIN
