"""What a smoke check makes and removes in OpenStack, behind HTTP on loopback, in the services' own shapes.

Beside `CloudServer`, which has Keystone's tokens and the versions. `tests/openstack/test_smoke.py` asks the
same of a real one.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from controller.domain.region.smoke import Kind
from tests.fakes.cloud import FakeCloud
from tests.fakes.cloud_server import PATHS, Answer, CloudServer, _fault
from tests.fakes.identity import FakeIdentity
from tests.fakes.json_server import serving

IMAGE = "/image"
# Path: what a list of them is called, and one of them.
_COLLECTIONS = {
    "/identity/v3/projects": ("projects", "project"),
    "/network/v2.0/networks": ("networks", "network"),
    "/network/v2.0/subnets": ("subnets", "subnet"),
    "/network/v2.0/ports": ("ports", "port"),
    "/network/v2.0/security-groups": ("security_groups", "security_group"),
    "/compute/v2.1/servers": ("servers", "server"),
    "/compute/v2.1/flavors": ("flavors", "flavor"),
    "/volume/v3/volumes": ("volumes", "volume"),
    "/image/v2/images": ("images", ""),
}
# What a service calls the project of what it lists, where that is not `project_id`.
_PROJECT = {"servers": "tenant_id", "volumes": "os-vol-tenant-attr:tenant_id", "images": "owner"}
_KINDS = {
    Kind.SERVER: "servers",
    Kind.VOLUME: "volumes",
    Kind.PORT: "ports",
    Kind.NETWORK: "networks",
    Kind.IMAGE: "images",
    Kind.FLAVOR: "flavors",
}


class SmokeServer(CloudServer):
    """`server_ends`: what becomes of a server, and of those that go whether they go at all (`stuck`).

    `fail`: called with method and path before anything is done; what it gives is the answer. `lose`: where
    the answer is lost on the way. `without`: services that are not in the catalogue. `deaf`: what is listed
    whole, whichever project was asked for.
    """

    def __init__(self, port: int) -> None:
        super().__init__(FakeCloud(), port)
        self.there: dict[str, dict[str, dict[str, Any]]] = {name: {} for name, _ in _COLLECTIONS.values()}
        self.contents: dict[str, bytes] = {}
        self.members: list[tuple[str, str]] = []
        self.server_ends = {"status": "ACTIVE", "fault": ""}
        self.stuck = False
        self.without: set[str] = set()
        self.deaf: set[str] = set()
        self.fail: Callable[[str, str], Answer | None] = lambda method, path: None
        self.lose = ("", "")
        self._scope = "admin"
        self._ids = itertools.count(1)

    def left(self) -> dict[str, list[str]]:
        """All that is there of what a run makes, by kind."""
        names = (*_KINDS.values(), "projects", "subnets", "security_groups")
        return {name: sorted(self.there[name]) for name in names if self.there[name]}

    def _catalogue(self) -> list[dict[str, Any]]:
        endpoint = {"interface": "public", "region": "RegionOne", "region_id": "RegionOne"}
        return [
            {"type": type_, "name": type_, "id": type_, "endpoints": [{**endpoint, "id": type_, "url": url}]}
            for type_, url in ((type_, self.url + path) for type_, path in (*PATHS.items(), ("image", IMAGE)))
            if type_ not in self.without
        ]

    def reply(self, method: str, target: str, content: bytes) -> tuple[int, Any]:
        """Status and body: bytes as they are, anything else as JSON."""
        answer = self._reply(method, target, content)
        return (504, {}) if (method, target) == self.lose else answer

    def _reply(self, method: str, target: str, content: bytes) -> tuple[int, Any]:
        path = urlsplit(target).path.rstrip("/")
        asked = dict(parse_qsl(urlsplit(target).query))
        refused = self.fail(method, path)
        if refused is not None:
            return refused
        if path.startswith("/image/v2/images/") and path.endswith("/file"):
            return self._file(method, path.split("/")[-2], content)
        body = json.loads(content) if content else None
        if (method, path) == ("POST", "/identity/v3/auth/tokens"):
            self._scope = (body["auth"].get("scope") or {}).get("project", {}).get("id") or "admin"
            return 201, self._scoped()
        if path == IMAGE:
            link = {"rel": "self", "href": f"{self.url}{IMAGE}/v2/"}
            return 300, {"versions": [{"id": "v2.17", "status": "CURRENT", "links": [link]}]}
        if path == "/identity/v3/roles":
            return 200, {"roles": [{"id": "r1", "name": asked["name"]}]}
        if "/roles/" in path:
            self.members.append((path.split("/")[4], path.split("/")[6]))
            return 204, None
        if path.endswith("/action") or path.endswith("/os-volume_attachments"):
            return self._act(path, body)
        for base, (plural, single) in _COLLECTIONS.items():
            if path in (base, f"{base}/detail"):
                return self._collection(method, plural, single, asked, body)
            if path.startswith(f"{base}/") and method in ("GET", "DELETE"):
                return self._item(method, path, plural, single)
        return self.answer(method, target, body)

    def _scoped(self) -> dict[str, Any]:
        found = FakeIdentity(0)._token(self._catalogue())
        found["token"]["project"] = {**found["token"]["project"], "id": self._scope}
        return found

    def _collection(self, method: str, plural: str, single: str, asked: dict[str, str], body: Any) -> Answer:
        if method == "POST":
            return self._make(plural, single, body[single] if single else body)
        if plural == "security_groups" and asked["project_id"] not in {
            one["project_id"] for one in self.there[plural].values()
        }:
            # As Neutron does (neutron/db/securitygroups_db.py, get_security_groups).
            self._make(plural, single, {"name": "default"}, asked["project_id"])
        wanted = {key: asked[key] for key in ("project_id", "owner", "tags") if key in asked}
        if "project_id" in wanted:
            wanted[_PROJECT.get(plural, "project_id")] = wanted.pop("project_id")
        if plural in self.deaf:
            wanted = {}
        return 200, {
            plural: [
                one
                for one in self.there[plural].values()
                if all(
                    str(one.get(key)) == value or value in one.get(key, ()) for key, value in wanted.items()
                )
            ]
        }

    def _make(self, plural: str, single: str, given: dict[str, Any], project: str = "") -> Answer:
        id_ = f"{single or 'image'}-{next(self._ids)}"
        key = _PROJECT.get(plural, "project_id")
        made = {**given, "id": id_, key: project or self._scope}
        if plural == "ports":
            made["fixed_ips"] = [{"ip_address": "192.0.2.9"}]
        if plural == "servers":
            made |= {"status": "BUILD"}
        if plural == "volumes":
            made |= {"status": "available"}
        if plural == "images":
            made |= {"status": "queued"}
        self.there[plural][id_] = made
        return 201, {single: made} if single else made

    def _item(self, method: str, path: str, plural: str, single: str) -> Answer:
        id_ = path.rpartition("/")[2]
        found = self.there[plural].get(id_)
        if found is None:
            return _fault(path, 404, f"{single} {id_} could not be found")
        if method == "DELETE":
            if plural == "networks" and any(one["network_id"] == id_ for one in self.there["ports"].values()):
                return _fault(path, 409, "There are one or more ports still in use on the network")
            if not (plural == "servers" and self.stuck):
                del self.there[plural][id_]
            if plural == "networks":
                subnets = self.there["subnets"]
                self.there["subnets"] = {k: v for k, v in subnets.items() if v["network_id"] != id_}
            return 204, None
        if plural == "servers" and self.server_ends["status"]:
            found["status"] = self.server_ends["status"]
            found["fault"] = {"message": self.server_ends["fault"]}
        return 200, {single: found} if single else found

    def _act(self, path: str, body: Any) -> Answer:
        if "volumeAttachment" in body:
            self.there["volumes"][body["volumeAttachment"]["volumeId"]]["status"] = "in-use"
            return 200, body
        self.there["flavors"][path.split("/")[-2]]["access"] = body["addTenantAccess"]["tenant"]
        return 200, {}

    def _file(self, method: str, image: str, content: bytes) -> tuple[int, Any]:
        if method == "GET":
            return 200, self.contents[image]
        self.contents[image] = content
        self.there["images"][image]["status"] = "active"
        return 204, None


def served_smoke() -> AbstractContextManager[SmokeServer]:
    """One that answers until the end of the block."""
    return serving(SmokeServer, lambda server, asked: server.reply(asked.method, asked.path, asked.body))
