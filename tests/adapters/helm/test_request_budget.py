"""The requests per second that all processes of Helm may send together."""

from __future__ import annotations

import http.server
import json
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from controller.adapters.helm.client import HelmLimits, HelmProgram
from controller.adapters.helm.program import find_program
from controller.ports.helm import UninstallRequest
from tests.fakes.kube import FakeKube

ACTIONS = 24
LIMITS = HelmLimits(qps=20, burst=8)
VERSION = {"major": "1", "minor": "36", "gitVersion": "v1.36.0"}
NONE = {"apiVersion": "v1", "kind": "SecretList", "metadata": {"resourceVersion": "1"}, "items": []}


class Server(http.server.ThreadingHTTPServer):
    """An API server without any release, and when it was asked."""

    daemon_threads = True

    def __init__(self) -> None:
        self.moments: list[float] = []
        super().__init__(("127.0.0.1", 0), Handler)


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Server

    def do_GET(self) -> None:
        self.server.moments.append(time.monotonic())
        body = json.dumps(VERSION if self.path.startswith("/version") else NONE).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Says nothing."""


@pytest.fixture
def server() -> Iterator[Server]:
    with Server() as made:
        threading.Thread(target=made.serve_forever, args=(0.02,), daemon=True).start()
        yield made
        made.shutdown()


def kubeconfig(server: Server, directory: Path) -> Path:
    cluster = {"server": f"http://127.0.0.1:{server.server_port}"}
    document = {
        "clusters": [{"name": "c", "cluster": cluster}],
        "users": [{"name": "u", "user": {"token": "t"}}],
        "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
        "current-context": "c",
    }
    (directory / "kubeconfig").write_text(json.dumps(document))
    return directory / "kubeconfig"


@pytest.mark.parametrize("at_a_time", [1, 4])
def test_all_processes_share_one_budget_of_requests(tmp_path: Path, server: Server, at_a_time: int) -> None:
    helm = HelmProgram(FakeKube(), find_program(), kubeconfig(server, tmp_path), limits=LIMITS)

    def act(number: int) -> None:
        # In namespaces of their own, so that no connection, and no client of one, serves twice.
        helm.uninstall(UninstallRequest(f"r{number}", f"space{number}"))

    began = time.monotonic()
    with ThreadPoolExecutor(at_a_time) as pool:
        list(pool.map(act, range(ACTIONS)))

    # Load makes requests later, never earlier: before each came no more than were allowed until then.
    assert len(server.moments) >= 2 * ACTIONS
    for count, moment in enumerate(sorted(server.moments), 1):
        assert count <= LIMITS.burst + LIMITS.qps * (moment - began) + 1


def test_what_was_not_used_is_there_at_once(tmp_path: Path, server: Server) -> None:
    """A release has its requests together, after a rest: a rate alone would make each of them wait."""
    limits = HelmLimits(qps=0.01, burst=8)
    helm = HelmProgram(FakeKube(), find_program(), kubeconfig(server, tmp_path), limits=limits)

    helm.uninstall(UninstallRequest("r", "space", timeout=60))

    assert server.moments
