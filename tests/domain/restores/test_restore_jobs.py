"""The Job that fetches a backup: from the Secret that the restore names, or from the region's own backups."""

from __future__ import annotations

from typing import Any

from controller.domain.backups.backup_spec import BackupSpec, ClaimDestination, S3Destination
from controller.domain.restores.restore_jobs import RestoreRun, restore_job
from controller.domain.restores.restore_spec import parse_restore_spec
from controller.domain.restores.restore_state import Restore, Step, StepRecord

META = {"name": "again", "namespace": "openstack", "uid": "u"}
DATABASE = {"spec": {"template": {"spec": {"containers": [{"name": "mariadb", "image": "mariadb:11.4"}]}}}}
OVN = {"spec": {"template": {"spec": {"containers": [{"name": "nb", "image": "ovn:24"}]}}}}
BUCKET = S3Destination("https://s3.example.org", "backups", "bucket")


def pod(own: BackupSpec | None, **source: str) -> dict[str, Any]:
    spec = parse_restore_spec({"region": "region-one", **({"from": source} if source else {})})
    run = RestoreRun(META, spec, Restore(), StepRecord(Step.CHECK), own)
    found: dict[str, Any] = restore_job(run, DATABASE)["spec"]["template"]["spec"]
    return found


def test_restic_comes_from_the_registry_of_the_region_with_its_secrets() -> None:
    spec = parse_restore_spec({"region": "region-one", "from": {"secret": "own"}})
    region = {"images": {"registry": "registry.example.org", "pullSecrets": ["login"]}}
    run = RestoreRun(META, spec, Restore(), StepRecord(Step.CHECK), region=region)
    found = restore_job(run, DATABASE)["spec"]["template"]["spec"]
    assert found["initContainers"][0]["image"] == "registry.example.org/restic/restic:0.18.1"
    assert found["imagePullSecrets"] == [{"name": "login"}]


def test_a_restore_without_a_source_reads_the_region_s_own_backups() -> None:
    found = pod(BackupSpec(BUCKET, image="restic:1"))
    [fetch] = found["initContainers"]
    env = {one["name"]: one["value"] for one in fetch["env"]}
    assert fetch["image"] == "restic:1"
    assert env["RESTIC_REPOSITORY"] == "s3:https://s3.example.org/backups"
    assert "envFrom" not in fetch
    secrets = {one["secret"]["secretName"] for one in found["volumes"] if "secret" in one}
    assert secrets == {"region-backup-passphrase", "bucket"}
    # The container with the password of the database has no key of backups.
    assert [one["name"] for one in found["containers"][0]["volumeMounts"]] == ["restore"]


def test_a_volume_is_read_as_the_user_that_has_written_it() -> None:
    found = pod(BackupSpec(ClaimDestination()))
    [fetch] = found["initContainers"]
    assert fetch["securityContext"]["runAsUser"] == 65532
    claims = [
        one["persistentVolumeClaim"]["claimName"]
        for one in found["volumes"]
        if len(one) == 2 and "persistentVolumeClaim" in one
    ]
    assert claims == ["region-backup"]


def test_loading_has_ovn_s_database_loaded_where_there_is_ovn() -> None:
    spec, images = parse_restore_spec({"region": "region-one"}), {}
    for step in (Step.CHECK, Step.LOAD):
        run = RestoreRun(META, spec, Restore(), StepRecord(step), BackupSpec(BUCKET), northbound=OVN)
        initial = restore_job(run, DATABASE)["spec"]["template"]["spec"]["initContainers"]
        images[step] = {one["name"]: one["image"] for one in initial}
    assert "northbound" not in images[Step.CHECK]
    assert images[Step.LOAD]["northbound"] == "ovn:24"
    assert [one["name"] for one in initial] == ["fetch", "northbound"]
    # It has neither the password of the database nor the key of backups.
    assert [one["name"] for one in initial[1]["volumeMounts"]] == ["restore"]
    assert [one["name"] for one in initial[1]["env"]] == ["OVN_NORTHBOUND"]


def test_a_named_source_wins() -> None:
    [fetch] = pod(BackupSpec(BUCKET), secret="own", image="restic:2")["initContainers"]
    assert fetch["envFrom"] == [{"secretRef": {"name": "own"}}]
    assert fetch["image"] == "restic:2"
