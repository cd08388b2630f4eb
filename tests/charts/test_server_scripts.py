"""What the scripts of long-running pods do, run against stand-ins of what they talk to."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.charts.running import module, program, run
from tests.charts.test_scripts import scripts

pytestmark = pytest.mark.slow


@pytest.fixture
def connected(tmp_path: Path) -> Iterator[tuple[Path, int]]:
    """The probe, and a port that a process called `some-worker` is connected to."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        hold = (
            f"#!{sys.executable}\nimport socket, sys\ns = socket.create_connection(('127.0.0.1', {port}))\n"
        )
        worker = program(tmp_path, "some-worker", hold + "print('up', flush=True)\nsys.stdin.read()\n")
        with subprocess.Popen([str(worker)], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
            assert process.stdout and process.stdout.readline() == b"up\n"
            yield program(tmp_path, "connected.py", scripts("nova")["connected.py"]), port
            process.kill()


def probe(file: Path, *arguments: str) -> int:
    done = subprocess.run([str(file), *arguments], capture_output=True, check=False, timeout=120)
    return done.returncode


def test_the_probe_sees_the_connection_of_a_worker(connected: tuple[Path, int]) -> None:
    file, port = connected
    assert probe(file, "some-worker", str(port)) == 0


def test_the_probe_fails_without_one_of_the_connections(connected: tuple[Path, int]) -> None:
    file, port = connected
    assert probe(file, "some-worker", str(port), "1") == 1


def test_the_probe_takes_no_other_process_for_the_worker(connected: tuple[Path, int]) -> None:
    file, port = connected
    assert probe(file, "worker", str(port)) == 1


def server(
    name: str,
    position: int,
    monkeypatch: pytest.MonkeyPatch,
    *,
    waiting: dict[str, int] | None = None,
    left_behind: dict[str, int] | None = None,
) -> types.ModuleType:
    """start.py where no peer answers. `waiting` tell how far their data goes; `left_behind` told it once."""
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


IP = """#!/bin/bash
echo "ip $*" >> "${LOG:-/dev/null}"
case "$*" in
  "-4 route list default") echo "default via 192.0.2.1 dev eth0 proto dhcp" ;;
  *"show dev eth0"*) echo "2: eth0    inet 192.0.2.10/24 brd 192.0.2.255 scope global eth0" ;;
  *"show dev bond7"*) echo "3: bond7    inet 198.51.100.7/24 scope global bond7" ;;
esac
"""


def compute_init(directory: Path, **more: str) -> subprocess.CompletedProcess[str]:
    commands = directory / "bin"
    program(commands, "ip", IP)
    program(commands, "hostname", "#!/bin/sh\necho node1.example.org\n")
    program(commands, "chown", "#!/bin/sh\n")
    text = scripts("nova")["nova-compute-init.sh"]
    text = text.replace("/tmp/host", f"{directory}/host").replace("/var/lib/nova", f"{directory}/nova")
    env = {
        "NOVA_USER": "42424",
        "SELF_PROVISIONED_ID": "true",
        "NODE_NAME": "node1",
        "HOSTNAME_IS_FQDN": "true",
    }
    for address in ("MY_IP", "MIGRATION", "CONSOLE"):
        env |= {f"{address}_INTERFACE": "", f"{address}_NETWORK": "0/0"}
    return run(program(directory, "init.sh", text), commands, **{**env, **more})


def test_a_compute_host_finds_its_addresses_name_and_identity(tmp_path: Path) -> None:
    done = compute_init(tmp_path, MIGRATION_INTERFACE="bond7", CONSOLE_NETWORK="")
    assert done.returncode == 0, done.stderr
    assert {file.name: file.read_text() for file in (tmp_path / "host").iterdir()} == {
        "hypervisor.conf": "[DEFAULT]\nmy_ip = 192.0.2.10\n",
        "libvirt.conf": "[libvirt]\nlive_migration_inbound_addr = 198.51.100.7\n",
        "name.conf": "[DEFAULT]\nhost = node1.example.org\n",
    }


def test_a_compute_host_is_the_same_again_after_its_disk_was_wiped(tmp_path: Path) -> None:
    identities = []
    for disk in ("first", "second"):
        assert compute_init(tmp_path / disk).returncode == 0
        identities.append((tmp_path / disk / "nova" / "compute_id").read_text())
    assert identities[0] == identities[1] != ""


def test_an_interface_without_address_fails_and_is_named(tmp_path: Path) -> None:
    done = compute_init(tmp_path, MY_IP_INTERFACE="bond9")
    assert done.returncode != 0
    assert "bond9" in done.stderr


def test_bridges_are_made_and_the_tunnel_end_is_found(tmp_path: Path) -> None:
    commands = tmp_path / "bin"
    program(commands, "ip", IP)
    program(commands, "ovs-vsctl", '#!/bin/bash\necho "$*" >> "${LOG}"\n')
    etc = tmp_path / "etc"
    (etc / "plugins" / "ml2").mkdir(parents=True)
    (etc / "plugins" / "ml2" / "openvswitch_agent.ini").write_text("[ovs]\nbridge_mappings = public:br-ex\n")
    (etc / "auto_bridge_add.json").write_text(json.dumps({"br-ex": "eth1", "br-dc": None}))
    text = scripts("neutron")["ovs-agent-init.sh"]
    text = text.replace("/etc/neutron", str(etc)).replace("/tmp/tunnel.ini", f"{tmp_path}/tunnel.ini")
    settings = {"LOG": f"{tmp_path}/log", "TUNNEL_INTERFACE": "", "TUNNEL_NETWORK": "0/0"}
    done = run(program(tmp_path, "init.sh", text), commands, **settings)
    assert done.returncode == 0, done.stderr
    said = (tmp_path / "log").read_text().splitlines()
    added = [line.split("--may-exist ")[1] for line in said if "--may-exist" in line]
    assert added == ["add-br br-int", "add-br br-ex", "add-br br-ex", "add-port br-ex eth1", "add-br br-dc"]
    assert (tmp_path / "tunnel.ini").read_text() == "[ovs]\nlocal_ip = 192.0.2.10\n"
