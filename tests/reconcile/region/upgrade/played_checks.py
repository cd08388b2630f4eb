"""The workloads whose pods checks copy, and the ends of the checks' Jobs, as the cluster would bring them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from controller.ports.kubernetes import JOB, POD, KubeObject
from tests.fakes.kube import FakeKube
from tests.reconcile.region.test_deployment import KEY, LIBRARY

LABELS = {"application": "nova", "component": "os-api", "release_group": "nova"}


def play_workloads(kube: FakeKube) -> None:
    """The Deployments of all checks."""
    names = {
        check.workload for entry in LIBRARY.catalogue.services.values() for check in entry.upgrade_checks
    }
    for name in sorted(names):
        kube.create(workload(name))


def workload(name: str) -> KubeObject:
    """A Deployment with everything in its pod that a check keeps, or must not keep."""
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "namespace": KEY[0]},
        "spec": {
            "selector": {"matchLabels": dict(LABELS)},
            "template": {
                "metadata": {"labels": dict(LABELS), "annotations": {"configmap-etc-hash": "0"}},
                "spec": {
                    "serviceAccountName": name,
                    "securityContext": {"runAsUser": 42424},
                    "nodeSelector": {"openstack-control-plane": "enabled"},
                    "affinity": {"podAntiAffinity": {}},
                    "terminationGracePeriodSeconds": 30,
                    "initContainers": [{"name": "init", "image": "entrypoint:1"}],
                    "containers": [
                        {
                            "name": name,
                            "image": "old:1",
                            "imagePullPolicy": "IfNotPresent",
                            "command": ["uwsgi"],
                            "env": [{"name": "REQUESTS_CA_BUNDLE", "value": "/etc/ssl/ca.crt"}],
                            "ports": [{"name": "api", "containerPort": 8774}],
                            "livenessProbe": {"tcpSocket": {"port": 8774}},
                            "readinessProbe": {"tcpSocket": {"port": 8774}},
                            "lifecycle": {"preStop": {"exec": {"command": ["sleep", "5"]}}},
                            "resources": {"requests": {"memory": "8Gi"}},
                            "volumeMounts": [
                                {"name": "etc", "mountPath": "/etc/nova/nova.conf", "subPath": "nova.conf"},
                                {"name": "images", "mountPath": "/var/lib/images"},
                            ],
                        },
                        {"name": "proxy", "image": "nginx:1"},
                    ],
                    "volumes": [
                        {"name": "etc", "secret": {"secretName": "nova-etc"}},
                        {"name": "images", "persistentVolumeClaim": {"claimName": "images"}},
                        {"name": "log", "hostPath": {"path": "/var/log/nova"}},
                    ],
                },
            },
        },
    }


def play_end(kube: FakeKube, job: KubeObject, code: int = 0, log: str = "", reason: str = "") -> None:
    """The pod of a Job has ended with this exit code and log; with `reason` it had no pod in the end."""
    if _ended(job):
        return
    if not reason:
        ended = {"name": "check", "state": {"terminated": {"exitCode": code, "reason": "Error"}}}
        phase = "Failed" if code else "Succeeded"
        play_pod(kube, job, {"phase": phase, "containerStatuses": [ended]})
        kube.logs[(KEY[0], f"{job['metadata']['name']}-pod", "check")] = log
    type_ = "Failed" if code or reason else "Complete"
    condition = {"type": type_, "status": "True", "reason": reason or "BackoffLimitExceeded"}
    status = {"conditions": [condition]}
    assert kube.merge_patch(JOB, job["metadata"]["name"], KEY[0], {"status": status}, subresource="status")


def play_pod(kube: FakeKube, job: KubeObject, status: Mapping[str, Any]) -> None:
    """The pod of a Job is in this state."""
    meta, template = job["metadata"], job["spec"]["template"]
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": meta["name"], "uid": meta["uid"]}
    name = f"{meta['name']}-pod"
    if kube.get(POD, name, KEY[0]) is None:
        labels, owners = template["metadata"]["labels"], [{**owner, "controller": True}]
        made = {"name": name, "namespace": KEY[0], "labels": labels, "ownerReferences": owners}
        kube.create({"apiVersion": "v1", "kind": "Pod", "metadata": made, "spec": template["spec"]})
    assert kube.merge_patch(POD, name, KEY[0], {"status": dict(status)}, subresource="status")


def _ended(job: KubeObject) -> bool:
    conditions = (job.get("status") or {}).get("conditions") or ()
    return any(one["type"] in ("Complete", "Failed") for one in conditions)
