"""What the scripts of Jobs do, run against stand-ins of what they talk to."""

from __future__ import annotations

import base64
import http.server
import json
import socket
import subprocess
import sys
import threading
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import pytest

from tests.charts.lean import objects, the
from tests.charts.running import module, program, run
from tests.charts.test_scripts import scripts


class Broker(http.server.BaseHTTPRequestHandler):
    """The management API of a broker that takes everything but what `refused` names."""

    seen: ClassVar[list[tuple[str, str, Any, str]]] = []
    refused = ""

    def do_PUT(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.seen.append((self.command, self.path, json.loads(body), self.headers["Authorization"]))
        self.send_response(400 if self.refused and self.refused in self.path else 201)
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        """Says nothing."""


@pytest.fixture
def broker() -> Iterator[tuple[type[Broker], int]]:
    handler = type("TestBroker", (Broker,), {"seen": [], "refused": ""})
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    yield handler, server.server_port
    server.shutdown()
    server.server_close()


def rabbit_init(directory: Path, port: int, patience: str = "30") -> subprocess.CompletedProcess[str]:
    found = scripts("nova")
    (directory / "http.sh").write_text(found["http.sh"].replace("patience=30", f"patience={patience}"))
    text = found["rabbit-init.sh"].replace("/scripts/http.sh", str(directory / "http.sh"))
    job = the(objects("nova"), "Job", "nova-rabbit-init")
    given = job["spec"]["template"]["spec"]["containers"][0]["env"]
    return run(
        program(directory, "rabbit-init.sh", text),
        directory,
        RABBITMQ_ADMIN_CONNECTION=f"http://rabbitmq:ro%2Fot%3A@127.0.0.1:{port}/",
        RABBITMQ_USER_CONNECTION=f"http://nova:a%22b%5Cc%20%25@127.0.0.1:{port}/nova",
        RABBITMQ_POLICIES={item["name"]: item.get("value", "") for item in given}["RABBITMQ_POLICIES"],
    )


@pytest.mark.slow
def test_a_broker_gets_the_virtual_host_user_permissions_and_policies(
    broker: tuple[type[Broker], int], tmp_path: Path
) -> None:
    handler, port = broker
    done = rabbit_init(tmp_path, port)
    assert done.returncode == 0, done.stderr
    assert [(method, path) for method, path, _, _ in handler.seen] == [
        ("PUT", "/api/vhosts/nova"),
        ("PUT", "/api/users/nova"),
        ("PUT", "/api/permissions/nova/nova"),
        ("PUT", "/api/policies/nova/ha_ttl_nova"),
    ]
    assert handler.seen[1][2] == {"password": 'a"b\\c %', "tags": ""}
    assert handler.seen[3][2]["definition"] == {"message-ttl": 70000}
    login = "Basic " + base64.b64encode(b"rabbitmq:ro/ot:").decode()
    assert {authorization for *_, authorization in handler.seen} == {login}


def test_a_broker_that_refuses_fails_the_job(broker: tuple[type[Broker], int], tmp_path: Path) -> None:
    handler, port = broker
    handler.refused = "permissions"
    done = rabbit_init(tmp_path, port)
    assert done.returncode != 0
    assert "the broker answered 400" in done.stderr


def test_a_broker_that_never_answers_fails_the_job(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        done = rabbit_init(tmp_path, silent.getsockname()[1], patience="0.2")
    assert done.returncode != 0
    assert "PUT vhosts/nova: the broker did not answer within 0.2 s" in done.stderr


def test_a_broker_that_stops_in_the_middle_of_its_answer_fails_the_job(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        taken: list[socket.socket] = []

        def begin() -> None:
            taken.append(server.accept()[0])
            taken[0].sendall(b"HTTP/1.0 201 Created\r\n\r\nand then")

        threading.Thread(target=begin, daemon=True).start()
        done = rabbit_init(tmp_path, server.getsockname()[1], patience="0.2")
        taken[0].close()
    assert done.returncode != 0


def test_flavors_that_are_there_are_left_alone_and_asked_for_once(tmp_path: Path) -> None:
    """Each command of the client takes seconds."""
    client = '#!/bin/sh\necho "$@" >> {}/said\nif [ "$2" = list ]; then printf "m1.tiny\\nm1.large\\n"; fi\n'
    program(tmp_path, "openstack", client.format(tmp_path))
    done = run(program(tmp_path, "bootstrap.sh", scripts("nova")["bootstrap.sh"]), tmp_path)
    assert done.returncode == 0, done.stderr
    said = [line.split() for line in (tmp_path / "said").read_text().splitlines()]
    assert [words[:2] for words in said] == [["flavor", "list"]] + 3 * [["flavor", "create"]]
    assert sorted(words[-1] for words in said[1:]) == ["m1.medium", "m1.small", "m1.xlarge"]


class Database:
    """Keeps the statements that it is given."""

    def __init__(self) -> None:
        self.login: dict[str, Any] = {}
        self.statements: list[str] = []
        self.arguments: list[tuple[str, ...]] = []

    def connect(self, **login: Any) -> Database:
        self.login = login
        return self

    def __enter__(self) -> Database:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def cursor(self) -> Database:
        return self

    def execute(self, statement: str, arguments: tuple[str, ...] = ()) -> None:
        self.statements.append(statement % tuple(map(repr, arguments)) if arguments else statement)
        self.arguments.append(arguments)


def db_init(uri: str, monkeypatch: pytest.MonkeyPatch) -> tuple[int, Database]:
    database = Database()
    client = types.ModuleType("pymysql")
    monkeypatch.setattr(client, "connect", database.connect, raising=False)
    monkeypatch.setitem(sys.modules, "pymysql", client)
    admin = "mysql+pymysql://root:r%40ot@database:3307"
    loaded = module("nova", "db-init.py", monkeypatch, ROOT_DB_CONNECTION=admin, DB_CONNECTION=uri)
    return loaded.main(), database


def test_a_database_and_its_user_are_made(monkeypatch: pytest.MonkeyPatch) -> None:
    code, database = db_init("mysql+pymysql://nova:p%27w@database:3307/nova_api?charset=utf8", monkeypatch)
    assert code == 0
    login = [database.login[key] for key in ("host", "port", "user", "password")]
    assert login == ["database", 3307, "root", "r@ot"]
    assert database.statements[0].startswith("CREATE DATABASE IF NOT EXISTS `nova_api`")
    assert database.statements[-1] == "GRANT ALL PRIVILEGES ON `nova_api`.* TO 'nova'@'%'"
    assert ("nova", "p'w") in database.arguments


def test_a_database_name_that_is_no_name_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    code, database = db_init("mysql+pymysql://nova:x@database/a`;DROP", monkeypatch)
    assert (code, database.statements) == (1, [])


class KeyRepository:
    """keys.py with a Secret in memory and a keystone-manage that makes and drops files."""

    def __init__(self, directory: Path, data: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
        self.secret: dict[str, Any] = {"metadata": {"resourceVersion": "7"}, "data": data}
        self.patches: list[dict[str, Any]] = []
        self.commands: list[str] = []
        self.monkeypatch = monkeypatch
        settings = {
            "KEY_REPOSITORY": str(directory / "keys"),
            "KEY_SECRET": "keystone-fernet-keys",
            "KEY_USER": "keystone",
            "KEY_GROUP": "keystone",
            "MIGRATE_WAIT_SECONDS": "0",
        }
        self.keys = module("keystone", "keys.py", monkeypatch, **settings)
        monkeypatch.setattr(self.keys, "call", self.call)
        monkeypatch.setattr(self.keys, "keystone_manage", self.manage)

    def call(self, method: str, body: dict[str, Any] | None = None) -> dict[str, Any]:
        if method == "PATCH":
            assert body is not None
            self.patches.append(body)
        return self.secret

    def manage(self, command: str, *_: str) -> None:
        self.commands.append(command)
        repository = self.keys.REPOSITORY
        repository.mkdir(parents=True, exist_ok=True)
        if command.endswith("_setup"):
            (repository / "0").write_text("staged")
            (repository / "1").write_text("primary")
        elif command.endswith("_rotate"):
            (repository / "1").unlink()
            (repository / "0").rename(repository / "2")
            (repository / "0").write_text("next")

    def run(self, *arguments: str) -> None:
        self.monkeypatch.setattr(sys, "argv", ["keys.py", *arguments])
        assert self.keys.main() == 0


def encoded(keys: dict[str, str]) -> dict[str, str]:
    return {name: base64.b64encode(text.encode()).decode() for name, text in keys.items()}


def test_keys_are_made_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    repository = KeyRepository(tmp_path, {}, monkeypatch)
    repository.run("fernet", "setup")
    data = encoded({"0": "staged", "1": "primary"})
    assert repository.patches == [{"metadata": {"resourceVersion": "7"}, "data": data}]


def test_keys_that_exist_are_never_made_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    repository = KeyRepository(tmp_path, encoded({"0": "old"}), monkeypatch)
    repository.run("fernet", "setup")
    assert (repository.commands, repository.patches) == ([], [])


def test_a_rotation_starts_from_the_secret_and_drops_what_is_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    repository = KeyRepository(tmp_path, encoded({"0": "staged", "1": "primary"}), monkeypatch)
    repository.run("fernet", "rotate")
    assert repository.patches[0]["data"] == {**encoded({"0": "next", "2": "staged"}), "1": None}


def test_credentials_move_to_the_new_key_after_a_rotation(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    repository = KeyRepository(tmp_path, encoded({"0": "staged", "1": "primary"}), monkeypatch)
    repository.run("credential", "rotate")
    assert repository.commands[1:] == ["credential_rotate", "credential_migrate"]


def test_a_rotation_first_ends_what_a_killed_one_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Keystone refuses to rotate while a credential is not yet encrypted with the newest key."""
    repository = KeyRepository(tmp_path, encoded({"0": "staged", "1": "primary"}), monkeypatch)
    repository.run("credential", "rotate")
    assert repository.commands[0] == "credential_migrate"


def test_a_rotation_knows_no_keys_but_the_secrets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    repository = KeyRepository(tmp_path, encoded({"0": "staged", "1": "primary"}), monkeypatch)
    repository.keys.REPOSITORY.mkdir()
    (repository.keys.REPOSITORY / "7").write_text("of a rotation that was not written back")
    repository.run("fernet", "rotate")
    assert "7" not in repository.patches[0]["data"]
