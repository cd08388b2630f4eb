"""The probe of workers: whether a process holds its connections, shown by its own sockets."""

from __future__ import annotations

import contextlib
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from sandbox.patience import patient
from tests.charts.running import program
from tests.charts.test_scripts import scripts

pytestmark = pytest.mark.slow

# Connects, and gives itself a title as setproctitle does: one text over its arguments and what follows them.
WORKER = """#!{python}
import pathlib, socket, sys
held = [socket.create_connection(("127.0.0.1", int(sys.argv[1])))] if sys.argv[1] != "0" else []
if len(sys.argv) > 2:
    after_the_name = pathlib.Path("/proc/self/stat").read_text().rpartition(") ")[2].split()
    begin, end = int(after_the_name[45]), int(after_the_name[48])
    title = " ".join(sys.argv[2:]).encode() + b"\\0"
    with open("/proc/self/mem", "r+b", buffering=0) as memory:
        memory.seek(begin)
        memory.write(title.ljust(end - begin, b"\\0"))
print("up", flush=True)
sys.stdin.read()
"""
TITLES = (
    "neutron-server: rpc worker (/usr/bin/python3 /usr/local/bin/neutron-rpc-server --config-file /a)",
    "neutron-l3-agent (/usr/bin/python3 /usr/bin/neutron-l3-agent --config-file /etc/neutron/neutron.conf)",
)


@pytest.fixture
def broker() -> Iterator[int]:
    """A port that takes connections."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


@contextlib.contextmanager
def worker(directory: Path, port: int, title: str = "", name: str = "some-worker") -> Iterator[int]:
    """A process of that name, connected to the port unless it is 0."""
    file = program(directory, name, WORKER.format(python=sys.executable))
    # Long arguments and a long environment: the title has to find room.
    command = [str(file), str(port), *title.split()]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout and process.stdout.readline() == b"up\n"
        try:
            yield process.pid
        finally:
            process.kill()


def probe(directory: Path, *arguments: str | int) -> int:
    file = program(directory, "connected.py", scripts("nova")["connected.py"])
    command = [str(file), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, check=False, timeout=patient(120)).returncode


def test_the_probe_sees_the_connection_of_a_worker(broker: int, tmp_path: Path) -> None:
    with worker(tmp_path, broker):
        assert probe(tmp_path, "some-worker", broker) == 0


def test_the_probe_fails_without_one_of_the_connections(broker: int, tmp_path: Path) -> None:
    with worker(tmp_path, broker):
        assert probe(tmp_path, "some-worker", broker, 1) == 1


def test_the_probe_takes_no_other_process_for_the_worker(broker: int, tmp_path: Path) -> None:
    with worker(tmp_path, broker):
        assert probe(tmp_path, "worker", broker) == 1


@pytest.mark.parametrize(
    ("name", "title"), list(zip(("neutron-rpc-server", "neutron-l3-agent"), TITLES, strict=True))
)
def test_the_probe_sees_a_worker_that_gave_itself_a_title(
    name: str, title: str, broker: int, tmp_path: Path
) -> None:
    with worker(tmp_path, broker, title, name="anything") as pid:
        assert Path(f"/proc/{pid}/cmdline").read_bytes().rstrip(b"\0").decode() == title
        assert probe(tmp_path, name, broker) == 0


def test_a_worker_is_not_killed_while_its_broker_is_away(broker: int, tmp_path: Path) -> None:
    with worker(tmp_path, 0):
        assert probe(tmp_path, "some-worker", 1) == 1
        assert probe(tmp_path, "some-worker", 1, "--unless-away", "127.0.0.1") == 0


def test_a_worker_that_does_not_come_back_to_its_broker_is_killed(broker: int, tmp_path: Path) -> None:
    with worker(tmp_path, 0):
        assert probe(tmp_path, "some-worker", broker, "--unless-away", "127.0.0.1") == 1
