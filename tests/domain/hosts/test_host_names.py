"""The host of a Node is found by its name or its hostname, and kept where OpenStack does not tell."""

from __future__ import annotations

import pytest

from controller.domain.hosts.host_names import host_of, hostname_of, remembered_hosts
from controller.domain.shared.cloud_facts import Agent, CloudView, ComputeService, Hypervisor


def view(*services: str, hypervisors: tuple[str, ...] = (), agents: tuple[str, ...] = ()) -> CloudView:
    return CloudView(
        services=tuple(ComputeService(one, one, True, True) for one in services),
        hypervisors=tuple(Hypervisor(one, 0) for one in hypervisors),
        agents=tuple(Agent(one, one, "L3 agent", True) for one in agents),
        volumes=(),
        aggregates=(),
    )


@pytest.mark.parametrize(
    ("known", "remembered", "host"),
    [
        (view("node-1"), "", "node-1"),
        (view("machine"), "", "machine"),
        (view("node-1", "machine"), "", "node-1"),
        (view("node-1", "machine"), "machine", "machine"),
        (view("node-1"), "machine", "node-1"),
        (view(), "machine", "machine"),
        (view(), "", "node-1"),
        (view(hypervisors=("machine",)), "", "machine"),
        (view(agents=("machine",)), "", "machine"),
        (view("machine", agents=("node-1",)), "", "machine"),
    ],
)
def test_the_first_name_that_openstack_knows(known: CloudView, remembered: str, host: str) -> None:
    assert host_of("node-1", known, hostname="machine", remembered=remembered) == host


def test_a_node_that_is_gone_is_known_by_what_was_found_before() -> None:
    osdpl = {"status": {"nodes": {"node-1": {"host": "machine"}, "node-2": {"state": "Ready"}}}}
    assert remembered_hosts(osdpl) == {"node-1": "machine"}
    assert remembered_hosts(None) == {} == remembered_hosts({})


def test_the_label_of_a_node_is_read_where_there_is_one() -> None:
    assert hostname_of({"metadata": {"labels": {"kubernetes.io/hostname": "machine"}}}) == "machine"
    assert hostname_of({"metadata": {}}) == hostname_of(None) == ""
