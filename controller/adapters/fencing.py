"""The port `Fencing` over HTTP: the operator's own service that powers machines off."""

from __future__ import annotations

import requests

from controller.domain.conditions import timestamp
from controller.errors import CloudUnavailable

TIMEOUT = (3.0, 10.0)


class HttpFencing:
    """POSTs {node, uid, since}; only 200 with {"fenced": true} confirms."""

    def confirm(self, url: str, *, node: str, uid: str, since: float) -> bool:
        body = {"node": node, "uid": uid, "since": timestamp(since)}
        try:
            answer = requests.post(url, json=body, timeout=TIMEOUT, allow_redirects=False)
            confirmed = answer.status_code == 200 and answer.json().get("fenced") is True
        except (requests.RequestException, ValueError, AttributeError) as error:
            raise CloudUnavailable(f"the fencing service: {type(error).__name__}") from None
        return confirmed
