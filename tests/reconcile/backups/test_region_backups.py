"""core has backups made: CronJobs that follow the spec, and a status that follows their Jobs."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from controller.domain.api.conditions import timestamp
from controller.domain.api.names import BACKUP_LABEL, DEPLOYMENT_LABEL
from controller.domain.api.reasons import Reason
from controller.domain.backups.backup_state import BackupState, Result
from controller.ports.kubernetes import CRONJOB, JOB, OSDPL, POD, PVC, SECRET, STATEFULSET, KubeObject
from controller.reconcile.backups.region_backups import BackupImage, BackupReport, RegionBackups
from tests.fakes.kube import FakeKube
from tests.fakes.world import FakeClock
from tests.reconcile.bundles import NoEvents

NAMESPACE, NAME = "openstack", "region-one"
ID = "20261126T020000Z-0a1b2c"
BUCKET = {"endpoint": "https://s3.example.org", "bucket": "backups", "credentials": "bucket"}
CLAIM = {"destination": {"claim": {"size": "5Gi"}}}
POD_SPEC = {"containers": [{"name": "mariadb", "image": "mariadb:11.4"}]}


class Bed:
    """A region with its database, and what core does about its backups."""

    def __init__(self, backup: dict[str, Any] | None) -> None:
        self.clock, self.events = FakeClock(), NoEvents()
        self.kube = FakeKube(self.clock)
        meta = {"name": NAME, "namespace": NAMESPACE}
        features = {"backup": backup} if backup else {}
        self.kube.create(
            {
                "apiVersion": OSDPL.api_version,
                "kind": OSDPL.kind,
                "metadata": meta,
                "spec": {"features": features},
            }
        )
        self.database("mariadb:11.4")
        self.backups = RegionBackups(
            self.kube, self.clock, self.events, image=BackupImage("controller:1"), octets=lambda n: b"x" * n
        )

    def database(self, image: str) -> None:
        there = self.kube.get(STATEFULSET, "mariadb-server", NAMESPACE)
        spec = {"template": {"spec": {"containers": [{"name": "mariadb", "image": image}]}}}
        body = {"apiVersion": "apps/v1", "kind": "StatefulSet", "spec": spec}
        meta = {"name": "mariadb-server", "namespace": NAMESPACE}
        if there is None:
            self.kube.create({**body, "metadata": meta})
        else:
            self.kube.replace({**there, "spec": spec})

    def edit(self, backup: dict[str, Any] | None) -> None:
        osdpl = self.osdpl()
        osdpl["spec"]["features"] = {"backup": backup} if backup else {}
        self.kube.replace(osdpl)

    def osdpl(self) -> KubeObject:
        found = self.kube.get(OSDPL, NAME, NAMESPACE)
        assert found is not None
        return found

    def turn(self, **how: bool) -> BackupReport:
        """One pass, with its status written as core writes it."""
        osdpl = self.osdpl()
        report = self.backups.follow(osdpl, **how)
        entry = {"backup": report.state.entry()} if report.state else {}
        if (osdpl.get("status") or {}) != entry:
            self.kube.replace({**osdpl, "status": entry}, subresource="status")
        return report

    def state(self, **how: bool) -> BackupState:
        found = self.turn(**how).state
        assert found is not None
        return found

    def cronjobs(self) -> dict[str, KubeObject]:
        return {one["metadata"]["name"]: one for one in self.kube.list(CRONJOB, NAMESPACE)}

    def job(self, name: str, *, what: str = "backup", message: str = "", code: int = 0) -> None:
        """A Job that has ended now, with its pod."""
        labels = {BACKUP_LABEL: what, DEPLOYMENT_LABEL: NAME}
        meta = {"name": name, "namespace": NAMESPACE, "labels": labels}
        job = self.kube.create({"apiVersion": "batch/v1", "kind": "Job", "metadata": meta, "spec": {}})
        now = timestamp(self.clock.now())
        ended = {"type": "Failed" if code else "Complete", "status": "True", "lastTransitionTime": now}
        status = {"conditions": [ended], **({} if code else {"completionTime": now})}
        self.kube.replace({**job, "status": status}, subresource="status")
        meta = {"name": f"{name}-x", "namespace": NAMESPACE, "labels": {"job-name": name}}
        pod = self.kube.create({"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": POD_SPEC})
        terminated = {"exitCode": code, "message": message}
        listed = [{"name": "store", "state": {"terminated": terminated}}]
        self.kube.replace({**pod, "status": {"containerStatuses": listed}}, subresource="status")

    def record(self, identity: str = ID) -> str:
        ended = timestamp(self.clock.now())
        return f"id {identity}\nstarted {ended}\nbytes 500\ndatabases 9\ntables 300\nended {ended}\n"


@pytest.fixture
def bed() -> Bed:
    return Bed(CLAIM)


def test_backups_are_made_as_the_spec_says(bed: Bed) -> None:
    bed.turn()
    assert set(bed.cronjobs()) == {"region-backup", "region-backup-drill"}
    assert bed.cronjobs()["region-backup"]["spec"]["schedule"] == "0 2 * * *"
    assert [one["metadata"]["name"] for one in bed.kube.list(PVC, NAMESPACE)] == ["region-backup"]
    owner = bed.cronjobs()["region-backup"]["metadata"]["ownerReferences"][0]
    assert (owner["kind"], owner["name"]) == ("OpenStackDeployment", NAME)


def test_nothing_is_written_at_rest(bed: Bed) -> None:
    bed.turn()
    bed.turn()
    before = len([one for one in bed.kube.requests if one.verb not in ("get", "list")])
    bed.turn()
    assert len([one for one in bed.kube.requests if one.verb not in ("get", "list")]) == before


def test_a_region_without_backups_costs_no_request() -> None:
    bed = Bed(None)
    osdpl = bed.osdpl()
    before = len(bed.kube.requests)
    assert bed.backups.follow(osdpl).state is None
    assert len(bed.kube.requests) == before


def test_an_edit_and_another_image_of_the_database_are_followed(bed: Bed) -> None:
    bed.turn()
    bed.edit({**CLAIM, "schedule": "30 3 * * *"})
    bed.database("mariadb:11.8")
    bed.turn()
    spec = bed.cronjobs()["region-backup"]["spec"]
    image = spec["jobTemplate"]["spec"]["template"]["spec"]["initContainers"][0]["image"]
    assert (spec["schedule"], image) == ("30 3 * * *", "mariadb:11.8")


def test_removed_backups_leave_what_they_have_made(bed: Bed) -> None:
    bed.turn()
    bed.edit(None)
    assert bed.turn(paused=True).state is not None
    assert len(bed.cronjobs()) == 2
    assert bed.turn().state is None
    assert bed.cronjobs() == {}
    assert len(bed.kube.list(PVC, NAMESPACE)) == 1
    assert bed.kube.get(SECRET, "region-backup-passphrase", NAMESPACE) is not None
    assert [text for _, text in bed.events.emitted if text.startswith(f"{Reason.BACKUPS_KEPT}: ")]


def test_a_passphrase_is_generated_once_and_never_said(bed: Bed) -> None:
    bed.turn()
    secret = bed.kube.get(SECRET, "region-backup-passphrase", NAMESPACE)
    assert secret is not None
    assert base64.b64decode(secret["data"]["passphrase"]).decode() == "78" * 32
    bed.turn()
    assert bed.kube.get(SECRET, "region-backup-passphrase", NAMESPACE) == secret
    said = [one for one in bed.events.emitted if one[1].startswith(f"{Reason.PASSPHRASE_GENERATED}: ")]
    assert len(said) == 1
    assert "78" * 32 not in str(said)


def test_a_lacking_secret_is_named() -> None:
    bed = Bed({"destination": {"s3": BUCKET}, "passphrase": "mine"})
    text = bed.state().message
    assert 'Secret "mine" lacks passphrase' in text
    assert 'Secret "bucket" lacks AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY' in text
    assert bed.kube.get(SECRET, "region-backup-passphrase", NAMESPACE) is None


def test_without_a_database_none_can_be_made(bed: Bed) -> None:
    bed.kube.delete(STATEFULSET, "mariadb-server", NAMESPACE)
    assert 'no StatefulSet "mariadb-server"' in bed.state().message
    assert bed.cronjobs() == {}


def test_a_cronjob_of_another_owner_is_left_alone(bed: Bed) -> None:
    meta = {"name": "region-backup", "namespace": NAMESPACE}
    mine = bed.kube.create({"apiVersion": "batch/v1", "kind": "CronJob", "metadata": meta, "spec": {}})
    assert "has another owner" in bed.state().message
    assert bed.cronjobs()["region-backup"] == mine


def test_the_status_has_the_last_good_backup(bed: Bed) -> None:
    bed.turn()
    bed.job("region-backup-1", message=bed.record())
    good = bed.state().last_good
    assert good is not None
    assert (good.id, good.size, good.databases) == (ID, 500, 9)
    bed.clock.advance(3600)
    bed.job("region-backup-2", message="Fatal: no space left on device", code=1)
    state = bed.state()
    assert (state.last.result, state.last_good) == (Result.FAILED, good)
    assert "container store ended with code 1: Fatal: no space left on device" in state.last.message


def test_a_record_outlives_its_job(bed: Bed) -> None:
    bed.job("region-backup-1", message=bed.record())
    before = bed.state()
    bed.kube.delete(JOB, "region-backup-1", NAMESPACE)
    bed.kube.delete(POD, "region-backup-1-x", NAMESPACE)
    assert bed.state() == before


def test_a_secret_in_the_message_of_a_container_is_not_shown(bed: Bed) -> None:
    bed.turn()
    bed.job("region-backup-1", message=f"cannot use {'78' * 32} at s3://user:word@host/x", code=1)
    text = bed.state().last.message
    assert "78" * 32 not in text
    assert "word@" not in text


def test_a_drill_says_whether_the_backup_comes_back(bed: Bed) -> None:
    bed.job("region-backup-1", message=bed.record())
    assert bed.state().restorable is None
    bed.clock.advance(60)
    bed.job("drill-1", what="drill", message=bed.record())
    state = bed.state()
    assert (state.restorable, state.drill.id) == (True, ID)
    bed.clock.advance(60)
    bed.job("drill-2", what="drill", message="rows differ", code=1)
    state = bed.state()
    assert (state.restorable, state.last.result) == (False, Result.SUCCEEDED)


def test_while_a_restore_holds_the_region_none_begins(bed: Bed) -> None:
    bed.turn(held=True)
    assert bed.cronjobs()["region-backup"]["spec"]["suspend"] is True
    bed.turn()
    assert bed.cronjobs()["region-backup"]["spec"]["suspend"] is False


def test_a_paused_region_keeps_its_cronjobs(bed: Bed) -> None:
    bed.turn()
    bed.edit({**CLAIM, "schedule": "30 3 * * *"})
    bed.turn(paused=True)
    assert bed.cronjobs()["region-backup"]["spec"]["schedule"] == "0 2 * * *"


def test_a_refused_spec_changes_nothing(bed: Bed) -> None:
    bed.turn()
    bed.edit({**CLAIM, "schedule": "0 25 * * *"})
    bed.turn()
    assert bed.cronjobs()["region-backup"]["spec"]["schedule"] == "0 2 * * *"


def pruning(bed: Bed) -> str:
    pod = bed.cronjobs()["region-backup"]["spec"]["jobTemplate"]["spec"]["template"]["spec"]
    [store] = pod["containers"]
    return next(str(one["value"]) for one in store["env"] if one["name"] == "PRUNE")


def test_older_backups_are_kept_while_the_newest_is_known_to_be_bad(bed: Bed) -> None:
    bed.turn()
    bed.clock.advance(60)
    bed.job("drill-1", what="drill", message="nova cannot be loaded", code=1)
    bed.turn()
    bed.turn()
    assert pruning(bed) == "no"
    bed.clock.advance(60)
    bed.job("drill-2", what="drill", message=bed.record())
    bed.turn()
    bed.turn()
    assert pruning(bed) == "yes"


def test_a_lost_passphrase_is_not_replaced_once_there_are_backups(bed: Bed) -> None:
    bed.turn()
    bed.clock.advance(60)
    bed.job("backup-1", message=bed.record())
    bed.turn()
    bed.kube.delete(SECRET, "region-backup-passphrase", NAMESPACE)
    assert 'Secret "region-backup-passphrase" lacks passphrase' in bed.state().message
    assert bed.kube.get(SECRET, "region-backup-passphrase", NAMESPACE) is None


def test_a_hold_reaches_the_cronjobs_of_a_paused_region_and_ends_with_it(bed: Bed) -> None:
    bed.turn()
    bed.turn(paused=True, held=True)
    assert bed.cronjobs()["region-backup"]["spec"]["suspend"] is True
    bed.turn(paused=True)
    bed.turn()
    assert bed.cronjobs()["region-backup"]["spec"]["suspend"] is False


def test_a_warning_of_a_good_backup_is_shown_without_secrets(bed: Bed) -> None:
    bed.turn()
    bed.clock.advance(60)
    warning = "older backups were not removed: https://user:hunter2@s3.example.org refused"
    bed.job("backup-1", message=f"{bed.record()}warning {warning}\n")
    entry = str(bed.state().entry())
    assert "older backups were not removed" in entry and "hunter2" not in entry
