"""An API server without any release, that notes who has asked it and when."""

from __future__ import annotations

import http.server
import json
import ssl
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

VERSION = {"major": "1", "minor": "36", "gitVersion": "v1.36.0"}
NONE = {"apiVersion": "v1", "kind": "SecretList", "metadata": {"resourceVersion": "1"}, "items": []}


@dataclass(frozen=True)
class Asked:
    """One request: when, with which credentials, and as whom it acts."""

    moment: float
    authorization: str
    user: str


class EmptyApi(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self) -> None:
        self.asked: list[Asked] = []
        super().__init__(("127.0.0.1", 0), _Handler)


class _Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: EmptyApi

    def do_GET(self) -> None:
        said = self.headers.get("Authorization", ""), self.headers.get("Impersonate-User", "")
        self.server.asked.append(Asked(time.monotonic(), *said))
        body = json.dumps(VERSION if self.path.startswith("/version") else NONE).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Says nothing."""


@contextmanager
def empty_api(context: ssl.SSLContext | None = None) -> Iterator[EmptyApi]:
    """Serves on loopback while within, by TLS with a context."""
    with EmptyApi() as server:
        if context is not None:
            server.socket = context.wrap_socket(server.socket, server_side=True)
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        try:
            yield server
        finally:
            server.shutdown()
