"""health on a real API server: what breaks is reported for the right component, and heals unaided."""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from sandbox.cluster import Sandbox
from tests.cluster.region import NAME, Region, wait_until

pytestmark = [pytest.mark.cluster, pytest.mark.xdist_group("health")]

FAIL = "sandbox.osctl.dev/fail"
RELEASE = "nova"


class Workloads:
    """One release of a region, of which only health runs: bundle and workloads are made by hand."""

    def __init__(self, region: Region) -> None:
        self.region = region

    def deploy_release(self) -> None:
        """What core and helmbundle would leave behind: a settled bundle, and the generation it is of."""
        region = self.region
        region.apply()
        bundle = {
            "apiVersion": "osctl.dev/v1alpha1",
            "kind": "HelmBundle",
            "metadata": {"name": "compute", "labels": {"osctl.dev/deployment": NAME}},
            "spec": {"releases": [{"name": RELEASE, "chart": {"name": "nova", "path": "nova"}}]},
        }
        region.kubectl("apply", "-f", "-", input=json.dumps(bundle))
        status = {
            "observedGeneration": region.get("hb", "compute")["metadata"]["generation"],
            "releases": [{"name": RELEASE, "namespace": region.namespace, "state": "Deployed"}],
            "conditions": [
                {
                    "type": "Ready",
                    "status": "True",
                    "reason": "ReleasesDeployed",
                    "message": "",
                    "lastTransitionTime": "2026-01-01T00:00:00Z",
                }
            ],
        }
        self._patch_status("hb/compute", status)
        generation = region.osdpl()["metadata"]["generation"]
        reported = {"observedGeneration": generation, "appliedGeneration": generation}
        self._patch_status(f"osdpl/{NAME}", reported)

    def _patch_status(self, target: str, status: Mapping[str, Any]) -> None:
        patch = json.dumps({"status": status})
        self.region.kubectl("patch", target, "--subresource=status", "--type=merge", "-p", patch)

    def apply(self, kind: str, component: str, *, fail: str = "", replicas: int = 1, **pod: Any) -> None:
        """A workload of the release, made as Helm would; its pods fail as the sandbox's stage says.

        `pod`: fields of the pod's spec; but `annotations` are the pod's, and `spec` is the workload's own.
        """
        labels = {"application": "nova", "component": component}
        template_labels = {**labels, **({FAIL: fail} if fail else {})}
        annotations = pod.pop("annotations", {})
        extra: dict[str, Any] = pod.pop("spec", {})
        spec: dict[str, Any] = {
            **extra,
            "template": {
                "metadata": {"labels": template_labels, "annotations": annotations},
                "spec": {"containers": [{"name": "main", "image": "registry.local/nova:2026.1"}], **pod},
            },
        }
        if kind == "Job":
            spec["template"]["spec"]["restartPolicy"] = "Never"
        else:
            spec["selector"] = {"matchLabels": labels}
            if kind != "DaemonSet":
                spec["replicas"] = replicas
        body = {
            "apiVersion": "batch/v1" if kind == "Job" else "apps/v1",
            "kind": kind,
            "metadata": {
                "name": f"nova-{component}",
                "labels": labels,
                "annotations": {
                    "meta.helm.sh/release-name": RELEASE,
                    "meta.helm.sh/release-namespace": self.region.namespace,
                },
            },
            "spec": spec,
        }
        self.region.kubectl("apply", "-f", "-", input=json.dumps(body))

    def make_anew(self, component: str) -> None:
        """A Job whose cause is gone: deleted and made again, since its template cannot be changed."""
        self.region.kubectl("delete", f"job/nova-{component}", "--wait=true")
        self.apply("Job", component)

    def health(self, component: str) -> dict[str, Any]:
        application = (self.region.status().get("health") or {}).get(RELEASE) or {}
        return application.get(component) or {}

    def wait(self, component: str, status: str, *words: str, timeout: float = 300.0) -> dict[str, Any]:
        """The entry of the component once it has that status and its message has those words."""

        def reached() -> dict[str, Any] | None:
            entry = self.health(component)
            reported = all(word in str(entry.get("message")) for word in words)
            return entry if entry.get("status") == status and reported else None

        def show() -> str:
            return f"{json.dumps(self.region.status())}\n{self.region.controllers.log('health')[-2000:]}"

        found: dict[str, Any] = wait_until(f"{component} {status}", reached, timeout, show)
        return found

    def wait_healthy(self) -> None:
        def reported() -> bool:
            return bool(self.region.condition("WorkloadsHealthy").get("status") == "True")

        wait_until("healthy", reported)


