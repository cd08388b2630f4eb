"""The programs of the pods of a backup on a real MariaDB and with a real restic."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

import controller.cli.commands.recovery.backup_pods as commands
from controller.domain.backups.manifest import BackupManifest, parse_manifest
from controller.domain.restores.backup_checks import RegionNow, misfit, read_fetched
from controller.domain.restores.restore_jobs import CHECK_SCRIPT, LOAD_SCRIPT
from controller.ports.kubernetes import HELMBUNDLE, OSDPL, SECRET
from sandbox.certificates import ensure_certificates
from tests.fakes.kube import FakeKube
from tests.openstack.backup_pod import NAME, NAMESPACE, Failed, Pods, cluster, programs
from tests.openstack.s3_server import ACCESS, S3Server, cut_network, s3_server, server_program
from tests.openstack.s3_server import SECRET as SECRET_KEY
from tests.openstack.scratch_server import Server, scratch_server

pytestmark = [pytest.mark.openstack, pytest.mark.timeout(600)]

REGION = RegionNow(NAMESPACE, NAME, "2025.2")
RESTORE = "11111111-1111-1111-1111-111111111111"
PASSWORD = 'pa ss"\\word'
# A line end, quotes, what looks like a mark of mariadb-dump, octets that are no text, and no value at all.
ROWS = r"""
SET NAMES utf8mb4;
CREATE DATABASE keystone CHARACTER SET utf8mb4;
CREATE TABLE keystone.role (id INT PRIMARY KEY, name VARCHAR(300), extra BLOB, made TIMESTAMP NULL);
INSERT INTO keystone.role VALUES (1, 'a\n-- Current Database: `nova`\n(x', X'00FF27', '2026-11-26 02:00:00'),
  (2, 'quote '' back\\slash `', NULL, NULL), (3, 'ünicode 漢', '', NULL);
CREATE TABLE keystone.nothing (id INT);
CREATE VIEW keystone.names AS SELECT name FROM keystone.role;
CREATE DATABASE `nova-cell0`;
USE `nova-cell0`;
CREATE TABLE `nova-cell0`.instances (id INT PRIMARY KEY AUTO_INCREMENT, v VARCHAR(200));
INSERT INTO `nova-cell0`.instances (v) SELECT REPEAT('x', 150) FROM
  (WITH RECURSIVE c AS (SELECT 1 AS n UNION SELECT n + 1 FROM c WHERE n < 1000) SELECT n FROM c) AS n;
