"""Requests of one pass end with its time; what agents say of their load is believed where it is said."""

from __future__ import annotations

from typing import Any

import pytest

from controller.adapters.openstack.calls import READ_WITHIN
from controller.adapters.openstack.client import OpenStackCloud
from controller.errors import CloudUnavailable
from tests.adapters.openstack.test_cloud_calls import Answer, Calls, Service


def test_nothing_is_sent_after_the_deadline() -> None:
    service = Service(Answer(body={}))
    calls = Calls(service)
    bounded = calls.until(calls.clock.monotonic() + 40)
    bounded.get("compute", "/x")
    calls.clock.advance(40)
    assert bounded.late
    with pytest.raises(CloudUnavailable, match="the time limit of this reconciliation is reached"):
        bounded.get("compute", "/x")
    with pytest.raises(CloudUnavailable, match="the time limit of this reconciliation is reached"):
        bounded.send("POST", "compute", "/x", {})
    assert len(service.asked) == 1
    calls.get("compute", "/x")
    assert not calls.late


def test_a_read_is_not_repeated_beyond_the_deadline() -> None:
    calls = Calls(Service(Answer(503)))
    bounded = calls.until(calls.clock.monotonic() + READ_WITHIN / 4)
    began = calls.clock.monotonic()
    with pytest.raises(CloudUnavailable):
        bounded.get("compute", "/x")
    assert calls.clock.monotonic() - began <= READ_WITHIN / 4


def test_a_service_that_asked_for_a_pause_has_it_from_every_look() -> None:
    calls = Calls(Service(Answer(429, Retry_After="60"), Answer(body={})))
    with pytest.raises(CloudUnavailable):
        calls.until(calls.clock.monotonic() + 40).send("POST", "compute", "/x", {})
    with pytest.raises(CloudUnavailable, match="requested a pause"):
        calls.get("compute", "/x")


def agent(kind: str, **configurations: Any) -> dict[str, Any]:
    return {
        "id": "a1",
        "host": "cmp1",
        "agent_type": kind,
        "alive": True,
        "admin_state_up": True,
        "description": None,
        "configurations": configurations,
    }


@pytest.mark.parametrize(
    ("listed", "load"),
    [
        (agent("DHCP agent", networks=7, ports=20, subnets=8, dhcp_lease_duration=86400), 7),
        (agent("L3 agent", routers=3, ex_gw_ports=3, interfaces=4, floating_ips=9, agent_mode="legacy"), 3),
        (agent("DHCP agent"), 0),
        (agent("Open vSwitch agent", devices=40), 0),
    ],
)
def test_an_agents_load_is_what_it_counts_itself(listed: dict[str, Any], load: int) -> None:
    [found] = OpenStackCloud(Calls(Service(Answer(body={"agents": [listed]})))).network_agents()
    assert found.load == load


def test_who_has_a_router_or_a_network_is_asked_of_it() -> None:
    service = Service(Answer(body={"agents": [agent("L3 agent")]}))
    cloud = OpenStackCloud(Calls(service))
    assert (cloud.agents_of_router("r1"), cloud.agents_of_network("n1")) == (("a1",), ("a1",))
    assert [path for _, path, _ in service.asked] == ["/routers/r1/l3-agents", "/networks/n1/dhcp-agents"]


def test_what_was_begun_in_time_is_sent_within_its_grace() -> None:
    service = Service(*[Answer(body={})] * 3)
    calls = Calls(service)
    bounded = calls.until(calls.clock.monotonic() + 40, grace=20)
    calls.clock.advance(50)
    assert bounded.late
    bounded.send("POST", "compute", "/x", {})
    calls.clock.advance(10)
    with pytest.raises(CloudUnavailable, match="the time limit of this reconciliation is reached"):
        bounded.send("POST", "compute", "/x", {})
    bounded.longer(5).send("POST", "compute", "/x", {})
    assert len(service.asked) == 2
