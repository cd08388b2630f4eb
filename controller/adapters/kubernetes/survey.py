"""Reads long lists page by page, and ends of logs, for a support file."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import closing
from typing import Any
from urllib.parse import urlencode

import requests

from controller.adapters.kubernetes.client import (
    METADATA_LIST,
    PAGE,
    PykubeClient,
    end_of_log,
    resource_url,
)
from controller.adapters.kubernetes.connection import Connection
from controller.errors import ApiUnavailable, ObjectMissing, ObjectRefused
from controller.ports.kubernetes import POD, KubeObject, Resource

# Seconds that the server may be silent, in which it is asked again, and that a log may take.
READ_TIMEOUT, RETRIES_WITHIN, LOG_WITHIN = 15.0, 5.0, 15.0


class PykubeSurvey(PykubeClient):
    """`controller.ports.survey.Survey` on one API server."""

    def __init__(self, connection: Connection, *, user_agent: str) -> None:
        super().__init__(
            connection, user_agent=user_agent, read_timeout=READ_TIMEOUT, retries_within=RETRIES_WITHIN
        )

    def scan(
        self,
        resource: Resource,
        namespace: str | None = None,
        *,
        labels: str = "",
        fields: str = "",
        metadata: bool = False,
    ) -> Iterator[KubeObject]:
        query = {"limit": str(PAGE), "labelSelector": labels, "fieldSelector": fields}
        accept = METADATA_LIST if metadata else "application/json"
        url, token = resource_url(resource, namespace), "first"
        while token:
            given = {key: text for key, text in query.items() if text}
            page = self._call("GET", url, query=given, accept=accept) or {}
            yield from page.get("items") or []
            token = (page.get("metadata") or {}).get("continue") or ""
            query["continue"] = token

    def log_end(
        self,
        pod: str,
        namespace: str,
        container: str,
        *,
        lines: int,
        octets: int,
        previous: bool = False,
        since: int = 0,
        times: bool = False,
    ) -> str:
        query = {"tailLines": str(lines), "container": container}
        query |= {"previous": "true"} if previous else {}
        query |= {"sinceSeconds": str(since)} if since else {}
        query |= {"timestamps": "true"} if times else {}
        target = f"{resource_url(POD, namespace, pod, 'log')}?{urlencode(query)}"
        deadline = time.monotonic() + LOG_WITHIN
        try:
            response = self._once("GET", target, {"User-Agent": self._user_agent}, None, (5.0, 5.0))
            with closing(response):
                text = end_of_log(response, octets, deadline)
            if not text and time.monotonic() > deadline:
                raise ApiUnavailable(f"the log of {pod}/{container} takes longer than {LOG_WITHIN:.0f} s")
            return text
        except ObjectRefused as error:
            if previous and "previous terminated container" in str(error):
                return ""  # the usual case
            raise
        except ObjectMissing:
            return ""
        except requests.RequestException as error:
            raise ApiUnavailable(
                f"the log of {pod}/{container} ended early: {type(error).__name__}"
            ) from None

    def server_version(self) -> Mapping[str, Any]:
        return self._call("GET", "/version") or {}
