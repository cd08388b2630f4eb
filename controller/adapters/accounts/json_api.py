"""Calls of a JSON API, with a deadline."""

from __future__ import annotations

import contextlib
import json
import ssl
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import requests
from urllib3.exceptions import HTTPError

from controller.adapters.http.bounded import BoundedAdapter
from controller.errors import ServerUnavailable

# Seconds to connect, and between two parts of an answer; and for all of it.
TIMEOUT = (3.0, 10.0)
WHOLE = 30.0
MOST_BYTES = 16 * 1024 * 1024


@dataclass(frozen=True)
class Answer:
    """The result of a call. `content` is None if there is none."""

    status: int
    content: Any = field(default=None, repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)


class JsonApi:
    """One API at `url`. `headers` and `login` (basic authentication) go with every call.

    `ca`: the only authority to trust, in PEM. `context` replaces it, and also holds a client certificate.
    `certified` is the name in the server's certificate, if it is not the host of the URL.
    """

    def __init__(
        self,
        url: str,
        *,
        headers: Mapping[str, str] | None = None,
        login: tuple[str, str] | None = None,
        ca: str = "",
        context: ssl.SSLContext | None = None,
        certified: str = "",
    ) -> None:
        self._url = url.rstrip("/")
        self._headers = dict(headers or {})
        self._login = login
        self._ca = ca
        self._context = context
        self._certified = certified

    def get(self, path: str, **params: str) -> Any:
        """The object there, or None. Raises ServerUnavailable."""
        return self.call("GET", path, params=params, also=(404,)).content

    def call(
        self,
        method: str,
        path: str,
        *,
        params: Mapping[str, str] | None = None,
        body: Any = None,
        also: tuple[int, ...] = (),
    ) -> Answer:
        """One call that succeeds, or ends in a status of `also`.

        Raises ServerUnavailable, without any text of the server or the library, because it may contain a
        password.
        """
        try:
            answer = self._call(method, path, params or {}, body)
        except (requests.RequestException, HTTPError, OSError, ValueError) as error:
            raise ServerUnavailable(f"{self._url} does not answer ({type(error).__name__})") from None
        if answer.status in also:
            return Answer(answer.status)
        if not 200 <= answer.status < 300:
            raise ServerUnavailable(f"{self._url} answers {method} {path} with {answer.status}")
        return answer

    def _call(self, method: str, path: str, params: Mapping[str, str], body: Any) -> Answer:
        context = self._context
        if context is None and self._ca:
            context = ssl.create_default_context(cadata=self._ca)
        adapter = BoundedAdapter(WHOLE, context, self._certified)
        with requests.Session() as session, contextlib.closing(adapter) as bounded:
            # A proxy would see the password, and a .netrc would replace it.
            session.trust_env = False
            session.mount("https://", bounded)
            session.mount("http://", bounded)
            with session.request(
                method,
                f"{self._url}{path}",
                params=dict(params),
                json=body,
                headers=self._headers,
                auth=self._login,
                timeout=TIMEOUT,
                allow_redirects=False,
                stream=True,
            ) as answer:
                content = _content(answer)
                if bounded.cut:  # a truncated answer may look complete
                    raise requests.Timeout
                found = json.loads(content) if content and answer.ok else None
                return Answer(answer.status_code, found, dict(answer.headers))


def _content(answer: requests.Response) -> bytes:
    parts = []
    size = 0
    for part in answer.iter_content(65536):
        size += len(part)
        if size > MOST_BYTES:
            raise ValueError("too long")
        parts.append(part)
    return b"".join(parts)
