"""What the ResourceQuotas of a region's namespace would refuse."""

from __future__ import annotations

from typing import Any

from controller.domain.validation.cluster.cluster_capacity import cluster_capacity
from controller.domain.validation.cluster.quotas import quota_problems

NODES = cluster_capacity([{"metadata": {"name": name, "labels": {"role": "a"}}} for name in "xy"], []).nodes


def workload(kind: str, replicas: int | None = None, **resources: Any) -> dict[str, Any]:
    pod = {"nodeSelector": {"role": "a"}, "containers": [{"name": "main", "resources": resources}]}
    return {
        "kind": kind,
        "metadata": {"name": kind.lower()},
        "spec": {"template": {"spec": pod}, "replicas": replicas},
    }


def told(hard: dict[str, str], *objects: dict[str, Any], **spec: Any) -> list[str]:
    quota = {"metadata": {"name": "all"}, "spec": {"hard": hard, **spec}}
    return [f"{one.path} {one.message}" for one in quota_problems([quota], objects, NODES)]


def test_pods_and_requests_are_added_up_those_of_daemonsets_by_node() -> None:
    asks = {"requests": {"cpu": "1", "memory": "1Gi"}, "limits": {"memory": "2Gi"}}
    objects = (workload("Deployment", 3, **asks), workload("DaemonSet", **asks), workload("Job", **asks))
    hard = {"pods": "4", "requests.cpu": "4", "limits.memory": "9Gi", "memory": "5Gi"}
    assert told(hard, *objects) == [
        "ResourceQuota all allows 9.0 GiB of limits.memory, and the region asks for 10.0 GiB",
        "ResourceQuota all allows 4 of pods, and the region asks for 5",
        "ResourceQuota all allows 4.00 of requests.cpu, and the region asks for 5.00",
    ]


def test_pods_that_do_not_say_what_a_quota_limits_are_refused_those_of_jobs_too() -> None:
    [message] = told({"limits.cpu": "100"}, workload("Job", requests={"cpu": "1"}))
    assert message == "ResourceQuota all refuses pods that do not set limits.cpu for each container: Job/job"
    assert told({"requests.cpu": "100"}, workload("Job", limits={"cpu": "1"})) == []


def test_claims_are_counted_with_their_sizes() -> None:
    claim = {"spec": {"resources": {"requests": {"storage": "10Gi"}}}}
    server = workload("StatefulSet", 3)
    server["spec"]["volumeClaimTemplates"] = [claim]
    own = {"kind": "PersistentVolumeClaim", "metadata": {"name": "images"}, **claim}
    assert told({"persistentvolumeclaims": "3", "requests.storage": "20Gi"}, server, own) == [
        "ResourceQuota all allows 3 of persistentvolumeclaims, and the region asks for 4",
        "ResourceQuota all allows 20.0 GiB of requests.storage, and the region asks for 40.0 GiB",
    ]


def test_a_quota_of_some_pods_and_what_is_not_counted_say_nothing() -> None:
    assert told({"pods": "1"}, workload("Deployment", 3), scopes=["BestEffort"]) == []
    assert told({"requests.nvidia.com/gpu": "1"}, workload("Deployment", 3)) == []
    assert told({"services": "0"}, {"kind": "Service", "metadata": {"name": "a"}}) == [
        "ResourceQuota all allows 0 of services, and the region asks for 1"
    ]
