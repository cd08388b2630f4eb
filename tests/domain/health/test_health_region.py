"""Components named without collisions, their entries in the status, and the condition of the region."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import pytest

from controller.domain.api.conditions import Condition
from controller.domain.api.names import MANAGED_BY, MANAGED_BY_US
from controller.domain.api.reasons import Reason
from controller.domain.health.region_health import (
    ComponentHealth,
    Facts,
    Release,
    health_entries,
    judge_components,
    name_components,
    workloads_condition,
)
from controller.domain.health.workload_health import Health, WorkloadHealth
from controller.domain.health.workloads import Manifest, Rollout, Workload, parse_manifest, parse_workload
from controller.domain.releases.bundle_facts import bundle_mark, marks_digest, parse_bundle
from tests.domain.health_objects import NOW, at, condition, deployment, job, workload

DEPLOYED = {"nova": Release("nova", deployed=True, revision=1)}


def named(kind: str, name: str, component: str, release: str = "nova") -> Workload:
    return Workload(kind, name, release, component, Rollout(1))


def keys(*workloads: Workload) -> dict[tuple[str, str], list[str]]:
    return {key: [one.name for one in group] for key, group in name_components(workloads).items()}


def test_a_component_goes_by_its_label() -> None:
    assert keys(named("Deployment", "nova-api-osapi", "os-api")) == {("nova", "os-api"): ["nova-api-osapi"]}


def test_the_same_component_of_two_releases_is_two() -> None:
    both = (named("Deployment", "nova-api", "api"), named("Deployment", "glance-api", "api", "glance"))
    assert keys(*both) == {("nova", "api"): ["nova-api"], ("glance", "api"): ["glance-api"]}


def test_daemonsets_for_different_nodes_are_one_component() -> None:
    variants = (
        named("DaemonSet", "nova-compute-default", "compute"),
        named("DaemonSet", "nova-compute-x", "compute"),
    )
    assert keys(*variants) == {("nova", "compute"): ["nova-compute-default", "nova-compute-x"]}


def test_others_that_share_a_component_go_by_their_own_names() -> None:
    both = (named("Deployment", "nova-api", "api"), named("Job", "nova-api-warm-up", "api"))
    assert set(keys(*both)) == {("nova", "nova-api"), ("nova", "nova-api-warm-up")}


def test_names_that_are_taken_as_well_are_distinguished_by_kind() -> None:
    crowd = (
        named("Deployment", "nova", "api"),
        named("Job", "nova", "api"),
        named("StatefulSet", "other", "nova"),
    )
    assert set(keys(*crowd)) == {("nova", "Deployment/nova"), ("nova", "Job/nova"), ("nova", "nova")}


def test_an_objects_name_that_is_anothers_component_is_not_taken_from_it() -> None:
    crowd = (
        named("Deployment", "nova", "api"),
        named("Job", "nova-warm-up", "api"),
        named("StatefulSet", "other", "nova"),
    )
    assert keys(*crowd) == {
        ("nova", "Deployment/nova"): ["nova"],
        ("nova", "nova-warm-up"): ["nova-warm-up"],
        ("nova", "nova"): ["other"],
    }


def test_objects_of_one_name_and_component_are_distinguished_by_kind() -> None:
    both = (named("Deployment", "nova", "api"), named("Job", "nova", "api"))
    assert set(keys(*both)) == {("nova", "Deployment/nova"), ("nova", "Job/nova")}


def judged(health: Health = Health.READY, text: str = "", **more: Any) -> ComponentHealth:
    return ComponentHealth(WorkloadHealth(health, 1, 2, text, **more), revision=1)


def entry(
    component: ComponentHealth,
    before: dict[str, Any] | None = None,
    now: float = NOW,
    redact_output: Callable[[str], str] = lambda text: text.replace("hunter2", "[x]"),
) -> dict[str, Any]:
    known = {"nova": {"api": before}} if before else {}

    def redact(text: str) -> str:
        return text.replace("hunter2", "[x]")

    shown = health_entries({("nova", "api"): component}, known, now, redact, redact_output)
    found: dict[str, Any] = shown["nova"]["api"]
    return found


def test_what_a_container_says_is_redacted_by_itself_and_the_clusters_word_is_not_its_own() -> None:
    crashed = WorkloadHealth(Health.UNHEALTHY, 0, 1, "crashes", output="words")
    refused = replace(crashed, lacking=("DaemonSet", "nova-compute"))
    messages = [
        entry(ComponentHealth(one, 1), redact_output=lambda _: "not shown")["message"]
        for one in (crashed, refused)
    ]
    assert messages == ['crashes: "not shown"', 'crashes: "words"']


def test_an_entry_has_counts_and_says_since_when() -> None:
    assert entry(judged()) == {"status": "Ready", "ready": 1, "desired": 2, "since": at(0)}


def test_since_stays_while_the_status_does() -> None:
    before = {"status": "Unhealthy", "since": at(900), "message": "another cause"}
    assert entry(judged(Health.UNHEALTHY, "a cause"), before)["since"] == at(900)
    assert entry(judged(Health.READY), before)["since"] == at(0)


@pytest.mark.parametrize("output", ["", "last words"])
def test_a_text_is_cut_only_after_it_was_redacted(output: str) -> None:
    for length in range(570, 1010):
        shown = entry(judged(Health.UNHEALTHY, "x" * length + "hunter2" + "y" * 900, output=output))
        assert "hunt" not in shown["message"]
        assert len(shown["message"]) <= 1000


def test_what_a_container_said_is_quoted_on_one_line_and_redacted() -> None:
    shown = entry(judged(Health.UNHEALTHY, "pod x ended", output="Traceback\n  login hunter2 refused\n"))
    assert shown["message"] == 'pod x ended: "Traceback login [x] refused"'


def test_of_a_long_output_the_end_is_shown_and_no_half_of_a_secret() -> None:
    output = "hunter2 " + "x" * 399
    shown = entry(judged(Health.UNHEALTHY, "pod x ended", output=output))
    assert "hunter" not in shown["message"]
    assert shown["message"].endswith('x"')


def test_what_was_said_stays_while_it_is_read_again() -> None:
    silent = judged(Health.UNHEALTHY, "pod x crashes", silent=("x", "api"))
    reported = entry(judged(Health.UNHEALTHY, "pod x crashes", output="no such filter"))
    awaited = judged(Health.UNHEALTHY, "pod x crashes", silent=("x", "api"), awaited=True)
    assert entry(awaited, reported)["message"] == reported["message"]
    assert entry(awaited)["message"] == "pod x crashes"
    assert entry(silent, reported)["message"] == "pod x crashes"
    other = judged(Health.UNHEALTHY, "pod y crashes", awaited=True)
    assert entry(other, reported)["message"] == "pod y crashes"


def test_what_a_pod_of_a_job_said_stays_when_the_job_gives_up_and_takes_it_away() -> None:
    tried = entry(judged(Health.UNHEALTHY, "pod sync-x1 CrashLoopBackOff: exit code 1", output="no such db"))
    gone = judged(Health.UNHEALTHY, "Job sync: BackoffLimitExceeded", bereft="pod sync-")
    reported = entry(gone, tried)
    assert reported["message"] == (
        'Job sync: BackoffLimitExceeded; pod sync-x1 CrashLoopBackOff: exit code 1: "no such db"'
    )
    assert entry(gone, reported)["message"] == reported["message"]
    assert entry(gone)["message"] == "Job sync: BackoffLimitExceeded"


def test_however_much_a_pod_said_the_message_has_an_end() -> None:
    tried = {"status": "Unhealthy", "message": f"pod sync-x1 {'long ' * 400}"}
    reported = entry(judged(Health.UNHEALTHY, "Job sync: BackoffLimitExceeded", bereft="pod sync-"), tried)
    assert reported["message"].startswith("Job sync: BackoffLimitExceeded; pod sync-x1 long")
    assert len(reported["message"]) <= 1000


HEALTHY = {"nova": {"api": {"status": "Ready", "ready": 2, "desired": 2}}}
STARTS = {"nova": {"api": {"status": "Progressing", "ready": 1, "desired": 2, "message": "a pod starts"}}}
BROKEN = {
    **STARTS,
    "rabbitmq": {
        "server": {"status": "Unhealthy", "ready": 0, "desired": 1, "message": "pod x CrashLoopBackOff"}
    },
}


def sum_up(health: dict[str, Any], *, deployed: bool = True, before: str = "Unknown") -> Condition:
    releases = {"nova": Release("nova", deployed=deployed)}
    return workloads_condition(health, releases, [condition("WorkloadsHealthy", before)], 7)


def test_true_when_every_component_is_ready() -> None:
    reported = sum_up(HEALTHY)
    assert (reported.status, reported.reason, reported.message) == (
        "True",
        Reason.WORKLOADS_HEALTHY,
        "1 component is ready",
    )
    assert reported.generation == 7


def test_unknown_before_the_first_release_is_deployed() -> None:
    reported = sum_up(BROKEN, deployed=False)
    assert (reported.status, reported.reason) == ("Unknown", Reason.INITIALIZING)
    assert reported.message.startswith(
        "no release is deployed yet; rabbitmq server 0/1: pod x CrashLoopBackOff"
    )


def test_judged_for_good_once_it_was_judged() -> None:
    assert sum_up(HEALTHY, deployed=False, before="False").status == "True"


def test_progress_and_failure_are_distinguished_and_the_failure_comes_first() -> None:
    assert (sum_up(STARTS).status, sum_up(STARTS).reason) == ("False", Reason.WORKLOADS_PROGRESSING)
    reported = sum_up(BROKEN)
    assert (reported.status, reported.reason) == ("False", Reason.WORKLOADS_FAILING)
    assert reported.message == "rabbitmq server 0/1: pod x CrashLoopBackOff; nova api 1/2: a pod starts"


def test_an_unknown_component_is_no_health() -> None:
    unknown = {"nova": {"api": {"status": "Unknown", "ready": 1, "desired": 1}}}
    assert (sum_up(unknown).status, sum_up(unknown).reason) == ("False", Reason.WORKLOADS_FAILING)


def test_only_a_few_are_listed() -> None:
    many = {"nova": {f"c{number}": BROKEN["rabbitmq"]["server"] for number in range(9)}}
    assert sum_up(many).message.endswith("; and 6 more")


def facts(*objects: dict[str, Any], manifests: dict[str, Manifest] | None = None) -> Facts:
    workloads = [found for found in map(parse_workload, objects) if found is not None]
    return Facts(DEPLOYED, workloads, {}, {}, NOW, manifests or {})


def test_variants_of_a_component_add_up_and_the_worst_speaks() -> None:
    labels = {"component": "compute"}
    status = {"observedGeneration": 2, "desiredNumberScheduled": 3, "updatedNumberScheduled": 3}
    good = {**status, "numberReady": 3, "numberAvailable": 3}
    bad = {**status, "numberReady": 1, "numberAvailable": 1}
    components = judge_components(
        facts(
            workload("DaemonSet", {}, good, name="nova-compute-default", labels=labels),
            workload("DaemonSet", {}, bad, name="nova-compute-x", labels=labels),
        )
    )
    verdict = components["nova", "compute"].verdict
    assert (verdict.health, verdict.ready, verdict.desired) == (Health.PROGRESSING, 4, 6)


NOWHERE = {"observedGeneration": 2, "desiredNumberScheduled": 0}
COMPUTES = {"template": {"spec": {"nodeSelector": {"openstack-compute-node": "enabled"}}}}
NO_NODE = (
    "no node matches it (the pod needs the label openstack-compute-node=enabled, and tolerates "
    "no other taints)"
)


def test_a_daemonset_without_a_node_is_reported_and_fails_nothing() -> None:
    components = judge_components(facts(workload("DaemonSet", COMPUTES, NOWHERE, name="nova-compute")))
    (verdict,) = (one.verdict for one in components.values())
    assert (verdict.health, verdict.ready, verdict.desired) == (Health.READY, 0, 0)
    assert verdict.text == NO_NODE


def test_a_variant_without_a_node_is_no_matter_while_another_has_some() -> None:
    labels = {"component": "compute"}
    status = {**NOWHERE, "desiredNumberScheduled": 1, "updatedNumberScheduled": 1}
    there = {**status, "numberReady": 1, "numberAvailable": 1}
    components = judge_components(
        facts(
            workload("DaemonSet", COMPUTES, NOWHERE, name="nova-compute-default", labels=labels),
            workload("DaemonSet", COMPUTES, there, name="nova-compute-x", labels=labels),
        )
    )
    assert components["nova", "compute"].verdict.text == ""


def test_a_daemonset_that_a_chart_parks_is_no_component() -> None:
    """One without a label to look for runs on every node: that none is left is reported as a node's loss."""
    assert judge_components(facts(workload("DaemonSet", {}, NOWHERE, name="nova-compute"))) == {}


