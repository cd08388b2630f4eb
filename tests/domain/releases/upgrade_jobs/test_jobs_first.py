"""The first half of an upgrade: how its objects are written, and what its Jobs need."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from controller.domain.releases.upgrade_jobs.jobs_first import (
    as_hooks,
    as_it_is,
    as_text,
    copies_of,
    copy_name,
    references_of,
    with_copies,
    without_upgrade,
)


@pytest.mark.parametrize(
    "text",
    ["plain", "012", "{{ .Values.a }}", "a\n---\nb: c\n", "\u0085\u2028\u2029", "😀 ü", "\t\x7f\x00", '"\\'],
)
def test_a_text_is_read_as_it_was(text: str) -> None:
    line = as_text({"data": {"a": text}, text: [1, 1000000, True, None]})
    assert "\n" not in line
    if "\x00" not in text:
        assert yaml.load(line, yaml.CSafeLoader) == {"data": {"a": text}, text: [1, 1000000, True, None]}


def job(name: str, hook: str = "") -> dict[str, Any]:
    notes = {"helm.sh/hook": hook, "helm.sh/hook-delete-policy": "hook-succeeded"} if hook else {}
    return {
        "kind": "Job",
        "metadata": {"name": name, "annotations": notes},
        "spec": {"template": {"spec": POD}},
    }


SECRET = {"secret": {"name": "tls"}}
POD: dict[str, Any] = {
    "serviceAccountName": "sync",
    "volumes": [
        {"name": "a", "configMap": {"name": "bin"}},
        {"name": "b", "secret": {"secretName": "etc"}},
        {"name": "c", "persistentVolumeClaim": {"claimName": "data"}},
        {
            "name": "d",
            "projected": {"sources": [{"secret": {"name": "tls"}}, {"configMap": {"name": "more"}}]},
        },
    ],
    "initContainers": [{"name": "i", "envFrom": [{"secretRef": {"name": "all"}}]}],
    "containers": [{"name": "m", "env": [{"name": "X", "valueFrom": {"secretKeyRef": {"name": "db"}}}]}],
}


def test_jobs_run_one_after_the_other_and_stay() -> None:
    first, second = as_hooks([job("a"), job("b", "post-install,post-upgrade")], "nova", "openstack")
    notes = [one["metadata"]["annotations"] for one in (first, second)]
    assert [one["helm.sh/hook"] for one in notes] == ["post-upgrade"] * 2
    assert [one["helm.sh/hook-weight"] for one in notes] == ["1", "2"]
    assert [one["helm.sh/hook-delete-policy"] for one in notes] == ["before-hook-creation"] * 2
    assert first["metadata"]["labels"]["app.kubernetes.io/managed-by"] == "Helm"
    assert notes[0]["meta.helm.sh/release-name"] == "nova"


def test_what_pods_of_jobs_need_is_known() -> None:
    binding = {
        "kind": "RoleBinding",
        "metadata": {"name": "sync-entrypoint"},
        "subjects": [{"kind": "ServiceAccount", "name": "sync"}],
        "roleRef": {"kind": "Role", "name": "entrypoint"},
    }
    other = {**binding, "metadata": {"name": "other"}, "subjects": [{"kind": "User", "name": "sync"}]}
    found = references_of([job("a")], [binding, other])
    named = {("ConfigMap", "bin"), ("ConfigMap", "more"), ("Secret", "etc"), ("Secret", "tls")}
    named |= {("Secret", "all"), ("Secret", "db"), ("PersistentVolumeClaim", "data")}
    rights = {("ServiceAccount", "sync"), ("RoleBinding", "sync-entrypoint"), ("Role", "entrypoint")}
    assert named | rights <= found
    assert ("RoleBinding", "other") not in found


def test_hooks_of_a_removal_stay_known_and_those_of_an_upgrade_do_not_run() -> None:
    hooks = [job("boot", "post-install,post-upgrade"), job("clean", "pre-delete"), job("up", "pre-upgrade")]
    found = {
        one["metadata"]["name"]: one["metadata"]["annotations"]["helm.sh/hook"]
        for one in without_upgrade(hooks)
    }
    assert found == {"boot": "post-install", "clean": "pre-delete"}


def test_a_workload_keeps_the_pods_that_it_has() -> None:
    recorded = {
        "kind": "Deployment",
        "spec": {"replicas": 1, "strategy": {"type": "Recreate"}, "template": 1},
    }
    live = {"spec": {"replicas": 3, "strategy": {"type": "X"}, "template": {"spec": POD}}}
    found = as_it_is(recorded, live)
    assert found["spec"] == {"replicas": 3, "strategy": {"type": "Recreate"}, "template": {"spec": POD}}
    cron = {"kind": "CronJob", "spec": {"schedule": "@daily"}}
    assert as_it_is(cron, {"spec": {"jobTemplate": {"a": 1}}})["spec"]["jobTemplate"] == {"a": 1}


def test_jobs_read_copies_of_what_changes_and_all_else_under_its_name() -> None:
    """A container of an old pod that starts again reads what it has read before."""
    copied = {("Secret", "etc"), ("ConfigMap", "more"), ("Secret", "db"), ("Secret", "bin")}
    spec = with_copies(job("a"), copied)["spec"]["template"]["spec"]
    names = {name for _, name in references_of([{"spec": {"template": {"spec": spec}}}], [])}
    assert {"etc-jobs-first", "more-jobs-first", "db-jobs-first", "bin", "tls", "all", "data"} <= names
    assert not {"etc", "more", "db"} & names
    (copy,) = copies_of(
        [{"kind": "Secret", "metadata": {"name": "etc", "labels": {"a": "b"}}, "data": {"x": "y"}}]
    )
    assert (copy["metadata"]["name"], copy["metadata"]["labels"]) == ("etc-jobs-first", {"a": "b"})
    assert copy["metadata"]["annotations"]["helm.sh/hook-weight"] == "0"
    assert "hook-succeeded" in copy["metadata"]["annotations"]["helm.sh/hook-delete-policy"]
    assert len(copy_name("x" * 253)) == 253
