"""The connection to the API server, with authorities as clusters have them."""

from __future__ import annotations

import http.server
import json
import ssl
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from urllib3.util import ssl_

from controller.adapters.kubernetes.client import PykubeClient
from controller.adapters.kubernetes.connection import as_kubectl_verifies, connect
from controller.ports.kubernetes import Resource
from tests.chart_repositories.certificates import authority

NAMESPACES = Resource("v1", "Namespace", "namespaces", namespaced=False)


class Server(http.server.BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        body = json.dumps({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "n"}}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Says nothing."""


@pytest.fixture
def kubeconfig(tmp_path: Path) -> Iterator[Path]:
    """Of an API server whose authority names no keys."""
    made = authority()
    (tmp_path / "ca.crt").write_text(made.ca)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*made.write(tmp_path))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Server)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    cluster = {"server": f"https://localhost:{server.server_port}", "certificate-authority": "ca.crt"}
    document = {
        "clusters": [{"name": "c", "cluster": cluster}],
        "users": [{"name": "u", "user": {"token": "t"}}],
        "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
        "current-context": "c",
    }
    (tmp_path / "kubeconfig").write_text(json.dumps(document))
    yield tmp_path / "kubeconfig"
    server.shutdown()
    server.server_close()


@pytest.fixture
def python_is_strict(monkeypatch: pytest.MonkeyPatch) -> None:
    """As it is from 3.13 on."""
    made = ssl_.create_urllib3_context

    def strict(*args: Any, **kwargs: Any) -> ssl.SSLContext:
        context = made(*args, **kwargs)
        context.verify_flags |= ssl.VERIFY_X509_STRICT
        return context

    monkeypatch.setattr("urllib3.connection.create_urllib3_context", strict)
    monkeypatch.setattr(ssl_, "create_urllib3_context", strict)


def test_an_authority_that_kubectl_accepts_is_accepted(kubeconfig: Path, python_is_strict: None) -> None:
    found = PykubeClient(connect(kubeconfig), retries_within=0).get(NAMESPACES, "n")
    assert found is not None


@pytest.mark.filterwarnings("ignore:Unverified HTTPS")
def test_without_verification_none_is_done(kubeconfig: Path) -> None:
    text = kubeconfig.read_text().replace(
        '"certificate-authority": "ca.crt"', '"insecure-skip-tls-verify": true'
    )
    kubeconfig.write_text(text)
    assert PykubeClient(connect(kubeconfig), retries_within=0).get(NAMESPACES, "n") is not None


def test_nothing_else_of_the_verification_is_given_up() -> None:
    context = as_kubectl_verifies(ssl.create_default_context())
    assert context.check_hostname
    assert context.verify_mode is ssl.CERT_REQUIRED
    assert not context.verify_flags & ssl.VERIFY_X509_STRICT
