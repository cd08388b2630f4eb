"""Something before Keystone asks who we are where Keystone never does: reported, and waited for by no one."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from controller.adapters.openstack.calls import CloudCalls
from controller.adapters.system.clock import SystemClock
from controller.adapters.system.randomness import SystemRandomness
from controller.errors import CloudUnavailable
from tests.sweeps import swept

# It loads openstacksdk.
pytestmark = pytest.mark.slow

WITHIN = 30.0


@pytest.fixture(params=swept(["at once", "after a redirect"], daily=["at once"]))
def gate(request: pytest.FixtureRequest) -> Iterator[str]:
    """The URL of a server that answers 401 to everything, as a proxy in front of a region does."""

    class Handler(BaseHTTPRequestHandler):
        def _answer(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length") or 0))
            elsewhere = request.param == "after a redirect" and self.path == "/v3"
            self.send_response(302 if elsewhere else 401)
            self.send_header("Location", f"http://{self.headers['Host']}/login")
            self.send_header("Content-Length", "0")
            self.end_headers()

        do_GET = do_POST = _answer

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    server.server_close()


ASKED: dict[str, Callable[[CloudCalls], object]] = {
    "a write": lambda calls: calls.send("PUT", "compute", "/os-services/1", {}),
    "a list": lambda calls: calls.get("compute", "/os-services"),
    "a login": lambda calls: calls.login(),
}


@pytest.mark.parametrize("what", ASKED)
def test_a_401_in_the_place_of_keystones_versions_is_reported_within_seconds(gate: str, what: str) -> None:
    auth = {"auth_url": f"{gate}/v3", "username": "admin", "password": "x", "project_name": "admin"}
    calls = CloudCalls({"auth": auth}, SystemClock(), SystemRandomness(), sleep=lambda seconds: None)
    told: list[str] = []

    def ask() -> None:
        until = calls.until(SystemClock().monotonic() + WITHIN / 2)
        with pytest.raises(CloudUnavailable) as failure:
            ASKED[what](until)
        told.append(str(failure.value))

    asking = threading.Thread(target=ask, daemon=True)
    asking.start()
    asking.join(WITHIN)
    assert told == ["the login: 401 at auth_url, and the answer does not come from Keystone"]
