"""A Keystone on loopback, as far as accounts and their roles go: what a real one answers is held against it
in tests/openstack/test_reader.py."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl, urlsplit

ADMIN, ADMIN_PASSWORD = "admin", "of-the-administrator"
ROLES = {"reader": "r-reader", "member": "r-member", "admin": "r-admin"}
PROJECTS = {"admin": "p-admin", "service": "p-service"}
DOMAIN = "d-default"

Answer = tuple[int, Any]


class FakeKeystone:
    """`users` by id, with their passwords; `assigned`: the roles of each, as role assignments have them.

    `changes`: method and path of each write; `down`: it answers 503; `refusing`: it takes no password of
    users. `before_change` is called ahead of each write, and may raise `CutOff`.
    """

    class CutOff(Exception):
        """The connection ends without an answer."""

    def __init__(self) -> None:
        self.users: dict[str, dict[str, Any]] = {}
        self.assigned: dict[str, list[dict[str, Any]]] = {}
        self.groups: dict[str, list[str]] = {}
        self.admin_password = ADMIN_PASSWORD
        self.changes: list[tuple[str, str]] = []
        self.asked = 0
        self.down = False
        self.refusing = False
        self.before_change: Callable[[str, str], None] = lambda _method, _path: None
        self.after_change: Callable[[str, str], None] = lambda _method, _path: None
        self._ids = 0
        self._lock = threading.Lock()
        self.port = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v3"

    # -- what tests ask

    def names(self) -> list[str]:
        return sorted(user["name"] for user in self.users.values())

    def user(self, name: str) -> dict[str, Any]:
        return next(user for user in self.users.values() if user["name"] == name)

    def lets_in(self, name: str, password: str) -> bool:
        return any(
            user["name"] == name and user["password"] == password and user["enabled"]
            for user in self.users.values()
        )

    def roles(self, name: str) -> list[str]:
        """`reader of system`, `reader of p-admin`."""
        names = {one: name for name, one in ROLES.items()}
        return sorted(
            f"{names[one['role']['id']]} of {_scope(one['scope'])}"
            for one in self.assigned.get(self.user(name)["id"], ())
        )

    def add_user(self, name: str, **more: Any) -> str:
        self._ids += 1
        user = f"u{self._ids}"
        known = {"id": user, "name": name, "domain_id": DOMAIN, "enabled": True, "options": {}}
        self.users[user] = {**known, "password": "of somebody else", **more}
        return user

    def give(self, name: str, role: str, project: str) -> None:
        scope = {"project": {"id": PROJECTS[project]}}
        held = self.assigned.setdefault(self.user(name)["id"], [])
        held.append({"role": {"id": ROLES[role]}, "scope": scope})

    # -- what it answers

    def answer(self, method: str, path: str, body: Any) -> Answer:
        with self._lock:
            self.asked += 1
            if self.down:
                return 503, {}
            parts = urlsplit(path)
            query = dict(parse_qsl(parts.query))
            route = parts.path.removeprefix("/v3").strip("/").split("/")
            if method == "POST" and route == ["auth", "tokens"]:
                return self._token(body["auth"])
            if method == "GET":
                return self._get(route, query)
            self.before_change(method, parts.path)
            found = self._change(method, route, body)
            self.changes.append((method, parts.path))
            self.after_change(method, parts.path)
            return found

    def _token(self, auth: dict[str, Any]) -> Answer:
        given = auth["identity"]["password"]["user"]
        if given.get("name") == ADMIN:
            known = given["password"] == self.admin_password
            return (201, {"token": {"user": {"id": "u-admin"}}}) if known else (401, {})
        user = self.users.get(given.get("id", ""))
        known = bool(user and user["enabled"] and user["password"] == given["password"])
        return (201, {"token": {"user": {"id": given.get("id")}}}) if known else (401, {})

    def _get(self, route: list[str], query: dict[str, str]) -> Answer:
        kind = route[0]
        if kind == "domains":
            named = query.get("name", "").lower() == "default"
            return 200, {"domains": [{"id": DOMAIN, "name": "Default"}] if named else []}
        if kind == "roles":
            found = [{"id": id_, "name": name} for name, id_ in ROLES.items() if name == query["name"]]
            return 200, {"roles": found}
        if kind == "projects":
            found = [{"id": id_, "name": name} for name, id_ in PROJECTS.items() if name == query["name"]]
            return 200, {"projects": found}
        if kind == "role_assignments":
            return 200, {"role_assignments": self.assigned.get(query["user.id"], [])}
        if kind == "users" and len(route) == 1:
            return 200, {"users": [_shown(one) for one in self.users.values() if _matches(one, query)]}
        if kind == "users" and route[1] in self.users:
            if route[2:] == ["groups"]:
                return 200, {"groups": [{"id": one} for one in self.groups.get(route[1], ())]}
            return 200, {"user": _shown(self.users[route[1]])}
        return 404, {}

    def _change(self, method: str, route: list[str], body: Any) -> Answer:
        if route[-2:-1] == ["roles"]:
            return self._assign(method, route)
        given = (body or {}).get("user") or {}
        if self.refusing and "password" in given:
            return 400, {}
        if method == "POST":
            if any(one["name"].lower() == given["name"].lower() for one in self.users.values()):
                return 409, {}
            return 201, {"user": _shown(self.users[self.add_user(**given)])}
        if route[1] not in self.users:
            return 404, {}
        if method == "DELETE":
            del self.users[route[1]]
            self.assigned.pop(route[1], None)
            return 204, None
        user = self.users[route[1]]
        options = {**user["options"], **given.get("options", {})}
        self.users[route[1]] = {**user, **given, "options": options}
        return 200, {"user": _shown(self.users[route[1]])}

    def _assign(self, method: str, route: list[str]) -> Answer:
        """`system/users/U/roles/R`, `projects/P/users/U/roles/R`."""
        user, role = route[-3], route[-1]
        scope = {"system": {"all": True}} if route[0] == "system" else {"project": {"id": route[1]}}
        one = {"role": {"id": role}, "scope": scope}
        held = self.assigned.setdefault(user, [])
        if method == "DELETE" and one in held:
            held.remove(one)
        elif method == "DELETE":
            return 404, {}
        elif one not in held:
            held.append(one)
        return 204, None


def _shown(user: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in user.items() if key != "password"}


def _matches(user: dict[str, Any], query: dict[str, str]) -> bool:
    exact = query.get("name")
    return (exact is None or exact.lower() == user["name"].lower()) and user["name"].startswith(
        query.get("name__startswith", "")
    )


def _scope(scope: dict[str, Any]) -> str:
    return "system" if "system" in scope else str(scope["project"]["id"])


@contextmanager
def served(keystone: FakeKeystone) -> Iterator[FakeKeystone]:
    """It listens on a port of its own."""

    class Handler(BaseHTTPRequestHandler):
        def _serve(self) -> None:
            length = int(self.headers.get("Content-Length") or 0)
            body = json.loads(self.rfile.read(length)) if length else None
            try:
                status, content = keystone.answer(self.command, self.path, body)
            except FakeKeystone.CutOff:
                self.close_connection = True
                return
            text = json.dumps(content).encode() if content is not None else b""
            self.send_response(status)
            self.send_header("X-Subject-Token", f"token-{time.monotonic_ns()}")
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)

        do_GET = do_PUT = do_POST = do_PATCH = do_DELETE = _serve

        def log_message(self, format: str, *args: object) -> None:
            """Says nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    keystone.port = server.server_port
    threading.Thread(target=server.serve_forever, args=(0.005,), daemon=True).start()
    try:
        yield keystone
    finally:
        server.shutdown()
        server.server_close()
