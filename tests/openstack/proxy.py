"""A proxy before the cloud's APIs: it counts, and makes answers late, broken, or none at all."""

from __future__ import annotations

import http.client
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlsplit

from sandbox.openstack.cloud import Cloud

PATHS = {"compute": ("nova", "/v2.1"), "network": ("neutron", "/v2.0"), "placement": ("placement", "")}
PATHS["block_storage"] = ("cinder", "/v3")


@dataclass(frozen=True)
class Fault:
    """What becomes of a request.

    `status`, `headers` and `content` instead of the answer; `acted`: after the service did what it was asked
    for, which it otherwise never hears of; `cut`: half of the answer; `hang`: seconds before any of it comes.
    """

    status: int = 0
    headers: Mapping[str, str] = field(default_factory=dict)
    content: bytes = b'{"error": {"message": "made up"}}'
    acted: bool = False
    cut: bool = False
    hang: float = 0.0
    edit: Callable[[bytes], bytes] | None = None


Rule = Callable[[str, str], Fault | None]


def no_rule(method: str, path: str) -> Fault | None:
    """Lets everything pass."""
    return None


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    # Whoever asks while others wait is kept waiting, and not refused: five are soon too few.
    request_queue_size = 128


class Proxy:
    """Listens on loopback. `rule` judges each request; `lost` is asked of each write whether it is lost."""

    def __init__(self, cloud: Cloud) -> None:
        self.cloud = cloud
        self.rule: Rule = no_rule
        self.lost: Callable[[str, str], bool] = lambda method, path: False
        # What came, and what of it was passed on.
        self.asked: list[tuple[str, str]] = []
        self.seen: list[tuple[str, str]] = []
        # Seconds that the cloud took for each.
        self.took: list[float] = []
        self.ended = threading.Event()
        self._server = _Server(("127.0.0.1", 0), _handler(self))
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}"

    def clouds(self) -> dict[str, Any]:
        """A clouds.yaml that leads everything through here."""
        found: Any = self.cloud.clouds(f"{self.url}/keystone/v3")
        for service, (name, path) in PATHS.items():
            found["clouds"]["default"][f"{service}_endpoint_override"] = f"{self.url}/{name}{path}"
        return dict(found)

    def writes(self) -> list[tuple[str, str]]:
        """Writes to OpenStack that were passed on, without logins."""
        return [(method, path) for method, path in self.seen if method != "GET" and "/auth/" not in path]

    def close(self) -> None:
        self.ended.set()
        self._server.shutdown()
        self._server.server_close()


def _handler(proxy: Proxy) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *_: Any) -> None:
            """Quiet."""

        def do_GET(self) -> None:
            length = int(self.headers.get("Content-Length") or 0)
            body = self.rfile.read(length)
            proxy.asked.append((self.command, self.path))
            fault = proxy.rule(self.command, self.path) or Fault()
            if not fault.acted:
                proxy.ended.wait(fault.hang)
                if fault.status:
                    self._answer(fault.status, fault.headers, fault.content)
                    return
            write = self.command != "GET" and "/auth/" not in self.path
            if write and proxy.lost(self.command, self.path):
                self._answer(502, {}, b"")
                return
            proxy.seen.append((self.command, self.path))
            began = time.monotonic()
            status, headers, content = self._forward(body)
            proxy.took.append(time.monotonic() - began)
            if fault.acted:
                proxy.ended.wait(fault.hang)
                if fault.status:
                    status, headers, content = fault.status, dict(fault.headers), fault.content
            if fault.edit is not None:
                content = fault.edit(content)
            if fault.cut:
                content = content[: len(content) // 2]
            self._answer(status, headers, content)

        do_POST = do_PUT = do_DELETE = do_PATCH = do_GET

        def _forward(self, body: bytes) -> tuple[int, dict[str, str], bytes]:
            _, service, *_ = self.path.split("/")
            target = urlsplit(proxy.cloud.url(service))
            path = self.path[len(service) + 1 :] or "/"
            connection = http.client.HTTPConnection(str(target.hostname), int(target.port or 0), timeout=120)
            skipped = ("host", "connection", "content-length", "accept-encoding")
            headers = {key: value for key, value in self.headers.items() if key.lower() not in skipped}
            try:
                connection.request(self.command, path, body, headers)
                answer = connection.getresponse()
                content = answer.read()
            finally:
                connection.close()
            kept = {
                k: v for k, v in answer.getheaders() if k.lower() not in ("connection", "transfer-encoding")
            }
            return answer.status, kept, content

        def _answer(self, status: int, headers: Mapping[str, str], content: bytes) -> None:
            try:
                self.send_response(status)
                for key, value in headers.items():
                    if key.lower() != "content-length":
                        self.send_header(key, value)
                self.send_header("Content-Length", str(len(content)))
                self.send_header("Connection", "close")
                self.end_headers()
                self.wfile.write(content)
            except OSError:
                return  # who asked is gone

    return Handler


@contextmanager
def proxied(cloud: Cloud) -> Iterator[Proxy]:
    """A proxy for one test."""
    proxy = Proxy(cloud)
    try:
        yield proxy
    finally:
        proxy.close()
