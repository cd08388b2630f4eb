"""What Kubernetes would refuse of rendered objects is reported, and nothing else."""

from __future__ import annotations

from typing import Any

import pytest

from controller.domain.validation.awaited import JOB, PODS, SERVICE, awaited
from controller.domain.validation.dangling import Reference, dangling, made_by
from controller.domain.validation.object_rules import object_faults
from controller.domain.validation.shared_claims import shared_claims


def deployment(
    name: str = "web", *, replicas: Any = 1, labels: Any = None, **container: Any
) -> dict[str, Any]:
    one = {"name": "main", "image": "web:1", **container}
    found = {"app": "web"} if labels is None else labels
    template = {"metadata": {"labels": found}, "spec": {"containers": [one]}}
    spec = {"replicas": replicas, "selector": {"matchLabels": {"app": "web"}}, "template": template}
    return {"kind": "Deployment", "metadata": {"name": name}, "spec": spec}


def policy(labels: dict[str, Any]) -> dict[str, Any]:
    source = {"namespaceSelector": {}, "podSelector": {"matchLabels": labels}}
    spec = {"podSelector": {}, "ingress": [{"from": [source]}]}
    return {"kind": "NetworkPolicy", "metadata": {"name": "one"}, "spec": spec}


def tolerating(one: dict[str, Any]) -> dict[str, Any]:
    made = deployment()
    made["spec"]["template"]["spec"]["tolerations"] = [one]
    return made


@pytest.mark.parametrize(
    ("obj", "says"),
    [
        (deployment("topology.kubernetes.io/zone"), "a name may have lower-case letters"),
        (deployment(replicas="2"), "replicas must be a whole number"),
        (deployment(labels={"app": "other"}), "the selector requires labels that the pods lack: app"),
        (deployment(labels={"app": "web", "a": 1}), 'label "a" has 1, which is not a string'),
        (deployment(labels={"app": "web", "a": "x" * 64}), 'label "a" has'),
        (deployment(labels={"app": "web", "a b": "c"}), 'label "a b" has a key'),
        (policy({"app": "kube prometheus"}), "selector \"app\" has 'kube prometheus', which no label has"),
        (policy({"app name": "a"}), 'selector "app name" has a key'),
        (tolerating({"key": "a b"}), 'toleration "a b" has a key'),
        (tolerating({"key": "a", "value": "-"}), "a toleration has the value '-', which no taint has"),
        (deployment(env=[{"name": "A", "value": "1"}] * 2), "variable of container main A occurs 2 times"),
        (deployment(env=[{"name": "A", "value": 1}]), "variable A of container main has 1"),
        (deployment(ports=[{"containerPort": 70000}]), "port of container main: 70000 is not a number"),
        (deployment(ports=[{"containerPort": 1, "name": "a-name-of-16-let"}]), "has a name of more than 15"),
        (deployment(ports=[{"containerPort": 1}] * 2), "port of container main 1/TCP occurs 2 times"),
        (deployment(resources={"limits": {"memory": "1GB"}}), 'memory "1GB", which is not a quantity'),
        (
            deployment(resources={"limits": {"cpu": 1}, "requests": {"cpu": "1100m"}}),
            "request of cpu is above its limit",
        ),
        (
            {"kind": "Service", "metadata": {"name": "1a"}, "spec": {"ports": [{"port": 1}]}},
            "a name may have lower-case letters, digits and -",
        ),
        (
            {"kind": "Service", "metadata": {"name": "a"}, "spec": {"ports": [{"port": 1}, {"port": 2}]}},
            "port 1 has no name, which is required if there are several",
        ),
        ({"kind": "CronJob", "metadata": {"name": "a" * 53}, "spec": {}}, "53 characters; at most 52"),
    ],
)
def test_what_kubernetes_refuses_is_reported_with_the_object(obj: dict[str, Any], says: str) -> None:
    faults = list(object_faults(obj))
    assert any(says in fault for fault in faults), faults
    assert all(fault.startswith(f"{obj['kind']}/{obj['metadata']['name']}: ") for fault in faults)