CREATE TABLE `nova-cell0`.alembic_version (version_num VARCHAR(32));
INSERT INTO `nova-cell0`.alembic_version VALUES ('1b842d6c6f3e');
"""
COUNTS = {
    "keystone": {"role": 3, "nothing": 0},
    "nova-cell0": {"instances": 1000, "alembic_version": 1},
}


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    return programs(tmp_path_factory.mktemp("programs") / "bin")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with scratch_server(tmp_path_factory.mktemp("mariadb")) as found:
        text = PASSWORD.replace("\\", "\\\\")
        found.sql(f"CREATE USER adm@'%' IDENTIFIED BY '{text}'; GRANT ALL ON *.* TO adm@'%'")
        yield found


@pytest.fixture
def kube() -> FakeKube:
    kube = FakeKube()
    meta = {"name": NAME, "namespace": NAMESPACE}
    made = kube.create({"apiVersion": OSDPL.api_version, "kind": OSDPL.kind, "metadata": meta, "spec": {}})
    kube.replace({**made, "status": {"openstackVersion": "2025.2"}}, subresource="status")
    for name in ("keystone-credential-keys", "region-backup-passphrase"):
        body = {"apiVersion": "v1", "kind": SECRET.kind, "metadata": {**meta, "name": name}}
        kube.create({**body, "data": {"0": "MTIz"}})
    labels = {"osctl.dev/deployment": NAME}
    bundle = {"apiVersion": HELMBUNDLE.api_version, "kind": HELMBUNDLE.kind}
    kube.create({**bundle, "metadata": {**meta, "name": "identity", "labels": labels}, "spec": {}})
    return kube


@pytest.fixture
def pods(
    tmp_path: Path,
    environment: dict[str, str],
    server: Server,
    kube: FakeKube,
    monkeypatch: pytest.MonkeyPatch,
) -> Pods:
    monkeypatch.setattr(commands, "open_cluster", lambda *_: cluster(kube))
    server.sql("DROP DATABASE IF EXISTS keystone; DROP DATABASE IF EXISTS `nova-cell0`")
    server.sql(ROWS)
    secrets = {
        "mariadb-dbadmin-password": {"MYSQL_DBADMIN_PASSWORD": PASSWORD},
        "region-backup-passphrase": {"passphrase": "of the repository"},
    }
    destination: dict[str, Any] = {"claim": {"size": "1Gi"}}
    top = tmp_path / "root"
    top.mkdir()
    return Pods(top, environment, server, {"destination": destination}, kube, secrets)


@pytest.fixture(scope="module")
def bucket_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[S3Server]:
    program = server_program()
    if program is None:
        pytest.skip("the S3 server is built by Go, and there is none")
    with s3_server(program, tmp_path_factory.mktemp("s3")) as found:
        yield found


@pytest.fixture
def bucket(pods: Pods, bucket_server: S3Server) -> Pods:
    """Backups go to a bucket, with an authority of its own."""
    pods.secrets["bucket"] = {"AWS_ACCESS_KEY_ID": ACCESS, "AWS_SECRET_ACCESS_KEY": SECRET_KEY}
    pods.secrets["authority"] = {"ca.crt": bucket_server.authority}
    _send(pods, bucket_server.endpoint())
    return pods


def _send(pods: Pods, endpoint: str, **more: str) -> None:
    names = {"bucket": "backups", "credentials": "bucket", "ca": "authority", "prefix": pods.top.parent.name}
    pods.backup = {"destination": {"s3": {"endpoint": endpoint, **names, **more}}}


def restic(pods: Pods, *arguments: str) -> str:
    env = {**pods.environment, "RESTIC_REPOSITORY": str(pods.top / "repository")}
    env["RESTIC_PASSWORD"] = pods.secrets["region-backup-passphrase"]["passphrase"]
    done = subprocess.run(
        ["restic", "--no-cache", *arguments], env=env, check=True, capture_output=True, text=True
    )
    return done.stdout


def fetched(pods: Pods, place: Path) -> BackupManifest:
    restic(pods, "restore", "latest", "--tag", f"region={NAMESPACE}/{NAME}", "--target", str(place))
    found = next(place.rglob("manifest.json"))
    return parse_manifest(found.read_bytes())


def content(server: Server) -> str:
    text = server.sql("SELECT id, name, HEX(extra), made FROM keystone.role; SELECT name FROM keystone.names")
    return text + server.sql("SELECT COUNT(*), MAX(id), MIN(v) FROM `nova-cell0`.instances")


def test_a_backup_is_restored_as_it_was(pods: Pods, tmp_path: Path) -> None:
    before = content(pods.server)
    record = pods.run()
    assert (record.databases, record.tables, record.warning) == (2, 4, "")
    manifest = fetched(pods, tmp_path / "restore")
    assert {one.name: dict(one.tables) for one in manifest.databases} == COUNTS
    assert (manifest.id, manifest.size) == (record.id, record.size)
    pods.server.sql("DROP DATABASE keystone; INSERT INTO `nova-cell0`.instances (v) VALUES ('later')")
    code, out, error = pods.server.run(CHECK_SCRIPT, tmp_path / "restore")
    assert code == 0, error
    assert misfit(read_fetched(out), REGION, record.id) == ""
    given = [
        text
        for one in manifest.databases
        for text in (one.name, one.file, next(f.sha256 for f in manifest.files if f.path == one.file))
    ]
    code, out, error = pods.server.run(LOAD_SCRIPT, tmp_path / "restore", RESTORE, *given)
    assert code == 0, error
    assert content(pods.server) == before


def test_a_backup_has_spec_bundles_and_credentials_and_not_its_own_key(pods: Pods, tmp_path: Path) -> None:
    pods.run()
    manifest = fetched(pods, tmp_path / "found")
    assert {one.path for one in manifest.files} == {
        *("databases/keystone.sql", "databases/nova-cell0.sql"),
        *("helmbundles.json", "openstackdeployment.json", "secrets.json"),
    }
    assert [one.what for one in manifest.not_included][1:] == ["OVN's northbound database"]
    secrets = json.loads(next((tmp_path / "found").rglob("secrets.json")).read_text())["items"]
    assert [one["metadata"]["name"] for one in secrets] == ["keystone-credential-keys"]
    bundles = json.loads(next((tmp_path / "found").rglob("helmbundles.json")).read_text())["items"]
    assert [one["metadata"]["name"] for one in bundles] == ["identity"]
    assert "uid" not in bundles[0]["metadata"]


def test_only_the_backups_to_be_kept_stay_and_those_of_others(pods: Pods) -> None:
    pods.run()
    restic(
        pods, "backup", "--quiet", "--tag", "region=other/region,backup=x", str(pods.top / "backup" / "id")
    )
    pods.backup = {**pods.backup, "keep": {"last": 2, "daily": 0, "weekly": 0}}
    made = [pods.run().id for _ in range(3)]
    left = json.loads(restic(pods, "snapshots", "--json"))
    tags = {tag for one in left for tag in one["tags"]}
    assert tags == {
        *(f"region={NAMESPACE}/{NAME}", "region=other/region", "backup=x"),
        *(f"backup={one}" for one in made[-2:]),
    }


def test_a_drill_passes_for_a_good_backup_and_names_it(pods: Pods) -> None:
    first, second = pods.run(), pods.run()
    record = pods.run("drill")
    assert (record.id, record.tables) == (second.id, 4)
    assert pods.run("drill", BACKUP=first.id).id == first.id


def test_a_drill_fails_for_a_damaged_repository(pods: Pods) -> None:
    pods.run()
    packs = [one for one in (pods.top / "repository" / "data").rglob("*") if one.is_file()]
    pack = max(packs, key=lambda one: one.stat().st_size)
    octets = bytearray(pack.read_bytes())
    octets[len(octets) // 2] ^= 0xFF
    pack.chmod(0o600)
    pack.write_bytes(octets)
    with pytest.raises(Failed, match=r"^fetch"):
        pods.run("drill")


def test_a_drill_fails_for_rows_that_the_manifest_does_not_have(
    pods: Pods, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(commands, "collected_manifest", _one_row_more(commands.collected_manifest))
    pods.run()
    with pytest.raises(Failed, match=r"(?s)^try.*rows differ.*role\s4"):
        pods.run("drill")


def test_a_drill_fails_for_a_service_without_its_tables(pods: Pods) -> None:
    pods.server.sql("DELETE FROM `nova-cell0`.alembic_version")
    pods.run()
    with pytest.raises(Failed, match="nova-cell0: table alembic_version is empty"):
        pods.run("drill")


def test_a_dump_that_is_cut_makes_no_backup(pods: Pods) -> None:
    pods.run()
    # mariadb-dump reads the view, and its table is gone.
    pods.server.sql("DROP TABLE keystone.role")
    with pytest.raises(Failed, match=r"(?s)^dump.*invalid table"):
        pods.run()
    assert len(json.loads(restic(pods, "snapshots", "--json"))) == 1


def test_a_wrong_key_of_the_repository_makes_no_second_one(pods: Pods) -> None:
    pods.run()
    before = pods.secrets["region-backup-passphrase"]
    pods.secrets["region-backup-passphrase"] = {"passphrase": "another"}
    with pytest.raises(Failed, match=r"(?s)^store.*(wrong password|no key found)"):
        pods.run()
    pods.secrets["region-backup-passphrase"] = before
    assert len(json.loads(restic(pods, "snapshots", "--json"))) == 1


def test_a_bucket_with_its_own_authority_holds_backups_that_come_back(
    bucket: Pods, bucket_server: S3Server
) -> None:
    first = bucket.run()
    second = bucket.run()
    record = bucket.run("drill")
    assert (record.id, record.tables) == (second.id, 4)
    assert bucket.run("drill", BACKUP=first.id).id == first.id
    stored = bucket_server.data / "backups" / bucket.top.parent.name
    assert (stored / "config").is_file()
    # It is encrypted before it leaves the pod.
    whole = b"".join(one.read_bytes() for one in stored.rglob("*") if one.is_file())
    assert b"keystone" not in whole


def test_a_bucket_with_another_key_or_authority_gets_no_backup(bucket: Pods, tmp_path: Path) -> None:
    bucket.deadline = 40.0
    bucket.secrets["bucket"] = {"AWS_ACCESS_KEY_ID": ACCESS, "AWS_SECRET_ACCESS_KEY": "another"}
    with pytest.raises(Failed, match=r"(?si)^store.*(signature|access denied)"):
        bucket.run()
    bucket.secrets["bucket"] = {"AWS_ACCESS_KEY_ID": ACCESS, "AWS_SECRET_ACCESS_KEY": SECRET_KEY}
    ensure_certificates(tmp_path / "foreign")
    bucket.secrets["authority"] = {"ca.crt": (tmp_path / "foreign" / "ca.crt").read_text()}
    with pytest.raises(Failed, match=r"(?s)^store.*certificate"):
        bucket.run()
    said = (bucket.top / "backup-keys" / "credentials").stat().st_mode
    assert said & 0o077 == 0


def test_a_connection_that_is_cut_leaves_the_backups_before_it(bucket: Pods, bucket_server: S3Server) -> None:
    first = bucket.run()
    bucket.server.sql("UPDATE `nova-cell0`.instances SET v = SHA2(id, 512)")
    bucket.deadline = 20.0
    with cut_network(bucket_server.port, 40_000) as port:
        _send(bucket, bucket_server.endpoint(port))
        with pytest.raises(Failed, match=r"^store past its deadline"):
            bucket.run()
    bucket.deadline = 300.0
    _send(bucket, bucket_server.endpoint())
    assert bucket.run("drill").id == first.id
    after = bucket.run()
    assert bucket.run("drill").id == after.id


def test_a_full_volume_of_backups_leaves_those_before_it(pods: Pods) -> None:
    with small_disk(pods.top / "repository", "2m") as disk:
        first = pods.run()
        fill(disk / "other")
        pods.server.sql("UPDATE `nova-cell0`.instances SET v = SHA2(id, 512)")
        with pytest.raises(Failed, match=r"(?s)^store.*no space left on device"):
            pods.run()
        assert pods.run("drill").id == first.id
        (disk / "other").unlink()
        after = pods.run()
        assert pods.run("drill").id == after.id


@pytest.mark.parametrize("size", ["8k", "100k", "140k"])
def test_a_dump_that_finds_no_space_makes_no_backup(pods: Pods, size: str) -> None:
    first = pods.run()
    with small_disk(pods.top / "backup", size), pytest.raises(Failed, match=r"^dump"):
        pods.run()
    assert pods.run("drill").id == first.id


@contextmanager
def small_disk(place: Path, size: str) -> Iterator[Path]:
    """A disk of its own with so many octets, in that place."""
    if os.geteuid() != 0:
        pytest.skip("only root mounts a disk")
    place.mkdir(exist_ok=True)
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(place)], check=True)
    try:
        yield place
    finally:
        subprocess.run(["umount", "--lazy", str(place)], check=True)


def fill(file: Path) -> None:
    """Writes until the disk is full."""
    with suppress(OSError), file.open("wb", buffering=0) as out:
        while out.write(b"x" * 4096):
            pass


def _one_row_more(make: Any) -> Any:
    def made(described: Any, notes: Any, files: Any) -> bytes:
        text = make(described, notes, files)
        assert b'"role": 3' in text
        return bytes(text.replace(b'"role": 3', b'"role": 4'))

    return made
