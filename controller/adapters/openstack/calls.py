"""One OpenStack's REST interfaces through openstacksdk: deadlines, retries, and checks of answers.

Only reads are repeated, with growing and jittered pauses inside one deadline. A POST is sent once. After a
429 or 503 with Retry-After, that service gets no request before that time.
"""

from __future__ import annotations

import contextlib
import copy
import json
import logging
import math
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import requests
from urllib3.exceptions import HTTPError

from controller.adapters.http.bounded import BoundedAdapter
from controller.adapters.openstack.answers import (
    CloudAnswer,
    fault_of,
    items_of,
    read_answer,
    reports_absent,
    retry_after,
)
from controller.adapters.openstack.failures import STUMBLED, NoEndpoint, told_as_unavailable
from controller.adapters.openstack.logins import refuse_login_in_login
from controller.domain.api.conditions import timestamp
from controller.domain.shared import backoff
from controller.errors import CloudRefused, CloudUnavailable, CredentialsDenied
from controller.ports.system import Clock, Randomness

# Seconds: until something comes, one request with all of its answer, a read with all its repetitions, and
# a probe of an endpoint as a whole.
REQUEST_TIMEOUT = 15.0
ANSWER_WITHIN = 30.0
READ_WITHIN = 20.0
PROBE_TIMEOUT = 5.0
# After a login to refresh the catalogue, there is no other one for this long.
LOGIN_LASTS = 10.0
PAGE = 500
MOST_PAGES = 1000
# Without these, openstacksdk repeats an interrupted request, even a POST.
_ONCE: Mapping[str, Any] = {"raise_exc": False, "connect_retries": 0, "status_code_retries": 0}
_BUSY = frozenset((429, 502, 503, 504))
# Of the answers that are a failure of the server and not of the request.
_BROKEN = frozenset((408, 425, 500)) | _BUSY


@dataclass(frozen=True)
class Login:
    """Ids of the user, of its project and of that one's domain, and the types and regions of its services."""

    user: str
    project: str
    domain: str
    services: frozenset[str]
    regions: frozenset[str] = frozenset()


