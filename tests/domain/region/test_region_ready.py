"""Ready names the cause, not what waits for it."""

from __future__ import annotations

from dataclasses import replace

from controller.domain.api.conditions import Condition
from controller.domain.api.reasons import Reason
from controller.domain.region.facts import RegionFacts, SilentContainers
from controller.domain.region.progress import RegionProgress
from controller.domain.region.status.ready import ready_condition

WAITS = "keystone: waits for its hook, Job keystone-db-init"
CRASHES = "rabbitmq server 0/1: pod rabbitmq-server-0 CrashLoopBackOff"


def ready(health: Reason, *, silent: str = "") -> Condition:
    """Ready of a region one of whose releases waits for its hook, and whose workloads are as health says."""
    said = [
        {"type": "ReleasesReady", "status": "False", "reason": "ReleasesPending", "message": WAITS},
        {"type": "WorkloadsHealthy", "status": "False", "reason": str(health), "message": CRASHES},
    ]
    facts = RegionFacts(
        name="region-one",
        generation=1,
        version="1",
        openstack_version="2026.1",
        fingerprint="f",
        containers=("core", "helmbundle", "health"),
        before={"conditions": said},
        bundles=(),
        silence=SilentContainers(frozenset({silent} - {""})),
    )
    return ready_condition(facts, RegionProgress(done=1, total=10, current=True))


def test_what_fails_is_reported_before_the_job_that_waits_for_it() -> None:
    reported = ready(Reason.WORKLOADS_FAILING)
    assert reported.reason == Reason.WORKLOADS_FAILING
    assert reported.message == f"{CRASHES}; meanwhile: {WAITS}"


def test_while_nothing_fails_the_job_is_reported() -> None:
    reported = ready(Reason.WORKLOADS_PROGRESSING)
    assert (reported.reason, reported.message) == (Reason.RELEASES_PENDING, WAITS)


def test_what_health_said_before_it_fell_silent_is_no_cause() -> None:
    reported = ready(Reason.WORKLOADS_FAILING, silent="health")
    assert reported.reason == Reason.RELEASES_PENDING and reported.message.startswith(WAITS)


def test_a_region_whose_compute_no_one_can_see_says_so_in_ready() -> None:
    said = [
        {"type": type_, "status": "True", "reason": "Fine", "observedGeneration": 1}
        for type_ in ("ReleasesReady", "NodesReady")
    ]
    silent = {"state": "Ready", "reason": "CloudUnknown", "message": "no answer from https://nova"}
    facts = RegionFacts(
        name="region-one",
        generation=1,
        version="1",
        openstack_version="2026.1",
        fingerprint="f",
        containers=("core", "helmbundle", "node"),
        before={"conditions": said, "nodes": {"cmp1": silent, "ctl1": {"state": "Ready"}}},
        bundles=(),
    )
    progress = RegionProgress(done=1, total=1, current=True)
    reported = ready_condition(facts, progress)
    assert reported.status == "True"
    assert reported.message == (
        "1 release deployed; the state of 1 compute host is not known: no answer from https://nova"
    )
    heard = replace(facts, before={"conditions": said, "nodes": {"cmp1": {**silent, "reason": "InService"}}})
    assert ready_condition(heard, progress).message == "1 release deployed"
