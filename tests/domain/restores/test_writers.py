"""What a restore stops, in which order, and how it is started again."""

from __future__ import annotations

from typing import Any

from controller.domain.api.names import RELEASE_NAME, RESTORE_BEFORE_ANNOTATION, RESTORE_LABEL
from controller.domain.restores.writers import start_patch, stop_patch, waves, writers_in

CHARTS = {"keystone": "keystone", "nova": "nova", "mariadb": "mariadb"}


def workload(kind: str, name: str, release: str, **spec: Any) -> dict[str, Any]:
    meta = {"name": name, "uid": f"uid-{name}", "resourceVersion": "7", "generation": 1}
    return {
        "kind": kind,
        "metadata": {**meta, "annotations": {RELEASE_NAME: release}, "labels": {}},
        "spec": {"template": {"spec": {}}, **spec},
        "status": {},
    }


def test_the_database_and_what_belongs_to_no_release_stay() -> None:
    objects = [
        workload("StatefulSet", "mariadb-server", "mariadb", replicas=3),
        workload("Deployment", "foreign", "another", replicas=1),
        workload("Deployment", "keystone-api", "keystone", replicas=2),
        workload("DaemonSet", "nova-compute", "nova"),
    ]
    found = writers_in([one for one in objects if one["kind"] != "DaemonSet"], CHARTS)
    assert [one.name for one in found] == ["keystone-api"]


def test_a_job_of_a_restore_and_one_that_has_ended_stay() -> None:
    own = workload("Job", "restore-load-1", "nova")
    own["metadata"]["labels"] = {RESTORE_LABEL: "one"}
    ended = workload("Job", "nova-db-sync", "nova")
    ended["status"] = {"conditions": [{"type": "Complete", "status": "True"}]}
    assert writers_in([own, ended], CHARTS) == []


def test_what_needs_others_stops_before_what_it_needs() -> None:
    objects = [
        workload("Deployment", "keystone-api", "keystone", replicas=1),
        workload("Deployment", "nova-api", "nova", replicas=1),
    ]
    needs = {"nova": ["keystone"], "keystone": ["mariadb"]}
    order = waves(writers_in(objects, CHARTS), needs)
    assert [[one.name for one in wave] for wave in order] == [["nova-api"], ["keystone-api"]]


def test_a_circle_of_needs_ends() -> None:
    objects = [workload("Deployment", "nova-api", "nova", replicas=1)]
    assert waves(writers_in(objects, CHARTS), {"nova": ["keystone"], "keystone": ["nova"]})


def test_stop_and_note_are_one_write_and_start_takes_the_note_back() -> None:
    obj = workload("Deployment", "keystone-api", "keystone", replicas=3)
    [writer] = writers_in([obj], CHARTS)
    patch = stop_patch(writer, obj)
    assert patch["spec"] == {"replicas": 0}
    assert patch["metadata"]["annotations"] == {RESTORE_BEFORE_ANNOTATION: "3"}
    assert patch["metadata"]["resourceVersion"] == "7"
    obj["metadata"]["annotations"][RESTORE_BEFORE_ANNOTATION] = "3"
    obj["spec"]["replicas"] = 0
    [stopped] = writers_in([obj], CHARTS)
    assert start_patch(stopped)["spec"] == {"replicas": 3}
    assert start_patch(stopped)["metadata"]["annotations"] == {RESTORE_BEFORE_ANNOTATION: None}


def test_a_cron_job_that_was_suspended_stays_suspended() -> None:
    job = workload("CronJob", "nova-purge", "nova")
    job["spec"] = {"suspend": False, "jobTemplate": {"spec": {"template": {"spec": {}}}}}
    [writer] = writers_in([job], CHARTS)
    assert stop_patch(writer, job)["spec"] == {"suspend": True}
    job["spec"]["suspend"] = True
    assert writers_in([job], CHARTS) == []
    job["metadata"]["annotations"][RESTORE_BEFORE_ANNOTATION] = "active"
    [stopped] = writers_in([job], CHARTS)
    assert start_patch(stopped)["spec"] == {"suspend": False}
