"""A web server on loopback that serves charts, as an HTTP repository or as an OCI registry, or misbehaves."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import ssl
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

from sandbox.patience import patient
from tests.chart_repositories.certificates import authority

USERNAME, PASSWORD = "operator", "planted-Päss:word"
TOKEN = "planted.token-1234567890"
CONFIG_TYPE = "application/vnd.cncf.helm.config.v1+json"
LAYER_TYPE = "application/vnd.cncf.helm.chart.content.v1.tar+gzip"
MANIFEST_TYPE = "application/vnd.oci.image.manifest.v1+json"


@dataclass(frozen=True)
class Request:
    """What a client asked for; header names are in small letters."""

    path: str
    query: str
    headers: Mapping[str, str]

    @property
    def login(self) -> tuple[str, str]:
        """Name and password of basic authorization, empty ones without."""
        scheme, _, encoded = self.headers.get("authorization", "").partition(" ")
        if scheme != "Basic":
            return "", ""
        name, _, password = base64.b64decode(encoded).decode().partition(":")
        return name, password


@dataclass(frozen=True)
class Response:
    """An answer. `hang` keeps the client waiting for as long as the server lives."""

    status: int = 200
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)
    hang: bool = False
    cut_after: int | None = None


Answer = Callable[[Request], Response]


@dataclass
class Server:
    """A running server: `address` without a path; `requests` in the order in which they came."""

    address: str
    answer: Answer
    ended: threading.Event = field(default_factory=threading.Event)
    requests: list[Request] = field(default_factory=list)

    @property
    def host(self) -> str:
        return urlsplit(self.address).netloc

    def paths(self) -> list[str]:
        return [request.path for request in self.requests]


@contextmanager
def serve(answer: Answer, *, tls: str = "test", port: int = 0) -> Iterator[Server]:
    """A server until the end of the block. `tls` names the authority of its certificate, empty: no TLS."""
    state = Server("", answer)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        timeout = 30

        def do_GET(self) -> None:
            parts = urlsplit(self.path)
            headers = {name.lower(): value for name, value in self.headers.items()}
            request = Request(parts.path, parts.query, headers)
            state.requests.append(request)
            response = state.answer(request)
            if response.hang:
                state.ended.wait(patient(60))
                self.close_connection = True
                return
            self.send_response(response.status)
            for name, value in response.headers.items():
                self.send_header(name, value)
            self.send_header("content-length", str(len(response.body)))
            self.end_headers()
            self.wfile.write(response.body[: response.cut_after])
            if response.cut_after is not None:
                self.close_connection = True

        def log_message(self, format: str, *args: object) -> None:
            del format, args

    with _QuietServer(("127.0.0.1", port), Handler) as server, tempfile.TemporaryDirectory() as scratch:
        if tls:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(*authority(tls).write(Path(scratch)))
            server.socket = context.wrap_socket(
                server.socket, server_side=True, do_handshake_on_connect=False
            )
        state.address = f"http{'s' if tls else ''}://127.0.0.1:{server.server_address[1]}"
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        thread.start()
        try:
            yield state
        finally:
            state.ended.set()
            server.shutdown()
            thread.join(patient(10))


class _QuietServer(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False

    def handle_error(self, request: object, client_address: object) -> None:
        """Clients that do not trust us break off: that is what some tests are about."""


def archives(charts: Mapping[tuple[str, str], bytes], *, base: str = "") -> dict[str, bytes]:
    """The files of an HTTP repository: archives by (name, version), and their index.

    `base` stands before the archives' names in the index, for another server than the index's.
    """
    entries: dict[str, list[dict[str, object]]] = {}
    files = {}
    for (name, version), content in charts.items():
        file = f"{name}-{version}.tgz"
        files[f"/{file}"] = content
        entry = {
            "apiVersion": "v2",
            "name": name,
            "version": version,
            "description": "A chart of a test: with words",
            "maintainers": [{"name": "nobody"}],
            "digest": hashlib.sha256(content).hexdigest(),
            "urls": [f"{base}{file}"],
        }
        entries.setdefault(name, []).append(entry)
    # JSON is YAML.
    index = {"apiVersion": "v1", "generated": "2026-01-02T03:04:05Z", "entries": entries}
    return {**files, "/index.yaml": json.dumps(index, indent=1).encode()}


def http_repository(files: Mapping[str, bytes], *, login: bool = False, below: str = "") -> Answer:
    """Answers as an HTTP repository at `below`; with `login` only to those who know the password."""

    def answer(request: Request) -> Response:
        if login and request.login != (USERNAME, PASSWORD):
            return Response(401, headers={"www-authenticate": 'Basic realm="charts"'})
        body = files.get(request.path.removeprefix(below))
        return Response(404) if body is None else Response(200, body)

    return answer


def oci_registry(
    charts: Mapping[tuple[str, str], bytes], *, login: str = "", below: str = "charts", realm: str = ""
) -> Answer:
    """Answers as an OCI registry with the charts below a path.

    `login`: nothing, `basic`, or `bearer` (a token for the password, from `/token` of `realm`).
    """
    documents: dict[str, Response] = {}
    tags: dict[str, list[str]] = {}
    for (name, version), content in charts.items():
        tag = version.replace("+", "_")
        digest = f"sha256:{hashlib.sha256(content).hexdigest()}"
        manifest = {
            "schemaVersion": 2,
            "mediaType": MANIFEST_TYPE,
            "config": {"mediaType": CONFIG_TYPE, "digest": f"sha256:{'0' * 64}", "size": 2},
            "layers": [{"mediaType": LAYER_TYPE, "digest": digest, "size": len(content)}],
        }
        home = f"/v2/{below}/{name}"
        body = json.dumps(manifest).encode()
        documents[f"{home}/manifests/{tag}"] = Response(200, body, {"content-type": MANIFEST_TYPE})
        documents[f"{home}/blobs/{digest}"] = Response(200, content)
        tags.setdefault(name, []).append(tag)
    for name, known in tags.items():
        body = json.dumps({"name": f"{below}/{name}", "tags": known}).encode()
        documents[f"/v2/{below}/{name}/tags/list"] = Response(200, body)

    def answer(request: Request) -> Response:
        if request.path == "/token":
            scope = parse_qs(request.query).get("scope", [""])[0]
            if request.login != (USERNAME, PASSWORD) or not re.fullmatch(r"repository:\S+:pull", scope):
                return Response(401)
            return Response(200, json.dumps({"token": TOKEN}).encode())
        if login == "basic" and request.login != (USERNAME, PASSWORD):
            return Response(401, headers={"www-authenticate": 'Basic realm="registry"'})
        if login == "bearer" and request.headers.get("authorization") != f"Bearer {TOKEN}":
            address = realm or f"https://{request.headers['host']}"
            return Response(
                401, headers={"www-authenticate": f'Bearer realm="{address}/token",service="registry"'}
            )
        return documents.get(request.path, Response(404))

    return answer
