"""An endpoint is asked once, without credentials, and within seconds."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from controller.adapters.openstack import calls as cloud_calls
from controller.adapters.openstack.calls import CloudCalls
from controller.adapters.openstack.client import OpenStackClouds
from controller.adapters.system.clock import SystemClock
from controller.adapters.system.randomness import SystemRandomness
from controller.errors import CloudUnavailable
from sandbox.patience import patient
from tests.fakes.identity import served_identity

# It loads openstacksdk.
pytestmark = pytest.mark.slow

NOBODY = "http://127.0.0.1:1"


class _Service:
    """Answers with the status that the path names; `/never` hangs until the end of the test."""

    def __init__(self) -> None:
        self.seen: list[tuple[str, str | None]] = []
        self.over = threading.Event()
        self.asked = threading.Event()
        service = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                service.seen.append((self.path, self.headers.get("X-Auth-Token")))
                service.asked.set()
                if self.path == "/never":
                    service.over.wait(patient(60))
                    return
                self.send_response(int(self.path[1:]))
                self.send_header("Location", "/200")
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, format: str, *args: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()

    def close(self) -> None:
        self.over.set()
        self._server.shutdown()
        self._server.server_close()


@pytest.fixture
def service(monkeypatch: pytest.MonkeyPatch) -> Iterator[_Service]:
    # It is served by this very process: where that stands still, so does the answer.
    monkeypatch.setattr(cloud_calls, "PROBE_TIMEOUT", 60.0)
    made = _Service()
    yield made
    made.close()


@pytest.fixture
def calls() -> CloudCalls:
    auth = {"auth_url": f"{NOBODY}/v3", "username": "admin", "password": "x", "project_name": "admin"}
    return CloudCalls({"auth": auth, "interface": "internalURL"}, SystemClock(), SystemRandomness())


@pytest.mark.parametrize("status", [200, 300, 302, 401, 404, 503])
def test_the_status_is_given_as_it_is(calls: CloudCalls, service: _Service, status: int) -> None:
    assert calls.status(f"{service.url}/{status}") == status
    assert service.seen == [(f"/{status}", None)]


def test_a_server_that_does_not_answer_is_reported(calls: CloudCalls) -> None:
    with pytest.raises(CloudUnavailable, match="ConnectionError"):
        calls.status(NOBODY)


def test_an_answer_that_does_not_come_is_not_waited_for(
    calls: CloudCalls, service: _Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cloud_calls, "PROBE_TIMEOUT", 0.2)
    with pytest.raises(CloudUnavailable, match="Timeout"):
        calls.status(f"{service.url}/never")
    # It may read the request only after no one waits for its answer any more.
    assert service.asked.wait(patient(60))
    assert len(service.seen) == 1


def test_the_interface_is_that_of_the_credentials(calls: CloudCalls) -> None:
    assert calls.interface == "internal"


def test_a_cloud_gives_back_the_connection_of_every_thread_and_answers_anyway(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from openstack.connection import Connection

    closed: list[Connection] = []
    close = Connection.close

    def noted(connection: Connection) -> None:
        closed.append(connection)
        close(connection)

    monkeypatch.setattr(Connection, "close", noted)
    with served_identity() as identity:
        cloud = OpenStackClouds(SystemClock(), SystemRandomness()).open(identity.clouds())
        thread = threading.Thread(target=cloud.endpoints)
        thread.start()
        thread.join(patient(120))
        known = cloud.endpoints()
        cloud.close()
        assert len({id(one) for one in closed}) == 2
        assert cloud.endpoints() == known