def test_the_condition_names_what_has_no_node() -> None:
    compute = {"status": "Ready", "ready": 0, "desired": 0, "message": NO_NODE}
    found = sum_up({"nova": {**HEALTHY["nova"], "compute": compute}})
    assert found.status == "True"
    assert found.message == f"2 components are ready; nova compute 0/0: {NO_NODE}"


def test_workloads_of_other_releases_do_not_count() -> None:
    foreign = deployment()
    foreign["metadata"]["annotations"]["meta.helm.sh/release-name"] = "prometheus"
    assert judge_components(facts(foreign)) == {}


def rendered(kind: str, name: str, **spec: Any) -> dict[str, Any]:
    return {"apiVersion": "apps/v1", "kind": kind, "metadata": {"name": name}, "spec": spec}


def test_an_unseen_object_of_a_deployed_release_is_missing() -> None:
    objects = [
        rendered("Deployment", "nova-api", replicas=2),
        rendered("Deployment", "nova-scheduler", replicas=3),
    ]
    manifest = parse_manifest("nova", "openstack", objects, [])
    verdict = judge_components(facts(deployment(), manifests={"nova": manifest}))[
        "nova", "nova-scheduler"
    ].verdict
    assert (verdict.health, verdict.ready, verdict.desired) == (Health.UNHEALTHY, 0, 3)
    assert verdict.text == "Deployment nova-scheduler does not exist, but release nova contains it"


