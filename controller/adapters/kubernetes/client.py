"""The Kubernetes API over pykube-ng, which serves only as an authenticated transport.

This module adds deadlines, retries of 429 and 5xx with growing jittered pauses and respect for Retry-After,
paging, a token that rotates, one client per thread, and errors of `controller.errors`.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Mapping
from contextlib import closing
from typing import Any
from urllib.parse import urlencode

import pykube
import requests
import tenacity

from controller.adapters.kubernetes.connection import Connection, open_client
from controller.adapters.kubernetes.nesting import without_depths
from controller.errors import (
    ApiUnavailable,
    Conflict,
    Forbidden,
    KubeError,
    ObjectMissing,
    ObjectRefused,
    ObjectTooLarge,
)
from controller.ports.kubernetes import POD, KubeObject, KubeObjects, Resource, resource_of

CONNECT_TIMEOUT, READ_TIMEOUT = 5.0, 30.0
PAGE = 500
RETRIES_WITHIN = 20.0
# Seconds for a connection, for silence and for the whole; octets of a log's end.
LOG_TIMEOUTS = (2.0, 2.0)
LOG_WITHIN = 4.0
# A kubelet's successful answer if the container and its log are gone.
_NO_LOG = "unable to retrieve container logs for "
LOG_END = 16384
METADATA_LIST = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
USER_AGENT = "openstack-controller"


class PykubeClient:
    """`controller.ports.kubernetes.Kube` on one API server. Usable from any thread.

    `user_agent` names the container in the API server's audit log. `read_timeout`: seconds that the server
    may be silent within one request. `retries_within`: seconds after the first request in which an
    unavailable server is asked again; 0 asks once.
    """

    def __init__(
        self,
        connection: Connection,
        *,
        user_agent: str = USER_AGENT,
        read_timeout: float = READ_TIMEOUT,
        retries_within: float = RETRIES_WITHIN,
    ) -> None:
        self._connection = connection
        self._user_agent = user_agent
        self._timeouts = (min(CONNECT_TIMEOUT, read_timeout), read_timeout)
        self._retries_within = retries_within
        self._local = threading.local()

    def get(self, resource: Resource, name: str, namespace: str | None = None) -> KubeObject | None:
        return self._call("GET", resource_url(resource, namespace, name), missing_ok=True)

    def list(
        self, resource: Resource, namespace: str | None = None, *, labels: str = "", fields: str = ""
    ) -> KubeObjects:
        items = self._pages(resource, namespace, labels, fields, accept="application/json")
        for item in items:
            # Items of a list come without their own kind.
            item.setdefault("apiVersion", resource.api_version)
            item.setdefault("kind", resource.kind)
        return items

    def list_metadata(
        self, resource: Resource, namespace: str | None = None, *, labels: str = "", fields: str = ""
    ) -> KubeObjects:
        return self._pages(resource, namespace, labels, fields, accept=METADATA_LIST)

    def is_served(self, api_version: str, kind: str) -> bool:
        url = f"/{'apis' if '/' in api_version else 'api'}/{api_version}"
        found = self._call("GET", url, missing_ok=True) or {}
        return any(one["kind"] == kind for one in found.get("resources") or ())

    def apply(
        self,
        obj: Mapping[str, Any],
        *,
        manager: str,
        subresource: str = "",
        force: bool = True,
        dry_run: bool = False,
    ) -> KubeObject:
        query = {"fieldManager": manager, "force": str(force).lower()}
        if dry_run:
            query["dryRun"] = "All"
        url = _url_of(obj, subresource=subresource)
        return _present(
            self._call("PATCH", url, query=query, body=obj, content="application/apply-patch+yaml")
        )

    def create(self, obj: Mapping[str, Any]) -> KubeObject:
        url = _url_of(obj, collection=True)
        return _present(self._call("POST", url, query={"fieldValidation": "Strict"}, body=obj))

    def replace(self, obj: Mapping[str, Any], *, subresource: str = "") -> KubeObject:
        url = _url_of(obj, subresource=subresource)
        return _present(self._call("PUT", url, query={"fieldValidation": "Strict"}, body=obj))

    def merge_patch(
        self,
        resource: Resource,
        name: str,
        namespace: str | None,
        patch: Mapping[str, Any],
        *,
        subresource: str = "",
    ) -> KubeObject | None:
        return self._call(
            "PATCH",
            resource_url(resource, namespace, name, subresource),
            query={"fieldValidation": "Strict"},
            body=patch,
            content="application/merge-patch+json",
            missing_ok=True,
        )

    def delete(
        self,
        resource: Resource,
        name: str,
        namespace: str | None = None,
        *,
        uid: str = "",
        version: str = "",
        propagation: str = "Background",
        grace: int | None = None,
    ) -> bool:
        options: dict[str, Any] = {
            "apiVersion": "v1",
            "kind": "DeleteOptions",
            "propagationPolicy": propagation,
        }
        conditions = {"uid": uid, "resourceVersion": version}
        if uid or version:
            options["preconditions"] = {name: text for name, text in conditions.items() if text}
        if grace is not None:
            options["gracePeriodSeconds"] = grace
        url = resource_url(resource, namespace, name)
        return self._call("DELETE", url, body=options, missing_ok=True) is not None

    def pod_log(
        self,
        name: str,
        namespace: str,
        *,
        container: str = "",
        tail_lines: int = 20,
        previous: bool = False,
    ) -> str:
        query = {"tailLines": str(tail_lines), **({"previous": "true"} if previous else {})}
        if container:
            query["container"] = container
        target = f"{resource_url(POD, namespace, name, 'log')}?{urlencode(query)}"
        try:
            response = self._once("GET", target, {"User-Agent": self._user_agent}, None, LOG_TIMEOUTS)
            with closing(response):
                text = end_of_log(response, LOG_END, time.monotonic() + LOG_WITHIN)
                return "" if text.startswith(_NO_LOG) else text
        except (KubeError, requests.RequestException):
            # A pod that has not started, or is gone, has no log, and the kubelet of a lost node does not
            # answer. The cause is then reported without a log, and nothing waits for it.
            return ""

    def _pages(
        self, resource: Resource, namespace: str | None, labels: str, fields: str, *, accept: str
    ) -> KubeObjects:
        query = {"limit": str(PAGE)}
        if labels:
            query["labelSelector"] = labels
        if fields:
            query["fieldSelector"] = fields
        items: KubeObjects = []
        while True:
            try:
                page = _present(
                    self._call("GET", resource_url(resource, namespace), query=query, accept=accept)
                )
            except _Expired:
                # The snapshot behind a continue token is gone (410). A list must be complete.
                items.clear()
                query.pop("continue", None)
                query.pop("limit", None)
                continue
            items.extend(page.get("items") or [])
            token = page.get("metadata", {}).get("continue")
            if not token:
                return items
            query["continue"] = token

    def _call(
        self,
        method: str,
        url: str,
        *,
        query: Mapping[str, str] | None = None,
        body: Mapping[str, Any] | None = None,
        content: str = "application/json",
        accept: str = "application/json",
        missing_ok: bool = False,
    ) -> KubeObject | None:
        try:
            response = self._send(method, url, query=query, body=body, content=content, accept=accept)
        except ObjectMissing:
            if missing_ok:
                return None
            raise
        return _decoded(method, url, response)

    def _send(
        self,
        method: str,
        url: str,
        *,
        query: Mapping[str, str] | None = None,
        body: Mapping[str, Any] | None = None,
        content: str = "application/json",
        accept: str = "application/json",
    ) -> requests.Response:
        target = f"{url}?{urlencode(query)}" if query else url
        headers = {"Accept": accept, "User-Agent": self._user_agent}
        data = None
        if body is not None:
            headers["Content-Type"] = content
            data = json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode()
        attempts: tenacity.Retrying = tenacity.Retrying(
            retry=tenacity.retry_if_exception_type(ApiUnavailable),
            wait=_pause,
            stop=tenacity.stop_after_delay(self._retries_within),
            reraise=True,
        )
        response: requests.Response = attempts(self._once, method, target, headers, data)
        return response

    def _once(
        self,
        method: str,
        target: str,
        headers: dict[str, str],
        data: bytes | None,
        stream_within: tuple[float, float] | None = None,
    ) -> requests.Response:
        """One request. With `stream_within` it has these timeouts, and its body is not read yet."""
        client = self._client()
        headers = {**headers, **self._connection.headers()}
        try:
            response: requests.Response = client.session.request(
                method,
                f"{client.url.rstrip('/')}{target}",
                headers=headers,
                data=data,
                timeout=stream_within or self._timeouts,
                stream=stream_within is not None,
            )
        except requests.RequestException as error:
            # The text of errors of requests contains the URL, but no headers or body.
            raise ApiUnavailable(f"{method} {target.partition('?')[0]}: {_brief(error)}") from error
        if response.status_code >= 400:
            raise answer_error(method, target, response)
        return response

    def _client(self) -> pykube.HTTPClient:
        client: pykube.HTTPClient | None = getattr(self._local, "client", None)
        if client is None:
            client = open_client(self._connection)
            self._local.client = client
        return client


class _Expired(KubeError):
    """410: a continue token or a resourceVersion that is too old."""


_MEANINGS: Mapping[int, type[KubeError]] = {
    401: Forbidden,
    403: Forbidden,
    404: ObjectMissing,
    409: Conflict,
    410: _Expired,
} | dict.fromkeys((400, 405, 406, 413, 415, 422), ObjectRefused)


# Texts of etcd, and of the API server's client for it, with status 500.
_TOO_LARGE = ("etcdserver: request is too large", "trying to send message larger than max")


def _pause(state: tenacity.RetryCallState) -> float:
    error = state.outcome.exception() if state.outcome else None
    asked = error.retry_after if isinstance(error, ApiUnavailable) else None
    growing = tenacity.wait_random_exponential(multiplier=0.2, max=5)(state)
    return max(growing, min(asked or 0.0, RETRIES_WITHIN))


def _brief(error: Exception) -> str:
    cause: BaseException = error
    while cause.__context__ is not None:
        cause = cause.__context__
    return f"{type(error).__name__}: {cause}"[:300]


def answer_error(method: str, target: str, response: requests.Response) -> KubeError:
    """The error for a response. 500 "field not declared in schema" is server-side apply's way to say 422
    (FieldManager's typed conversion fails before validation), so it is not worth a retry.
    """
    try:
        text = str(response.json().get("message") or response.reason)
    except (ValueError, AttributeError):
        text = response.text[:300] or str(response.reason)
    code = response.status_code
    message = f"{method} {target.partition('?')[0]}: {code} {text}"
    if code == 413 or any(words in text for words in _TOO_LARGE):
        return ObjectTooLarge(message)
    if code in _MEANINGS:
        return _MEANINGS[code](message)
    undeclared = code == 500 and ("field not declared" in text or "failed to create typed" in text)
    if undeclared:
        return ObjectRefused(message)
    if code == 429 or code >= 500:
        after = response.headers.get("Retry-After", "")
        return ApiUnavailable(message, retry_after=float(after) if after.isdigit() else None)
    return KubeError(message)


def end_of_log(response: requests.Response, octets: int, until: float) -> str:
    """The last octets of a log, complete lines if possible; empty if they take longer than `until`.

    The API server's own limit, `limitBytes`, keeps the beginning.
    """
    kept, cut = b"", False
    for chunk in response.iter_content(LOG_END):
        cut = cut or len(kept) + len(chunk) > octets
        kept = (kept + chunk)[-octets:]
        if time.monotonic() > until:
            return ""
    if cut:
        # An incomplete line may begin with a part of a secret.
        kept = kept.partition(b"\n")[2] or kept
    return kept.decode(errors="replace")


def _decoded(method: str, url: str, response: requests.Response) -> KubeObject:
    """The object of a successful answer.

    Another answer came from a server in between, such as a proxy's error page.
    """
    try:
        decoded: object = json.loads(without_depths(response.content))
    except ValueError:
        # Without the decoder's error, which contains the document.
        decoded = None
    if not isinstance(decoded, dict):
        raise ApiUnavailable(f"{method} {url}: {response.status_code} without a JSON object")
    return decoded


def _present(obj: KubeObject | None) -> KubeObject:
    if obj is None:
        raise KubeError("the API server answered without an object")
    return obj


def resource_url(resource: Resource, namespace: str | None, name: str = "", subresource: str = "") -> str:
    return _path(resource.api_version, resource.plural, namespace, name, subresource)


def _url_of(obj: Mapping[str, Any], *, subresource: str = "", collection: bool = False) -> str:
    """URL of an object from its own apiVersion and kind."""
    resource, meta = resource_of(obj), obj["metadata"]
    name = "" if collection else str(meta["name"])
    return _path(resource.api_version, resource.plural, meta.get("namespace"), name, subresource)


def _path(api_version: str, plural: str, namespace: str | None, name: str, subresource: str) -> str:
    root = f"/apis/{api_version}" if "/" in api_version else f"/api/{api_version}"
    parts = [root]
    if namespace:
        parts += ["namespaces", namespace]
    parts += [part for part in (plural, name, subresource) if part]
    return "/".join(parts)
