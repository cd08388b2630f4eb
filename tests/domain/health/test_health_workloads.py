"""One workload judged: counts, rollouts, and the cause that a person needs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from controller.domain.health.pods import PodFacts, parse_pod
from controller.domain.health.workload_health import (
    Health,
    Surroundings,
    VolumeClaim,
    WorkloadHealth,
    judge_workload,
)
from controller.domain.health.workloads import parse_workload
from tests.domain.health_objects import (
    NOW,
    at,
    condition,
    container_status,
    crashing,
    daemonset,
    deployment,
    ended,
    job,
    pod,
    statefulset,
    unready,
    waiting,
    workload,
)

OLD, NEW = ("ReplicaSet", "nova-api-aaa"), ("ReplicaSet", "nova-api-bbb")
STARTING: dict[str, Any] = unready(container_status())
NO_NODE: dict[str, Any] = {
    "phase": "Pending",
    "conditions": [condition("PodScheduled", "False", "Unschedulable", "0/3 nodes are available", age=5)],
    "containerStatuses": [],
}


def judge(
    obj: Mapping[str, Any],
    *pods: Mapping[str, Any],
    claims: Mapping[str, VolumeClaim] | None = None,
    met: frozenset[str] = frozenset(),
    now: float = NOW,
) -> WorkloadHealth:
    facts = parse_workload(obj)
    assert facts is not None
    assert not facts.off
    known: list[PodFacts] = [one for one in map(parse_pod, pods) if one is not None]
    return judge_workload(facts, known, Surroundings(claims or {}, met, now))


def blocked(type_: str, reason: str, message: str, status: str) -> dict[str, Any]:
    return {"conditions": [condition(type_, status, reason, message)]}


VERDICTS: dict[str, tuple[dict[str, Any], list[dict[str, Any]], Health, str]] = {
    "deployment, all pods serve": (deployment(), [], Health.READY, ""),
    "deployment, newest spec not taken up": (
        deployment(observedGeneration=1),
        [],
        Health.PROGRESSING,
        "Deployment nova-api: Kubernetes has not observed the newest spec yet",
    ),
    "deployment, half rolled out": (
        deployment(4, updatedReplicas=1, replicas=5, availableReplicas=4),
        [],
        Health.PROGRESSING,
        "3 of 4 pods are not updated yet",
    ),
    "deployment, old pods still to go": (
        deployment(2, replicas=3),
        [],
        Health.PROGRESSING,
        "1 pod of the previous revision still runs",
    ),
    "deployment, a pod starts": (
        deployment(2, readyReplicas=1, availableReplicas=1),
        [pod("nova-api-bbb-1", NEW), pod("nova-api-bbb-2", NEW, **STARTING)],
        Health.PROGRESSING,
        "pod nova-api-bbb-2 container api runs and is not ready yet",
    ),
    "deployment, ready but not available for minReadySeconds": (
        deployment(2, availableReplicas=0),
        [],
        Health.PROGRESSING,
        "2 of 2 pods are not available yet",
    ),
    "deployment, one of two crashes": (
        deployment(2, readyReplicas=1, availableReplicas=1),
        [pod("nova-api-bbb-1", NEW), pod("nova-api-bbb-2", NEW, **crashing())],
        Health.UNHEALTHY,
        "pod nova-api-bbb-2 CrashLoopBackOff: container api ended with exit code 1",
    ),
    "deployment, all crash": (
        deployment(3, readyReplicas=0, availableReplicas=0),
        [pod(f"nova-api-bbb-{number}", NEW, **crashing()) for number in (3, 1, 2)],
        Health.UNHEALTHY,
        "pod nova-api-bbb-1 CrashLoopBackOff: container api ended with exit code 1; 2 more like it",
    ),
    "deployment, deadline exceeded": (
        deployment(
            2,
            updatedReplicas=1,
            **blocked(
                "Progressing",
                "ProgressDeadlineExceeded",
                'ReplicaSet "x" has timed out progressing.',
                "False",
            ),
        ),
        [pod("nova-api-bbb-1", NEW, **STARTING)],
        Health.UNHEALTHY,
        'ProgressDeadlineExceeded: ReplicaSet "x" has timed out progressing.; '
        "pod nova-api-bbb-1 container api runs and is not ready yet",
    ),
    "deployment, quota exceeded": (
        deployment(
            2,
            readyReplicas=0,
            availableReplicas=0,
            **blocked("ReplicaFailure", "FailedCreate", "exceeded quota: cpu", "True"),
        ),
        [],
        Health.UNHEALTHY,
        "FailedCreate: exceeded quota: cpu",
    ),
    "deployment, rollout that cures crashing pods": (
        deployment(1, replicas=2, updatedReplicas=1, readyReplicas=0, availableReplicas=0),
        [pod("nova-api-aaa-1", OLD, age=500, **crashing()), pod("nova-api-bbb-1", NEW, age=5, **STARTING)],
        Health.PROGRESSING,
        "pod nova-api-bbb-1 container api runs and is not ready yet",
    ),
    "deployment, remains of an evicted pod beside enough others": (
        deployment(1),
        [pod("nova-api-bbb-1", NEW, phase="Failed", reason="Evicted"), pod("nova-api-bbb-2", NEW)],
        Health.READY,
        "",
    ),
    "deployment, remains of an evicted pod beside one that starts": (
        deployment(1, availableReplicas=0),
        [pod("a", NEW, phase="Failed", reason="Evicted"), pod("b", NEW, **STARTING)],
        Health.PROGRESSING,
        "pod b container api runs and is not ready yet",
    ),
    "deployment, nothing but the remains of an evicted pod": (
        deployment(1, replicas=0, updatedReplicas=0, readyReplicas=0, availableReplicas=0),
        [pod("a", NEW, phase="Failed", reason="Evicted")],
        Health.UNHEALTHY,
        "pod a failed: Evicted",
    ),
    "deployment, stuck rollout, and a pod of the earlier revision made again": (
        deployment(3, replicas=4, updatedReplicas=1),
        [
            pod("nova-api-aaa-1", OLD, age=500),
            pod("nova-api-aaa-2", OLD, age=500),
            pod("nova-api-bbb-1", NEW, age=300, **crashing()),
            pod("nova-api-aaa-9", OLD, age=5),
        ],
        Health.UNHEALTHY,
        "pod nova-api-bbb-1 CrashLoopBackOff: container api ended with exit code 1",
    ),
    "deployment, stuck rollout of one pod, and the one of the earlier revision made again": (
        deployment(1, replicas=2, updatedReplicas=1),
        [pod("nova-api-bbb-1", NEW, age=300, **crashing()), pod("nova-api-aaa-9", OLD, age=90)],
        Health.UNHEALTHY,
        "pod nova-api-bbb-1 CrashLoopBackOff: container api ended with exit code 1",
    ),
    "deployment, one pod that crashes and the one that cures it": (
        deployment(1, replicas=2, updatedReplicas=1),
        [pod("nova-api-aaa-1", OLD, age=300, **crashing()), pod("nova-api-bbb-1", NEW, age=5)],
        Health.PROGRESSING,
        "1 pod of the previous revision still runs",
    ),
    "deployment, rolled back to what crashes": (
        deployment(3, replicas=4, updatedReplicas=3, readyReplicas=1, availableReplicas=1),
        [
            *(pod(f"nova-api-aaa-{number}", OLD, age=500, **crashing()) for number in (1, 2, 3)),
            pod("nova-api-bbb-1", NEW, age=300),
        ],
        Health.UNHEALTHY,
        "pod nova-api-aaa-1 CrashLoopBackOff: container api ended with exit code 1; 2 more like it",
    ),
    "deployment, a rollout begins beside the remains of an evicted pod": (
        deployment(2, updatedReplicas=0),
        [
            pod("nova-api-aaa-0", OLD, phase="Failed", reason="Evicted"),
            pod("nova-api-aaa-1", OLD),
            pod("nova-api-aaa-2", OLD),
        ],
        Health.PROGRESSING,
        "2 of 2 pods are not updated yet",
    ),
    "deployment, rolled out once and its pods not made again": (
        deployment(3, replicas=0, updatedReplicas=0, readyReplicas=0, availableReplicas=0),
        [],
        Health.PROGRESSING,
        "3 of 3 pods of Deployment nova-api do not exist",
    ),
    "deployment, rollout paused": (
        {**deployment(2, updatedReplicas=0), "spec": {"replicas": 2, "paused": True}},
        [],
        Health.PROGRESSING,
        "the rollout of Deployment nova-api is paused",
    ),
    "statefulset, all pods serve": (statefulset(), [], Health.READY, ""),
    "statefulset, rolled out down to its partition": (
        statefulset(3, {"type": "RollingUpdate", "rollingUpdate": {"partition": 2}}, updatedReplicas=1),
        [],
        Health.READY,
        "2 of 3 pods are kept at an earlier revision by partition 2",
    ),
    "statefulset, still rolling above its partition": (
        statefulset(3, {"type": "RollingUpdate", "rollingUpdate": {"partition": 1}}, updatedReplicas=1),
        [],
        Health.PROGRESSING,
        "1 of 2 pods are not updated yet",
    ),
    "statefulset, pods of an earlier revision with OnDelete": (
        statefulset(3, {"type": "OnDelete"}, updatedReplicas=0),
        [],
        Health.READY,
        "3 of 3 pods are of an earlier revision: with OnDelete, a pod is replaced only after you delete it",
    ),
    "statefulset, a pod that no node takes, a moment ago": (
        statefulset(3, readyReplicas=2, availableReplicas=2),
        [pod("mariadb-server-2", ("StatefulSet", "mariadb-server"), **NO_NODE)],
        Health.PROGRESSING,
        "pod mariadb-server-2 Unschedulable: 0/3 nodes are available",
    ),
    "statefulset, pods that nobody makes": (
        statefulset(3, replicas=1, updatedReplicas=1, availableReplicas=1, readyReplicas=1),
        [pod("mariadb-server-0", ("StatefulSet", "mariadb-server"))],
        Health.PROGRESSING,
        "2 of 3 pods of StatefulSet mariadb-server do not exist",
    ),
    "daemonset, all pods serve": (daemonset(), [], Health.READY, ""),
    "daemonset, one pod crashes": (
        daemonset(4, numberReady=3, numberAvailable=3),
        [pod("nova-compute-x", ("DaemonSet", "nova-compute"), **crashing())],
        Health.UNHEALTHY,
        "pod nova-compute-x CrashLoopBackOff: container api ended with exit code 1",
    ),
    "daemonset, the node of a pod is silent": (
        daemonset(4, numberReady=3, numberAvailable=3),
        [pod("nova-compute-x", ("DaemonSet", "nova-compute"), **unready(container_status(ready=True)))],
        Health.UNHEALTHY,
        "pod nova-compute-x the node cmp1 does not answer",
    ),
    "daemonset, outdated pods with OnDelete": (
        daemonset(4, "OnDelete", updatedNumberScheduled=1),
        [],
        Health.READY,
        "3 of 4 pods are of an earlier revision: with OnDelete, a pod is replaced only after you delete it",
    ),
    "daemonset, misscheduled pods": (
        daemonset(4, numberMisscheduled=2),
        [],
        Health.READY,
        "2 pods run on nodes that no longer match",
    ),
    "daemonset, not looked at by its controller": (
        workload("DaemonSet", {}, {}, name="nova-compute"),
        [],
        Health.PROGRESSING,
        "DaemonSet nova-compute: Kubernetes has not observed the newest spec yet",
    ),
    "job, complete": (
        job(succeeded=1, conditions=[condition("Complete", "True")]),
        [],
        Health.READY,
        "",
    ),
    "job, runs": (job(active=1), [], Health.PROGRESSING, f"Job nova-db-sync has run since {at(60)}"),
    "job, has no pod": (job(), [], Health.PROGRESSING, "Job nova-db-sync has no pod"),
    "job, has had no pod for too long": (job(age=1900), [], Health.UNHEALTHY, "Job nova-db-sync has no pod"),
    "job, runs for too long": (
        job(active=1, age=1900),
        [],
        Health.UNHEALTHY,
        f"Job nova-db-sync has run since {at(1900)}",
    ),
    "job, its pod crashes in place": (
        job(active=1),
        [pod("nova-db-sync-x", ("Job", "nova-db-sync"), **crashing())],
        Health.UNHEALTHY,
        "pod nova-db-sync-x CrashLoopBackOff: container api ended with exit code 1",
    ),
    "job, failed and tried again": (
        job(active=1, failed=1),
        [
            pod(
                "nova-db-sync-x",
                ("Job", "nova-db-sync"),
                phase="Failed",
                containerStatuses=[container_status(state={"terminated": ended(3)})],
            )
        ],
        Health.UNHEALTHY,
        "Job nova-db-sync failed and is tried again; pod nova-db-sync-x failed: ended with exit code 3",
    ),
    "job, its newest pod starts after earlier ones failed": (
        job(active=1, failed=1),
        [
            pod("a", ("Job", "nova-db-sync"), age=90, phase="Failed", reason="Evicted"),
            pod("b", ("Job", "nova-db-sync"), age=5, **STARTING),
        ],
        Health.UNHEALTHY,
        "Job nova-db-sync failed and is tried again; pod a failed: Evicted",
    ),
    "job, given up, its pods gone with it": (
        job(failed=1, conditions=[condition("Failed", "True", "BackoffLimitExceeded", "Job has reached it")]),
        [],
        Health.UNHEALTHY,
        "Job nova-db-sync: BackoffLimitExceeded: Job has reached it",
    ),
    "job, given up": (
        job(
            failed=7,
            conditions=[
                condition("Failed", "True", "BackoffLimitExceeded", "Job has reached the backoff limit")
            ],
        ),
        [],
        Health.UNHEALTHY,
        "Job nova-db-sync: BackoffLimitExceeded: Job has reached the backoff limit",
    ),
}


@pytest.mark.parametrize("case", VERDICTS)
def test_a_workload_is_judged(case: str) -> None:
    obj, pods, health, text = VERDICTS[case]
    verdict = judge(obj, *pods)
    assert (verdict.health, verdict.text) == (health, text)


def test_ready_and_desired_are_counted() -> None:
    verdict = judge(daemonset(4, numberReady=3, numberAvailable=3))
    assert (verdict.ready, verdict.desired) == (3, 4)


def test_what_a_crashed_container_said_is_passed_on_apart() -> None:
    verdict = judge(deployment(1, availableReplicas=0), pod("p", NEW, **crashing("no such filter")))
    assert verdict.output == "no such filter"
    assert verdict.silent is None


def test_a_container_that_died_without_a_word_is_named() -> None:
    verdict = judge(deployment(1, availableReplicas=0), pod("p", NEW, **crashing("")))
    assert verdict.silent == ("p", "api")


@pytest.mark.parametrize(
    ("obj", "pods"),
    [
        (daemonset(2, currentNumberScheduled=1, numberAvailable=1), []),
        (job(), []),
    ],
    ids=["DaemonSet", "Job"],
)
def test_a_workload_without_pods_is_named(obj: dict[str, Any], pods: list[dict[str, Any]]) -> None:
    assert judge(obj, *pods).lacking == (obj["kind"], obj["metadata"]["name"])


def test_a_pod_that_shows_why_it_does_not_serve_comes_before_those_that_do_not_exist() -> None:
    """An ordered StatefulSet makes a pod only when the one before it serves."""
    verdict = judge(
        statefulset(3, replicas=1, availableReplicas=0, readyReplicas=0),
        pod("mariadb-server-0", ("StatefulSet", "mariadb-server"), **STARTING),
    )
    assert verdict.lacking is None
    assert "mariadb-server-0" in verdict.text


def test_a_crash_that_is_over_is_waited_for_as_any_start_and_no_longer() -> None:
    state = {"running": {"startedAt": at(10)}}
    status = unready(container_status(state=state, restarts=1, last=ended(1)))
    obj, crashed = deployment(1, availableReplicas=0), pod("p", NEW, **status)
    assert "CrashLoopBackOff" in judge(obj, crashed).text
    late = judge(obj, crashed, now=NOW + 595)
    assert (late.health, late.text) == (
        Health.UNHEALTHY,
        "pod p container api runs and is not ready yet",
    )


def test_an_unschedulable_pod_is_a_failure_after_the_grace() -> None:
    pods = pod("p", NEW, **NO_NODE)
    short = judge(deployment(1, availableReplicas=0), pods, now=NOW)
    long = judge(deployment(1, availableReplicas=0), pods, now=NOW + 30)
    assert (short.health, long.health) == (Health.PROGRESSING, Health.UNHEALTHY)


def test_a_daemonset_pod_that_never_becomes_ready_is_a_failure_in_the_end() -> None:
    pods = pod("p", ("DaemonSet", "nova-compute"), **STARTING)
    obj = daemonset(1, numberReady=0, numberAvailable=0)
    assert judge(obj, pods, now=NOW + 500).health == Health.PROGRESSING
    assert judge(obj, pods, now=NOW + 601).health == Health.UNHEALTHY


LOST: dict[str, Any] = unready(container_status(ready=True))


@pytest.mark.parametrize("nodes", [3, 0])
def test_a_daemonset_misses_its_pods_on_lost_nodes(nodes: int) -> None:
    """Its controller counts the nodes that are left, and the pods on lost ones as misscheduled."""
    compute = daemonset(nodes, numberMisscheduled=1)
    verdict = judge(compute, pod("nova-compute-1", ("DaemonSet", "nova-compute"), **LOST))
    assert verdict.health == Health.UNHEALTHY
    assert (verdict.ready, verdict.desired) == (nodes, nodes + 1)
    assert verdict.text == "pod nova-compute-1 the node cmp1 does not answer"


def test_a_pod_on_a_node_that_no_longer_fits_is_only_reported() -> None:
    compute = daemonset(3, numberMisscheduled=1)
    verdict = judge(compute, pod("nova-compute-1", ("DaemonSet", "nova-compute")))
    assert (verdict.health, verdict.desired) == (Health.READY, 3)
    assert verdict.text == "1 pod runs on nodes that no longer match"


def test_a_pod_stuck_in_its_removal_is_reported_in_the_end() -> None:
    stuck = pod("p", ("StatefulSet", "mariadb-server"), meta={"deletionTimestamp": at(0)})
    obj = statefulset(1, readyReplicas=0, availableReplicas=0)
    assert judge(obj, stuck).health == Health.PROGRESSING
    verdict = judge(obj, stuck, now=NOW + 61)
    assert (verdict.health, verdict.text) == (Health.UNHEALTHY, "pod p is being removed")


def test_an_unbound_claim_is_the_cause_before_the_schedulers_words() -> None:
    volumes = [
        {"name": str(index), "persistentVolumeClaim": {"claimName": name}}
        for index, name in enumerate(("bound", "pending", "absent"))
    ]
    waits = pod("p", NEW, spec={"volumes": volumes, "nodeName": None}, **NO_NODE)
    claims = {
        "bound": VolumeClaim("bound", "Bound", "fast"),
        "pending": VolumeClaim("pending", "Pending", "fast"),
    }
    verdict = judge(deployment(1, availableReplicas=0), waits, claims=claims)
    assert verdict.text == (
        "pod p waits for its volumes: claim absent does not exist, "
        'claim pending is Pending (storage class "fast"); Unschedulable: 0/3 nodes are available'
    )


def test_a_claim_that_is_deleted_under_a_serving_pod_is_reported_before_its_data_are_gone() -> None:
    volumes = [{"name": "images", "persistentVolumeClaim": {"claimName": "images"}}]
    claims = {"images": VolumeClaim("images", "Bound", "fast", deleting=True)}
    serves = pod("p", NEW, spec={"volumes": volumes})
    verdict = judge(deployment(1), serves, claims=claims)
    assert (verdict.health, verdict.ready) == (Health.UNHEALTHY, 1)
    assert verdict.text.startswith("claim images is being deleted: the data are lost when pod p ends")


def test_a_claim_that_goes_with_its_pod_is_no_loss() -> None:
    volumes = [{"name": "data", "persistentVolumeClaim": {"claimName": "data-1"}}]
    claims = {"data-1": VolumeClaim("data-1", "Bound", "fast", deleting=True)}
    leaves = pod("p-1", NEW, spec={"volumes": volumes}, meta={"deletionTimestamp": at(0)})
    assert judge(deployment(1), pod("p-0", NEW), leaves, claims=claims).health == Health.READY


def test_a_waiting_pod_names_only_what_is_not_met() -> None:
    init = {
        "name": "init",
        "image": "entrypoint",
        "env": [{"name": "DEPENDENCY_JOBS", "value": "nova-db-sync,nova-ks-user"}],
    }
    status: dict[str, Any] = {
        **unready(),
        "phase": "Pending",
        "initContainerStatuses": [container_status("init")],
    }
    waits = pod("p", NEW, spec={"initContainers": [init]}, **status)
    verdict = judge(deployment(1, availableReplicas=0), waits, met=frozenset({"Job/nova-db-sync"}))
    assert verdict.health == Health.PROGRESSING
    assert verdict.text == "pod p is in init container init: the pod waits for Job/nova-ks-user"


def test_the_cause_that_shows_most_is_shown_first() -> None:
    pods = [
        pod("a", NEW, **STARTING),
        pod("b", NEW, **crashing()),
        pod("c", NEW, **unready(container_status(state=waiting("ImagePullBackOff")))),
    ]
    assert judge(deployment(3, availableReplicas=0), *pods).text.startswith("pod c ImagePullBackOff")


def test_the_message_is_the_same_while_restarts_are_counted() -> None:
    verdicts = {
        judge(deployment(1, availableReplicas=0), pod("p", NEW, **crashing(restarts=count)))
        for count in (1, 9)
    }
    assert len(verdicts) == 1


@pytest.mark.parametrize(
    "obj",
    [
        deployment(0),
        daemonset(0),
        job(spec={"suspend": True}),
        workload("Deployment", {"replicas": 2}, {}, deletionTimestamp=at(1)),
    ],
    ids=["scaled to zero", "no node fits", "suspended", "being deleted"],
)
def test_what_is_switched_off_does_not_count(obj: dict[str, Any]) -> None:
    facts = parse_workload(obj)
    assert facts is not None
    assert facts.off


def test_the_release_of_a_hook_is_reported_by_a_label_of_its_pods() -> None:
    hook = job()
    hook["metadata"]["annotations"] = {"helm.sh/hook": "post-install,post-upgrade"}
    hook["metadata"]["labels"] = {}
    hook["spec"]["template"]["metadata"]["labels"] = {"release_group": "nova", "component": "db-sync"}
    facts = parse_workload(hook)
    assert facts is not None
    assert (facts.release, facts.component, facts.hook) == ("nova", "db-sync", True)


@pytest.mark.parametrize("event", ["test", "pre-delete", "post-delete"])
def test_a_hook_that_is_no_part_of_a_running_release_does_not_concern_us(event: str) -> None:
    hook = job()
    hook["metadata"]["annotations"] = {"helm.sh/hook": event}
    assert parse_workload(hook) is None


def test_a_workload_of_no_release_does_not_concern_us() -> None:
    assert parse_workload(workload("Deployment", {}, {}, annotations={})) is None


def test_a_workload_of_another_namespaces_release_does_not_concern_us() -> None:
    foreign = deployment()
    foreign["metadata"]["annotations"]["meta.helm.sh/release-namespace"] = "elsewhere"
    assert parse_workload(foreign) is None


def test_a_job_of_a_cronjob_is_known_by_the_labels_of_its_template() -> None:
    owner = {"apiVersion": "batch/v1", "kind": "CronJob", "name": "purge", "uid": "x", "controller": True}
    labels = {"release_group": "heat", "component": "purge-deleted"}
    facts = parse_workload(workload("Job", {}, {}, ownerReferences=[owner], labels=labels, annotations={}))
    assert facts is not None
    assert (facts.release, facts.component, facts.cron) == ("heat", "purge-deleted", "purge")


def test_a_job_of_another_controller_does_not_concern_us() -> None:
    owner = {"apiVersion": "x/v1", "kind": "JobSet", "name": "purge", "uid": "x", "controller": True}
    assert parse_workload(workload("Job", {}, {}, ownerReferences=[owner])) is None


@pytest.mark.parametrize(("deadline", "health"), [(600, Health.PROGRESSING), (40, Health.UNHEALTHY)])
def test_a_pod_that_does_not_get_on_is_a_failure_after_the_progress_deadline(
    deadline: float, health: Health
) -> None:
    broken = statefulset(1, readyReplicas=0, availableReplicas=0)
    slow = pod("mariadb-server-0", ("StatefulSet", "mariadb-server"), **STARTING)
    facts, one = parse_workload(broken), parse_pod(slow)
    assert facts is not None and one is not None
    around = Surroundings({}, frozenset(), NOW, progress_deadline=deadline)
    assert judge_workload(facts, [one], around).health == health
