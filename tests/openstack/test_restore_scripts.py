"""The programs of a restore's Jobs on a real MariaDB: what they print, and loading that is killed."""

from __future__ import annotations

import hashlib
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from controller.domain.backups.manifest import BackupFile, BackupManifest, DatabaseDump, manifest_document
from controller.domain.restores.backup_checks import RegionNow, misfit, read_fetched
from controller.domain.restores.differences import read_report
from controller.domain.restores.restore_jobs import CHECK_SCRIPT, LOAD_SCRIPT
from sandbox.patience import patient
from tests.openstack.scratch_server import Server, scratch_server

pytestmark = [pytest.mark.openstack, pytest.mark.timeout(600)]

ROWS = 60000
RESTORE = "11111111-1111-1111-1111-111111111111"
ANOTHER = RESTORE.replace("1", "2")
REGION = RegionNow("openstack", "region-one", "2025.2")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with scratch_server(tmp_path_factory.mktemp("mariadb")) as found:
        yield found


def dump(table: str, rows: int) -> bytes:
    parts = [f"DROP TABLE IF EXISTS {table}; CREATE TABLE {table} (id INT PRIMARY KEY, v VARCHAR(200));"]
    for first in range(0, rows, 500):
        values = ",".join(f"({number},'{'x' * 150}')" for number in range(first, min(first + 500, rows)))
        parts.append(f"INSERT INTO {table} VALUES {values};")
    return "\n".join(parts).encode()


@pytest.fixture
def fetched(tmp_path: Path) -> tuple[Path, list[str]]:
    """A backup as restic has fetched it, and what the Job that loads it is given."""
    place, databases, files, given = tmp_path / "backup", [], [], []
    (place / "databases").mkdir(parents=True)
    for name, content in {"keystone": dump("user", 1000), "nova-cell0": dump("instances", ROWS)}.items():
        path, digest = f"databases/{name}.sql", hashlib.sha256(content).hexdigest()
        (place / path).write_bytes(content)
        databases.append(DatabaseDump(name, path, len(content), {"one": 1}))
        files.append(BackupFile(path, len(content), digest))
        given += [name, path, digest]
    manifest = BackupManifest(
        id="20261126T020000Z-0a1b2c",
        namespace="openstack",
        region="region-one",
        created="2026-11-26T02:00:00Z",
        controller_version="0.1.0",
        openstack_version="2025.2",
        server_version="10.11.0-MariaDB",
        databases=tuple(databases),
        files=tuple(files),
    )
    (place / "manifest.json").write_bytes(manifest_document(manifest))
    return tmp_path, given


def test_the_check_prints_what_fits_and_what_is_cut(server: Server, fetched: tuple[Path, list[str]]) -> None:
    place, _ = fetched
    code, out, error = server.run(CHECK_SCRIPT, place)
    assert code == 0, error
    found = read_fetched(out)
    assert "MariaDB" in found.server_version
    assert misfit(found, REGION, "latest") == ""
    file = place / "backup" / "databases" / "keystone.sql"
    file.write_bytes(file.read_bytes()[:-5])
    text = misfit(read_fetched(server.run(CHECK_SCRIPT, place)[1]), REGION, "latest")
    assert "databases/keystone.sql" in text
    (place / "backup" / "manifest.json").unlink()
    code, _, error = server.run(CHECK_SCRIPT, place)
    assert (code, error.strip()) == (3, "the snapshot has no manifest.json")


def test_loading_that_is_killed_continues_beside_what_is_left_of_it(
    server: Server, fetched: tuple[Path, list[str]]
) -> None:
    place, given = fetched
    process = server.start(LOAD_SCRIPT, place, RESTORE, *given)
    deadline = time.monotonic() + patient(60)
    while "loaded" not in server.sql("SHOW TABLES IN osctl_restore") if _has(server) else True:
        assert time.monotonic() < deadline
    while server.sql("SELECT COUNT(*) FROM osctl_restore.loaded") != "1":
        assert time.monotonic() < deadline and process.poll() is None
    # The shell alone: its client of the database goes on, as on a node that is cut off.
    os.kill(process.pid, signal.SIGKILL)
    code, out, error = server.run(LOAD_SCRIPT, place, RESTORE, *given)
    assert code == 0, error
    assert out.splitlines()[:2] == ["keystone was loaded before", "nova-cell0 is loaded"]
    process.communicate(timeout=patient(60))
    assert server.sql("SELECT COUNT(*) FROM keystone.user") == "1000"
    assert server.sql("SELECT COUNT(*) FROM `nova-cell0`.instances") == str(ROWS)
    assert not _has(server)