def test_what_is_rendered_with_no_pods_or_for_elsewhere_is_not_missed() -> None:
    elsewhere = rendered("Deployment", "nova-api")
    elsewhere["metadata"]["namespace"] = "kube-system"
    objects = [rendered("Deployment", "nova-spice", replicas=0), elsewhere, rendered("ConfigMap", "nova-bin")]
    assert parse_manifest("nova", "openstack", objects, []).workloads == ()


def test_what_has_no_name_in_a_manifest_is_not_missed() -> None:
    nameless = rendered("Deployment", "nova-api")
    nameless["metadata"] = {"generateName": "nova-"}
    hooks = [{"kind": "Job", "metadata": {"generateName": "nova-db-sync-"}}]
    manifest = parse_manifest("nova", "openstack", [nameless], hooks)
    assert (manifest.workloads, manifest.hook_jobs) == ((), frozenset())


def test_a_daemonset_is_missed_although_its_pods_cannot_be_counted() -> None:
    manifest = parse_manifest("nova", "openstack", [rendered("DaemonSet", "nova-compute")], [])
    verdict = judge_components(facts(manifests={"nova": manifest}))["nova", "nova-compute"].verdict
    assert (verdict.health, verdict.desired) == (Health.UNHEALTHY, 1)


@pytest.mark.parametrize(
    ("hooks", "counts"), [([], False), ([{"kind": "Job", "metadata": {"name": "nova-db-sync"}}], True)]
)
def test_a_hook_counts_while_the_deployed_revision_has_it(hooks: list[dict[str, Any]], counts: bool) -> None:
    hook = job()
    hook["metadata"]["annotations"] = {"helm.sh/hook": "post-install"}
    manifest = parse_manifest("nova", "openstack", [], hooks)
    assert bool(judge_components(facts(hook, manifests={"nova": manifest}))) is counts


