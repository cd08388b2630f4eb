"""A proxy that notes what it is asked for, and passes nothing on."""

from __future__ import annotations

import socketserver
import threading
from collections.abc import Iterator
from contextlib import contextmanager


class Proxy:
    """`url` names it; `asked` are method and target of its requests."""

    def __init__(self, port: int) -> None:
        self.url = f"http://127.0.0.1:{port}"
        self.asked: list[str] = []


@contextmanager
def recording_proxy() -> Iterator[Proxy]:
    """A proxy on loopback while within."""

    class Handler(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            proxy.asked.append(" ".join(self.rfile.readline().decode("latin-1").split()[:2]))
            while self.rfile.readline().strip():
                pass
            self.wfile.write(b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        proxy = Proxy(server.server_address[1])
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        try:
            yield proxy
        finally:
            server.shutdown()
