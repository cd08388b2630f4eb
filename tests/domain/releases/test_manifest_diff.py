"""What an upgrade does to the cluster's objects."""

from __future__ import annotations

from typing import Any

import pytest

from controller.domain.releases.manifest_diff import diff_manifests, images


def obj(kind: str, name: str, **body: Any) -> dict[str, Any]:
    return {"kind": kind, "metadata": {"name": name}, **body}


def workload(kind: str, image: str, replicas: int = 1) -> dict[str, Any]:
    template = {"spec": {"containers": [{"image": image}]}}
    return obj(kind, "api", spec={"replicas": replicas, "template": template})


def hook(name: str, events: str) -> dict[str, Any]:
    found = obj("Job", name)
    found["metadata"]["annotations"] = {"helm.sh/hook": events}
    return found


def test_equal_manifests_touch_nothing_but_run_the_hooks():
    found = diff_manifests([obj("Secret", "a")], [obj("Secret", "a")], [hook("sync", "post-upgrade")])
    assert found.jobs == ("sync",)
    again = diff_manifests(
        *([obj("Secret", "a")], [obj("Secret", "a")], [hook("sync", "post-upgrade")]),
        old_hooks=[hook("sync", "post-upgrade")],
    )
    assert again == type(again)((), (), (), (), 0, ("sync",))


def test_a_job_that_alone_changes_is_among_what_changes():
    old, new = hook("sync", "post-upgrade"), {**hook("sync", "post-upgrade"), "spec": {"other": True}}
    found = diff_manifests([obj("Secret", "a")], [obj("Secret", "a")], [new], old_hooks=[old])
    assert (found.changed, found.jobs) == (("Job sync",), ("sync",))
    more = diff_manifests([], [], [old, hook("extra", "pre-upgrade")], old_hooks=[old])
    assert (more.created, more.changed) == (("Job extra",), ())


@pytest.mark.parametrize("kind", ["Deployment", "StatefulSet"])
def test_another_pod_template_restarts_every_pod(kind: str):
    found = diff_manifests([workload(kind, "a:1", 3)], [workload(kind, "a:2", 3)])
    assert (found.restarts, found.pods) == ((f"{kind} api",), 3)


def test_pods_of_a_daemonset_are_one_a_node_and_not_counted():
    found = diff_manifests([workload("DaemonSet", "a:1")], [workload("DaemonSet", "a:2")])
    assert (found.restarts, found.pods) == (("DaemonSet api",), 0)


def test_a_workload_without_a_number_of_replicas_has_one_pod():
    old, new = workload("Deployment", "a:1"), workload("Deployment", "a:2")
    del old["spec"]["replicas"], new["spec"]["replicas"]
    assert diff_manifests([old], [new]).pods == 1


def test_more_replicas_restart_nothing():
    found = diff_manifests([workload("Deployment", "a", 1)], [workload("Deployment", "a", 2)])
    assert (found.changed, found.restarts) == (("Deployment api",), ())


def test_objects_come_and_go():
    found = diff_manifests([obj("Secret", "old")], [obj("Secret", "new")])
    assert (found.created, found.deleted) == (("Secret new",), ("Secret old",))


def claim(name: str, **annotations: str) -> dict[str, Any]:
    found = obj("PersistentVolumeClaim", name)
    found["metadata"]["annotations"] = annotations
    return found


@pytest.mark.parametrize("retain", [True, False])
def test_a_claim_that_is_dropped_is_kept_or_deleted(retain: bool):
    kept = claim("kept", **{"helm.sh/resource-policy": "keep"})
    found = diff_manifests([claim("data"), kept, obj("Secret", "a")], [], retain=retain)
    both = ("PersistentVolumeClaim data", "PersistentVolumeClaim kept")
    assert found.kept == (both if retain else both[1:])
    assert found.deleted == (("Secret a",) if retain else (both[0], "Secret a"))
    assert found.loses_data is not retain


@pytest.mark.parametrize("retain", [True, False])
def test_a_set_that_takes_its_claims_along_loses_data(retain: bool):
    spec = {"persistentVolumeClaimRetentionPolicy": {"whenDeleted": "Delete"}}
    found = diff_manifests([obj("StatefulSet", "db", spec=spec)], [], retain=retain)
    assert (found.deleted, found.loses_data) == (("StatefulSet db",), not retain)


def test_objects_of_one_name_in_two_namespaces_are_two():
    here, there = obj("Role", "a"), obj("Role", "a")
    there["metadata"]["namespace"] = "kube-system"
    assert diff_manifests([here], [here, there]).created == ("Role a",)


def test_a_changed_job_is_replaced_and_upgrade_hooks_run():
    old, new = obj("Job", "bootstrap", spec=1), obj("Job", "bootstrap", spec=2)
    hooks = [hook("db-sync", "post-install,post-upgrade"), hook("keys", "pre-install")]
    assert diff_manifests([old], [new], hooks).jobs == ("bootstrap", "db-sync")


def test_what_kubernetes_refuses_to_change_is_reported_with_the_way_out():
    old, new = workload("StatefulSet", "a:1"), workload("StatefulSet", "a:1")
    new["spec"]["serviceName"] = "other"
    (text,) = diff_manifests([old], [new]).refused
    assert text.startswith("StatefulSet api: serviceName (none) → other; ")
    assert "kubectl delete statefulset api --cascade=orphan" in text


def test_images_are_found_wherever_containers_are():
    cron = {"spec": {"jobTemplate": {"spec": {"template": {"spec": {"initContainers": [{"image": "b"}]}}}}}}
    assert images([workload("Deployment", "a"), cron]) == {"a", "b"}


def test_a_config_map_that_holds_text_with_images_names_none():
    assert images([obj("ConfigMap", "x", data={"containers": "image: a"})]) == frozenset()
