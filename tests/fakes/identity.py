"""A Keystone and a Nova on loopback that answer what probes ask, and nothing else."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any
from urllib.parse import parse_qs, urlsplit

import yaml

from tests.fakes.json_server import JsonRequest, serving

PASSWORD = "of-the-administrator"


class FakeIdentity:
    """`up` False: Nova answers 503; `listed` False: the catalogue does not have it; `strange`: that of
    a token does not, whatever `listed` says.

    Requests are noted in `seen`, with whether they were authenticated; `logins` counts tokens.
    """

    def __init__(self, port: int) -> None:
        self.url = f"http://127.0.0.1:{port}"
        self.up = True
        self.listed = True
        self.strange = False
        self.logins = 0
        self.computes: dict[str, str] = {"cmp1": "up"}
        self.seen: list[tuple[str, bool]] = []

    def clouds(self) -> bytes:
        """The clouds.yaml of its administrator."""
        auth = {
            "auth_url": f"{self.url}/v3",
            "username": "admin",
            "password": PASSWORD,
            "project_name": "admin",
            "user_domain_name": "Default",
            "project_domain_name": "Default",
        }
        return yaml.safe_dump({"clouds": {"default": {"auth": auth, "region_name": "RegionOne"}}}).encode()

    def answer(self, path: str) -> tuple[int, Any]:
        """Status and body of what is asked for."""
        if path.startswith("/v2.1") and not self.up:
            return 503, {}
        catalogue = [self._service("identity", "keystone", "/v3")]
        catalogue += [self._service("compute", "nova", "/v2.1")] if self.listed else []
        known: dict[str, Any] = {
            "/v3/auth/tokens": self._token(catalogue[:1] if self.strange else catalogue),
            "/v3/auth/catalog": {"catalog": catalogue},
            "/v3": {"version": self._version("v3.14", "/v3")},
            "/v2.1": {"version": {**self._version("v2.1", "/v2.1"), "version": "2.96", "min_version": "2.1"}},
            "/v2.1/os-services": {"services": self._compute_services(path)},
        }
        path = path.partition("?")[0].rstrip("/")
        return (200, known[path]) if path in known else (404, {})

    def _compute_services(self, path: str) -> list[dict[str, Any]]:
        """Those of the asked binary, all where none is asked for."""
        asked = parse_qs(urlsplit(path).query).get("binary", [""])[0]
        there = [("nova-compute", host, state) for host, state in self.computes.items()]
        there += [(binary, "ctl1", "up") for binary in ("nova-conductor", "nova-scheduler")]
        return [
            {"id": f"{binary}-{host}", "host": host, "binary": binary, "status": "enabled", "state": state}
            for binary, host, state in there
            if asked in ("", binary)
        ]

    def _service(self, type_: str, name: str, path: str) -> dict[str, Any]:
        endpoint = {"interface": "public", "url": f"{self.url}{path}", "region": "RegionOne"}
        return {"type": type_, "name": name, "id": name, "endpoints": [{**endpoint, "id": name}]}

    def _version(self, id_: str, path: str) -> dict[str, Any]:
        link = {"rel": "self", "href": f"{self.url}{path}/"}
        return {"id": id_, "status": "CURRENT" if path == "/v2.1" else "stable", "links": [link]}

    def _token(self, catalogue: list[dict[str, Any]]) -> dict[str, Any]:
        admin = {"id": "admin", "name": "admin", "domain": {"id": "default", "name": "Default"}}
        times = {"issued_at": "2026-01-01T00:00:00.000000Z", "expires_at": "2099-01-01T00:00:00.000000Z"}
        roles = [{"id": "admin", "name": "admin"}]
        token = {"methods": ["password"], "user": admin, "project": admin, "roles": roles}
        return {"token": {**token, **times, "catalog": catalogue}}


def served_identity() -> AbstractContextManager[FakeIdentity]:
    """One that answers until the end of the block."""

    def answer(identity: FakeIdentity, asked: JsonRequest) -> tuple[int, Any]:
        if asked.method == "GET":
            identity.seen.append((asked.path, asked.has_token))
            return identity.answer(asked.path)
        if PASSWORD.encode() not in asked.body:
            return 401, {}
        identity.logins += 1
        return 201, identity.answer(asked.path)[1]

    return serving(FakeIdentity, answer)
