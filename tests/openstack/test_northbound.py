"""OVN's northbound database, of the programs that back it up and load it: a real server with OVN's schema."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from controller.domain.backups.backup_scripts import NORTHBOUND as BACK_UP
from controller.domain.restores.differences import read_report
from controller.domain.restores.restore_jobs import NORTHBOUND_SCRIPT
from sandbox.debian import unpack_packages
from sandbox.locks import locked
from sandbox.openstack.servers import unpacked_root
from sandbox.patience import patient

pytestmark = [pytest.mark.openstack, pytest.mark.timeout(600)]

DEBIAN = ("openvswitch-common", "ovn-central")
# Those of the machine itself stay as they are.
LIBRARIES = ("libbpf", "libcap-ng", "libelf", "libevent", "libnuma", "libunbound", "libunwind", "libxdp")
SCHEMA = "usr/share/ovn/ovn-nb.ovsschema"


@pytest.fixture(scope="module")
def root() -> Path:
    """The unpacked programs of Open vSwitch, and OVN's schema."""
    found = unpacked_root().with_name("ovn-programs")
    with locked(found.with_name("ovn-programs.lock"), timeout=900):
        if not (found / SCHEMA).exists():
            unpack_packages(DEBIAN, lambda name: name in DEBIAN or name.startswith(LIBRARIES), found)
    return found


@pytest.fixture
def environment(root: Path) -> dict[str, str]:
    libraries = ":".join(map(str, (root / "usr" / "lib").glob("*-linux-gnu")))
    path = f"{root}/usr/bin:{root}/usr/sbin:{os.environ['PATH']}"
    return {**os.environ, "PATH": path, "LD_LIBRARY_PATH": libraries}


@contextmanager
def server(environment: dict[str, str], schema: Path, place: Path) -> Iterator[str]:
    """An empty database of this schema; its address."""
    place.mkdir()
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"tcp:127.0.0.1:{free.getsockname()[1]}"
    subprocess.run(["ovsdb-tool", "create", str(place / "db"), str(schema)], env=environment, check=True)
    command = ["ovsdb-server", str(place / "db"), f"--remote=ptcp:{address.rpartition(':')[2]}:127.0.0.1"]
    with (place / "log").open("w") as log:
        process = subprocess.Popen(
            [*command, f"--unixctl={place}/ctl"], env=environment, stdout=log, stderr=log
        )
    try:
        deadline = time.monotonic() + patient(30)
        while not _answers(environment, address):
            assert process.poll() is None and time.monotonic() < deadline, (place / "log").read_text()
        yield address
    finally:
        process.terminate()
        process.wait(timeout=patient(30))


def _answers(environment: dict[str, str], address: str) -> bool:
    done = subprocess.run(
        ["ovsdb-client", "--timeout=5", "list-dbs", address],
        env=environment,
        check=False,
        capture_output=True,
    )
    return done.returncode == 0


def transact(
    environment: dict[str, str], address: str, *operations: dict[str, object]
) -> list[dict[str, object]]:
    text = json.dumps(["OVN_Northbound", *operations])
    done = subprocess.run(
        ["ovsdb-client", "transact", address, text],
        env=environment,
        check=True,
        capture_output=True,
        text=True,
    )
    found: list[dict[str, object]] = json.loads(done.stdout)
    assert not any("error" in one for one in found), found
    return found


def add(name: str) -> dict[str, object]:
    return {"op": "insert", "table": "Logical_Switch", "row": {"name": name}}


def names(environment: dict[str, str], address: str) -> list[str]:
    asked: dict[str, object] = {"op": "select", "table": "Logical_Switch", "where": [], "columns": ["name"]}
    rows = transact(environment, address, asked)[0]["rows"]
    assert isinstance(rows, list)
    return sorted(str(one["name"]) for one in rows)


def run(script: str, place: Path, environment: dict[str, str], address: str) -> str:
    """What the program of a container prints, with its directory in `place`."""
    text = script.replace("/backup", str(place)).replace("/restore", str(place))
    done = subprocess.run(
        ["sh", "-c", text],
        env={**environment, "OVN_NORTHBOUND": address},
        check=True,
        capture_output=True,
        text=True,
        timeout=patient(200),
    )
    return done.stdout


def test_what_was_there_at_the_backup_is_there_again(
    root: Path, environment: dict[str, str], tmp_path: Path
) -> None:
    place = tmp_path / "backup"
    (place / "region").mkdir(parents=True)
    with server(environment, root / SCHEMA, tmp_path / "one") as address:
        transact(environment, address, add("net-a"), add("net-b"))
        run(BACK_UP, place, environment, address)
        transact(environment, address, add("later"))
        for _ in range(2):  # it may be repeated
            assert read_report("", run(NORTHBOUND_SCRIPT, place, environment, address)).text == ""
            assert names(environment, address) == ["net-a", "net-b"]
    with server(environment, root / SCHEMA, tmp_path / "other") as address:
        run(NORTHBOUND_SCRIPT, place, environment, address)
        assert names(environment, address) == ["net-a", "net-b"]


def test_a_database_that_cannot_be_loaded_is_reported_and_left(
    root: Path, environment: dict[str, str], tmp_path: Path
) -> None:
    place = tmp_path / "backup"
    place.mkdir()
    with server(environment, root / SCHEMA, tmp_path / "one") as address:
        transact(environment, address, add("kept"))
        said = read_report("", run(NORTHBOUND_SCRIPT, place, environment, address)).text
        assert "was not loaded (the backup does not have it)" in said
        (place / "ovn-northbound.db").write_text("no database")
        said = read_report("", run(NORTHBOUND_SCRIPT, place, environment, address)).text
        assert "was not loaded (" in said
        assert names(environment, address) == ["kept"]
    said = read_report("", run(NORTHBOUND_SCRIPT.replace("=120", "=3"), place, environment, address)).text
    assert "was not loaded (" in said
