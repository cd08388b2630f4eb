"""With `gates: Smoke` each step's service is used before the next step. Each pass is a new process."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any

import pytest

from controller.domain.api.names import RECONCILE_ANNOTATION, UPGRADE_SMOKE_LABEL
from controller.errors import Forbidden
from controller.ports.kubernetes import JOB, SECRET, KubeObject
from tests.fakes.kube import Request
from tests.reconcile.region.test_deployment import KEY
from tests.reconcile.region.upgrade.played_checks import play_pod
from tests.reconcile.region.upgrade.upgrading_region import NEW, UpgradingRegion

pytestmark = pytest.mark.slow

TABLE = "failed     server    240.0 s  the server is ERROR: No valid host was found for s3cr3t-password\n"


def secret(name: str, **data: str) -> KubeObject:
    encoded = {key.replace("_", "."): base64.b64encode(text.encode()).decode() for key, text in data.items()}
    meta = {"name": name, "namespace": KEY[0]}
    return {"apiVersion": "v1", "kind": "Secret", "type": "Opaque", "metadata": meta, "data": encoded}


class SmokedRegion(UpgradingRegion):
    """One whose gates are Smoke. The checks before the upgrade pass; those after steps end as `play` says."""

    def __init__(self) -> None:
        super().__init__()
        self.kube.create(secret("openstack-clouds", clouds_yaml="clouds: {}"))
        self.edit(openstackVersion=NEW, upgrade={"gates": "Smoke"})

    def smokes(self) -> list[KubeObject]:
        jobs = self.kube.objects("Job")
        return [job for job in jobs if UPGRADE_SMOKE_LABEL in (job["metadata"].get("labels") or {})]

    def left(self) -> list[str]:
        """The Jobs that Kubernetes is not to delete at their end."""
        stays = [job for job in self.smokes() if job["spec"].get("ttlSecondsAfterFinished") != 0]
        return [job["metadata"]["name"] for job in stays]

    def wait_for_smoke(self) -> KubeObject:
        """The Job that runs, after as many passes as it takes."""
        for _ in range(60):
            for job in self.smokes():
                if not (job.get("status") or {}).get("conditions"):
                    return job
            self.reconcile()
            self.deploy()
            self.clock.advance(31)
        raise AssertionError(f"no smoke check: {self.upgrade}")

    def end(self, job: KubeObject, code: int = 0, text: str = "") -> None:
        ended = {"exitCode": code, "reason": "Error" if code else "Completed", "message": text}
        status = {"name": "smoke", "state": {"terminated": ended}}
        play_pod(self.kube, job, {"phase": "Failed" if code else "Succeeded", "containerStatuses": [status]})
        condition = {
            "type": "Failed" if code else "Complete",
            "status": "True",
            "reason": "BackoffLimitExceeded",
        }
        body = {"status": {"conditions": [condition]}}
        self.kube.merge_patch(JOB, job["metadata"]["name"], KEY[0], body, subresource="status")

    def record(self, name: str) -> Mapping[str, Any]:
        [found] = [one for one in self.upgrade["steps"] if one["name"] == name]
        return dict(found)


@pytest.fixture
def region() -> SmokedRegion:
    return SmokedRegion()


def step_of(job: KubeObject) -> str:
    return str(job["metadata"]["labels"][UPGRADE_SMOKE_LABEL]).replace(".", "/")


def test_each_changed_step_has_its_check_and_the_next_waits_for_it(region: SmokedRegion) -> None:
    seen = []
    for _ in range(200):
        for job in region.smokes():
            if (job.get("status") or {}).get("conditions"):
                continue
            seen.append(step_of(job))
            assert region.record(seen[-1])["state"] == "Running"
            names = [one["name"] for one in region.upgrade["steps"]]
            later = region.upgrade["steps"][names.index(seen[-1]) + 1 :]
            assert {one["state"] for one in later} <= {"Pending"}
            region.end(job)
        if region.upgrade.get("phase") == "Finished":
            break
        region.reconcile()
        region.deploy()
        region.clock.advance(31)
    assert seen == [
        *("identity", "placement", "image", "compute", "compute/computes"),
        *("networking/server", "networking/agents"),
    ]
    assert region.left() == []
    region.reconcile()
    region.kube.forget_requests()
    region.reconcile()
    assert region.kube.writes == []


def test_a_pass_before_the_health_of_a_step_has_lasted_makes_no_job(region: SmokedRegion) -> None:
    region.begin("identity")
    for _ in range(4):
        region.reconcile()
        region.deploy()
        region.clock.advance(1)
    assert region.record("identity")["healthySince"]
    assert region.smokes() == []


def test_a_failed_check_stops_the_upgrade_with_its_cause_and_what_to_do(region: SmokedRegion) -> None:
    region.kube.create(secret("compute-credentials", database="s3cr3t-password"))
    job = region.wait_for_smoke()
    region.end(job, 9, TABLE)
    for _ in range(3):
        region.reconcile()
        region.deploy()
        region.clock.advance(60)
    found = region.record("identity")
    assert found["state"] == "Failed"
    assert found["message"].startswith(f"Job {job['metadata']['name']}: osctl smoke ended with exit code 9")
    assert "server: the server is ERROR: No valid host was found" in found["message"]
    assert "s3cr3t" not in found["message"]
    assert "osctl reconcile region-one -n openstack" in found["message"]
    assert region.condition("Upgrading")["reason"] == "UpgradeStepFailed"
    assert region.record("placement")["state"] == "Pending"
    region.kube.forget_requests()
    region.reconcile()
    assert region.kube.writes == []
    assert "Secret" not in {one.kind for one in region.kube.requests}


def test_a_request_makes_the_check_again(region: SmokedRegion) -> None:
    first = region.wait_for_smoke()
    region.end(first, 9, TABLE)
    region.reconcile()
    region.reconcile()
    region.annotate(**{RECONCILE_ANNOTATION: "2026-11-27T15:00:00Z"})
    second = region.wait_for_smoke()
    assert second["metadata"]["name"] != first["metadata"]["name"]
    assert step_of(second) == "identity"
    region.end(second)
    for _ in range(2):
        region.reconcile()
    assert region.record("identity")["state"] == "Done"


def test_gates_health_let_the_upgrade_go_on_after_a_failed_check(region: SmokedRegion) -> None:
    region.end(region.wait_for_smoke(), 9, TABLE)
    region.reconcile()
    region.edit(upgrade={"gates": "Health"})
    assert region.step() == "identity"
    assert region.record("identity")["state"] == "Done"


def test_a_controller_that_dies_after_it_made_the_job_makes_no_other(region: SmokedRegion) -> None:
    class Killed(BaseException):
        pass

    def dies(request: Request) -> None:
        if request.kind == "Job" and "smoke" in request.name:
            raise Killed

    region.kube.after_write = dies
    with pytest.raises(Killed):
        region.wait_for_smoke()
    region.kube.after_write = lambda request: None
    [made] = region.smokes()
    for _ in range(2):
        region.reconcile()
    assert [job["metadata"]["uid"] for job in region.smokes()] == [made["metadata"]["uid"]]


def test_a_check_waits_for_the_exported_credentials(region: SmokedRegion) -> None:
    region.kube.delete(SECRET, "openstack-clouds", KEY[0])
    region.begin("identity")
    for _ in range(6):
        region.reconcile()
        region.deploy()
        region.clock.advance(31)
    assert region.smokes() == []
    assert 'waits for clouds.yaml in Secret "openstack-clouds"' in region.record("identity")["message"]


def test_a_job_that_may_not_be_made_fails_the_step(
    region: SmokedRegion, monkeypatch: pytest.MonkeyPatch
) -> None:
    create = region.kube.create

    def refuses(obj: Mapping[str, Any]) -> KubeObject:
        if obj["kind"] == "Job" and "smoke" in obj["metadata"]["name"]:
            raise Forbidden("jobs.batch is forbidden: exceeded quota")
        return create(obj)

    monkeypatch.setattr(region.kube, "create", refuses)
    region.begin("identity")
    for _ in range(6):
        region.reconcile()
        region.deploy()
        region.clock.advance(31)
    found = region.record("identity")
    assert (found["state"], "exceeded quota" in found["message"]) == ("Failed", True)


def test_an_aborted_upgrade_removes_its_checks(region: SmokedRegion) -> None:
    body = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {
            "name": "upgrade-smoke-messaging-0123456789",
            "namespace": KEY[0],
            "labels": {UPGRADE_SMOKE_LABEL: "messaging", "osctl.dev/deployment": KEY[1]},
        },
        "spec": {},
    }
    region.reconcile()
    region.kube.create(body)
    region.edit(openstackVersion=region.old)
    for _ in range(2):
        region.reconcile()
    assert region.upgrade["phase"] == "Aborted"
    assert region.left() == []
