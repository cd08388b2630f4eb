"""Servers that decide by majority: without one they do not serve, however many pods run."""

from __future__ import annotations

from typing import Any

import pytest

from controller.domain.health.pods import parse_pod
from controller.domain.health.workload_health import (
    PROGRESS_DEADLINE,
    Health,
    Surroundings,
    WorkloadHealth,
    judge_workload,
)
from controller.domain.health.workloads import parse_workload
from tests.domain.health_objects import NOW, at, container_status, pod, statefulset, unready

OWNER = ("StatefulSet", "mariadb-server")
AGE = 10 * PROGRESS_DEADLINE
LOST: dict[str, Any] = unready(container_status())


def members(ready: int, of: int) -> list[dict[str, Any]]:
    return [
        pod(f"mariadb-server-{number}", OWNER, **({} if number < ready else LOST)) for number in range(of)
    ]


def galera(
    replicas: int, pods: list[dict[str, Any]], *, age: float = AGE, release: str = "mariadb", **status: Any
) -> WorkloadHealth:
    ready = sum(1 for one in pods if one["status"]["conditions"][-1]["status"] == "True")
    obj = statefulset(replicas, readyReplicas=ready, availableReplicas=ready, replicas=len(pods), **status)
    obj["metadata"]["annotations"]["meta.helm.sh/release-name"] = release
    obj["metadata"]["labels"]["component"] = "server"
    obj["metadata"]["creationTimestamp"] = at(age)
    facts = parse_workload(obj)
    assert facts is not None
    known = [one for one in map(parse_pod, pods) if one is not None]
    return judge_workload(facts, known, Surroundings({}, frozenset(), NOW))


def test_one_of_three_members_lost_is_no_failure_yet() -> None:
    assert galera(3, members(2, of=3)).health == Health.PROGRESSING


@pytest.mark.parametrize("release", ["mariadb", "rabbitmq"])
def test_without_a_majority_it_does_not_serve(release: str) -> None:
    verdict = galera(3, members(1, of=3), release=release)
    assert verdict.health == Health.UNHEALTHY
    assert verdict.text.startswith(
        f"mariadb-server: 1 of 3 members ready, 2 needed: {release} has no majority and does not serve; pod "
    )


def test_unseen_members_count_too() -> None:
    """Two pods are gone: the one that is left is ready, and yet no majority of three."""
    assert galera(3, members(1, of=1)).health == Health.UNHEALTHY


def test_a_member_that_is_being_removed_does_not_vote() -> None:
    pods = members(2, of=3)
    pods[0]["metadata"]["deletionTimestamp"] = at(5)
    assert galera(3, pods).health == Health.UNHEALTHY


def test_all_members_make_it_ready() -> None:
    assert galera(3, members(3, of=3)).health == Health.READY


def test_while_it_is_founded_members_come_one_by_one() -> None:
    assert galera(3, members(1, of=1), age=60).health == Health.PROGRESSING


def test_a_single_server_that_restarts_is_no_loss_of_a_quorum() -> None:
    assert galera(1, members(0, of=1)).health == Health.PROGRESSING


def test_other_statefulsets_serve_with_what_they_have() -> None:
    assert galera(3, members(1, of=3), release="memcached").health == Health.PROGRESSING
