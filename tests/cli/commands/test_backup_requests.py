"""osctl backup now, verify, list, delete: Jobs made from the CronJobs of the region."""

from __future__ import annotations

import json
from typing import Any

import pytest

import controller.cli.commands.recovery.backup_requests as commands
from controller.cli import on_cluster
from controller.cli.cluster import Cluster
from controller.domain.api.conditions import timestamp
from controller.ports.kubernetes import JOB, POD, KubeObject
from tests.cli.objects import osctl
from tests.reconcile.backups.test_region_backups import CLAIM, ID, NAMESPACE, Bed

ANOTHER = "20261127T020000Z-0a1b2d"


class Played(Bed):
    """A region whose Jobs end as `ends` says, while the command waits."""

    def __init__(self) -> None:
        super().__init__({**CLAIM, "drill": "0 4 * * 0"})
        self.turn()
        self.ends: tuple[int, str, str] = (0, self.record(), "")
        self.seen: list[KubeObject] = []

    def work(self) -> None:
        code, message, output = self.ends
        for job in self.kube.list(JOB, NAMESPACE):
            if job.get("status"):
                continue
            self.seen.append(job)
            name, now = job["metadata"]["name"], timestamp(self.clock.now())
            ended = {"type": "Failed" if code else "Complete", "status": "True", "lastTransitionTime": now}
            self.kube.replace({**job, "status": {"conditions": [ended]}}, subresource="status")
            pod = self.kube.create(
                {
                    "apiVersion": POD.api_version,
                    "kind": POD.kind,
                    "metadata": {"name": f"{name}-x", "namespace": NAMESPACE, "labels": {"job-name": name}},
                    "spec": {"containers": [{"name": "store", "image": "i"}]},
                }
            )
            state = {"terminated": {"exitCode": code, "message": message}}
            status = {"containerStatuses": [{"name": "store", "state": state}]}
            self.kube.replace({**pod, "status": status}, subresource="status")
            self.kube.logs[NAMESPACE, f"{name}-x", "store"] = output


@pytest.fixture
def bed(monkeypatch: pytest.MonkeyPatch) -> Played:
    played = Played()
    monkeypatch.setattr(on_cluster, "open_cluster", lambda *_: Cluster(played.kube, NAMESPACE))
    monkeypatch.setattr(commands.time, "sleep", lambda _: played.work())
    return played


def env_of(container: Any) -> dict[str, str]:
    return {one["name"]: one.get("value") for one in container["env"]}


def test_a_backup_now_counts_as_one_of_the_schedule(bed: Played) -> None:
    result = osctl("backup", "now")
    assert result.exit_code == 0, result.stderr
    assert f"{ID}: succeeded" in result.stdout
    [job] = bed.seen
    made = bed.cronjobs()["region-backup"]["spec"]["jobTemplate"]["spec"]["template"]["spec"]
    assert job["spec"]["template"]["spec"]["containers"] == made["containers"]
    good = bed.state().last_good
    assert good is not None
    assert good.id == ID


def test_a_failed_backup_shows_its_cause(bed: Played) -> None:
    bed.ends = (1, "Fatal: wrong password", "")
    result = osctl("backup", "now")
    assert result.exit_code == 6
    assert "container store ended with code 1: Fatal: wrong password" in result.stderr


def test_none_is_made_while_a_restore_holds_the_region(bed: Played) -> None:
    bed.turn(held=True)
    result = osctl("backup", "now")
    assert result.exit_code != 0
    assert "while a restore or an upgrade changes the databases" in result.stderr
    assert bed.seen == []


def test_without_the_feature_it_is_named() -> None:
    bed = Bed(None)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(on_cluster, "open_cluster", lambda *_: Cluster(bed.kube, NAMESPACE))
        result = osctl("backup", "now")
    assert "set spec.features.backup" in result.stderr


def test_a_chosen_backup_is_verified(bed: Played) -> None:
    result = osctl("backup", "verify", ANOTHER)
    assert result.exit_code == 0, result.stderr
    [job] = bed.seen
    fetch = job["spec"]["template"]["spec"]["initContainers"][0]
    assert env_of(fetch)["BACKUP"] == ANOTHER
    assert bed.state().restorable is None, "another backup says nothing of the newest"
    assert osctl("backup", "verify", "../x").exit_code == 2


def test_the_list_is_that_of_the_repository_and_counts_as_no_backup(bed: Played) -> None:
    listed = [
        {"time": "2026-11-27T02:03:04.5Z", "tags": ["region=openstack/region-one", f"backup={ANOTHER}"]},
        {"time": "2026-11-26T02:03:04.5Z", "tags": [f"backup={ID}", "region=openstack/region-one"]},
        {"time": "2026-11-25T02:03:04.5Z", "tags": ["backup=$(reboot)"]},
    ]
    bed.ends = (0, "", json.dumps(listed))
    result = osctl("backup", "list", "-o", "json")
    assert result.exit_code == 0, result.stderr
    assert json.loads(result.stdout) == [
        {"id": ID, "stored": "2026-11-26T02:03:04Z"},
        {"id": ANOTHER, "stored": "2026-11-27T02:03:04Z"},
    ]
    [job] = bed.seen
    assert "initContainers" not in job["spec"]["template"]["spec"]
    assert bed.kube.list(JOB, NAMESPACE) == []
    assert bed.state().last.ended == ""


def test_a_pod_that_prints_no_list_is_named_as_the_cause(bed: Played) -> None:
    bed.ends = (0, "", "")
    result = osctl("backup", "list")
    assert result.exit_code == 6
    assert "its pod printed no list of backups" in result.stderr


def test_a_backup_is_deleted_by_its_tag_after_a_question(bed: Played) -> None:
    assert osctl("backup", "delete", ID, input="n\n").exit_code != 0
    assert bed.seen == []
    result = osctl("backup", "delete", ID, "--yes")
    assert result.exit_code == 0, result.stderr
    [job] = bed.seen
    [store] = job["spec"]["template"]["spec"]["containers"]
    assert env_of(store)["BACKUP"] == ID
    bed.ends = (4, "there is no backup", "")
    assert "there is no backup" in osctl("backup", "delete", ID, "--yes").stderr