def bundle(**status: Any) -> dict[str, Any]:
    values = {"password": {"$secretRef": {"name": "compute-credentials", "key": "database-password"}}}
    return {
        "metadata": {"name": "compute", "generation": 3, "labels": {"osctl.dev/deployment": "region-one"}},
        "spec": {"releases": [{"name": "nova", "chart": {}, "values": values}]},
        "status": {
            "observedGeneration": 3,
            "conditions": [condition("Ready", "True")],
            "releases": [{"name": "nova", "state": "Deployed", "revision": 4}],
            **status,
        },
    }


def test_a_bundle_shows_its_releases_and_the_secrets_of_their_values() -> None:
    found = parse_bundle(bundle())
    assert found is not None
    assert found.releases == (Release("nova", deployed=True, revision=4),)
    assert found.settled
    assert found.secrets == {"compute-credentials"}


@pytest.mark.parametrize(
    "status",
    [{"observedGeneration": 2}, {"releases": [{"name": "nova", "state": "Upgrading", "revision": 4}]}],
)
def test_a_release_on_its_way_is_not_deployed(status: dict[str, Any]) -> None:
    found = parse_bundle(bundle(**status))
    assert found is not None
    assert not found.releases[0].deployed


def test_a_bundle_whose_status_is_about_an_older_spec_is_not_settled() -> None:
    found = parse_bundle(bundle(observedGeneration=2))
    assert found is not None
    assert not found.settled


