"""Which Jobs new pods wait for, as kubernetes-entrypoint is given them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from controller.domain.releases.upgrade_jobs.awaited_jobs import (
    all_awaited,
    awaited_by,
    images_of,
    upgrade_jobs,
)

SPACE = "openstack"


def pods(*variables: tuple[str, str], image: str = "nova:1") -> dict[str, Any]:
    env = [{"name": name, "value": value} for name, value in variables]
    wait = [{"name": "init", "image": "entrypoint:1", "env": env}] if env else []
    return {"template": {"spec": {"initContainers": wait, "containers": [{"name": "main", "image": image}]}}}


def job(name: str, *waits: str, hook: str = "", weight: int = 0, **labels: str) -> dict[str, Any]:
    notes = {"helm.sh/hook": hook, "helm.sh/hook-weight": str(weight)} if hook else {}
    meta = {"name": name, "namespace": SPACE, "annotations": notes, "labels": labels}
    return {"kind": "Job", "metadata": meta, "spec": pods(("DEPENDENCY_JOBS", ",".join(waits)))}


def workload(*variables: tuple[str, str]) -> dict[str, Any]:
    return {"kind": "Deployment", "metadata": {"name": "api"}, "spec": pods(*variables)}


JOBS = (job("db-init"), job("db-sync", "db-init"), job("ks-user", application="nova", component="ks-user"))


@pytest.mark.parametrize(
    ("variable", "expected"),
    [
        (("DEPENDENCY_JOBS", "db-sync"), ["db-sync"]),
        (("DEPENDENCY_JOBS", " openstack:db-sync,other:db-init, "), ["db-sync"]),
        (("DEPENDENCY_JOBS", "unknown"), []),
        (("DEPENDENCY_JOBS_JSON", json.dumps([{"name": "db-init"}])), ["db-init"]),
        (("DEPENDENCY_JOBS_JSON", json.dumps([{"name": "db-init", "namespace": "other"}])), []),
        (("DEPENDENCY_JOBS_JSON", json.dumps([{"labels": {"component": "ks-user"}}])), ["ks-user"]),
        (("DEPENDENCY_JOBS_JSON", json.dumps([{"labels": {"component": "other"}}, {}])), []),
        (("DEPENDENCY_JOBS_JSON", "{no json"), []),
        (("DEPENDENCY_JOBS_JSON", ""), []),
    ],
)
def test_jobs_are_named_or_labelled(variable: tuple[str, str], expected: list[str]) -> None:
    found = awaited_by(workload(variable), JOBS, SPACE)
    assert [one["metadata"]["name"] for one in found] == expected


def names(*jobs: dict[str, Any], waits: str) -> list[str]:
    found = all_awaited([workload(("DEPENDENCY_JOBS", waits))], jobs, SPACE)
    return [one["metadata"]["name"] for one in found]


def test_what_they_wait_for_themselves_runs_before() -> None:
    jobs = (job("sync", "init", hook="post-upgrade", weight=-9), job("init", hook="post-upgrade", weight=-5))
    assert names(*jobs, job("other"), waits="sync") == ["init", "sync"]


def test_beside_that_their_weights_count_and_then_their_names() -> None:
    jobs = [job(name, hook="post-upgrade", weight=weight) for name, weight in (("c", 1), ("b", 2), ("a", 2))]
    assert names(*jobs, waits="a,b,c") == ["c", "a", "b"]


def test_a_circle_ends() -> None:
    assert names(job("a", "b"), job("b", "a"), waits="a") == ["a", "b"]


def test_jobs_of_an_upgrade_are_those_that_helm_runs_with_or_after_its_workloads() -> None:
    hooks = [
        job("after", hook="post-install,post-upgrade"),
        job("before", hook="pre-upgrade"),
        job("first-install", hook="post-install"),
        job("rollback", hook="post-rollback"),
    ]
    found = upgrade_jobs([job("plain"), workload()], hooks)
    assert [one["metadata"]["name"] for one in found] == ["plain", "after"]


def test_the_image_of_the_wait_itself_is_not_the_pods() -> None:
    assert images_of(workload(("DEPENDENCY_JOBS", "db-sync"))) == {"main": "nova:1"}


def test_pods_of_a_cronjob_lie_deeper() -> None:
    cron = {"kind": "CronJob", "spec": {"jobTemplate": {"spec": pods()}}}
    assert images_of(cron) == {"main": "nova:1"}