def test_what_kubernetes_takes_is_not_reported() -> None:
    fine = deployment(
        env=[{"name": "A", "value": "1"}, {"name": "B"}],
        ports=[{"containerPort": 53, "protocol": "UDP"}, {"containerPort": 53}],
        resources={"requests": {"cpu": "100m", "memory": "1e3"}, "limits": {"cpu": 1, "memory": "2Gi"}},
    )
    assert list(object_faults(fine)) == []
    role = {"kind": "Role", "metadata": {"name": "system:reader"}, "rules": []}
    assert list(object_faults(role)) == []


def claim(name: str, *modes: str) -> dict[str, Any]:
    return {"kind": "PersistentVolumeClaim", "metadata": {"name": name}, "spec": {"accessModes": list(modes)}}


def with_claim(name: str, *, replicas: int, kind: str = "Deployment") -> dict[str, Any]:
    obj = {**deployment(replicas=replicas), "kind": kind}
    obj["spec"]["template"]["spec"]["volumes"] = [{"name": "v", "persistentVolumeClaim": {"claimName": name}}]
    return obj


def test_a_claim_of_one_node_under_several_pods_is_reported() -> None:
    one = claim("images", "ReadWriteOnce")
    [(release, message)] = shared_claims({"glance": [one, with_claim("images", replicas=3)]})
    assert (release, message) == (
        "glance",
        "claim images is for one node (ReadWriteOnce), but 3 pods of Deployment/web mount it",
    )
    [(_, message)] = shared_claims({"a": [one, with_claim("images", replicas=1, kind="DaemonSet")]})
    assert "but each node of DaemonSet/web mount it" in message


def test_a_claim_of_one_pod_and_one_of_many_nodes_are_not_reported() -> None:
    assert list(shared_claims({"a": [claim("c", "ReadWriteOnce"), with_claim("c", replicas=1)]})) == []
    assert list(shared_claims({"a": [claim("c", "ReadWriteMany"), with_claim("c", replicas=3)]})) == []


def waiting(**variables: str) -> dict[str, Any]:
    obj = deployment()
    env = [{"name": name, "value": value} for name, value in variables.items()]
    obj["spec"]["template"]["spec"]["initContainers"] = [{"name": "init", "image": "wait:1", "env": env}]
    return obj


def test_what_init_containers_wait_for_and_nothing_makes_is_missed() -> None:
    pods = '[{"labels": {"app": "db"}, "requireSameNode": false}]'
    jobs = '[{"name": "web-sync"}]'
    obj = waiting(
        DEPENDENCY_SERVICE="openstack:db,other:db2,openstack:",
        DEPENDENCY_JOBS="web-init",
        DEPENDENCY_JOBS_JSON=jobs,
        DEPENDENCY_POD_JSON=pods,
    )
    missed = [(one.kind, one.name) for one in dangling([obj], made_by([]), "openstack")]
    expected = [(SERVICE, "db"), (JOB, "web-init"), (JOB, "web-sync"), (PODS, "app=db")]
    assert [one for one in missed if one[0] != "ServiceAccount"] == expected


def test_what_is_made_is_not_missed() -> None:
    database = deployment("db", labels={"app": "db", "more": "x"})
    there = made_by([database, {"kind": "Service", "metadata": {"name": "db"}}])
    assert there.has(Reference("a", PODS, "app=db"))
    assert not there.has(Reference("a", PODS, "app=db,more=y"))
    assert there.has(Reference("a", SERVICE, "db"))


def test_a_variable_that_is_no_json_waits_for_nothing() -> None:
    container = {"env": [{"name": "DEPENDENCY_POD_JSON", "value": "["}]}
    assert list(awaited(container, "openstack")) == []


@pytest.mark.parametrize(
    ("schedule", "refused"), [("0 */12 * *", True), ("0 */12 * * *", False), ("@daily", False)]
)
def test_a_schedule_has_five_fields_or_a_name(schedule: str, refused: bool) -> None:
    cron = {"kind": "CronJob", "metadata": {"name": "rotate"}, "spec": {"schedule": schedule}}
    assert any("does not have five fields" in fault for fault in object_faults(cron)) is refused
