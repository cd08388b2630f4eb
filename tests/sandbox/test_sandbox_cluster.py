"""A sandbox behaves as a cluster does: pods run, Jobs complete, claims are bound; failures by label."""

from __future__ import annotations

import json
import secrets
from pathlib import Path
from typing import Any

import pytest

from sandbox import Sandbox, SandboxError, audit
from tests.cluster.region import wait_until

pytestmark = pytest.mark.cluster

CONTAINERS = [{"name": "main", "image": "registry.example/none:1"}]


def pod_template(fail: str = "", **annotations: str) -> dict[str, Any]:
    labels = {"app": "x"} | ({"sandbox.osctl.dev/fail": fail} if fail else {})
    return {
        "metadata": {"labels": labels, "annotations": annotations},
        "spec": {"restartPolicy": "Never", "containers": CONTAINERS},
    }


def apply(sandbox: Sandbox, namespace: str, *objects: dict[str, Any]) -> None:
    manifest = json.dumps({"apiVersion": "v1", "kind": "List", "items": list(objects)})
    sandbox.kubectl("apply", "--namespace", namespace, "-f", "-", input=manifest)


def pod(name: str, fail: str = "", **annotations: str) -> dict[str, Any]:
    template = pod_template(fail, **annotations)
    template["metadata"]["name"] = name
    return {"apiVersion": "v1", "kind": "Pod", **template}


def job(name: str, fail: str = "", backoff: int = 0) -> dict[str, Any]:
    spec = {"backoffLimit": backoff, "template": pod_template(fail)}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name}, "spec": spec}


def await_that(sandbox: Sandbox, namespace: str, what: str, target: str, seconds: int = 120) -> None:
    sandbox.kubectl("wait", "--namespace", namespace, f"--for={what}", target, f"--timeout={seconds}s")


def read(sandbox: Sandbox, namespace: str, target: str, path: str) -> str:
    return sandbox.kubectl("get", target, "-n", namespace, "-o", f"jsonpath={path}")


def test_pods_of_a_deployment_become_ready(sandbox: Sandbox, namespace: str) -> None:
    template = pod_template()
    template["spec"] = {"initContainers": [{"name": "init", "image": "x"}], "containers": CONTAINERS}
    spec = {"replicas": 5, "selector": {"matchLabels": {"app": "x"}}, "template": template}
    apply(
        sandbox,
        namespace,
        {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d"}, "spec": spec},
    )
    await_that(sandbox, namespace, "jsonpath={.status.readyReplicas}=5", "deployment/d")


def test_pods_selecting_any_role_of_the_region_are_scheduled(sandbox: Sandbox, namespace: str) -> None:
    one = pod("p")
    one["spec"] = {
        **one["spec"],
        "nodeSelector": {"openstack-control-plane": "enabled", "openstack-compute-node": "enabled"},
    }
    apply(sandbox, namespace, one)
    await_that(sandbox, namespace, "condition=Ready", "pod/p")


def test_a_job_completes(sandbox: Sandbox, namespace: str) -> None:
    apply(sandbox, namespace, job("j"))
    await_that(sandbox, namespace, "condition=Complete", "job/j")


@pytest.mark.parametrize("storage_class", [None, "general", "fast"])
def test_a_claim_becomes_bound(sandbox: Sandbox, namespace: str, storage_class: str | None) -> None:
    spec: dict[str, Any] = {
        "accessModes": ["ReadWriteOnce"],
        "resources": {"requests": {"storage": "1Gi"}},
    }
    if storage_class:
        spec["storageClassName"] = storage_class
    claim = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "c"}, "spec": spec}
    apply(sandbox, namespace, claim)
    await_that(sandbox, namespace, "jsonpath={.status.phase}=Bound", "pvc/c")


def test_a_pod_can_be_made_to_crash_again_and_again(sandbox: Sandbox, namespace: str) -> None:
    apply(sandbox, namespace, pod("p", "crash-loop", **{"sandbox.osctl.dev/crash-every": "1s"}))
    reason = "jsonpath={.status.containerStatuses[0].state.waiting.reason}=CrashLoopBackOff"
    await_that(sandbox, namespace, reason, "pod/p")
    count = "{.status.containerStatuses[0].restartCount}"
    wait_until("three restarts", lambda: int(read(sandbox, namespace, "pod/p", count)) >= 3, 120)


