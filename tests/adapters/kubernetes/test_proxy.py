"""The way to the API server by a proxy: requests, watches and Helm take the same one."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import aiohttp
import pytest
import requests

from controller.adapters.helm.client import HelmProgram
from controller.adapters.helm.program import find_program
from controller.adapters.kubernetes.connection import connect, open_client
from controller.adapters.kubernetes.watches import SignsOfLife, api_session
from controller.errors import ControllerError
from controller.ports.helm import UninstallRequest
from tests.adapters.recording_proxy import Proxy, recording_proxy
from tests.fakes.kube import FakeKube
from tests.fakes.world import FakeClock

# This machine, where nothing listens. Go does not count this address as loopback, which needs no proxy.
SERVER = "https://0.0.0.0:1"
NAMES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY")


@pytest.fixture
def proxy(monkeypatch: pytest.MonkeyPatch) -> Iterator[Proxy]:
    for name in NAMES:
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)
    with recording_proxy() as found:
        yield found


@pytest.fixture
def kubeconfig(tmp_path: Path) -> Path:
    document = {
        "clusters": [{"name": "c", "cluster": {"server": SERVER}}],
        "users": [{"name": "u", "user": {"token": "t"}}],
        "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
        "current-context": "c",
    }
    (tmp_path / "kubeconfig").write_text(json.dumps(document))
    return tmp_path / "kubeconfig"


def by_request(kubeconfig: Path) -> None:
    with suppress(requests.RequestException):
        open_client(connect(kubeconfig)).session.get(f"{SERVER}/api", timeout=5)


def by_watch(kubeconfig: Path) -> None:
    async def ask() -> None:
        session: Any = api_session(connect(kubeconfig), SignsOfLife((), FakeClock())).aiohttp_session
        async with session:
            with suppress(aiohttp.ClientError, TimeoutError):
                await session.get(f"{SERVER}/api", timeout=aiohttp.ClientTimeout(5))

    asyncio.run(ask())


def by_helm(kubeconfig: Path) -> None:
    with suppress(ControllerError):
        helm = HelmProgram(FakeKube(), find_program(), kubeconfig)
        helm.uninstall(UninstallRequest("web", "openstack", timeout=5))


@pytest.mark.parametrize("ask", [by_request, by_watch, by_helm])
@pytest.mark.parametrize("name", ["HTTPS_PROXY", "https_proxy"])
def test_everything_asks_the_api_server_by_the_proxy(
    proxy: Proxy, kubeconfig: Path, monkeypatch: pytest.MonkeyPatch, ask: Callable[[Path], None], name: str
) -> None:
    monkeypatch.setenv(name, proxy.url)

    ask(kubeconfig)

    assert set(proxy.asked) == {"CONNECT 0.0.0.0:1"}


@pytest.mark.parametrize("ask", [by_request, by_watch, by_helm])
def test_nothing_asks_a_proxy_for_what_no_proxy_names(
    proxy: Proxy, kubeconfig: Path, monkeypatch: pytest.MonkeyPatch, ask: Callable[[Path], None]
) -> None:
    monkeypatch.setenv("HTTPS_PROXY", proxy.url)
    monkeypatch.setenv("NO_PROXY", "0.0.0.0/24")

    ask(kubeconfig)

    assert proxy.asked == []
