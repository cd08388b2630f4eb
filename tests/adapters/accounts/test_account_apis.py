"""What is asked of a broker and of Keystone, and what becomes of their answers."""

from __future__ import annotations

import http.server
import json
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from controller.adapters.accounts.json_api import JsonApi
from controller.adapters.accounts.servers import RealAccountServers
from controller.domain.credentials.clouds_yaml import Administrator
from controller.domain.credentials.rotation.accounts import Account, Server
from controller.domain.credentials.rotation.servers import ServerPlace
from controller.errors import RightRefused, ServerUnavailable
from controller.ports.accounts import ServerLogin

PASSWORD = "not-to-be-shown"
BEFORE = Account(Server.BROKER, "nova", "nova", "oslo_messaging")
AFTER = Account(Server.BROKER, "nova-2", "nova", "oslo_messaging")
USER = Account(Server.KEYSTONE, "nova", "nova", "identity", "service")
NEXT_USER = Account(Server.KEYSTONE, "nova-2", "nova", "identity", "service")


class Api:
    """Answers by method and path; what it was asked is in `asked`."""

    def __init__(self) -> None:
        self.answers: dict[str, tuple[int, Any]] = {}
        self.asked: list[tuple[str, Any]] = []
        api = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def _serve(self) -> None:
                length = int(self.headers.get("Content-Length") or 0)
                body = json.loads(self.rfile.read(length)) if length else None
                api.asked.append((f"{self.command} {self.path}", body))
                status, content = api.answers.get(f"{self.command} {self.path}", (404, {}))
                text = content if isinstance(content, bytes) else json.dumps(content).encode()
                self.send_response(status)
                self.send_header("X-Subject-Token", "a-token")
                self.send_header("Location", "/elsewhere")
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)

            do_GET = do_PUT = do_POST = do_PATCH = do_DELETE = _serve

            def log_message(self, format: str, *args: object) -> None:
                """Says nothing."""

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, args=(0.005,), daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server.server_port}"

    @property
    def writes(self) -> list[tuple[str, Any]]:
        return [one for one in self.asked if not one[0].startswith(("GET", "POST"))]


@pytest.fixture
def api() -> Iterator[Api]:
    made = Api()
    yield made
    made.server.shutdown()
    made.server.server_close()


@pytest.fixture
def broker(api: Api) -> ServerLogin:
    place = ServerPlace(Server.BROKER, "127.0.0.1", api.server.server_port, "rabbitmq", PASSWORD)
    return ServerLogin(place, PASSWORD)


@pytest.fixture
def keystone(api: Api) -> ServerLogin:
    names = ("username", "project_name", "user_domain_name", "project_domain_name")
    admin = Administrator(f"{api.url}/v3", dict.fromkeys(names, "admin"), PASSWORD)
    api.answers["POST /v3/auth/tokens"] = (201, {})
    api.answers["GET /v3/domains?name=service"] = (200, {"domains": [{"id": "d1"}]})
    return ServerLogin(ServerPlace(Server.KEYSTONE, keystone=admin), PASSWORD)


def has_user(api: Api, name: str, *found: tuple[str, str]) -> None:
    users = [{"name": one, "id": user} for one, user in found]
    api.answers[f"GET /v3/users?name={name}&domain_id=d1"] = (200, {"users": users})


@pytest.mark.parametrize(
    ("status", "content", "told"),
    [
        (401, {"reason": PASSWORD}, "answers GET /x with 401"),
        (302, {}, "answers GET /x with 302"),
        (200, b"<html>", "does not answer (JSONDecodeError)"),
        (500, PASSWORD.encode(), "answers GET /x with 500"),
    ],
)
def test_an_answer_that_is_none_is_reported_without_its_words(
    api: Api, status: int, content: Any, told: str
) -> None:
    api.answers["GET /x"] = (status, content)
    with pytest.raises(ServerUnavailable) as caught:
        JsonApi(api.url, login=("admin", PASSWORD)).get("/x")
    assert str(caught.value) == f"{api.url} {told}"


def test_an_answer_of_another_shape_is_reported_like_one_that_does_not_come(
    api: Api, broker: ServerLogin, keystone: ServerLogin
) -> None:
    servers = RealAccountServers()
    api.answers["GET /api/connections?columns=user"] = (200, ["nova"])
    with pytest.raises(
        ServerUnavailable, match=f"127.0.0.1:{broker.place.port} does not answer like a broker"
    ):
        servers.sessions(broker, BEFORE)
    api.answers["GET /v3/domains?name=service"] = (200, {"domains": [{}]})
    with pytest.raises(ServerUnavailable, match="/v3 does not answer like a keystone"):
        servers.has(keystone, USER)
    api.answers["POST /v3/auth/tokens"] = (201, ["token"])
    with pytest.raises(ServerUnavailable, match="/v3 does not answer like a keystone"):
        servers.drop_other_passwords(keystone)
    api.answers["POST /v3/auth/tokens"] = (201, {})
    for ask in (
        lambda: servers.give_password(keystone, USER, "next"),
        lambda: servers.restore_lockout(keystone, USER),
    ):
        with pytest.raises(ServerUnavailable, match="/v3 does not answer like a keystone"):
            ask()


