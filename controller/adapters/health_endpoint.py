"""The liveness endpoint of a container: 200 while every check passes, 503 with the reason otherwise."""

from __future__ import annotations

import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

# What is wrong, empty when all is well.
Check = Callable[[], str]


def serve_health(port: int, checks: dict[str, Check], *, address: str = "") -> ThreadingHTTPServer:
    """Serves `/healthz` on `port` (0: any free one) from a daemon thread until `shutdown()`."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if self.path != "/healthz":
                self.send_error(404)
                return
            wrong = [f"{name}: {text}" for name, check in checks.items() if (text := check())]
            body = ("\n".join(wrong) or "ok").encode() + b"\n"
            self.send_response(503 if wrong else 200)
            self.send_header("Content-Type", "text/plain; charset=utf-8")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            """A probe every few seconds is no news."""

    server = ThreadingHTTPServer((address, port), Handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, name="health", daemon=True).start()
    return server
