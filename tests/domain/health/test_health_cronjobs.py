"""A CronJob is judged by the last of its Jobs that came to an end, or that will not come to one."""

from __future__ import annotations

from typing import Any

from controller.domain.health.pods import parse_pod
from controller.domain.health.region_health import ComponentHealth, Facts, Release, judge_components
from controller.domain.health.workload_health import Health
from controller.domain.health.workloads import parse_workload
from tests.domain.health_objects import NOW, condition, job, pod, unready, waiting
from tests.domain.health_objects import container_status as container

OWNER = {"apiVersion": "batch/v1", "kind": "CronJob", "name": "nova-purge", "uid": "x", "controller": True}
DONE: dict[str, Any] = {"conditions": [condition("Complete", "True")], "succeeded": 1}
FAILED: dict[str, Any] = {
    "conditions": [condition("Failed", "True", "BackoffLimitExceeded", "it failed 7 times")],
    "failed": 7,
}


def run(age: float, **status: Any) -> dict[str, Any]:
    """A Job of the CronJob that began so many seconds ago."""
    made = job(name=f"nova-purge-{age:.0f}", age=age, **status)
    made["metadata"]["ownerReferences"] = [OWNER]
    made["metadata"]["labels"]["component"] = "purge"
    return made


def judged(*jobs: dict[str, Any], pods: tuple[dict[str, Any], ...] = ()) -> dict[Any, ComponentHealth]:
    workloads = [one for one in map(parse_workload, jobs) if one is not None]
    owned: dict[tuple[str, str], list[Any]] = {}
    for facts in filter(None, map(parse_pod, pods)):
        owned.setdefault(facts.owner, []).append(facts)
    return judge_components(Facts({"nova": Release("nova", True)}, workloads, owned, {}, NOW))


def health(*jobs: dict[str, Any], pods: tuple[dict[str, Any], ...] = ()) -> Health:
    [component] = judged(*jobs, pods=pods).values()
    return component.verdict.health


def test_the_last_run_counts() -> None:
    assert health(run(9000, **FAILED), run(5400, **DONE)) == Health.READY
    assert health(run(9000, **DONE), run(5400, **FAILED)) == Health.UNHEALTHY


def test_the_failed_run_is_named_with_its_reason() -> None:
    [component] = judged(run(5400, **FAILED)).values()
    assert component.verdict.text == "Job nova-purge-5400: BackoffLimitExceeded: it failed 7 times"


def test_a_run_under_way_changes_nothing() -> None:
    assert health(run(5400, **DONE), run(30, active=1)) == Health.READY
    assert health(run(5400, **FAILED), run(30, active=1)) == Health.UNHEALTHY


def test_a_run_that_will_not_end_counts_before_older_ones() -> None:
    stuck = pod(
        "nova-purge-30-abc",
        ("Job", "nova-purge-30"),
        **unready(container(state=waiting("ImagePullBackOff", "not found"))),
    )
    assert health(run(5400, **DONE), run(30, active=1), pods=(stuck,)) == Health.UNHEALTHY


def test_a_cronjob_that_has_never_run_to_an_end_says_nothing() -> None:
    assert judged(run(30, active=1)) == {}


def test_its_runs_are_one_component_under_its_label() -> None:
    assert list(judged(run(9000, **DONE), run(5400, **DONE))) == [("nova", "purge")]
