"""The port `Fencing` over HTTP: the operator's own service that powers machines off."""

from __future__ import annotations

import contextlib
import json
import ssl

import requests
from urllib3.exceptions import HTTPError

from controller.adapters.http.bounded import BoundedAdapter
from controller.domain.api.conditions import timestamp
from controller.errors import CloudUnavailable

# Seconds to connect, and between two parts of the answer; and for all of it.
TIMEOUT = (3.0, 5.0)
WHOLE = 10.0
MOST_BYTES = 65_536


class HttpFencing:
    """POSTs {node, uid, bootID, since}; only 200 with {"fenced": true} confirms."""

    def confirm(
        self,
        url: str,
        *,
        node: str,
        uid: str,
        boot: str,
        since: float,
        token: str = "",
        authority: bytes = b"",
    ) -> bool:
        body = {"node": node, "uid": uid, "bootID": boot, "since": timestamp(since)}
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        try:
            context = _trusting(authority) if authority else None
            with requests.Session() as session, contextlib.closing(BoundedAdapter(WHOLE, context)) as bounded:
                # A proxy's answer is not valid, and a .netrc would replace the token.
                session.trust_env = False
                session.mount("https://", bounded)
                session.mount("http://", bounded)
                with session.post(
                    url, json=body, headers=headers, timeout=TIMEOUT, allow_redirects=False, stream=True
                ) as answer:
                    confirmed = answer.status_code == 200 and json.loads(_content(answer))["fenced"] is True
                    # A truncated answer may look complete.
                    if bounded.cut:
                        raise requests.Timeout
                    return confirmed
        except (requests.RequestException, HTTPError, OSError, ValueError, LookupError, TypeError) as error:
            # Its text may contain the token, so only the kind of the error is used.
            raise CloudUnavailable(f"the fencing service: {type(error).__name__}") from None


def _content(answer: requests.Response) -> bytes:
    """Raises ValueError for one that is too long."""
    content = b""
    # Reads the available bytes, so that an endless answer is detected as too long.
    while part := answer.raw.read1(4096, decode_content=True):
        content += part
        if len(content) > MOST_BYTES:
            raise ValueError("too long")
    return content


def _trusting(authority: bytes) -> ssl.SSLContext:
    """Trusts the certificates of an authority, in addition to the default ones."""
    try:
        return ssl.create_default_context(cadata=authority.decode("ascii"))
    except (ssl.SSLError, UnicodeDecodeError) as error:
        raise ValueError("the authority cannot be read") from error
