"""Programs of OpenStack 2026.1 that check databases of 2025.1, as a Job would run them."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pymysql
import pytest

from controller.adapters.system.values_files import load_library
from controller.domain.region.upgrade.check_outcome import judge_output
from controller.domain.region.upgrade.upgrade_checks import environment_of
from controller.domain.region.upgrade.upgrade_state import CheckState
from controller.domain.values.upgrade_parts import UpgradeCheck
from sandbox.errors import SandboxError
from sandbox.openstack.cloud import Cloud
from sandbox.openstack.configuration import PASSWORD
from sandbox.openstack.provision import ensure_provisions
from sandbox.openstack.series import HOST, find_series, places_of

pytestmark = [pytest.mark.openstack, pytest.mark.slow]

ROOT = Path(__file__).resolve().parents[2]
LIBRARY = load_library(ROOT / "values")
CHECKS = {
    check.name: check for entry in LIBRARY.catalogue.services.values() for check in entry.upgrade_checks
}
# Where the files of options lie here.
FILES = {
    "keystone-doctor": ["keystone/keystone.conf"],
    "placement-status": ["placement/placement.conf"],
    "glance-status": ["glance/glance-api.conf"],
    "cinder-status": ["cinder/cinder.conf"],
    "nova-status": ["nova/nova.conf"],
}
CACHED = {"OS_CACHE__ENABLED": "true", "OS_CACHE__BACKEND": "dogpile.cache.memory"}
ALLOCATION = "INSERT INTO placement.allocations (resource_provider_id, consumer_id, resource_class_id, used)"
CONSUMER = "c0ffee00-0000-0000-0000-000000000000"


@pytest.fixture(scope="module")
def programs(cloud: Cloud) -> Path:
    """The programs of the version to come."""
    if cloud.series.name == "2026.1":
        pytest.skip("the cloud is of 2026.1 already")
    series = find_series("2026.1")
    try:
        ensure_provisions(series, places_of(series), print)
    except SandboxError as error:
        pytest.skip(str(error))
    return places_of(series).venv / "bin"


def run(cloud: Cloud, programs: Path, check: UpgradeCheck, **more: str) -> tuple[int, str]:
    """Exit code and output of a check."""
    etc = places_of(cloud.series).run / "etc"
    program, *arguments = [one for one in check.command if not one.startswith(("--config-file", "/etc/"))]
    files = [f"--config-file={etc / name}" for name in FILES[check.name]]
    only_reads = {one["name"]: one["value"] for one in environment_of(check)}
    ended = subprocess.run(
        [str(programs / program), *files, *arguments],
        env={**os.environ, **only_reads, **more},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    return ended.returncode, f"{ended.stderr}\n{ended.stdout}"


@pytest.mark.parametrize("name", sorted(FILES))
def test_a_check_passes(cloud: Cloud, programs: Path, name: str) -> None:
    code, output = run(cloud, programs, CHECKS[name], **CACHED)
    assert code == 0, output


@pytest.mark.parametrize(
    ("name", "more", "state", "message"),
    [
        ("keystone-doctor", {"OS_CACHE__ENABLED": "false"}, CheckState.WARNING, "[cache] enabled"),
        (
            "cinder-status",
            {"OS_DEFAULT__BACKUP_DRIVER": "cinder.backup.drivers.swift"},
            CheckState.FAILED,
            "Backup Driver Path: Backup driver configuration requires the full path",
        ),
        ("nova-status", {"OS_PLACEMENT__PASSWORD": "wrong"}, CheckState.FAILED, "Placement API: "),
        ("glance-status", {"OS_DEFAULT__ENABLED_BACKENDS": "sheepdog:file"}, CheckState.FAILED, "Sheepdog"),
    ],
)
def test_a_check_finds_a_wrong_option(
    cloud: Cloud, programs: Path, name: str, more: dict[str, str], state: CheckState, message: str
) -> None:
    code, output = run(cloud, programs, CHECKS[name], **more)
    found, text = judge_output(code, output, CHECKS[name].findings)
    assert (found, message in text) == (state, True), output


def test_a_check_finds_records_that_must_be_migrated(cloud: Cloud, programs: Path) -> None:
    with incomplete_consumer(cloud):
        code, output = run(cloud, programs, CHECKS["placement-status"])
    state, text = judge_output(code, output, "")
    assert (state, "Incomplete Consumers" in text) == (CheckState.WARNING, True), output


def test_a_program_that_writes_is_refused_by_the_database(cloud: Cloud, programs: Path) -> None:
    """placement-manage writes, even if nothing is left to migrate."""
    check = CHECKS["placement-status"]
    writes = replace(check, command=("placement-manage", "db", "online_data_migrations"))
    with incomplete_consumer(cloud):
        code, output = run(cloud, programs, writes)
        assert (code, "READ ONLY transaction" in output) == (2, True), output
        assert sql(cloud, "SELECT uuid FROM placement.consumers WHERE uuid = %s") == []


def sql(cloud: Cloud, statement: str) -> list[tuple[object, ...]]:
    port = cloud.series.ports()["mariadb"]
    with pymysql.connect(host=HOST, port=port, user="sandbox", password=PASSWORD, autocommit=True) as client:
        cursor = client.cursor()
        cursor.execute(statement, (CONSUMER,))
        return list(cursor.fetchall())


@contextmanager
def incomplete_consumer(cloud: Cloud) -> Iterator[None]:
    sql(cloud, f"{ALLOCATION} VALUES (1, %s, 0, 1)")
    try:
        yield
    finally:
        sql(cloud, "DELETE FROM placement.allocations WHERE consumer_id = %s")
