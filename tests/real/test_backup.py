"""A region in real pods that is backed up on a volume and in a bucket, loses its database, and comes back."""

from __future__ import annotations

import json
import secrets
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from sandbox.cluster import Sandbox
from sandbox.demo import NAMESPACE
from sandbox.demo_real import run_smoke
from sandbox.images.build import ensure_image
from sandbox.images.recipes import RESTIC
from tests.openstack.s3_server import server_program
from tests.real.backups import RESTIC_IMAGE, Ask, asker, made_backup, send_backups
from tests.real.bucket import DESTINATION, bucket
from tests.real.conftest import volumes_of
from tests.real.region import (
    condition,
    deployment,
    edit,
    is_ready,
    items,
    osctl,
    wait_ready,
    wait_until,
)

pytestmark = [pytest.mark.real, pytest.mark.timeout(5400)]

LOOP = Path(__file__).with_name("login_loop.py")
# A region that is kept has those of an earlier run.
BEFORE, AFTER = (f"{name}-{secrets.token_hex(3)}" for name in ("before", "after"))
CLAIM = {"claim": {"size": "1Gi"}}
DATABASE, VOLUME = "mariadb-server-0", "mysql-data-mariadb-server-0"


@pytest.fixture(scope="module")
def ask(client: Callable[[str], str]) -> Ask:
    """Runs `region_content.py` with these words; what it prints."""
    return asker(client)


@pytest.fixture(scope="module")
def backed_up(region: Sandbox, ask: Ask, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sandbox]:
    """The region with a project and with backups on a volume, and a bucket beside it."""
    program = server_program()
    if program is None:
        pytest.skip("the S3 server is built by Go, and there is none")
    region.images().load(ensure_image(RESTIC, print), [RESTIC_IMAGE])
    wait_ready(region)
    with bucket(region, program, tmp_path_factory.mktemp("bucket")):
        yield region
        edit(region, {"features": {"backup": None}})


@pytest.fixture(scope="module")
def token(backed_up: Sandbox, ask: Ask) -> str:
    """A token from when the project was made."""
    return str(ask("make", BEFORE)["token"])


def backup_status(box: Sandbox) -> dict[str, Any]:
    found: dict[str, Any] = deployment(box)["status"].get("backup") or {}
    return found


def test_a_backup_on_a_volume_is_good_until_it_is_damaged_and_no_request_fails(
    backed_up: Sandbox, client: Callable[[str], str], token: str
) -> None:
    send_backups(backed_up, CLAIM, '"claimName": "region-backup"')
    with ThreadPoolExecutor(1) as beside:
        asking = beside.submit(client, LOOP.read_text())
        try:
            made = made_backup(backed_up)
        finally:
            backed_up.kubectl("exec", "--namespace", NAMESPACE, "client", "--", "touch", "/tmp/stop")
        seen = json.loads(asking.result(300))
    print(f"requests during the backup: {seen}")
    assert seen["failed"] == []
    assert min(seen["count"].values()) > 20
    assert made in osctl(backed_up, "backup", "list")
    assert made in osctl(backed_up, "backup", "verify")
    wait_until(lambda: backup_status(backed_up).get("restorable") is True, "no drill is reported", 120)
    assert backup_status(backed_up)["lastGood"]["id"] == made
    wait_until(lambda: condition(backed_up, "BackedUp") == "True", "the region is not backed up", 60)
    damage(backed_up)
    with pytest.raises(AssertionError, match="container fetch ended with code"):
        osctl(backed_up, "backup", "verify")
    wait_until(lambda: backup_status(backed_up).get("restorable") is False, "the damage is not reported", 120)
    assert condition(backed_up, "BackedUp") == "False"


def damage(box: Sandbox) -> None:
    """Cuts the largest file of the repository."""
    files = [path for place in volumes_of(box) for path in place.glob("data/*/*") if path.is_file()]
    largest = max(files, key=lambda path: path.stat().st_size)
    largest.chmod(0o600)
    largest.write_bytes(largest.read_bytes()[:-100])


def test_a_region_that_has_lost_its_database_comes_back_from_a_bucket(
    backed_up: Sandbox, ask: Ask, token: str
) -> None:
    send_backups(backed_up, {"s3": DESTINATION}, "AWS_SHARED_CREDENTIALS_FILE")
    before = ask("show")
    made = made_backup(backed_up)
    assert made in osctl(backed_up, "backup", "verify")
    ask("make", AFTER)
    lose_database(backed_up)
    began = time.monotonic()
    print(osctl(backed_up, "restore", "after-disk-loss", seconds=1800))
    took = time.monotonic() - began
    wait_ready(backed_up)
    print(f"restored within {took:.0f} s, and Ready after {time.monotonic() - began:.0f} s")
    (restored,) = items(backed_up, "regionrestores")
    assert (restored["status"]["phase"], restored["status"]["backup"]) == ("Done", made)
    assert ask("use", BEFORE, token) == {"user": BEFORE, "image": True, "token": 200}
    assert ask("show") == before
    run_smoke(backed_up)


def lose_database(box: Sandbox) -> None:
    """Destroys the volume of the database; the StatefulSet makes an empty one."""
    (lost,) = items(box, "pods", f"--field-selector=metadata.name={DATABASE}")
    there = ("--namespace", NAMESPACE)
    box.kubectl("delete", *there, f"pvc/{VOLUME}", "--wait=false")
    box.kubectl("delete", *there, f"pod/{DATABASE}", "--grace-period=0", "--force")

    def is_new() -> bool:
        found = items(box, "pods", f"--field-selector=metadata.name={DATABASE}")
        return [is_ready(one) and one["metadata"]["uid"] != lost["metadata"]["uid"] for one in found] == [
            True
        ]

    took = wait_until(is_new, "there is no other database", 300)
    print(f"an empty database is Ready after {took:.0f} s")
