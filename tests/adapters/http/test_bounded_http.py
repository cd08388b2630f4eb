"""Whatever drips, header or body or handshake, is cut off when its time is up."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Iterator

import pytest
import requests

from controller.adapters.http import fencing
from controller.adapters.http.bounded import BoundedAdapter
from controller.adapters.http.fencing import HttpFencing
from controller.adapters.openstack import calls as cloud_calls
from controller.adapters.openstack.calls import CloudCalls
from controller.errors import CloudUnavailable

SOON = 0.05
LATE = 20.0
HEADER = b"HTTP/1.1 200 OK\r\nX-A: "
BODY = b'HTTP/1.1 200 OK\r\n\r\n{"fenced": true}'
WHOLE = b'HTTP/1.1 200 OK\r\nContent-Length: 16\r\n\r\n{"fenced": true}'


class Dripping:
    """Says `begin`, and then one blank after the other, each well within any timeout."""

    def __init__(self, begin: bytes) -> None:
        self.begin = begin
        self.over = threading.Event()
        self.listening = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self.listening.getsockname()[1]}"
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self.listening.accept()
                threading.Thread(target=self._drip, args=(connection,), daemon=True).start()

    def _drip(self, connection: socket.socket) -> None:
        with contextlib.suppress(OSError), connection:
            connection.recv(4096)
            connection.sendall(self.begin)
            while not self.over.wait(0.005):
                connection.sendall(b" ")


@pytest.fixture
def dripping(request: pytest.FixtureRequest) -> Iterator[Dripping]:
    made = Dripping(request.param)
    yield made
    made.over.set()
    made.listening.close()


def fetch(url: str, seconds: float) -> tuple[bytes, bool]:
    """What came, and whether it was cut off."""
    with requests.Session() as session, contextlib.closing(BoundedAdapter(seconds)) as bounded:
        session.mount(url, bounded)
        try:
            return session.get(url, timeout=LATE).content, bounded.cut
        except requests.RequestException:
            return b"", bounded.cut


@pytest.mark.parametrize("dripping", [HEADER, BODY], indirect=True, ids=["header", "body"])
def test_what_drips_is_cut_off(dripping: Dripping) -> None:
    assert fetch(f"http://{dripping.address}/", SOON)[1]


@pytest.mark.parametrize("dripping", [b""], indirect=True)
def test_a_handshake_without_end_is_cut_off(dripping: Dripping) -> None:
    dripping.begin = b"\x16\x03\x03\x40\x00\x02\x00\x3f\xfc"  # a handshake's record that goes on and on
    assert fetch(f"https://{dripping.address}/", SOON)[1]


@pytest.mark.parametrize("dripping", [WHOLE], indirect=True)
def test_what_comes_in_time_is_whole(dripping: Dripping) -> None:
    assert fetch(f"http://{dripping.address}/", LATE) == (b'{"fenced": true}', False)


@pytest.mark.parametrize("dripping", [HEADER, BODY], indirect=True, ids=["header", "body"])
def test_the_fencing_service_confirms_nothing_by_dripping(
    dripping: Dripping, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fencing, "WHOLE", SOON)
    monkeypatch.setattr(fencing, "TIMEOUT", (LATE, LATE))
    with pytest.raises(CloudUnavailable):
        HttpFencing().confirm(f"http://{dripping.address}/", node="cmp1", uid="u", boot="b", since=1.0)


class _Trust:
    """What a session of openstacksdk trusts."""

    verify, cert = True, None
    session: _Trust


@pytest.mark.parametrize("dripping", [HEADER], indirect=True)
def test_an_endpoint_that_drips_is_not_waited_for(
    dripping: Dripping, monkeypatch: pytest.MonkeyPatch
) -> None:
    trust = _Trust()
    trust.session = trust
    monkeypatch.setattr(cloud_calls, "PROBE_TIMEOUT", SOON)
    monkeypatch.setattr(CloudCalls, "_connection", lambda _: trust)
    with pytest.raises(CloudUnavailable, match="Timeout"):
        CloudCalls.__new__(CloudCalls).status(f"http://{dripping.address}/")
