"""The scripts' own calls of the Kubernetes API, against a server with TLS on loopback."""

from __future__ import annotations

import types
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.chart_repositories.certificates import authority
from tests.chart_repositories.servers import Request, Response, Server, serve
from tests.charts.running import module

pytestmark = pytest.mark.slow


def answer(request: Request) -> Response:
    known = request.path == "/api/v1/namespaces/openstack/secrets/one"
    return Response(body=b'{"data": {}}') if known else Response(status=403)


@pytest.fixture
def server() -> Iterator[Server]:
    with serve(answer) as running:
        yield running


@pytest.fixture
def api(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> types.ModuleType:
    address = urlsplit(server.address)
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", str(address.hostname))
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", str(address.port))
    monkeypatch.setenv("NAMESPACE", "openstack")
    (tmp_path / "token").write_text("first")
    (tmp_path / "ca.crt").write_text(authority("test").ca)
    loaded = module("keystone", "kube_api.py", monkeypatch)
    monkeypatch.setattr(loaded, "ACCOUNT", tmp_path)
    return loaded


def test_each_call_carries_the_token_of_that_moment(
    api: types.ModuleType, server: Server, tmp_path: Path
) -> None:
    assert api.call("GET", "secrets/one", timeout=30) == {"data": {}}
    (tmp_path / "token").write_text("second")
    api.call("GET", "secrets/one", timeout=30)
    sent = [request.headers["authorization"] for request in server.requests]
    assert sent == ["Bearer first", "Bearer second"]


def test_a_refusal_is_an_os_error(api: types.ModuleType) -> None:
    with pytest.raises(OSError, match="403"):
        api.call("GET", "secrets/two", timeout=30)


def test_a_server_of_another_authority_is_not_trusted(
    api: types.ModuleType, server: Server, tmp_path: Path
) -> None:
    (tmp_path / "ca.crt").write_text(authority("other").ca)
    with pytest.raises(OSError, match="certificate"):
        api.call("GET", "secrets/one", timeout=30)
    assert server.requests == []