class CloudCalls:
    """Requests to the services of one cloud. One connection for each thread that asks."""

    def __init__(
        self,
        cloud: Mapping[str, Any],
        clock: Clock,
        randomness: Randomness,
        sleep: Callable[[float], None] = time.sleep,
        authority: bytes = b"",
        *,
        request_timeout: float = REQUEST_TIMEOUT,
    ) -> None:
        self._request_timeout = request_timeout
        self._cloud = dict(cloud)
        if authority:
            # A file for a library that needs a file name; it exists as long as this object.
            self._authority = tempfile.NamedTemporaryFile(prefix="authority-", suffix=".crt")  # noqa: SIM115
            self._authority.write(authority)
            self._authority.flush()
            self._cloud["cacert"] = self._authority.name
        self._clock = clock
        self._randomness = randomness
        self._sleep = sleep
        self._local = threading.local()
        # The library keeps a connection and its sockets alive after its thread is gone.
        self._opened: list[Any] = []
        self._quiet: dict[str, float] = {}
        # Since when the catalogue has had no endpoint of a service, in seconds since the epoch.
        self._missing: dict[str, float] = {}
        self._begun_by = self._until = math.inf
        self.count = 0

    def until(self, deadline: float, *, grace: float = 0.0) -> CloudCalls:
        """The same calls with a deadline: `late` after `deadline`, nothing sent after the grace."""
        bounded = copy.copy(self)
        bounded._begun_by, bounded._until = deadline, deadline + grace
        return bounded

    def longer(self, seconds: float) -> CloudCalls:
        """The same calls with so many seconds more of grace."""
        bounded = copy.copy(self)
        bounded._until += seconds
        return bounded

    @property
    def late(self) -> bool:
        """Whether nothing new may begin."""
        return self._clock.monotonic() >= self._begun_by

    def get(
        self, service: str, path: str, params: Mapping[str, Any] | None = None, microversion: str = ""
    ) -> Any:
        """The parsed answer, None if the service says that the object does not exist.

        Raises CloudUnavailable, CloudRefused.
        """
        deadline = min(self._clock.monotonic() + READ_WITHIN, self._until)
        attempt = 0
        while True:
            attempt += 1
            try:
                return self._ask("GET", service, path, params=params, microversion=microversion)
            except CloudUnavailable as error:
                pause = backoff.delay(attempt, self._randomness.jitter(), first=0.5, cap=8.0)
                pause = max(pause, error.retry_after or 0.0)
                if self._clock.monotonic() + pause > deadline:
                    raise
                self._sleep(pause)

    def pages(
        self,
        service: str,
        path: str,
        name: str,
        params: Mapping[str, Any],
        microversion: str,
        *,
        key: str = "id",
    ) -> Iterator[dict[str, Any]]:
        """Every item of a list that comes in pages; CloudUnavailable if one of them does not arrive.

        `key`: the field of an item that selects the next page.
        """
        marker = ""
        for _ in range(MOST_PAGES):
            given = {**params, "limit": PAGE} | ({"marker": marker} if marker else {})
            answer = self.get(service, path, given, microversion)
            items = items_of(answer, name, path)
            yield from items
            more = any(link.get("rel") == "next" for link in answer.get(f"{name}_links") or ())
            if not more:
                return
            last = str(items[-1].get(key) or "") if items else ""
            if last in ("", marker):
                raise CloudUnavailable(f"{path}: the list does not come to an end")
            marker = last
        raise CloudUnavailable(f"{path}: the list does not come to an end")

    def send(
        self, method: str, service: str, path: str, body: Mapping[str, Any] | None, microversion: str = ""
    ) -> Any:
        """One write, sent once. Raises CloudUnavailable if its outcome is not known, and CloudRefused."""
        return self._ask(method, service, path, body=body, microversion=microversion)

    def send_content(self, service: str, path: str, content: bytes) -> None:
        """PUTs bytes unchanged, once. Raises CloudUnavailable, CloudRefused."""
        self._ask("PUT", service, path, content=content)

    def get_content(self, service: str, path: str) -> bytes:
        """The bytes at a path, requested once. Raises CloudUnavailable, CloudRefused."""
        what = f"{service} GET {path}"
        answer = self._answer("GET", service, path, {})
        if answer.code != 200:
            self._judge(answer, "GET", service, path)
            raise CloudUnavailable(f"{what}: {answer.code} instead of content")
        return answer.content

    def login(self) -> Login:
        """The identity of these credentials, by a login. Raises CloudUnavailable."""
        session = self._connection().session
        with told_as_unavailable("the login"):
            access = session.auth.get_access(session)
            catalog = access.service_catalog.catalog
            return Login(
                user=str(access.user_id),
                project=str(access.project_id or ""),
                domain=str(access.project_domain_id or "default"),
                services=frozenset(str(one.get("type")) for one in catalog),
                regions=frozenset(region for _, _, region, _ in _endpoints(catalog)),
            )

    def status(self, url: str) -> int:
        """The HTTP status of a GET of any URL, without credentials. Raises CloudUnavailable for none."""
        trust = self._connection().session
        with requests.Session() as session, contextlib.closing(BoundedAdapter(PROBE_TIMEOUT)) as bounded:
            session.mount("https://", bounded)
            session.mount("http://", bounded)
            try:
                response = session.get(
                    url,
                    verify=trust.verify,
                    cert=trust.cert,
                    allow_redirects=False,
                    timeout=PROBE_TIMEOUT,
                    # The status is enough.
                    stream=True,
                )
            except (requests.RequestException, HTTPError, OSError, ValueError) as error:
                kind = "Timeout" if bounded.cut else type(error).__name__
                raise CloudUnavailable(kind) from None
            response.close()
            if bounded.cut:
                raise CloudUnavailable("Timeout")
            return int(response.status_code)

    def close(self) -> None:
        """Releases every thread's connection; later calls still work."""
        while self._opened:
            self._opened.pop().close()

    @property
    def interface(self) -> str:
        """The interface of the catalogue that the credentials name: public, internal or admin."""
        return str(self._cloud.get("interface") or "public").removesuffix("URL")

    @property
    def region(self) -> str:
        """The region of the catalogue that the credentials name, or nothing."""
        return str(self._cloud.get("region_name") or "")

    def _ask(
        self,
        method: str,
        service: str,
        path: str,
        *,
        params: Mapping[str, Any] | None = None,
        body: Mapping[str, Any] | None = None,
        content: bytes | None = None,
        microversion: str = "",
    ) -> Any:
        if self._clock.monotonic() >= self._until:
            text = (
                f"{service} {method} {path}: not sent, because the time limit of this "
                "reconciliation is reached"
            )
            raise CloudUnavailable(text, untouched=True)
        wait = self._quiet.get(service, 0.0) - self._clock.monotonic()
        if wait > 0:
            raise CloudUnavailable(f"{service} requested a pause", wait, untouched=True)
        more: dict[str, Any] = {"microversion": microversion} if microversion else {}
        if params:
            more["params"] = dict(params)
        if body is not None:
            more["json"] = dict(body)
        if content is not None:
            more |= {"data": content, "headers": {"Content-Type": "application/octet-stream"}}
        self.count += 1
        try:
            answer = self._answer(method, service, path, more)
        except NoEndpoint:
            # Nothing was sent. A catalogue is as old as the login, and services appear later in a first
            # install.
            if not self._has_grown_old():
                raise self._absent(service) from None
            self._log_in_again()
            try:
                answer = self._answer(method, service, path, more)
            except NoEndpoint:
                raise self._absent(service) from None
        self._missing.pop(service, None)
        return self._judge(answer, method, service, path)

    def _absent(self, service: str) -> CloudRefused:
        since = timestamp(self._missing.setdefault(service, self._clock.now()))
        place = self.region or "the cloud"
        return CloudRefused(
            f"the catalogue of {place} has no {self.interface} endpoint of {service} yet (since {since}); "
            "the controller reads the catalogue again at each reconciliation",
            404,
        )

    def _has_grown_old(self) -> bool:
        """Whether Keystone's catalogue differs from the one in this thread's token.

        One read without a login. False if it is not known, and for a while after a login that this caused:
        the next pass asks again.
        """
        if self._clock.monotonic() < getattr(self._local, "login_lasts", 0.0):
            return False
        try:
            session = self._connection().session
            known = session.auth.get_access(session).service_catalog.catalog
            answer = self._answer("GET", "identity", "/auth/catalog", {})
            listed = items_of(self._judge(answer, "GET", "identity", "/auth/catalog"), "catalog", "")
        except (NoEndpoint, CloudRefused, CloudUnavailable, *STUMBLED):
            return False
        return _endpoints(known) != _endpoints(listed)

    def _log_in_again(self) -> None:
        """Releases this thread's connection: the next one logs in and gets the present catalogue."""
        found, self._local.connection = self._local.connection, None
        with contextlib.suppress(ValueError):
            self._opened.remove(found)
        found.close()
        self._local.login_lasts = self._clock.monotonic() + LOGIN_LASTS

    def _answer(self, method: str, service: str, path: str, more: Mapping[str, Any]) -> CloudAnswer:
        what = f"{service} {method} {path}"
        deadline = self._clock.monotonic() + max(ANSWER_WITHIN, self._request_timeout)
        if method == "GET":
            # The outcome of an interrupted write would be unknown.
            deadline = min(deadline, self._until)
        with told_as_unavailable(what):
            proxy = getattr(self._connection(), service)
            response = proxy.request(path, method, stream=True, **_ONCE, **more)
        return read_answer(response, what, deadline=deadline, monotonic=self._clock.monotonic)

    def _judge(self, answer: CloudAnswer, method: str, service: str, path: str) -> Any:
        what, code = f"{service} {method} {path}", answer.code
        if code in _BROKEN:
            asked = retry_after(answer.headers.get("Retry-After"), self._clock.now())
            if code in _BUSY and asked:
                self._quiet[service] = self._clock.monotonic() + asked
            raise CloudUnavailable(f"{what}: {code}", asked, untouched=code == 429)
        if code == 401:
            raise CredentialsDenied(f"{what}: the credentials are not accepted")
        if code == 404 and not reports_absent(service, answer.content):
            raise CloudUnavailable(f"{what}: 404, and the answer does not come from the service itself")
        if code == 404 and method in ("GET", "DELETE"):
            return None
        if code >= 400:
            raise CloudRefused(f"{what}: {code} {fault_of(answer.content)}", code)
        if code == 204 or not answer.content:
            return {}
        try:
            return json.loads(answer.content)
        except ValueError:
            raise CloudUnavailable(f"{what}: the answer is cut short") from None

    def _connection(self) -> Any:
        found = getattr(self._local, "connection", None)
        if found is None:
            # At level DEBUG they write whole answers into the log, and servers' metadata are in them.
            for name in ("keystoneauth", "openstack", "urllib3"):
                logging.getLogger(name).setLevel(logging.WARNING)
            found = self._connect()
            self._local.connection = found
            self._opened.append(found)
        return found

    def _connect(self) -> Any:
        """A connection that has sent nothing yet. Raises CloudUnavailable if the file needs an edit."""
        import openstack
        from keystoneauth1.exceptions import ClientException
        from openstack.exceptions import SDKException

        try:
            connection = openstack.connect(
                load_yaml_config=False,
                load_envvars=False,
                # `_cloud` holds neither (clouds_yaml).
                app_name="openstack-controller",
                api_timeout=self._request_timeout,
                **self._cloud,
            )
            refuse_login_in_login(connection.session.auth)
            return connection
        except (ClientException, SDKException, ImportError, *STUMBLED) as error:
            # Their texts quote values.
            raise CloudUnavailable(f"the clouds.yaml cannot be used: {type(error).__name__}") from None


def _endpoints(catalogue: Iterable[Mapping[str, Any]]) -> set[tuple[str, str, str, str]]:
    """Type of the service, interface, region and URL of each."""
    return {
        (
            str(service.get("type")),
            str(endpoint.get("interface")),
            str(endpoint.get("region")),
            str(endpoint.get("url")),
        )
        for service in catalogue
        for endpoint in service.get("endpoints") or ()
    }
