"""What the scripts of long-running pods do, run against stand-ins of what they talk to."""

from __future__ import annotations

import http.client
import json
import logging
import os
import signal
import subprocess
import sys
import types
from pathlib import Path
from typing import Any
from urllib.error import URLError

import pytest

from tests.charts.lean import decoded, objects, the
from tests.charts.pods import wait_until
from tests.charts.running import module, program
from tests.charts.test_scripts import scripts

pytestmark = pytest.mark.slow


def server(
    name: str,
    position: int,
    monkeypatch: pytest.MonkeyPatch,
    *,
    waiting: dict[str, int] | None = None,
    left_behind: dict[str, int] | None = None,
) -> types.ModuleType:
    """start.py where no peer answers. `waiting` say how far their data goes; `left_behind` said it once."""
    settings = {
        "POD_NAME": name,
        "REPLICAS": "3",
        "DISCOVERY_DOMAIN": "discovery",
        "WSREP_PORT": "4567",
        "SETUP_WAIT_SECONDS": "30",
    }
    loaded = module("mariadb", "start.py", monkeypatch, **settings)
    rounds = iter(range(10_000))
    told: dict[str, str] = {
        peer: json.dumps({"position": at, "said": "once"}) for peer, at in (left_behind or {}).items()
    }

    def state_map(method: str, body: dict[str, Any] | None = None) -> dict[str, str]:
        said = next(rounds)
        for peer, at in (waiting or {}).items():
            told[peer] = json.dumps({"position": at, "said": said})
        told.update((body or {}).get("data", {}))
        return told

    clock = iter(range(0, 1_000_000, 5))
    monkeypatch.setattr(
        loaded, "time", types.SimpleNamespace(sleep=lambda _: None, monotonic=lambda: next(clock))
    )
    monkeypatch.setattr(loaded, "WAITING", types.SimpleNamespace(touch=lambda: None))
    monkeypatch.setattr(loaded, "state_map", state_map)
    monkeypatch.setattr(loaded, "recovered_position", lambda: position)
    monkeypatch.setattr(loaded, "some_peer_answers", lambda: False)
    monkeypatch.setattr(loaded, "marked_safe", lambda: False)
    return loaded


def test_a_database_server_joins_a_peer_that_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    loaded = server("db-0", 9, monkeypatch, waiting={"db-1": 1, "db-2": 1})
    monkeypatch.setattr(loaded, "some_peer_answers", lambda: True)
    assert loaded.founds() is False


def test_the_server_with_the_latest_data_founds_the_cluster(monkeypatch: pytest.MonkeyPatch) -> None:
    assert server("db-1", 7, monkeypatch, waiting={"db-0": 5, "db-2": 6}).founds() is True


def test_the_first_of_new_servers_founds_the_cluster(monkeypatch: pytest.MonkeyPatch) -> None:
    assert server("db-0", -1, monkeypatch, waiting={"db-1": -1, "db-2": -1}).founds() is True