def test_a_failing_listener_is_reported() -> None:
    with pytest.raises(ServerUnavailable, match=r"does not answer \(ConnectionError\)"):
        JsonApi("http://127.0.0.1:9").get("/x")


def test_an_answer_without_an_end_is_cut(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("controller.adapters.accounts.json_api.MOST_BYTES", 10)
    api.answers["GET /x"] = (200, ["a" * 100])
    with pytest.raises(ServerUnavailable, match="ValueError"):
        JsonApi(api.url).get("/x")


def test_an_account_is_there_by_that_very_name(api: Api, broker: ServerLogin, keystone: ServerLogin) -> None:
    api.answers["GET /api/users/nova"] = (200, {"name": "nova"})
    has_user(api, "nova", ("nova", "u1"))
    has_user(api, "nova-2", ("NOVA-2", "u2"))
    servers = RealAccountServers()
    assert [servers.has(broker, one) for one in (BEFORE, AFTER)] == [True, False]
    assert [servers.has(keystone, one) for one in (USER, NEXT_USER)] == [True, False]


def test_connections_of_an_account_are_counted_and_not_those_of_others(api: Api, broker: ServerLogin) -> None:
    listed = [{"user": "nova"}, {"user": "nova-2"}, {"user": "nova"}, {}]
    api.answers["GET /api/connections?columns=user"] = (200, listed)
    assert RealAccountServers().sessions(broker, BEFORE) == 2


def test_permissions_that_the_next_account_lacks_are_passed_on(api: Api, broker: ServerLogin) -> None:
    rights = {"configure": "", "write": "a.*", "read": ".*"}
    own, more = {"vhost": "nova", **rights}, {"vhost": "/", **rights}
    api.answers["GET /api/users/nova-2"] = (200, {"name": "nova-2"})
    api.answers["GET /api/users/nova-2/permissions"] = (200, [own])
    api.answers["GET /api/users/nova/permissions"] = (200, [own, more])
    api.answers["PUT /api/permissions/%2F/nova-2"] = (201, {})
    RealAccountServers().copy_grants(broker, BEFORE, AFTER)
    assert api.writes == [("PUT /api/permissions/%2F/nova-2", rights)]


def test_rights_to_topics_that_the_next_account_lacks_are_passed_on(api: Api, broker: ServerLogin) -> None:
    own, more = (
        {"vhost": "/", "exchange": one, "write": "^a", "read": ".*", "user": "nova"}
        for one in ("own", "amq.topic")
    )
    api.answers["GET /api/users/nova-2"] = (200, {"name": "nova-2"})
    api.answers["GET /api/users/nova-2/topic-permissions"] = (200, [own])
    api.answers["GET /api/users/nova/topic-permissions"] = (200, [own, more])
    api.answers["PUT /api/topic-permissions/%2F/nova-2"] = (201, {})
    RealAccountServers().copy_grants(broker, BEFORE, AFTER)
    body = {"exchange": "amq.topic", "write": "^a", "read": ".*"}
    assert api.writes == [("PUT /api/topic-permissions/%2F/nova-2", body)]


def test_a_role_that_cannot_be_given_is_reported_and_the_others_are(api: Api, keystone: ServerLogin) -> None:
    has_user(api, "nova", ("nova", "u1"))
    has_user(api, "nova-2", ("nova-2", "u2"))
    roles = [
        {"role": {"id": "r1"}, "scope": {"domain": {"id": "gone"}}},
        {"role": {"id": "r2"}, "scope": {"project": {"id": "p1"}}},
    ]
    api.answers["GET /v3/role_assignments?user.id=u1"] = (200, {"role_assignments": roles})
    api.answers["GET /v3/role_assignments?user.id=u2"] = (200, {"role_assignments": []})
    api.answers["PUT /v3/projects/p1/users/u2/roles/r2"] = (204, b"")
    with pytest.raises(RightRefused, match=r"from user u1, .*: PUT /domains/gone/users/u2/roles/r1$"):
        RealAccountServers().copy_grants(keystone, USER, NEXT_USER)
    assert [path for path, _ in api.writes][-1] == "PUT /v3/projects/p1/users/u2/roles/r2"


def test_nothing_is_passed_on_before_there_is_a_next_account(
    api: Api, broker: ServerLogin, keystone: ServerLogin
) -> None:
    has_user(api, "nova", ("nova", "u1"))
    has_user(api, "nova-2")
    RealAccountServers().copy_grants(broker, BEFORE, AFTER)
    RealAccountServers().copy_grants(keystone, USER, NEXT_USER)
    assert api.writes == []


def test_what_is_gone_already_is_gone(api: Api, broker: ServerLogin, keystone: ServerLogin) -> None:
    has_user(api, "nova")
    RealAccountServers().drop(broker, BEFORE)
    RealAccountServers().drop(keystone, USER)
    assert api.writes == [("DELETE /api/users/nova", None)]


def test_of_users_only_the_one_of_that_very_name_is_deleted(api: Api, keystone: ServerLogin) -> None:
    """A database may compare names without regard to case."""
    has_user(api, "nova", ("Nova", "u9"), ("nova", "u1"))
    api.answers["DELETE /v3/users/u1"] = (204, b"")
    RealAccountServers().drop(keystone, USER)
    assert api.writes == [("DELETE /v3/users/u1", None)]


def test_roles_that_the_next_user_lacks_are_passed_on(api: Api, keystone: ServerLogin) -> None:
    has_user(api, "nova", ("nova", "u1"))
    has_user(api, "nova-2", ("nova-2", "u2"))
    role = {"role": {"id": "r1"}}
    own = {**role, "scope": {"project": {"id": "p1"}}}
    listed = [
        own,
        {**role, "scope": {"domain": {"id": "d1"}}},
        {**role, "scope": {"system": {"all": True}}},
        {**role, "scope": {"project": {"id": "p2"}, "OS-INHERIT:inherited_to": "projects"}},
    ]
    wanted = [
        "PUT /v3/domains/d1/users/u2/roles/r1",
        "PUT /v3/system/users/u2/roles/r1",
        "PUT /v3/OS-INHERIT/projects/p2/users/u2/roles/r1/inherited_to_projects",
    ]
    api.answers["GET /v3/role_assignments?user.id=u1"] = (200, {"role_assignments": listed})
    api.answers["GET /v3/role_assignments?user.id=u2"] = (200, {"role_assignments": [own]})
    api.answers |= dict.fromkeys(wanted, (204, b""))
    RealAccountServers().copy_grants(keystone, USER, NEXT_USER)
    assert [one for one, _ in api.writes] == wanted


def test_groups_and_options_that_the_next_user_lacks_are_passed_on(api: Api, keystone: ServerLogin) -> None:
    has_user(api, "nova", ("nova", "u1"))
    has_user(api, "nova-2", ("nova-2", "u2"))
    api.answers["GET /v3/users/u1/groups"] = (200, {"groups": [{"id": "g1"}, {"id": "g2"}]})
    api.answers["GET /v3/users/u2/groups"] = (200, {"groups": [{"id": "g1"}]})
    given = {"ignore_password_expiry": True, "ignore_lockout_failure_attempts": True}
    api.answers["GET /v3/users/u1"] = (200, {"user": {"options": given}})
    own = {"ignore_lockout_failure_attempts": False}
    api.answers["GET /v3/users/u2"] = (200, {"user": {"options": own}})
    wanted = [
        ("PUT /v3/groups/g2/users/u2", None),
        ("PATCH /v3/users/u2", {"user": {"options": {"ignore_password_expiry": True}}}),
    ]
    api.answers |= {one: (200, {}) for one, _ in wanted}
    RealAccountServers().copy_grants(keystone, USER, NEXT_USER)
    assert api.writes == wanted


def test_what_would_end_with_a_user_is_counted(api: Api, keystone: ServerLogin) -> None:
    has_user(api, "nova", ("nova", "u1"))
    api.answers["GET /v3/users/u1/application_credentials"] = (200, {"application_credentials": [{}, {}]})
    api.answers["GET /v3/OS-TRUST/trusts?trustee_user_id=u1"] = (200, {"trusts": [{}]})
    api.answers["GET /v3/credentials?user_id=u1"] = (200, {"credentials": []})
    found = RealAccountServers().belongings(keystone, USER)
    assert found == ("2 application credentials", "1 trusts")


def test_the_administrator_logs_in_with_the_password_in_the_body_only(
    api: Api, keystone: ServerLogin
) -> None:
    has_user(api, "nova")
    RealAccountServers().belongings(keystone, USER)
    assert PASSWORD in json.dumps(dict(api.asked[:1]))
    assert PASSWORD not in json.dumps([path for path, _ in api.asked])


@pytest.mark.parametrize("server", [Server.BROKER, Server.DATABASE])
def test_certificates_that_cannot_be_read_are_reported_without_a_word_of_them(server: Server) -> None:
    place = ServerPlace(server, "127.0.0.1", 1, "root", PASSWORD, client="nova-client")
    secret = f"-----BEGIN PRIVATE KEY-----\n{PASSWORD}\n-----END PRIVATE KEY-----\n"
    login = ServerLogin(place, PASSWORD, "no certificate", "none either", secret)
    with pytest.raises(ServerUnavailable) as refusal:
        RealAccountServers().accepts(login)
    assert str(refusal.value) == "the certificate in Secret nova-client for 127.0.0.1:1 cannot be used"
    assert refusal.value.__cause__ is None and refusal.value.__suppress_context__
