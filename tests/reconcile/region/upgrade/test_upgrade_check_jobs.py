"""Programs of the services say whether they can be upgraded. Each pass is the first of a new process."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from controller.domain.api.names import RECONCILE_ANNOTATION, SERVICE_LABEL, UPGRADE_CHECK_LABEL
from controller.domain.region.upgrade.upgrade_checks import CHECK_KEPT
from controller.errors import Conflict, Forbidden
from controller.ports.kubernetes import DEPLOYMENT, JOB, KubeObject
from tests.fakes.kube import Request
from tests.reconcile.region.test_deployment import KEY
from tests.reconcile.region.upgrade.played_checks import LABELS, play_end, play_pod
from tests.reconcile.region.upgrade.upgrading_region import NEW, UpgradingRegion

CHECK = "nova-status"
REPORT = """
+-----------------------------------------------------------------+
| Upgrade Check Results                                           |
+-----------------------------------------------------------------+
| Check: Cells v2                                                 |
| Result: Success                                                 |
| Details: None                                                   |
+-----------------------------------------------------------------+
| Check: Older than N-1 computes                                  |
| Result: {result:<55} |
| Details: Current Nova version does not support computes older   |
|   than Dalmatian but the minimum compute service level in your  |
|   system is 60.                                                 |
+-----------------------------------------------------------------+
"""
FOUND = (
    "Older than N-1 computes: Current Nova version does not support computes older than Dalmatian but the "
    "minimum compute service level in your system is 60."
)


@pytest.fixture
def region() -> UpgradingRegion:
    found = UpgradingRegion()
    found.edit(openstackVersion=NEW)
    found.reconcile()
    return found


def jobs(region: UpgradingRegion, check: str = CHECK) -> list[KubeObject]:
    """The Jobs of a check, those that have not ended last."""
    every = region.kube.objects("Job")
    own = [job for job in every if job["metadata"]["labels"][UPGRADE_CHECK_LABEL] == check]
    return sorted(own, key=lambda job: "status" not in job)


def job_of(region: UpgradingRegion, check: str = CHECK) -> KubeObject:
    return jobs(region, check)[-1]


def outcome(region: UpgradingRegion, check: str = CHECK) -> Mapping[str, Any]:
    [found] = [one for one in region.upgrade["checks"] if one["name"] == check]
    return dict(found)


def test_a_check_has_the_image_of_the_target_and_the_pod_of_what_runs(region: UpgradingRegion) -> None:
    region.reconcile()
    job = job_of(region)
    pod = job["spec"]["template"]["spec"]
    [container] = pod["containers"]
    assert container["image"] == f"quay.io/airshipit/nova:{NEW}-ubuntu_noble"
    assert container["command"] == ["nova-status", "upgrade", "check"]
    assert {one["name"] for one in container["volumeMounts"]} == {"etc", "images"}
    assert pod["serviceAccountName"] == "nova-api-osapi"
    assert pod["securityContext"] == {"runAsUser": 42424}
    assert pod["restartPolicy"] == "Never"
    assert job["spec"]["backoffLimit"] == 0
    assert "initContainers" not in pod
    assert not container.keys() & {"ports", "livenessProbe", "readinessProbe", "lifecycle"}
    assert outcome(region)["state"] == "Running"
    assert region.condition("Upgrading")["status"] == "True"


def test_sessions_of_a_check_with_its_databases_may_only_read(region: UpgradingRegion) -> None:
    region.reconcile()
    env = {one["name"]: one["value"] for one in _container(job_of(region))["env"]}
    only_reads = "init_command=SET SESSION TRANSACTION READ ONLY"
    assert env["OS_DATABASE__CONNECTION_PARAMETERS"] == only_reads
    assert env["OS_API_DATABASE__CONNECTION_PARAMETERS"] == only_reads
    assert env["REQUESTS_CA_BUNDLE"] == "/etc/ssl/ca.crt"


def test_a_check_takes_no_volume_of_the_service_and_no_path_of_a_node(region: UpgradingRegion) -> None:
    region.reconcile()
    volumes = job_of(region)["spec"]["template"]["spec"]["volumes"]
    assert volumes == [
        {"name": "etc", "secret": {"secretName": "nova-etc"}},
        {"name": "images", "emptyDir": {}},
        {"name": "log", "emptyDir": {}},
    ]


def test_no_service_sends_requests_to_the_pod_of_a_check(region: UpgradingRegion) -> None:
    region.reconcile()
    labels = job_of(region)["spec"]["template"]["metadata"]["labels"]
    assert labels["application"] == LABELS["application"]
    assert not LABELS.items() <= labels.items()
    assert labels[SERVICE_LABEL] == "compute"


def test_a_check_goes_with_the_region_and_counts_as_no_workload_of_it(region: UpgradingRegion) -> None:
    region.reconcile()
    meta = job_of(region)["metadata"]
    assert [one["kind"] for one in meta["ownerReferences"]] == ["OpenStackDeployment"]
    assert "annotations" not in meta
    assert job_of(region)["spec"]["ttlSecondsAfterFinished"] == CHECK_KEPT


def test_checks_that_pass_let_the_upgrade_begin(region: UpgradingRegion) -> None:
    region.reconcile()
    play_end(region.kube, job_of(region))
    for _ in range(3):
        region.reconcile()
    assert outcome(region)["state"] == "Passed"
    region.deploy()
    region.begin("identity")


@pytest.mark.parametrize(
    ("code", "log", "state", "message"),
    [
        (1, REPORT.format(result="Warning"), "Warning", FOUND),
        (2, REPORT.format(result="Failure"), "Failed", f"exit code 2: {FOUND}"),
        (255, "Error:\nValueError: no cell", "Failed", "exit code 255: Error: ValueError: no cell"),
        # An interpreter that fails ends with the code of a warning.
        (1, "Traceback\nImportError: nova", "Failed", "exit code 1: Traceback ImportError: nova"),
        (127, "", "Failed", "exit code 127"),
    ],
)
def test_exit_code_and_report_decide(
    region: UpgradingRegion, code: int, log: str, state: str, message: str
) -> None:
    region.reconcile()
    play_end(region.kube, job_of(region), code, log)
    region.reconcile()
    found = outcome(region)
    assert found["state"] == state
    assert found["message"].startswith(message)
    assert found["job"] == job_of(region)["metadata"]["name"]


def test_a_failed_check_holds_the_upgrade_until_it_is_skipped(region: UpgradingRegion) -> None:
    region.reconcile()
    play_end(region.kube, job_of(region), 2, REPORT.format(result="Failure"))
    region.deploy()
    for _ in range(3):
        region.reconcile()
    assert region.condition("Upgrading")["reason"] == "UpgradeChecksFailed"
    assert region.upgrade["phase"] == "Preflight"
    region.edit(upgrade={"skipChecks": [CHECK]})
    region.reconcile()
    play_end(region.kube, job_of(region), 2, REPORT.format(result="Failure"))
    region.deploy()
    for _ in range(3):
        region.reconcile()
    assert outcome(region)["state"] == "Skipped"
    assert region.upgrade["phase"] != "Preflight"


def test_an_ended_check_is_read_once_and_changes_nothing_after_that(region: UpgradingRegion) -> None:
    region.reconcile()
    play_end(region.kube, job_of(region), 2, REPORT.format(result="Failure"))
    region.deploy()
    for _ in range(3):
        region.reconcile()
    region.kube.logs.clear()
    region.kube.forget_requests()
    region.reconcile()
    assert region.kube.changes == []
    assert FOUND in outcome(region)["message"]


@pytest.mark.parametrize("request_", ["edit", "annotation"])
def test_an_edit_or_a_request_has_the_checks_made_again(region: UpgradingRegion, request_: str) -> None:
    region.reconcile()
    first = job_of(region)["metadata"]["name"]
    play_end(region.kube, job_of(region), 2, REPORT.format(result="Failure"))
    region.reconcile()
    if request_ == "edit":
        region.edit(upgrade={"healthyFor": "20s"})
    else:
        region.annotate(**{RECONCILE_ANNOTATION: "2026-11-27T07:00:00Z"})
    region.reconcile()
    assert job_of(region)["metadata"]["name"] != first
    assert outcome(region)["state"] == "Running"
    assert "message" not in outcome(region)


def test_an_image_that_cannot_be_pulled_fails_the_check_while_it_cannot(region: UpgradingRegion) -> None:
    region.reconcile()
    waiting = {"reason": "ImagePullBackOff", "message": 'Back-off pulling image "x": not found'}
    status = {"phase": "Pending", "containerStatuses": [{"name": "check", "state": {"waiting": waiting}}]}
    play_pod(region.kube, job_of(region), status)
    region.reconcile()
    found = outcome(region)
    assert found["state"] == "Failed"
    assert f"nova:{NEW}-ubuntu_noble cannot be pulled (not found)" in found["message"]
    assert "job" not in found
    play_end(region.kube, job_of(region))
    region.reconcile()
    assert outcome(region)["state"] == "Passed"


def test_a_check_that_does_not_end_fails_with_what_kept_it(region: UpgradingRegion) -> None:
    region.reconcile()
    unfit = {"type": "PodScheduled", "status": "False", "message": "0/3 nodes are available"}
    play_pod(region.kube, job_of(region), {"phase": "Pending", "conditions": [unfit]})
    region.reconcile()
    assert outcome(region)["state"] == "Running"
    play_end(region.kube, job_of(region), reason="DeadlineExceeded")
    region.reconcile()
    region.reconcile()
    text = "it did not end within 15 minutes: Unschedulable: 0/3 nodes are available; correct it"
    assert outcome(region)["message"].startswith(text)


def test_secrets_in_the_output_of_a_check_are_not_reported(region: UpgradingRegion) -> None:
    region.reconcile()
    region.kube.create(
        {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": "compute-credentials", "namespace": KEY[0]},
            "data": {"database-password": "czNjcjN0LXBhc3N3b3Jk"},
        }
    )
    log = "OperationalError: mysql+pymysql://nova:other@db/nova: denied for s3cr3t-password"
    play_end(region.kube, job_of(region), 255, log)
    region.reconcile()
    message = outcome(region)["message"]
    assert "OperationalError: mysql+pymysql://nova:[redacted]@db/nova" in message
    assert "s3cr3t" not in message


def test_a_controller_that_dies_after_it_made_a_job_makes_no_other(region: UpgradingRegion) -> None:
    class Killed(BaseException):
        pass

    def dies(request: Request) -> None:
        if request.kind == "Job":
            raise Killed

    region.kube.after_write = dies
    with pytest.raises(Killed):
        region.reconcile()
    region.kube.after_write = lambda request: None
    [made] = region.kube.objects("Job")
    region.reconcile()
    names = [job["metadata"]["labels"][UPGRADE_CHECK_LABEL] for job in region.kube.objects("Job")]
    assert made["metadata"]["uid"] in {job["metadata"]["uid"] for job in region.kube.objects("Job")}
    assert len(names) == len(set(names)) > 1
    assert outcome(region)["state"] == "Running"


def test_a_job_that_another_process_made_meanwhile_is_the_one(
    region: UpgradingRegion, monkeypatch: pytest.MonkeyPatch
) -> None:
    create = region.kube.create

    def twice(obj: Mapping[str, Any]) -> KubeObject:
        made = create(obj)
        if obj["kind"] == "Job":
            raise Conflict("exists")
        return made

    monkeypatch.setattr(region.kube, "create", twice)
    region.reconcile()
    assert outcome(region)["state"] == "Running"
    assert len(jobs(region)) == 1


def test_a_job_that_may_not_be_made_fails_the_check(
    region: UpgradingRegion, monkeypatch: pytest.MonkeyPatch
) -> None:
    create = region.kube.create

    def refuses(obj: Mapping[str, Any]) -> KubeObject:
        if obj["kind"] == "Job":
            raise Forbidden("jobs.batch is forbidden: exceeded quota")
        return create(obj)

    monkeypatch.setattr(region.kube, "create", refuses)
    region.reconcile()
    found = outcome(region)
    assert (found["state"], "exceeded quota" in found["message"]) == ("Failed", True)


def test_a_check_without_a_workload_says_so(region: UpgradingRegion) -> None:
    region.kube.delete(DEPLOYMENT, "nova-api-osapi", KEY[0])
    region.reconcile()
    assert 'there is no Deployment "nova-api-osapi"' in outcome(region)["message"]


def test_a_deleted_job_is_made_again(region: UpgradingRegion) -> None:
    region.reconcile()
    name = job_of(region)["metadata"]["name"]
    region.kube.delete(JOB, name, KEY[0])
    region.reconcile()
    assert job_of(region)["metadata"]["name"] == name


def _container(job: KubeObject) -> Mapping[str, Any]:
    found: Mapping[str, Any] = job["spec"]["template"]["spec"]["containers"][0]
    return found
