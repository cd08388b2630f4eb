"""osctl backup manifest: what it writes is what a restore takes."""

from __future__ import annotations

import gzip
import hashlib
import os
from pathlib import Path

import pytest

import controller.cli.commands.recovery.backup_manifest as commands
from controller.cli.cluster import Cluster
from controller.domain.backups.manifest import parse_manifest
from controller.domain.restores.backup_checks import FetchedBackup, RegionNow, misfit
from controller.ports.kubernetes import OSDPL
from tests.cli.objects import osctl
from tests.fakes.kube import FakeKube

NAMESPACE, NAME, RUNS = "openstack", "region-one", "2025.2"
WHOLE = b"CREATE TABLE user (id INT);\n-- Dump completed on 2026-11-26  2:00:00\n"
TAKEN = 1795658400  # 2026-11-26T02:00:00Z


@pytest.fixture
def dumps(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A directory with the dumps of two databases of a region that runs."""
    kube = FakeKube()
    meta = {"name": NAME, "namespace": NAMESPACE}
    made = kube.create({"apiVersion": OSDPL.api_version, "kind": OSDPL.kind, "metadata": meta, "spec": {}})
    kube.replace({**made, "status": {"openstackVersion": RUNS}}, subresource="status")
    monkeypatch.setattr(commands, "open_cluster", lambda *_: Cluster(kube, NAMESPACE))
    directory = tmp_path / "dumps of today"
    directory.mkdir()
    for index, name in enumerate(("keystone.sql.gz", "nova_api.sql")):
        (directory / name).write_bytes(gzip.compress(WHOLE) if name.endswith(".gz") else WHOLE)
        os.utime(directory / name, (TAKEN + index, TAKEN + index))
    return directory


def test_a_restore_takes_what_it_writes(dumps: Path) -> None:
    result = osctl("backup", "manifest", str(dumps), "--server-version", "11.4.5")
    assert result.exit_code == 0, result.stderr
    manifest = parse_manifest((dumps / "manifest.json").read_bytes())
    assert [(one.name, one.file) for one in manifest.databases] == [
        ("keystone", "keystone.sql.gz"),
        ("nova_api", "nova_api.sql"),
    ]
    assert manifest.created == "2026-11-26T02:00:00Z"
    there = {
        path.name: (path.stat().st_size, hashlib.sha256(path.read_bytes()).hexdigest())
        for path in dumps.iterdir()
        if path.name != "manifest.json"
    }
    fetched = FetchedBackup(manifest, there, "11.4.5-MariaDB")
    assert misfit(fetched, RegionNow(NAMESPACE, NAME, RUNS), manifest.id) == ""
    assert misfit(fetched, RegionNow(NAMESPACE, NAME, "2026.1"), manifest.id) != ""


def test_it_shows_the_command_for_restic_with_the_tags_of_the_backup(dumps: Path) -> None:
    result = osctl("backup", "manifest", str(dumps))
    manifest = parse_manifest((dumps / "manifest.json").read_bytes())
    tags = f"region={NAMESPACE}/{NAME},backup={manifest.id}"
    assert f"restic backup --tag {tags} '{dumps}'" in result.stdout
    assert manifest.id.startswith("20261126T020000Z-")


def test_an_earlier_manifest_is_replaced(dumps: Path) -> None:
    assert osctl("backup", "manifest", str(dumps)).exit_code == 0
    (dumps / "keystone.sql.gz").write_bytes(gzip.compress(b"-- another\n" + WHOLE))
    assert osctl("backup", "manifest", str(dumps)).exit_code == 0
    found = parse_manifest((dumps / "manifest.json").read_bytes()).file("keystone.sql.gz")
    assert found is not None and found.size == (dumps / "keystone.sql.gz").stat().st_size
    assert sorted(path.name for path in dumps.iterdir()) == [
        "keystone.sql.gz",
        "manifest.json",
        "nova_api.sql",
    ]


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("mysql.sql", WHOLE, "the database is the server's own"),
        ("cinder.sql", b"", "cinder.sql is cut"),
        ("cinder.sql", WHOLE[:-50], "cinder.sql is cut"),
        ("cinder.sql.gz", gzip.compress(WHOLE)[:-9], "cinder.sql.gz is cut"),
        ("cinder.sql.gz", WHOLE, "cinder.sql.gz is cut"),
        ("cin der.sql", WHOLE, "manifest.json"),
        ("keystone.sql", WHOLE, "a database is listed twice"),
    ],
)
def test_what_a_restore_would_refuse_is_refused_and_nothing_is_written(
    dumps: Path, name: str, content: bytes, said: str
) -> None:
    (dumps / name).write_bytes(content)
    result = osctl("backup", "manifest", str(dumps))
    assert result.exit_code != 0
    assert said in " ".join(result.stderr.split())
    assert not (dumps / "manifest.json").exists()


def test_a_directory_without_a_dump_is_refused(dumps: Path) -> None:
    for path in dumps.iterdir():
        path.unlink()
    result = osctl("backup", "manifest", str(dumps))
    assert result.exit_code != 0
    assert "there is no dump" in result.stderr