@pytest.fixture(scope="module")
def observed(sandbox: Sandbox, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Region]:
    """A namespace with a region of which only the health container runs."""
    namespace = f"test-{secrets.token_hex(4)}"
    sandbox.create_namespace(namespace, {})
    region = Region(sandbox, namespace, tmp_path_factory.mktemp("health"), containers=("health",))
    try:
        region.install()
        yield region
    finally:
        region.controllers.stop(grace=2.0)
        region.helm("uninstall", f"osctl-{namespace}", "--ignore-not-found")
        sandbox.kubectl("delete", "namespace", namespace, "--wait=false", "--ignore-not-found")


@pytest.fixture
def workloads(observed: Region) -> Iterator[Workloads]:
    result = Workloads(observed)
    result.deploy_release()
    yield result
    observed.kubectl("delete", "deployments,statefulsets,daemonsets,jobs,pvc", "--all", "--wait=true")
    wait_until("nothing is left in the status", lambda: not observed.status().get("health"))


def test_a_crash_looping_deployment_is_unhealthy_with_its_last_words_and_heals(workloads: Workloads) -> None:
    workloads.apply("Deployment", "scheduler", fail="crash-loop")
    entry = workloads.wait(
        "scheduler", "Unhealthy", "CrashLoopBackOff", "pod nova-scheduler-", "simulated crash"
    )
    assert (entry["ready"], entry["desired"]) == (0, 1)
    condition = workloads.region.condition("WorkloadsHealthy")
    assert (condition["status"], condition["reason"]) == ("False", "WorkloadsFailing")
    assert "nova scheduler 0/1" in condition["message"]
    workloads.apply("Deployment", "scheduler")
    workloads.wait("scheduler", "Ready")
    workloads.wait_healthy()


def test_an_image_that_cannot_be_pulled_is_named(workloads: Workloads) -> None:
    workloads.apply("StatefulSet", "server", fail="image-pull")
    workloads.wait("server", "Unhealthy", "nova-server-0", "ImagePullBackOff", "registry.local/nova:2026.1")


def test_a_slow_pod_is_progress_and_then_ready(workloads: Workloads) -> None:
    slow = {"sandbox.osctl.dev/ready-after": "1h"}
    workloads.apply("Deployment", "api", fail="slow-ready", annotations=slow)
    workloads.wait("api", "Progressing", "not ready yet")
    # Only now, however long it took to see it so.
    soon = "sandbox.osctl.dev/ready-after=0s"
    workloads.region.kubectl("annotate", "pods", "-l", "component=api", soon, "--overwrite")
    workloads.wait("api", "Ready")


def test_an_unschedulable_daemonset_pod_has_the_schedulers_words(workloads: Workloads) -> None:
    """Of a Deployment here: a DaemonSet's pods are only made for nodes that fit."""
    workloads.apply("Deployment", "conductor", nodeSelector={"no-such-node": "true"})
    workloads.wait("conductor", "Progressing", "Unschedulable", "didn't match")


def test_an_unbound_claim_is_named_with_its_storage_class(workloads: Workloads) -> None:
    claim = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": "images"},
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": "no-such-class",
            "resources": {"requests": {"storage": "1Gi"}},
        },
    }
    workloads.region.kubectl("apply", "-f", "-", input=json.dumps(claim))
    volume = {"name": "images", "persistentVolumeClaim": {"claimName": "images"}}
    workloads.apply("Deployment", "images", volumes=[volume])
    workloads.wait("images", "Progressing", "claim images is Pending", '"no-such-class"')