@pytest.mark.parametrize(
    ("waiting", "left_behind"),
    [
        ({"db-1": 1}, {}),
        ({"db-1": 8, "db-2": 1}, {}),
        ({"db-1": 1}, {"db-2": 1}),
        ({}, {"db-1": -1, "db-2": -1}),
    ],
    ids=["one is silent", "one knows more", "one spoke in an earlier life", "all spoke in an earlier life"],
)
def test_a_server_never_founds_while_one_may_know_more(
    waiting: dict[str, int], left_behind: dict[str, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(SystemExit):
        server("db-0", 7, monkeypatch, waiting=waiting, left_behind=left_behind).founds()


def test_the_server_that_was_shut_down_last_founds_without_the_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    loaded = server("db-2", 7, monkeypatch)
    monkeypatch.setattr(loaded, "marked_safe", lambda: True)
    assert loaded.founds() is True


def test_a_server_that_waits_bears_an_api_server_that_does_not_answer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    loaded = server("db-1", 7, monkeypatch, waiting={"db-0": 5, "db-2": 6})
    answering = loaded.state_map
    troubles = iter((URLError("refused"), http.client.IncompleteRead(b""), ValueError("no JSON")))

    def state_map(method: str, body: dict[str, Any] | None = None) -> Any:
        if trouble := next(troubles, None):
            raise trouble
        return answering(method, body)

    monkeypatch.setattr(loaded, "state_map", state_map)
    assert loaded.founds() is True


def test_keystone_is_not_asked_to_end_before_it_has_served_its_last_request(tmp_path: Path) -> None:
    """SIGTERM comes when this hook has ended; the server's own end takes the hook with it."""
    server = program(tmp_path, "apache2", f'#!/bin/sh\necho "$@" > {tmp_path}/told\n')
    hook = program(tmp_path, "keystone-api.sh", scripts("keystone")["keystone-api.sh"])
    path = f"{server.parent}:/usr/bin:/bin"
    with subprocess.Popen([str(hook), "stop"], env={"PATH": path}, process_group=0) as running:
        try:
            wait_until("it is told", (tmp_path / "told").exists, str, 30)
            with pytest.raises(subprocess.TimeoutExpired):
                running.wait(1)
        finally:
            os.killpg(running.pid, signal.SIGKILL)
    assert (tmp_path / "told").read_text() == "-k graceful-stop\n"


def test_keystone_says_nothing_of_the_modes_that_kubernetes_gives(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Of the directory, a Secret's volume: the keys in it are for Keystone's user alone."""
    wsgi = types.ModuleType("keystone.server.wsgi")
    monkeypatch.setattr(wsgi, "initialize_public_application", lambda: None, raising=False)
    parent = types.ModuleType("keystone.server")
    monkeypatch.setattr(parent, "wsgi", wsgi, raising=False)
    monkeypatch.setitem(sys.modules, "keystone.server", parent)
    text = decoded(the(objects("keystone"), "Secret", "keystone-etc"))["wsgi.py"]
    exec(compile(text, "wsgi.py", "exec"), {})
    log = logging.getLogger("keystone.common.fernet_utils")
    log.warning("key_repository is world readable: %s", "/etc/keystone/fernet-keys/")
    log.warning("another word")
    assert [record.message for record in caplog.records] == ["another word"]


def pod(name: str, ready: bool, role: str | None) -> dict[str, Any]:
    condition = {"type": "Ready", "status": "True" if ready else "False"}
    labels = {"mariadb_role": role} if role else {}
    return {"metadata": {"name": name, "labels": labels}, "status": {"conditions": [condition]}}


@pytest.mark.parametrize(
    ("pods", "changes"),
    [
        ([pod("a", True, None), pod("b", True, None)], [("b", "secondary"), ("a", "primary")]),
        ([pod("a", True, "secondary"), pod("b", True, "primary")], []),
        ([pod("a", True, "secondary"), pod("b", False, "primary")], [("b", "secondary"), ("a", "primary")]),
        ([pod("a", False, "primary")], []),
    ],
    ids=["first", "stays", "moves away, the old one first", "nobody able"],
)
def test_one_ready_server_is_the_primary(
    pods: list[dict[str, Any]], changes: list[tuple[str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    loaded = module("mariadb", "primary.py", monkeypatch, NAMESPACE="n", POD_SELECTOR="a=b")
    said: list[tuple[str, str]] = []

    def call(method: str, path: str, body: dict[str, Any] | None = None) -> dict[str, Any]:
        if body:
            said.append((path.strip("/"), body["metadata"]["labels"]["mariadb_role"]))
        return {"items": pods}

    monkeypatch.setattr(loaded, "call", call)
    loaded.settle()
    assert said == changes


def tables_upgrade(directory: Path, monkeypatch: pytest.MonkeyPatch, *, fails: bool = False) -> Any:
    """start.py with its data in a directory, beside programs of MariaDB 11.8 that write down their calls."""
    commands = directory / "bin"
    calls = directory / "calls"
    note = f'echo "${{0##*/}} $*" >> {calls}\n'
    server = 'case "$1" in --version) echo "mariadbd  Ver 11.8.9-MariaDB"; exit;; esac\n'
    program(commands, "mariadbd", f"#!/bin/sh\n{server}{note}exec sleep 600\n")
    # As a real one, it answers only once the server runs.
    program(commands, "mariadb-admin", f"#!/bin/sh\nexec grep -qs '^mariadbd ' {calls}\n")
    program(commands, "mariadb-upgrade", f"#!/bin/sh\n{note}exit {1 if fails else 0}\n")
    loaded = server_module(monkeypatch, f"{commands}:{os.environ['PATH']}")
    monkeypatch.setattr(loaded, "FORM", directory / "form")
    monkeypatch.setattr(loaded, "WAITING", directory / "waiting")
    loaded.calls = lambda: calls.read_text().splitlines() if calls.exists() else []  # type: ignore[attr-defined]
    return loaded


def server_module(monkeypatch: pytest.MonkeyPatch, path: str) -> types.ModuleType:
    settings = {"POD_NAME": "db-0", "REPLICAS": "1", "SETUP_WAIT_SECONDS": "30", "PATH": path}
    return module("mariadb", "start.py", monkeypatch, **settings)


@pytest.mark.parametrize("before", ["10.11", ""])
def test_a_database_server_gives_its_tables_the_form_of_its_version_before_it_serves(
    before: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    loaded = tables_upgrade(tmp_path, monkeypatch)
    if before:
        (tmp_path / "form").write_text(before)
    loaded.upgrade_tables()
    serves, upgrade = loaded.calls()
    assert {"--skip-networking", "--wsrep-on=OFF", "--skip-grant-tables"} <= set(serves.split())
    assert upgrade.startswith("mariadb-upgrade") and "--skip-write-binlog" in upgrade
    assert (tmp_path / "form").read_text() == "11.8"
    loaded.upgrade_tables()
    assert len(loaded.calls()) == 2


def test_an_upgrade_of_tables_that_fails_is_made_again_at_the_next_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    loaded = tables_upgrade(tmp_path, monkeypatch, fails=True)
    with pytest.raises(subprocess.CalledProcessError):
        loaded.upgrade_tables()
    assert not (tmp_path / "form").exists()
