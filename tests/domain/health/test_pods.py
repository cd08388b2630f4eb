"""Why a pod does not serve, reported from the shapes that kubelet, scheduler and node controller leave."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from controller.domain.health.pods import CauseKind, parse_pod
from tests.domain.health_objects import (
    NOW,
    at,
    condition,
    container_status,
    crashing,
    ended,
    pod,
    unready,
    waiting,
)

BACKOFF = 'Back-off pulling image "registry.local/nova:2026.1"'
NOT_FOUND = "registry.local/nova:2026.1: not found"
DAY = 86400.0
SECRET = "correct-horse-battery-staple"


def running(age: float) -> dict[str, Any]:
    return {"running": {"startedAt": at(age)}}


ENTRYPOINT = {
    "name": "init",
    "image": "entrypoint",
    "env": [
        {"name": "DEPENDENCY_JOBS", "value": "nova-db-sync,nova-ks-user"},
        {"name": "DEPENDENCY_SERVICE", "value": "openstack:keystone-api"},
        {"name": "DEPENDENCY_POD_JSON", "value": "[]"},
    ],
}


def in_init(*statuses: dict[str, Any]) -> dict[str, Any]:
    return {**unready(), "phase": "Pending", "initContainerStatuses": list(statuses)}


CAUSES: dict[str, tuple[dict[str, Any], CauseKind, str]] = {
    "crash loop, waiting for the next try": (
        crashing(),
        CauseKind.CRASH,
        "CrashLoopBackOff: container api ended with exit code 1",
    ),
    "ended without an error where it should go on": (
        unready(container_status(state={"terminated": ended(0, reason="Completed")})),
        CauseKind.CRASH,
        "CrashLoopBackOff: container api ended with exit code 0",
    ),
    "crash loop, running between two crashes": (
        unready(container_status(restarts=4, last=ended(1))),
        CauseKind.CRASH,
        "CrashLoopBackOff: container api ended with exit code 1",
    ),
    "restarted long ago, lost readiness since": (
        unready(container_status(state=running(9 * DAY), restarts=1, last=ended(255, age=9 * DAY + 5))),
        CauseKind.UNREADY,
        "lost readiness: the readiness probe of container api fails",
    ),
    "started by somebody long after its end": (
        unready(container_status(state=running(20), restarts=1, last=ended(1, age=3600))),
        CauseKind.STARTING,
        "container api runs and is not ready yet",
    ),
    "started again with its node": (
        unready(container_status(state=running(20), restarts=1, last=ended(255, reason="Unknown", age=25))),
        CauseKind.STARTING,
        "container api runs and is not ready yet",
    ),
    "being created again after its node was away": (
        unready(container_status(state=waiting("ContainerCreating"), restarts=1, last=ended(137))),
        CauseKind.STARTING,
        "is being created",
    ),
    "crashed a moment ago, and its unreadiness was noticed only after the restart": (
        unready(container_status(state=running(20), restarts=1, last=ended(1, age=21)), age=18),
        CauseKind.CRASH,
        "CrashLoopBackOff: container api ended with exit code 1",
    ),
    "killed for its memory": (
        unready(container_status(state={"terminated": ended(137, reason="OOMKilled")}, restarts=1)),
        CauseKind.CRASH,
        "CrashLoopBackOff: container api ended with exit code 137 (OOMKilled)",
    ),
    "image pull, first error": (
        unready(
            container_status(state=waiting("ErrImagePull", f"rpc error: code = NotFound desc = {NOT_FOUND}"))
        ),
        CauseKind.IMAGE,
        f"ImagePullBackOff: image registry.local/nova:2026.1 cannot be pulled ({NOT_FOUND})",
    ),
    "image pull, backing off": (
        unready(
            container_status(
                state=waiting(
                    "ImagePullBackOff",
                    f"{BACKOFF}: ErrImagePull: rpc error: code = NotFound desc = {NOT_FOUND}",
                )
            )
        ),
        CauseKind.IMAGE,
        f"ImagePullBackOff: image registry.local/nova:2026.1 cannot be pulled ({NOT_FOUND})",
    ),
    "image pull, backing off, kubelet without detail": (
        unready(container_status(state=waiting("ImagePullBackOff", BACKOFF))),
        CauseKind.IMAGE,
        "ImagePullBackOff: image registry.local/nova:2026.1 cannot be pulled",
    ),
    "a Secret of its environment is missing": (
        unready(container_status(state=waiting("CreateContainerConfigError", 'secret "nova-etc" not found'))),
        CauseKind.CONFIG,
        'CreateContainerConfigError: container api: secret "nova-etc" not found',
    ),
    "no node takes it": (
        {
            "phase": "Pending",
            "conditions": [
                condition(
                    "PodScheduled", "False", "Unschedulable", "0/3 nodes are available: 3 Insufficient cpu."
                )
            ],
            "containerStatuses": [],
        },
        CauseKind.UNSCHEDULABLE,
        "Unschedulable: 0/3 nodes are available: 3 Insufficient cpu.",
    ),
    "its readiness probe has passed once and fails now": (
        unready(container_status(), age=30),
        CauseKind.UNREADY,
        "lost readiness: the readiness probe of container api fails",
    ),
    "it has just started": (
        unready(container_status(), age=60),
        CauseKind.STARTING,
        "container api runs and is not ready yet",
    ),
    "its container is being created": (
        unready(container_status(state=waiting("ContainerCreating"))),
        CauseKind.STARTING,
        "is being created",
    ),
    "its node is silent": (
        unready(container_status(ready=True)),
        CauseKind.NODE,
        "the node cmp1 does not answer",
    ),
    "a readiness gate is not met": (
        unready(container_status(ready=True), message='the status of pod readiness gate "x" is not "True"'),
        CauseKind.UNREADY,
        'is not ready: the status of pod readiness gate "x" is not "True"',
    ),
    "it was evicted": (
        {"phase": "Failed", "reason": "Evicted", "message": "The node was low on resource: memory."},
        CauseKind.FAILED,
        "failed: Evicted: The node was low on resource: memory.",
    ),
    "it failed": (
        {"phase": "Failed", "containerStatuses": [container_status(state={"terminated": ended(3)})]},
        CauseKind.FAILED,
        "failed: ended with exit code 3",
    ),
}


@pytest.mark.parametrize("case", CAUSES)
def test_the_cause_is_reported_from_the_status(case: str) -> None:
    status, kind, text = CAUSES[case]
    facts = parse_pod(pod("nova-api-5d9c7b-x", **copy.deepcopy(status)))
    assert facts is not None
    assert facts.cause is not None
    assert (facts.cause.kind, facts.cause.text) == (kind, text)


def test_a_container_that_stays_up_after_a_crash_is_soon_no_crash_any_more() -> None:
    status = unready(container_status(state=running(20), restarts=4, last=ended(1)))
    facts = parse_pod(pod("x", **status))
    assert facts is not None
    assert facts.cause is not None
    assert facts.cause.at(NOW + 570).kind == CauseKind.CRASH
    later = facts.cause.at(NOW + 590)
    assert (later.kind, later.text) == (CauseKind.STARTING, "container api runs and is not ready yet")
    assert later.since == NOW - 20


def test_an_init_container_that_waits_after_a_crash_soon_shows_what_for() -> None:
    status = in_init(container_status("init", running(20), restarts=1, last=ended(1)))
    facts = parse_pod(pod("x", spec={"initContainers": [ENTRYPOINT]}, **status))
    assert facts is not None
    assert facts.cause is not None
    assert facts.cause.kind == CauseKind.CRASH
    assert "Job/nova-db-sync" in facts.cause.at(NOW + 590).waits_for


def test_a_crash_shows_more_than_a_neighbour_that_starts() -> None:
    status = unready(
        container_status("proxy", running(20)),
        container_status("api", running(20), restarts=3, last=ended(2)),
    )
    spec = {"containers": [{"name": "proxy", "image": "proxy"}, {"name": "api", "image": "nova"}]}
    facts = parse_pod(pod("x", spec=spec, **status))
    assert facts is not None
    assert facts.cause is not None
    assert (facts.cause.kind, facts.cause.container) == (CauseKind.CRASH, "api")


def test_a_pod_that_serves_has_no_cause_and_is_small() -> None:
    facts = parse_pod(pod("nova-api-5d9c7b-x"))
    assert facts is not None
    assert facts.cause is None
    assert facts.claims == ()
    assert facts.owner == ("Deployment", "nova-api")


def test_a_container_that_restarted_and_is_ready_is_no_cause() -> None:
    facts = parse_pod(pod("x", containerStatuses=[container_status(ready=True, restarts=7, last=ended(1))]))
    assert facts is not None
    assert facts.cause is None


def test_of_several_containers_the_one_that_does_not_serve_is_the_cause() -> None:
    status = unready(
        container_status("proxy", ready=True, restarts=3, last=ended(1)),
        container_status("api", waiting("CrashLoopBackOff"), restarts=2, last=ended(2)),
    )
    spec = {"containers": [{"name": "proxy", "image": "proxy"}, {"name": "api", "image": "nova"}]}
    facts = parse_pod(pod("x", spec=spec, **status))
    assert facts is not None
    assert facts.cause is not None
    assert facts.cause.container == "api"


def test_the_last_words_of_a_container_are_kept_apart_to_be_redacted() -> None:
    facts = parse_pod(pod("x", **crashing("mysql://nova:hunter2@db refused")))
    assert facts is not None
    assert facts.cause is not None
    assert facts.cause.output == "mysql://nova:hunter2@db refused"
    assert "hunter2" not in facts.cause.text


def test_an_init_container_shows_what_it_waits_for() -> None:
    status = in_init(container_status("init"))
    facts = parse_pod(pod("x", spec={"initContainers": [ENTRYPOINT]}, **status))
    assert facts is not None
    assert facts.cause is not None
    assert facts.cause.kind == CauseKind.WAITING
    assert facts.cause.waits_for == ("Job/nova-db-sync", "Job/nova-ks-user", "Service/keystone-api")


def test_jobs_to_wait_for_are_read_from_json_with_a_namespace_that_is_not_its_own() -> None:
    text = '[{"namespace": "ceph", "name": "keys"}, {"labels": {"job": "ks"}}, {"name": "sync"}, 7]'
    init = {"name": "init", "image": "entrypoint", "env": [{"name": "DEPENDENCY_JOBS_JSON", "value": text}]}
    facts = parse_pod(pod("x", spec={"initContainers": [init]}, **in_init(container_status("init"))))
    assert facts is not None
    assert facts.cause is not None
    assert facts.cause.waits_for == ("Job/ceph/keys", "Job/with labels job=ks", "Job/sync")


def test_a_sidecar_that_crashes_after_the_start_is_reported_like_any_container() -> None:
    status = unready(container_status("api", ready=True))
    status["conditions"].append(condition("Initialized", "True"))
    agent = container_status("agent", waiting("CrashLoopBackOff"), restarts=5, last=ended(1, "no vault"))
    status["initContainerStatuses"] = [agent]
    spec = {
        "initContainers": [{"name": "agent", "image": "agent", "restartPolicy": "Always"}],
        "containers": [{"name": "api", "image": "nova"}],
    }
    facts = parse_pod(pod("x", spec=spec, **status))
    assert facts is not None
    assert facts.cause is not None
    assert (facts.cause.kind, facts.cause.container, facts.cause.output) == (
        CauseKind.CRASH,
        "agent",
        "no vault",
    )


def test_a_finished_init_container_is_passed_over() -> None:
    status = in_init(
        container_status("init", {"terminated": ended(0, reason="Completed")}),
        container_status("nova-init", waiting("CrashLoopBackOff"), restarts=2, last=ended(2)),
    )
    spec = {"initContainers": [ENTRYPOINT, {"name": "nova-init", "image": "nova"}]}
    facts = parse_pod(pod("x", spec=spec, **status))
    assert facts is not None
    assert facts.cause is not None
    assert (facts.cause.kind, facts.cause.container) == (CauseKind.CRASH, "nova-init")


def test_init_containers_of_an_initialized_pod_are_passed_over() -> None:
    status = crashing()
    status["conditions"].append(condition("Initialized", "True"))
    facts = parse_pod(pod("x", spec={"initContainers": [ENTRYPOINT]}, **status))
    assert facts is not None
    assert facts.cause is not None
    assert (facts.cause.kind, facts.cause.container) == (CauseKind.CRASH, "api")


def test_a_started_sidecar_holds_nothing_up() -> None:
    sidecar = {**container_status("proxy", ready=True), "started": True}
    spec = {"initContainers": [{"name": "proxy", "image": "proxy", "restartPolicy": "Always"}]}
    status = {
        **unready(container_status(state=waiting("ContainerCreating"))),
        "initContainerStatuses": [sidecar],
    }
    facts = parse_pod(pod("x", spec=spec, **status))
    assert facts is not None
    assert facts.cause is not None
    assert facts.cause.text == "is being created"


def test_claims_of_a_pod_are_those_of_its_volumes() -> None:
    volumes = [
        {"name": "data", "persistentVolumeClaim": {"claimName": "mysql-data"}},
        {"name": "etc", "secret": {}},
    ]
    facts = parse_pod(pod("x", spec={"volumes": volumes}))
    assert facts is not None
    assert facts.claims == ("mysql-data",)


@pytest.mark.parametrize(
    ("owner", "expected"),
    [
        (("ReplicaSet", "nova-api-5d9c7b"), ("Deployment", "nova-api")),
        (("StatefulSet", "mariadb-server"), ("StatefulSet", "mariadb-server")),
        (("DaemonSet", "libvirt"), ("DaemonSet", "libvirt")),
        (("Job", "nova-db-sync"), ("Job", "nova-db-sync")),
    ],
)
def test_the_owner_is_the_workload(owner: tuple[str, str], expected: tuple[str, str]) -> None:
    facts = parse_pod(pod("x", owner))
    assert facts is not None
    assert facts.owner == expected


@pytest.mark.parametrize(
    "references",
    [[], [{"kind": "Node", "name": "n", "controller": True}], [{"kind": "StatefulSet", "name": "s"}]],
    ids=["no owner", "a static pod", "an owner that does not control it"],
)
def test_a_pod_of_no_workload_does_not_concern_us(references: list[dict[str, Any]]) -> None:
    assert parse_pod(pod("x", meta={"ownerReferences": references})) is None


def test_a_pod_that_goes_away_says_so_and_since_when() -> None:
    facts = parse_pod(pod("x", meta={"deletionTimestamp": at(5)}, **crashing()))
    assert facts is not None
    assert facts.cause is not None
    assert facts.cause.kind == CauseKind.TERMINATING


def test_a_pod_that_cannot_end_on_a_silent_node_says_so() -> None:
    status = unready(container_status(ready=True))
    facts = parse_pod(pod("x", meta={"deletionTimestamp": at(5)}, **status))
    assert facts is not None
    assert facts.cause is not None
    assert facts.cause.kind == CauseKind.NODE
    assert facts.cause.text == "the node cmp1 does not answer, so it cannot terminate"


@pytest.mark.parametrize(
    "status",
    [
        unready(container_status(state=waiting("CreateContainerError", "x" * 590 + SECRET))),
        unready(container_status(ready=True), message="x" * 590 + SECRET),
        {"phase": "Failed", "reason": "Evicted", "message": "x" * 590 + SECRET},
        {"conditions": [condition("PodScheduled", "False", "Unschedulable", "x" * 590 + SECRET)]},
    ],
    ids=["a container's word", "a readiness gate", "a failure", "the scheduler's word"],
)
def test_a_text_is_not_cut_before_it_is_redacted(status: dict[str, Any]) -> None:
    facts = parse_pod(pod("x", **status))
    assert facts is not None
    assert facts.cause is not None
    assert facts.cause.text.endswith(SECRET)


def test_a_pod_that_ended_well_has_no_cause() -> None:
    facts = parse_pod(pod("x", ("Job", "j"), phase="Succeeded", conditions=[condition("Ready", "False")]))
    assert facts is not None
    assert facts.succeeded
    assert facts.cause is None