def test_a_claim_deleted_under_a_running_pod_is_reported_until_the_pod_ends(
    workloads: Workloads,
) -> None:
    claim = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": "images"},
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
    }
    workloads.region.kubectl("apply", "-f", "-", input=json.dumps(claim))
    volume = {"name": "images", "persistentVolumeClaim": {"claimName": "images"}}
    workloads.apply("Deployment", "images", volumes=[volume])
    workloads.wait("images", "Ready")
    workloads.region.kubectl("delete", "pvc/images", "--wait=false")
    workloads.wait("images", "Unhealthy", "claim images is being deleted")


def test_a_failing_job_is_reported_with_its_pods_reason_and_heals_when_it_is_made_again(
    workloads: Workloads,
) -> None:
    workloads.apply("Job", "db-sync", fail="job-fails")
    workloads.wait("db-sync", "Unhealthy", "failed", "exit code 1", "simulated failure")
    assert workloads.region.condition("WorkloadsHealthy")["reason"] == "WorkloadsFailing"
    workloads.make_anew("db-sync")
    workloads.wait("db-sync", "Ready")
    workloads.wait_healthy()


@pytest.mark.exhaustive
def test_a_hanging_job_says_since_when_and_heals_when_it_is_made_again(workloads: Workloads) -> None:
    workloads.apply("Job", "bootstrap", fail="job-hangs")
    workloads.wait("bootstrap", "Progressing", "Job nova-bootstrap has run since")
    workloads.make_anew("bootstrap")
    workloads.wait("bootstrap", "Ready")
    workloads.wait_healthy()


def test_a_hanging_job_is_unhealthy_after_its_own_deadline_and_heals_when_it_is_made_again(
    workloads: Workloads,
) -> None:
    """Of the deadline of Kubernetes' own; health's is half an hour, and its examples are in tests/domain."""
    workloads.apply("Job", "bootstrap", fail="job-hangs", spec={"activeDeadlineSeconds": 3600})
    workloads.wait("bootstrap", "Progressing", "Job nova-bootstrap has run since")
    # Only now, however long it took to see it run.
    soon = json.dumps({"spec": {"activeDeadlineSeconds": 1}})
    workloads.region.kubectl("patch", "job/nova-bootstrap", "--type=merge", "-p", soon)
    workloads.wait("bootstrap", "Unhealthy", "Job nova-bootstrap", "longer than specified deadline")
    workloads.make_anew("bootstrap")
    workloads.wait("bootstrap", "Ready")
    workloads.wait_healthy()


def test_what_is_scaled_to_zero_or_deleted_does_not_count(workloads: Workloads) -> None:
    workloads.apply("DaemonSet", "compute")
    workloads.apply("Deployment", "api")
    workloads.wait("compute", "Ready")
    workloads.wait("api", "Ready")
    workloads.region.kubectl("scale", "deployment/nova-api", "--replicas=0")
    wait_until("the api is gone from the status", lambda: not workloads.health("api"))
    workloads.region.kubectl("delete", "daemonset/nova-compute")
    wait_until("compute is gone from the status", lambda: not workloads.health("compute"))


def test_a_change_while_the_container_is_down_is_reported_when_it_is_back(workloads: Workloads) -> None:
    workloads.apply("Deployment", "api")
    workloads.apply("Deployment", "conductor")
    before = workloads.wait("api", "Ready")
    workloads.wait("conductor", "Ready")
    workloads.region.controllers.kill("health")
    workloads.region.kubectl("delete", "deployment/nova-conductor")
    workloads.apply("Deployment", "scheduler", fail="image-pull")
    workloads.region.controllers.start("health")
    workloads.wait("scheduler", "Unhealthy", "ImagePullBackOff")
    wait_until("conductor is gone from the status", lambda: not workloads.health("conductor"))
    # With the moment since when it is so: had that been lost, it would not come back.
    wait_until(
        "api is told as before",
        lambda: workloads.health("api") == before,
        show=lambda: f"{before}\n{workloads.health('api')}",
    )
