"""What services say of themselves, as components: enabled ones that are up, endpoints that answer."""

from __future__ import annotations

import pytest

from controller.domain.cloud_facts import Agent, ComputeService, VolumeService
from controller.domain.probes import (
    FIRST_ANSWER_WITHIN,
    EndpointAnswer,
    Probe,
    ServiceEndpoint,
    endpoint_trouble,
    judge_agents,
    judge_compute_services,
    judge_endpoints,
    judge_volume_services,
    probes_for,
)
from controller.domain.workload_health import Health, Verdict

GOOD = Verdict(Health.READY, 3, 3)


def compute(host: str, *, enabled: bool = True, up: bool = True) -> ComputeService:
    return ComputeService(id=host, host=host, enabled=enabled, up=up)


def test_a_compute_service_that_is_down_is_named() -> None:
    verdict = judge_compute_services([compute("cmp1"), compute("cmp2", up=False)])
    assert (verdict.health, verdict.ready, verdict.desired) == (Health.UNHEALTHY, 1, 2)
    assert verdict.text == "1 of 2 compute services down: cmp2"


def test_one_that_somebody_disabled_does_not_count() -> None:
    verdict = judge_compute_services([compute("cmp1"), compute("cmp2", enabled=False, up=False)])
    assert (verdict.health, verdict.ready, verdict.desired) == (Health.READY, 1, 1)


def test_of_many_a_few_are_named() -> None:
    verdict = judge_compute_services(compute(f"cmp{number}", up=False) for number in range(9))
    assert verdict.text == "9 of 9 compute services down: cmp0, cmp1, cmp2, cmp3, cmp4 and 4 more"


def test_an_agent_is_named_with_its_kind() -> None:
    agents = [Agent("1", "net1", "L3 agent", alive=False), Agent("2", "net1", "DHCP agent", alive=True)]
    assert judge_agents(agents).text == "1 of 2 network agents down: L3 agent on net1"


def test_volume_services_that_are_down_are_named() -> None:
    services = [VolumeService("cinder-volume", "ctl1@ceph", enabled=True, up=False)]
    assert judge_volume_services(services).text == "1 of 1 volume services down: cinder-volume ctl1@ceph"


def test_an_endpoint_without_a_proper_answer_is_named() -> None:
    nova = ServiceEndpoint("compute", "http://nova/v2.1")
    verdict = judge_endpoints([EndpointAnswer(nova, "HTTP 503"), EndpointAnswer(nova)])
    assert verdict.text == "1 of 2 endpoints without a proper answer: compute http://nova/v2.1: HTTP 503"


@pytest.mark.parametrize("status", [200, 300, 302, 401, 403, 405])
def test_a_refusal_is_an_answer_too(status: int) -> None:
    assert endpoint_trouble(status) == ""


@pytest.mark.parametrize("status", [404, 500, 502, 503, 504])
def test_what_stands_before_a_lost_service_answers_like_this(status: int) -> None:
    assert endpoint_trouble(status) == f"HTTP {status}"


def test_one_failure_is_forgiven_and_a_second_is_not() -> None:
    probe = Probe(began=0).answered(GOOD).failed("503")
    assert probe.shown(10) == GOOD
    verdict = probe.failed("503").shown(20)
    assert (verdict.health, verdict.text, verdict.ready, verdict.desired) == (
        *(Health.UNHEALTHY, "does not answer: 503"),
        *(0, 3),
    )


def test_an_answer_heals_it() -> None:
    assert Probe(began=0).answered(GOOD).failed("503").failed("503").answered(GOOD).shown(9) == GOOD


def test_the_first_answer_is_waited_for() -> None:
    probe = Probe(began=0).failed("there is no Secret").failed("there is no Secret")
    assert (probe.shown(60).health, probe.shown(60).text) == (Health.PROGRESSING, "there is no Secret")
    assert probe.shown(FIRST_ANSWER_WITHIN + 1).health == Health.UNHEALTHY


def test_only_what_is_deployed_is_probed() -> None:
    assert probes_for({"mariadb": True}) == ()
    assert probes_for({"keystone": True, "nova": False}) == ("endpoints",)
    everything = dict.fromkeys(("keystone", "nova", "neutron", "cinder"), True)
    assert probes_for(everything) == ("endpoints", "compute-services", "network-agents", "volume-services")