def test_a_file_that_changed_after_the_check_is_not_loaded(
    server: Server, fetched: tuple[Path, list[str]]
) -> None:
    place, given = fetched
    server.sql("CREATE DATABASE IF NOT EXISTS keystone; CREATE TABLE keystone.kept (i INT)")
    (place / "backup" / "databases" / "keystone.sql").write_bytes(b"SELECT 1")
    code, _, error = server.run(LOAD_SCRIPT, place, RESTORE, *given)
    assert (code, error.strip()) == (3, "databases/keystone.sql is damaged")
    assert server.sql("SHOW TABLES IN keystone LIKE 'kept'") == "kept"


INSTANCES = "(uuid CHAR(36), display_name VARCHAR(255), host VARCHAR(255), deleted INT)"


def test_what_the_backup_does_not_know_is_named(server: Server, fetched: tuple[Path, list[str]]) -> None:
    """Servers, an image whose table was lost, and an attempt that is repeated."""
    place, _ = fetched
    backup = {
        "nova": f"CREATE TABLE instances {INSTANCES}; INSERT INTO instances VALUES ('same', 'a', 'cmp1', 0), "
        "('moved', 'b', 'cmp1', 0), ('deleted', 'c', 'cmp2', 0), ('long-gone', 'd', 'cmp2', 4);",
        "nova_cell1": f"CREATE TABLE instances {INSTANCES};"
        "INSERT INTO instances VALUES ('cell', 'e', 'cmp1', 0);",
        "glance": "CREATE TABLE images (id CHAR(36), name VARCHAR(255), deleted INT);"
        "INSERT INTO images VALUES ('image', 'i', 0);",
    }
    given = []
    for name, text in backup.items():
        path = f"databases/{name}.sql"
        (place / "backup" / path).write_text(text)
        given += [name, path, hashlib.sha256(text.encode()).hexdigest()]
    server.sql(
        f"CREATE DATABASE nova; CREATE TABLE nova.instances {INSTANCES}; INSERT INTO nova.instances VALUES "
        "('same', 'a', 'cmp1', 0), ('moved', 'b', 'cmp2', 0), ('made', 'new\\tone', 'cmp3', 0), "
        "('deleted', 'c', 'cmp2', 7); CREATE DATABASE nova_cell1; "
        f"CREATE TABLE nova_cell1.instances {INSTANCES}; "
        "INSERT INTO nova_cell1.instances VALUES ('cell', 'e', 'cmp1', 0), ('made-2', 'f', 'cmp1', 0)"
    )
    # The last file is not what was checked: this attempt has loaded the first database alone.
    code, _, _ = server.run(LOAD_SCRIPT, place, ANOTHER, *given[:-1], "0" * 64)
    assert code == 3
    code, out, error = server.run(LOAD_SCRIPT, place, ANOTHER, *given)
    assert code == 0, error
    report = read_report(out)
    assert [one.entry() for one in report.differences] == [
        {"what": "NotInBackup", "kind": "server", "id": "made-2", "name": "f", "host": "cmp1"},
        {"what": "NotInBackup", "kind": "server", "id": "made", "name": "new\\tone", "host": "cmp3"},
        {"what": "OnAnotherHost", "kind": "server", "id": "moved", "name": "b", "host": "cmp2"},
        {"what": "OnlyInBackup", "kind": "server", "id": "deleted", "name": "c", "host": "cmp2"},
    ]
    assert report.text == (
        "2 servers not in the backup; 1 server on another host by the backup; 1 server only in the backup; "
        "what was made after the backup (image) is not known, because it had no table before the restore"
    )
    assert not _has(server)


def _has(server: Server) -> bool:
    return "osctl_restore" in server.sql("SHOW DATABASES")
