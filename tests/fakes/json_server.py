"""A server on loopback that answers in JSON, as OpenStack's services do."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, TypeVar

S = TypeVar("S")


@dataclass(frozen=True)
class JsonRequest:
    """A request."""

    method: str
    path: str
    body: bytes
    has_token: bool


@contextmanager
def serving(made: Callable[[int], S], answer: Callable[[S, JsonRequest], tuple[int, Any]]) -> Iterator[S]:
    """What `made` makes for a port, until the end of the block. `answer`: a status, and octets, an object for
    JSON, or None for nothing."""
    found: list[S] = []

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        # Headers and body in one piece: apart, each answer would wait for an acknowledgement, 40 ms.
        wbufsize = -1

        def _answer(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            asked = JsonRequest(self.command, self.path, body, "X-Auth-Token" in self.headers)
            status, given = answer(found[0], asked)
            encoded = (
                b"" if given is None else given if isinstance(given, bytes) else json.dumps(given).encode()
            )
            self.send_response(status)
            self.send_header("X-Subject-Token", "token")
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(encoded)))
            self.end_headers()
            self.wfile.write(encoded)

        do_GET = do_POST = do_PUT = do_DELETE = _answer

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    found.append(made(server.server_address[1]))
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    try:
        yield found[0]
    finally:
        server.shutdown()
        server.server_close()
