"""The fencing service: only its clear word confirms that a node is off."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import pytest

from controller.adapters.http import fencing
from controller.adapters.http.fencing import HttpFencing
from controller.errors import CloudUnavailable


class Service:
    def __init__(self) -> None:
        self.answer: tuple[int, bytes] = (200, b'{"fenced": true}')
        self.asked: list[dict[str, Any]] = []
        self.tokens: list[str | None] = []
        service = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                service.tokens.append(self.headers.get("Authorization"))
                service.asked.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
                status, content = service.answer
                self.send_response(status)
                self.send_header("Location", "/elsewhere")
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, *_: Any) -> None:
                """Quiet."""

        self.server = HTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True).start()
        self.url = f"http://127.0.0.1:{self.server.server_port}/"


@pytest.fixture
def service(monkeypatch: pytest.MonkeyPatch) -> Iterator[Service]:
    # It is served by this very process: where that stands still, so does the answer.
    monkeypatch.setattr(fencing, "TIMEOUT", (60.0, 60.0))
    monkeypatch.setattr(fencing, "WHOLE", 60.0)
    service = Service()
    yield service
    service.server.shutdown()
    service.server.server_close()


def confirm(url: str) -> bool:
    return HttpFencing().confirm(url, node="cmp1", uid="u", boot="b", since=1_780_000_000.0)


def test_the_node_and_the_time_are_reported(service: Service) -> None:
    assert confirm(service.url)
    assert service.asked == [{"node": "cmp1", "uid": "u", "bootID": "b", "since": "2026-05-28T20:26:40Z"}]


@pytest.mark.parametrize(
    "answer",
    [
        (200, b'{"fenced": false}'),
        (200, b'{"fenced": "true"}'),
        (202, b'{"fenced": true}'),
        (302, b'{"fenced": true}'),
        (500, b'{"fenced": true}'),
    ],
)
def test_anything_but_its_clear_word_confirms_nothing(service: Service, answer: tuple[int, bytes]) -> None:
    service.answer = answer
    assert not confirm(service.url)


@pytest.mark.parametrize(
    "content",
    [b"yes", b"[]", b"", b"{}", pytest.param(b" " * 70_000 + b'{"fenced": true}', id="too long")],
)
def test_an_answer_that_cannot_be_read_is_none(service: Service, content: bytes) -> None:
    service.answer = (200, content)
    with pytest.raises(CloudUnavailable):
        confirm(service.url)


def test_no_answer_is_none(service: Service) -> None:
    service.server.server_close()
    with pytest.raises(CloudUnavailable):
        confirm("http://127.0.0.1:1/")


def test_a_token_is_given_where_there_is_one(service: Service) -> None:
    assert confirm(service.url)
    assert HttpFencing().confirm(service.url, node="cmp1", uid="u", boot="b", since=1.0, token="s3")
    assert service.tokens == [None, "Bearer s3"]


def test_an_authority_that_cannot_be_read_confirms_nothing(service: Service) -> None:
    with pytest.raises(CloudUnavailable):
        HttpFencing().confirm(
            service.url, node="cmp1", uid="u", boot="b", since=1.0, authority=b"no certificate"
        )