def test_a_pod_can_be_made_to_miss_its_image(sandbox: Sandbox, namespace: str) -> None:
    apply(sandbox, namespace, pod("p", "image-pull"))
    reason = "jsonpath={.status.containerStatuses[0].state.waiting.reason}=ImagePullBackOff"
    await_that(sandbox, namespace, reason, "pod/p")
    assert read(sandbox, namespace, "pod/p", "{.status.phase}") == "Pending"


def test_a_job_can_be_made_to_fail(sandbox: Sandbox, namespace: str) -> None:
    apply(sandbox, namespace, job("j", "job-fails"))
    await_that(sandbox, namespace, "condition=Failed", "job/j")


def test_a_job_can_be_made_to_hang(sandbox: Sandbox, namespace: str) -> None:
    apply(sandbox, namespace, job("hangs", "job-hangs"), job("passes"))
    await_that(sandbox, namespace, "condition=Complete", "job/passes")
    await_that(sandbox, namespace, "jsonpath={.status.ready}=1", "job/hangs")
    with pytest.raises(SandboxError):
        await_that(sandbox, namespace, "condition=Complete", "job/hangs", seconds=2)
    assert read(sandbox, namespace, "job/hangs", "{.status.ready} {.status.conditions}") == "1 "


def test_a_pod_can_be_made_slow_to_be_ready(sandbox: Sandbox, namespace: str) -> None:
    apply(sandbox, namespace, pod("p", "slow-ready", **{"sandbox.osctl.dev/ready-after": "3s"}))
    await_that(sandbox, namespace, "jsonpath={.status.phase}=Running", "pod/p")
    await_that(sandbox, namespace, "condition=Ready", "pod/p")
    seen = json.loads(sandbox.kubectl("get", "pod", "p", "-n", namespace, "-o", "json"))["status"]
    (ready,) = [one for one in seen["conditions"] if one["type"] == "Ready"]
    assert audit._parse_time(ready["lastTransitionTime"]) > audit._parse_time(seen["startTime"])


def test_a_failing_pod_can_be_deleted(sandbox: Sandbox, namespace: str) -> None:
    apply(sandbox, namespace, pod("a", "image-pull"), pod("b", "job-hangs"), pod("c", "crash-loop"))
    await_that(sandbox, namespace, "condition=Ready", "pod/b")
    sandbox.kubectl("delete", "pod", "--all", "--namespace", namespace, "--timeout=500s")


def test_a_namespace_takes_pods_as_soon_as_it_is_given(sandbox: Sandbox) -> None:
    name = f"test-{secrets.token_hex(4)}"
    sandbox.create_namespace(name, {"sandbox.osctl.dev/test": "true"})
    try:
        apply(sandbox, name, pod("p"))
    finally:
        sandbox.kubectl("delete", "namespace", name, "--wait=false")


def test_a_service_account_acts_under_its_own_name_and_rights(
    sandbox: Sandbox, audit_log: Path, namespace: str, tmp_path: Path
) -> None:
    sandbox.kubectl("create", "serviceaccount", "robot", "--namespace", namespace)
    kubeconfig = sandbox.service_account_kubeconfig(namespace, "robot", tmp_path)
    since = audit.now()
    with pytest.raises(SandboxError, match="is forbidden"):
        sandbox.kubectl("create", "configmap", "x", "-n", namespace, "--kubeconfig", str(kubeconfig))
    user = f"system:serviceaccount:{namespace}:robot"
    (write,) = audit.writes(audit_log, since, user)
    assert (write.verb, write.resource, write.code) == ("create", "configmaps", 403)


def test_writes_are_in_the_audit_log_when_they_are_answered(
    sandbox: Sandbox, audit_log: Path, namespace: str
) -> None:
    since = audit.now()
    for index in range(3):
        sandbox.kubectl("create", "configmap", f"c{index}", "--namespace", namespace)
    sandbox.kubectl("create", "configmap", "dry", "--namespace", namespace, "--dry-run=server")
    sandbox.kubectl("delete", "configmap", "c0", "--namespace", namespace, "--dry-run=server")
    seen = [one for one in audit.writes(audit_log, since, "admin") if one.namespace == namespace]
    assert [(one.verb, one.name) for one in seen] == [("create", "c0"), ("create", "c1"), ("create", "c2")]


def test_no_secret_is_in_the_audit_log(sandbox: Sandbox, audit_log: Path, namespace: str) -> None:
    sandbox.kubectl(
        "create", "secret", "generic", "s", "--namespace", namespace, "--from-literal=k=planted-canary"
    )
    sandbox.kubectl("delete", "secret", "s", "--namespace", namespace)
    text = audit_log.read_text()
    assert "planted-canary" not in text
    assert "cGxhbnRlZC1jYW5hcnk" not in text
