"""What services say of themselves, as components: enabled ones that are up, endpoints that answer."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from controller.domain.health.pods import parse_pod
from controller.domain.health.probes import (
    FIRST_ANSWER_WITHIN,
    EndpointAnswer,
    Probe,
    Releases,
    ServiceEndpoint,
    endpoint_error,
    judge_agents,
    judge_compute_services,
    judge_endpoints,
    judge_volume_services,
    new_probe,
    probed,
)
from controller.domain.health.region_health import Facts, Release
from controller.domain.health.workload_health import PROGRESS_DEADLINE, Health, WorkloadHealth
from controller.domain.health.workloads import Manifest, parse_workload
from controller.domain.shared.cloud_facts import Agent, ComputeService, ControlService, VolumeService
from tests.domain.health_objects import (
    NOW,
    at,
    container_status,
    daemonset,
    deployment,
    pod,
    statefulset,
    unready,
)

GOOD = WorkloadHealth(Health.READY, 3, 3)
STALE = 2 * FIRST_ANSWER_WITHIN


def compute(host: str, *, enabled: bool = True, up: bool = True) -> ComputeService:
    return ComputeService(id=host, host=host, enabled=enabled, up=up)


CONTROL = [
    ControlService("nova-conductor", "nova-conductor-1", enabled=True, up=True),
    ControlService("nova-conductor", "nova-conductor-0", enabled=True, up=False),
    ControlService("nova-scheduler", "nova-scheduler-1", enabled=True, up=True),
]


def test_without_a_scheduler_or_a_conductor_that_is_up_no_server_can_be_made() -> None:
    verdict = judge_compute_services([compute("cmp1")], CONTROL[1:], 1)
    assert (verdict.health, verdict.text) == (
        Health.UNHEALTHY,
        "no server can be created or moved: no nova-conductor is up",
    )
    begins = judge_compute_services([compute("cmp1")], CONTROL[:1], 1)
    assert (begins.health, begins.text) == (
        Health.PROGRESSING,
        "no server can be created or moved: no nova-scheduler is up",
    )


def test_what_a_replaced_conductor_left_behind_does_not_count() -> None:
    assert judge_compute_services([compute("cmp1")], CONTROL, 1).health == Health.READY


def test_a_compute_service_that_is_down_is_named() -> None:
    verdict = judge_compute_services([compute("cmp1"), compute("cmp2", up=False)], CONTROL, 2)
    assert (verdict.health, verdict.ready, verdict.desired) == (Health.UNHEALTHY, 1, 2)
    assert verdict.text == "1 of 2 compute services down: cmp2"


def test_one_that_others_disabled_does_not_count() -> None:
    verdict = judge_compute_services([compute("cmp1"), compute("cmp2", enabled=False, up=False)], CONTROL, 2)
    assert (verdict.health, verdict.ready, verdict.desired) == (Health.READY, 1, 1)


def test_of_many_a_few_are_named() -> None:
    verdict = judge_compute_services((compute(f"cmp{number}", up=False) for number in range(9)), CONTROL, 9)
    assert verdict.text == "9 of 9 compute services down: cmp0, cmp1, cmp2, cmp3, cmp4 and 4 more"


def test_an_agent_is_named_with_its_kind() -> None:
    agents = [Agent("1", "net1", "L3 agent", alive=False), Agent("2", "net1", "DHCP agent", alive=True)]
    assert judge_agents(agents, 2).text == "1 of 2 network agents down: L3 agent on net1"


def test_volume_services_that_are_down_are_named() -> None:
    services = [VolumeService("cinder-volume", "ctl1@ceph", enabled=True, up=False)]
    assert judge_volume_services(services, 1).text == "1 of 1 volume services down: cinder-volume ctl1@ceph"


def test_an_endpoint_without_a_proper_answer_is_named() -> None:
    nova = ServiceEndpoint("compute", "http://nova/v2.1")
    verdict = judge_endpoints([EndpointAnswer(nova, "HTTP 503"), EndpointAnswer(nova)])
    assert verdict.text == "1 of 2 endpoints without a valid answer: compute http://nova/v2.1: HTTP 503"


REGION = Releases(
    frozenset({"keystone", "glance"}), frozenset({"keystone-api.openstack", "glance-api.openstack"})
)
GONE = "http://nova-api.openstack.svc.cluster.local:8774/v2.1/"


def test_the_endpoint_of_a_service_that_was_removed_is_named_and_does_not_count() -> None:
    keystone = ServiceEndpoint("identity", "http://keystone-api.openstack.svc.cluster.local:5000/v3")
    answers = [EndpointAnswer(keystone), EndpointAnswer(ServiceEndpoint("compute", GONE), "ConnectionError")]
    verdict = judge_endpoints(answers, REGION)
    assert (verdict.health, verdict.ready, verdict.desired) == (Health.READY, 1, 1)
    assert verdict.text == "the catalogue still has endpoints of removed services: compute"


@pytest.mark.parametrize(
    ("url", "releases"),
    [
        pytest.param("http://glance-api.openstack.svc.cluster.local:9292", REGION, id="of a release"),
        pytest.param("http://glance-v3.openstack.svc.cluster.local:9292", REGION, id="of one by its name"),
        pytest.param("http://rgw.ceph.svc.cluster.local:7480", REGION, id="of another namespace"),
        pytest.param("http://nova.example.org", REGION, id="of another place"),
        pytest.param("http://[nova", REGION, id="of no place"),
        pytest.param(GONE, replace(REGION, services=frozenset()), id="while Helm's records are not known"),
    ],
)
def test_an_endpoint_that_nothing_shows_to_be_removed_counts(url: str, releases: Releases) -> None:
    lost = EndpointAnswer(ServiceEndpoint("compute", url), "ConnectionError")
    assert judge_endpoints([lost], releases).health == Health.UNHEALTHY


def test_what_is_removed_is_reported_by_the_records_of_all_releases() -> None:
    known = facts()
    manifest = Manifest((), frozenset(), frozenset({"keystone-api.openstack"}))
    read = replace(known, manifests=dict.fromkeys(known.releases, manifest))
    assert probed(read).releases == Releases(frozenset(known.releases), manifest.services)
    assert probed(replace(read, manifests={"keystone": manifest})).releases.services == frozenset()


@pytest.mark.parametrize("status", [200, 300, 302, 401, 403, 405])
def test_a_refusal_is_an_answer_too(status: int) -> None:
    assert endpoint_error(status) == ""


@pytest.mark.parametrize("status", [404, 500, 502, 503, 504])
def test_what_stands_before_a_lost_service_answers_like_this(status: int) -> None:
    assert endpoint_error(status) == f"HTTP {status}"


def shown(probe: Probe, now: float) -> tuple[Health, str]:
    verdict = probe.shown(now, stale_after=STALE)
    return verdict.health, verdict.text


def test_one_failure_is_forgiven_and_a_second_is_not() -> None:
    probe = new_probe(0, {}).answered(GOOD, 5).failed("503", 10)
    assert probe.shown(10, stale_after=STALE) == GOOD
    verdict = probe.failed("503", 20).shown(20, stale_after=STALE)
    assert (verdict.health, verdict.text, verdict.ready, verdict.desired) == (
        *(Health.UNHEALTHY, "does not answer: 503"),
        *(0, 3),
    )


def test_an_answer_heals_it() -> None:
    probe = new_probe(0, {}).answered(GOOD, 1).failed("503", 2).failed("503", 3).answered(GOOD, 4)
    assert probe.shown(9, stale_after=STALE) == GOOD


def test_the_first_answer_is_waited_for() -> None:
    probe = new_probe(0, {}).failed("there is no Secret", 10).failed("there is no Secret", 50)
    assert shown(probe, 60) == (Health.PROGRESSING, "there is no Secret")
    late = FIRST_ANSWER_WITHIN + 1
    assert shown(probe.failed("there is no Secret", late), late)[0] == Health.UNHEALTHY


def test_an_old_answer_is_no_answer() -> None:
    probe = new_probe(0, {}).answered(GOOD, 5)
    assert shown(probe, 5 + STALE) == (Health.READY, "")
    assert shown(probe, 6 + STALE)[0] == Health.UNKNOWN
    assert shown(new_probe(0, {}), STALE + 1)[0] == Health.UNKNOWN


def test_no_endpoint_and_no_service_are_never_ready() -> None:
    assert judge_endpoints([]).health == Health.UNHEALTHY
    for verdict in (judge_compute_services([], [], 3), judge_agents([], 3), judge_volume_services([], 3)):
        assert (verdict.health, verdict.ready, verdict.desired) == (Health.PROGRESSING, 0, 3)


@pytest.mark.parametrize(
    ("known", "verdict"),
    [
        ([compute("cmp1"), compute("cmp2")], (Health.PROGRESSING, 2, 3)),
        ([compute("cmp1"), compute("cmp2", enabled=False)], (Health.PROGRESSING, 1, 2)),
        ([compute("cmp1"), compute("cmp2", up=False)], (Health.UNHEALTHY, 1, 2)),
        ([compute("cmp1", enabled=False)] * 2, (Health.PROGRESSING, 0, 1)),
        ([compute(f"cmp{number}") for number in range(4)], (Health.READY, 4, 4)),
    ],
)
def test_fewer_than_there_are_pods_for_are_not_ready(
    known: list[ComputeService], verdict: tuple[Health, int, int]
) -> None:
    judged = judge_compute_services(known, CONTROL, 3)
    assert (judged.health, judged.ready, judged.desired) == verdict


def test_what_was_well_has_ten_minutes_to_register_one_more_and_no_longer() -> None:
    fewer = judge_compute_services([compute("cmp1")], CONTROL, 2)
    probe = new_probe(0, {}).answered(GOOD, 5000).answered(fewer, 5060)
    assert shown(probe, 5060)[0] == Health.PROGRESSING
    probe = probe.answered(fewer, 5060 + FIRST_ANSWER_WITHIN)
    verdict = (Health.UNHEALTHY, "only 1 of the compute services have registered, 2 are expected")
    assert shown(probe, 5060 + FIRST_ANSWER_WITHIN) == verdict
    # A restart does not forgive it.
    again = new_probe(6000, {"status": "Unhealthy", "ready": 1, "desired": 2}).answered(fewer, 6001)
    assert shown(again, 6001) == verdict


def test_all_pods_of_a_volume_backend_may_be_one_service() -> None:
    one = VolumeService("cinder-volume", "cinder-volume-worker@rbd1", enabled=True, up=True)
    assert judge_volume_services([one], 4) == WorkloadHealth(Health.READY, 1, 1)


def test_that_all_are_disabled_is_reported() -> None:
    verdict = judge_compute_services([compute("cmp1", enabled=False)], CONTROL, 1)
    assert verdict == WorkloadHealth(
        Health.READY, 0, 0, "all 1 compute services are disabled, so they get no new resources"
    )


# what is probed


def made(
    obj: dict[str, Any], release: str, component: str, age: float = 9 * PROGRESS_DEADLINE
) -> dict[str, Any]:
    obj["metadata"]["annotations"]["meta.helm.sh/release-name"] = release
    obj["metadata"]["labels"]["component"] = component
    obj["metadata"]["creationTimestamp"] = at(age)
    return obj


def facts(*objects: dict[str, Any], pods: tuple[dict[str, Any], ...] = (), deployed: bool = True) -> Facts:
    workloads = [one for one in map(parse_workload, objects) if one is not None]
    known = [one for one in map(parse_pod, pods) if one is not None]
    names = {"keystone", "cinder", *(one.release for one in workloads)}
    releases = {name: Release(name, deployed) for name in names}
    return Facts(releases, workloads, {("StatefulSet", "mariadb-server"): known}, {}, NOW)


def test_what_was_never_deployed_is_not_probed() -> None:
    assert probed(facts(deployed=False)).asked == {}
    assert probed(facts()).asked == {"endpoints": 1}


def test_a_deployed_service_is_probed_while_it_is_upgraded_fails_or_waits() -> None:
    known = facts(made(daemonset(4), "nova", "compute"), made(statefulset(3), "mariadb", "server"))
    under_way = replace(
        known,
        releases={name: Release(name, deployed=False, revision=2) for name in known.releases},
        manifests={name: Manifest((), frozenset()) for name in ("keystone", "nova", "mariadb")},
    )
    assert probed(under_way).asked == {"endpoints": 1, "compute-services": 4}
    assert set(probed(under_way).quorums) == {"database"}


def test_what_pods_should_register_is_asked_for_as_many() -> None:
    computes = made(daemonset(4), "nova", "compute")
    agents = made(daemonset(5), "neutron", "l3-agent")
    cron = made(daemonset(5), "neutron", "netns-cleanup-cron")
    elsewhere = made(daemonset(5), "neutron", "bgp-dragent")
    volumes = made(deployment(2), "cinder", "volume")
    asked = probed(facts(computes, agents, cron, elsewhere, volumes)).asked
    assert asked == {"endpoints": 1, "compute-services": 4, "network-agents": 5, "volume-services": 2}


def test_what_no_pod_is_to_register_is_not_asked_for() -> None:
    assert probed(facts(made(daemonset(0), "nova", "compute"))).asked == {"endpoints": 1}


@pytest.mark.parametrize(
    ("ready", "age", "health"),
    [
        (3, 9 * PROGRESS_DEADLINE, Health.READY),
        (2, 9 * PROGRESS_DEADLINE, Health.READY),
        (1, 9 * PROGRESS_DEADLINE, Health.UNHEALTHY),
        (1, 60.0, Health.PROGRESSING),
    ],
)
@pytest.mark.parametrize(("probe", "release"), [("database", "mariadb"), ("message-broker", "rabbitmq")])
def test_a_majority_of_all_members_serves(
    ready: int, age: float, health: Health, probe: str, release: str
) -> None:
    owner = ("StatefulSet", "mariadb-server")
    lost = unready(container_status())
    members = tuple(
        pod(f"mariadb-server-{number}", owner, **({} if number < ready else lost)) for number in range(3)
    )
    servers = made(statefulset(3), release, "server", age)
    verdict = probed(facts(servers, pods=members)).quorums[probe]
    assert (verdict.health, verdict.ready, verdict.desired) == (health, ready, 3)
    assert ("2 needed" in verdict.text) == (ready < 3)


def test_unseen_members_have_lost_their_vote() -> None:
    alone = (pod("mariadb-server-0", ("StatefulSet", "mariadb-server")),)
    servers = made(statefulset(3), "mariadb", "server")
    assert probed(facts(servers, pods=alone)).quorums["database"].health == Health.UNHEALTHY


def test_one_server_has_no_quorum_to_lose() -> None:
    assert probed(facts(made(statefulset(1), "mariadb", "server"))).quorums == {}
