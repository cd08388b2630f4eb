"""The port `Fencing` over HTTP: the operator's own service that powers machines off."""

from __future__ import annotations

import json
import ssl
import time
from typing import Any

import requests
from requests.adapters import HTTPAdapter

from controller.domain.conditions import timestamp
from controller.errors import CloudUnavailable

# Seconds to connect, and between two parts of the answer; and for all of it.
TIMEOUT = (3.0, 5.0)
WHOLE = 10.0
MOST_BYTES = 65_536


class HttpFencing:
    """POSTs {node, uid, since}; only 200 with {"fenced": true} confirms."""

    def confirm(
        self, url: str, *, node: str, uid: str, since: float, token: str = "", authority: bytes = b""
    ) -> bool:
        body = {"node": node, "uid": uid, "since": timestamp(since)}
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        try:
            with requests.Session() as session:
                # A proxy's word is none, and a .netrc would take the place of the token.
                session.trust_env = False
                if authority:
                    session.mount("https://", _Trusting(authority))
                with session.post(
                    url, json=body, headers=headers, timeout=TIMEOUT, allow_redirects=False, stream=True
                ) as answer:
                    return answer.status_code == 200 and json.loads(_content(answer))["fenced"] is True
        except (requests.RequestException, ValueError, LookupError, TypeError) as error:
            # Its words may hold the token: a name of the kind of error is enough.
            raise CloudUnavailable(f"the fencing service: {type(error).__name__}") from None


def _content(answer: requests.Response) -> bytes:
    """Raises requests.Timeout for one that drips, ValueError for one that is too long."""
    deadline = time.monotonic() + WHOLE
    content = b""
    for part in answer.iter_content(4096):
        content += part
        if len(content) > MOST_BYTES:
            raise ValueError("too long")
        if time.monotonic() > deadline:
            raise requests.Timeout
    return content


class _Trusting(HTTPAdapter):
    """Trusts the certificates of an authority besides those that requests trusts anyway."""

    def __init__(self, authority: bytes) -> None:
        try:
            self._context = ssl.create_default_context(cadata=authority.decode("ascii"))
        except (ssl.SSLError, UnicodeDecodeError) as error:
            raise ValueError("the authority cannot be read") from error
        super().__init__()

    def init_poolmanager(self, *args: Any, **kwargs: Any) -> None:
        super().init_poolmanager(*args, ssl_context=self._context, **kwargs)