def test_a_bundle_that_goes_or_stands_alone_is_not_the_regions() -> None:
    going, alone = bundle(), bundle()
    going["metadata"]["deletionTimestamp"] = at(1)
    alone["metadata"]["labels"] = {}
    assert (parse_bundle(going), parse_bundle(alone)) == (None, None)


def marked(*, labels: Mapping[str, str] | None = None, **meta: Any) -> dict[str, Any]:
    obj = bundle()
    obj["metadata"] |= {"uid": "one", **meta}
    obj["metadata"]["labels"] |= {MANAGED_BY: MANAGED_BY_US, **(labels or {})}
    return obj


def test_the_mark_of_a_bundle_moves_with_its_spec_and_with_every_revision() -> None:
    upgraded = marked()
    upgraded["status"]["releases"][0]["revision"] = 5
    others = [marked(generation=4), marked(uid="two"), upgraded]
    assert len({bundle_mark(obj) for obj in (marked(), *others)}) == 4


def test_the_mark_of_a_bundle_stays_while_its_releases_are_at_work() -> None:
    working = marked()
    working["status"]["releases"][0] |= {"state": "Upgrading", "message": "its hooks run"}
    assert bundle_mark(working) == bundle_mark(marked())


def test_bundles_that_go_or_are_anothers_have_no_mark() -> None:
    assert bundle_mark(marked(deletionTimestamp=at(1))) == ""
    assert bundle_mark(marked(labels={MANAGED_BY: "somebody"})) == ""
    assert marks_digest([bundle_mark(marked()), ""]) == marks_digest([bundle_mark(marked())])


def test_a_job_with_another_uid_is_another_run() -> None:
    def revision(uid: str) -> object:
        job = workload("Job", {}, {"succeeded": 1}, name="nova-db-sync")
        job["metadata"]["uid"] = uid
        (found,) = judge_components(facts(job)).values()
        return found.revision

    assert revision("one") != revision("two")
    assert revision("one") == revision("one")
