"""The CronJobs of backups: what each container may and what it may not."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from controller.cli.exit_codes import ExitCode
from controller.domain.backups.backup_jobs import (
    BackupParts,
    backup_claim,
    backup_cronjob,
    digest_of,
    drill_cronjob,
)
from controller.domain.backups.backup_spec import (
    BackupSpec,
    ClaimDestination,
    Keep,
    S3Destination,
    parse_backup_spec,
)
from tests.cli.objects import osctl

OSDPL = {"metadata": {"name": "region-one", "namespace": "openstack", "uid": "u"}}
BUCKET = S3Destination("https://s3.example.org", "backups", "bucket", ca="authority")
SECRETS = {
    "backup-key": "region-backup-passphrase",
    "backup-login": "bucket",
    "client-login": "mariadb-dbadmin-password",
}


def database(**template: Any) -> dict[str, Any]:
    containers = [
        {"name": "sidecar", "image": "other:1"},
        {
            "name": "mariadb",
            "image": "mariadb:11.4",
            "env": [{"name": "MYSQL_DBADMIN_USERNAME", "value": "adm"}],
        },
    ]
    claims = [{"metadata": {"name": "mysql-data"}, "spec": {"resources": {"requests": {"storage": "20Gi"}}}}]
    spec = {"template": {"spec": {"containers": containers, **template}}, "volumeClaimTemplates": claims}
    return {"spec": spec}


NORTHBOUND = {"spec": {"template": {"spec": {"containers": [{"name": "nb", "image": "ovn:24"}]}}}}


def parts(spec: BackupSpec | None = None, northbound: Any = NORTHBOUND, **more: Any) -> BackupParts:
    return BackupParts(
        spec or BackupSpec(BUCKET), OSDPL, database(**more), northbound, "controller:1", ("pull",)
    )


def pod_of(cronjob: Any) -> dict[str, Any]:
    found: dict[str, Any] = cronjob["spec"]["jobTemplate"]["spec"]["template"]["spec"]
    return found


def containers(pod: Any) -> dict[str, Any]:
    return {one["name"]: one for one in (*pod["initContainers"], *pod["containers"])}


def test_a_backup_is_made_by_one_container_after_the_other() -> None:
    pod = pod_of(backup_cronjob(parts()))
    assert [one["name"] for one in pod["initContainers"]] == ["dump", "northbound", "collect"]
    images = {name: one["image"] for name, one in containers(pod).items()}
    assert images == {
        "dump": "mariadb:11.4",
        "northbound": "ovn:24",
        "collect": "controller:1",
        "store": "docker.io/restic/restic:0.18.1",
    }
    without = pod_of(backup_cronjob(parts(northbound=None)))
    assert [one["name"] for one in without["initContainers"]] == ["dump", "collect"]


@pytest.mark.parametrize(
    ("cronjob", "name"), [(backup_cronjob(parts()), "collect"), (drill_cronjob(parts()), "examine")]
)
def test_osctl_knows_the_arguments_of_its_containers(cronjob: Any, name: str, tmp_path: Path) -> None:
    program, *words = containers(pod_of(cronjob))[name]["command"]
    assert program == "osctl"
    arguments = [str(tmp_path) if word == "/backup" else word for word in words]
    # Without an API server it ends before it does anything.
    ended = osctl(*arguments, *(["--kubeconfig", str(tmp_path / "none")] if name == "collect" else []))
    assert ended.exit_code not in (ExitCode.OK, ExitCode.USAGE), ended.stderr


@pytest.mark.parametrize("cronjob", [backup_cronjob(parts()), drill_cronjob(parts())])
def test_the_pods_are_restricted(cronjob: Any) -> None:
    pod = pod_of(cronjob)
    assert pod["automountServiceAccountToken"] is False
    assert pod["securityContext"]["runAsNonRoot"] is True
    assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    for one in containers(pod).values():
        assert one["securityContext"]["capabilities"] == {"drop": ["ALL"]}
        assert one["securityContext"]["allowPrivilegeEscalation"] is False
        assert one["resources"]["limits"]["memory"]
    scratch = [one["emptyDir"] for one in pod["volumes"] if "emptyDir" in one]
    assert all(one["sizeLimit"] for one in scratch)


def test_each_secret_is_a_file_of_the_one_container_that_needs_it() -> None:
    pod = pod_of(backup_cronjob(parts()))
    named = {one["name"]: one["secret"]["secretName"] for one in pod["volumes"] if "secret" in one}
    assert {key: named[key] for key in SECRETS} == SECRETS
    mounted = {
        name: sorted({mount["name"] for mount in one["volumeMounts"]} & {*named, "token"})
        for name, one in containers(pod).items()
    }
    assert mounted == {
        "dump": ["client-login"],
        "northbound": [],
        "collect": ["token"],
        "store": ["backup-authority", "backup-key", "backup-login"],
    }
    text = json.dumps(pod)
    assert "secretKeyRef" not in text
    assert "envFrom" not in text
    drill = {name: one["volumeMounts"] for name, one in containers(pod_of(drill_cronjob(parts()))).items()}
    assert {one["name"] for one in (*drill["examine"], *drill["try"])} == {"backup", "scratch"}


def test_a_drill_without_a_schedule_is_suspended() -> None:
    assert drill_cronjob(parts())["spec"]["suspend"] is True
    weekly = drill_cronjob(parts(BackupSpec(BUCKET, drill="0 4 * * 0")))["spec"]
    assert (weekly["suspend"], weekly["schedule"]) == (False, "0 4 * * 0")


def test_none_begins_while_a_restore_holds_the_region() -> None:
    held = BackupParts(BackupSpec(BUCKET), OSDPL, database(), None, "controller:1", (), held=True)
    assert backup_cronjob(held)["spec"]["suspend"] is True
    assert backup_cronjob(parts())["spec"]["suspend"] is False


def test_the_pod_runs_where_the_database_runs_and_pulls_with_both_secrets() -> None:
    given = {"nodeSelector": {"openstack-control-plane": "enabled"}, "imagePullSecrets": [{"name": "osh"}]}
    pod = pod_of(backup_cronjob(parts(**given)))
    assert pod["nodeSelector"] == given["nodeSelector"]
    assert pod["imagePullSecrets"] == [{"name": "osh"}, {"name": "pull"}]
    assert {"name": "backup", "emptyDir": {"sizeLimit": "20Gi"}} in pod["volumes"]


def test_images_come_from_the_registry_of_the_region_with_its_secrets() -> None:
    images = {"registry": "registry.example.org:5000/openstack", "pullSecrets": ["login"]}
    given = {"images": images, "features": {"backup": {"destination": {"claim": {}}}}}
    spec = parse_backup_spec(given)
    pod = pod_of(backup_cronjob(parts(spec)))
    assert containers(pod)["store"]["image"] == "registry.example.org:5000/openstack/restic/restic:0.18.1"
    assert pod["imagePullSecrets"] == [{"name": "login"}, {"name": "pull"}]
    given["features"]["backup"]["image"] = "elsewhere.example.org/restic:1"
    own = parse_backup_spec(given)
    assert own is not None and own.image == "elsewhere.example.org/restic:1"


def test_an_edit_changes_the_digest_and_nothing_else_does() -> None:
    before = digest_of(backup_cronjob(parts()))
    assert digest_of(backup_cronjob(parts())) == before
    edited = [
        BackupSpec(BUCKET, schedule="0 3 * * *"),
        BackupSpec(BUCKET, keep=Keep(1, 1, 1)),
        BackupSpec(BUCKET, passphrase="mine"),
        BackupSpec(ClaimDestination()),
    ]
    assert len({before, *(digest_of(backup_cronjob(parts(one))) for one in edited)}) == 5


def test_a_volume_is_claimed_without_an_owner() -> None:
    claim = backup_claim(parts(BackupSpec(ClaimDestination("5Gi", "fast"))))
    assert claim is not None
    assert "ownerReferences" not in claim["metadata"]
    assert claim["spec"]["resources"]["requests"]["storage"] == "5Gi"
    assert claim["spec"]["storageClassName"] == "fast"
    assert backup_claim(parts()) is None
