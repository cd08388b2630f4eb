"""The host of a Node is found by what is said on it, by name or by address, and kept where nothing tells."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller.domain.hosts.host_names import (
    HostMatches,
    NodeNames,
    address,
    addresses_of,
    hostname_of,
    match_hosts,
    names_of,
    remembered_hosts,
)
from controller.domain.shared.cloud_facts import Agent, CloudView, ComputeService, Hypervisor


def view(
    *services: str,
    hypervisors: tuple[str, ...] = (),
    agents: tuple[str, ...] = (),
    at: Mapping[str, str] | None = None,
    tunnels: Mapping[str, str] | None = None,
) -> CloudView:
    """`at`: host_ip of hosts that have a hypervisor, `tunnels`: of hosts with an agent that ends tunnels."""
    at, tunnels = at or {}, tunnels or {}
    return CloudView(
        services=tuple(ComputeService(one, one, True, True) for one in (*services, *at)),
        hypervisors=(
            *(Hypervisor(one, 0) for one in hypervisors),
            *(Hypervisor(host, 0, ip) for host, ip in at.items()),
        ),
        agents=(
            *(Agent(one, one, "L3 agent", True) for one in agents),
            *(Agent(one, one, "Open vSwitch agent", True, address=ip) for one, ip in tunnels.items()),
        ),
        volumes=(),
        aggregates=(),
    )


def node(name: str, *addresses: str, hostname: str = "", stated: str = "") -> NodeNames:
    return NodeNames(name, hostname, frozenset(addresses), stated)


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
    found = match_hosts(
        [node("node-1", hostname="machine")], {"node-1": remembered} if remembered else {}, known
    )
    assert (found.host("node-1"), found.doubts) == (host, {})


def test_a_node_that_is_gone_is_known_by_what_was_found_before() -> None:
    osdpl = {"status": {"nodes": {"node-1": {"host": "machine"}, "node-2": {"state": "Ready"}}}}
    assert remembered_hosts(osdpl) == {"node-1": "machine"}
    assert remembered_hosts(None) == {} == remembered_hosts({})


def test_the_label_of_a_node_is_read_where_there_is_one() -> None:
    assert hostname_of({"metadata": {"labels": {"kubernetes.io/hostname": "machine"}}}) == "machine"
    assert hostname_of({"metadata": {}}) == hostname_of(None) == ""


FQDN = "cmp1.example.org"


def test_a_host_with_its_domain_is_found_by_its_address() -> None:
    found = match_hosts([node("cmp1", "10.0.0.1"), node("cmp2", "10.0.0.2")], {}, view(at={FQDN: "10.0.0.1"}))
    assert (found.host("cmp1"), found.host("cmp2"), found.strangers) == (FQDN, "cmp2", ())


def test_a_node_for_networks_is_found_by_where_its_tunnels_end() -> None:
    found = match_hosts([node("net1", "10.0.0.5")], {}, view(tunnels={"net1.example.org": "10.0.0.5"}))
    assert found.host("net1") == "net1.example.org"


def test_a_host_of_no_node_and_a_node_of_no_host_are_reported() -> None:
    found = match_hosts([node("cmp1", "10.0.0.1")], {}, view(at={"other.example.org": "10.9.0.1"}))
    assert (found.host("cmp1"), found.strangers) == ("cmp1", ("other.example.org",))


@pytest.mark.parametrize(
    "known",
    [
        view(at={FQDN: "10.0.0.1", "cmp1.other": "10.0.0.1"}),
        view(at={FQDN: "127.0.0.1"}),
        view(at={FQDN: ""}),
        view(at={FQDN: "no address"}),
    ],
    ids=["two hosts", "loopback", "none", "text"],
)
def test_an_address_that_is_not_of_one_host_alone_says_nothing(known: CloudView) -> None:
    assert match_hosts([node("cmp1", "10.0.0.1", "127.0.0.1")], {}, known).host("cmp1") == "cmp1"


def test_an_address_of_two_nodes_says_nothing() -> None:
    nodes = [node("cmp1", "10.0.0.1"), node("cmp2", "10.0.0.1")]
    found = match_hosts(nodes, {}, view(at={FQDN: "10.0.0.1"}))
    assert FQDN not in found.hosts.values()


def test_addresses_in_other_words_are_the_same() -> None:
    assert address("::ffff:10.0.0.1") == "10.0.0.1"
    assert address("FD00:0:0::1") == address("fd00::1") == "fd00::1"
    status = {
        "addresses": [
            {"type": "InternalIP", "address": "10.0.0.1"},
            {"type": "ExternalIP", "address": "1.1.1.1"},
        ]
    }
    assert addresses_of({"status": status}) == {"10.0.0.1"}


def test_names_and_addresses_that_contradict_each_other_are_in_doubt() -> None:
    """OpenStack's host cmp1 is the machine of another node by its address: whose it is, a person says."""
    nodes = [node("cmp1", "10.0.0.1"), node("node-7", "10.0.0.7")]
    found = match_hosts(nodes, {}, view(at={"cmp1": "10.0.0.7"}), namespace="openstack")
    assert found.doubts.keys() == {"cmp1", "node-7"}
    assert found.host("cmp1") == found.host("node-7") == ""
    assert "kubectl annotate node node-7 openstack.osctl.dev/host=HOST" in found.doubts["node-7"]


def test_two_nodes_with_each_others_hosts_are_in_doubt() -> None:
    nodes = [node("cmp1", "10.0.0.1"), node("cmp2", "10.0.0.2")]
    found = match_hosts(nodes, {}, view(at={"cmp1": "10.0.0.2", "cmp2": "10.0.0.1"}))
    assert found.doubts.keys() == {"cmp1", "cmp2"}


def test_a_new_machine_under_an_old_name_is_in_doubt() -> None:
    known = view(at={"old": "10.0.0.1", "new": "10.0.0.2"})
    found = match_hosts([node("cmp1", "10.0.0.2")], {"cmp1": "old"}, known)
    assert set(found.candidates["cmp1"]) == {"old", "new"}
    assert found.host("cmp1") == ""


def test_what_a_person_says_ends_the_doubt() -> None:
    nodes = [node("cmp1", "10.0.0.1"), node("node-7", "10.0.0.7", stated="cmp1")]
    found = match_hosts(nodes, {}, view(at={"cmp1": "10.0.0.7"}))
    assert found.host("node-7") == "cmp1"
    assert "annotations" in found.doubts["cmp1"]


def test_two_equal_confirmations_of_two_nodes_are_both_void() -> None:
    nodes = [node("a", stated="cmp1"), node("b", stated="cmp1"), node("cmp1")]
    found = match_hosts(nodes, {}, view("cmp1"))
    assert found.doubts.keys() >= {"a", "b"} and "cmp1" not in found.hosts.values()


def test_a_node_that_is_gone_is_in_the_doubt_of_its_host() -> None:
    nodes = [node("cmp1", "10.0.0.1"), node("node-7", "10.0.0.7")]
    found = match_hosts(nodes, {"gone": "cmp1"}, view(at={"cmp1": "10.0.0.7"}))
    assert "gone" in found.doubts


def test_a_machine_that_was_renamed_keeps_its_host_by_name() -> None:
    nodes = [node("old"), node("new", hostname="old")]
    found = match_hosts(nodes, {}, view("old"))
    assert found.host("old") == found.host("new") == "old"


def test_a_host_of_a_node_that_is_gone_is_not_another_nodes_by_its_address_alone() -> None:
    """A machine that was renamed looks so, and so does a new one with the address of one that is cut off."""
    found = match_hosts([node("new", "10.0.0.1")], {"old": "old"}, view(at={"old": "10.0.0.1"}))
    assert found.doubts.keys() == {"old", "new"}
    assert found.candidates["new"] == ("old",)
    assert "that host was the node old" in found.doubts["new"]
    # Where it can be said.
    assert all("kubectl annotate node new" in why for why in found.doubts.values())


def test_a_machine_that_was_renamed_keeps_its_host_once_a_person_says_so() -> None:
    nodes = [node("new", "10.0.0.1", stated="old")]
    found = match_hosts(nodes, {"old": "old"}, view(at={"old": "10.0.0.1"}))
    assert (found.host("old"), found.host("new"), found.doubts) == ("old", "old", {})


def test_a_machine_that_is_said_to_be_new_leaves_the_host_to_the_node_that_is_gone() -> None:
    nodes = [node("new", "10.0.0.1", stated="new")]
    found = match_hosts(nodes, {"old": "old"}, view(at={"old": "10.0.0.1"}))
    assert (found.host("old"), found.host("new"), found.doubts) == ("old", "new", {})


@pytest.mark.parametrize("label", ["", "b"])
def test_a_node_with_a_host_from_before_and_another_by_its_name_is_in_doubt(label: str) -> None:
    name = "node-7" if label else "b"
    found = match_hosts([node(name, hostname=label)], {name: "host-a", "gone": "host-a"}, view("host-a", "b"))
    assert found.doubts.keys() == {name, "gone"}
    assert set(found.candidates[name]) == {"host-a", "b"}
    assert found.strangers == ()


def test_a_name_that_a_person_gave_to_another_node_is_no_doubt() -> None:
    nodes = [node("b"), node("c", stated="b")]
    found = match_hosts(nodes, {"b": "host-a"}, view("host-a", "b"))
    assert (found.host("b"), found.host("c"), found.doubts) == ("host-a", "b", {})


def test_what_is_said_on_a_node_is_said_to_one_region() -> None:
    meta = {"name": "cmp1", "annotations": {"a.osctl.dev/host": "h", "b.osctl.dev/host": "other"}}
    assert names_of({"metadata": meta}, "a").stated == "h"


HOSTS = st.sampled_from(["h1", "h2", "h3", "n1", "n2", "n3"])
ADDRESSES = st.sampled_from(["10.0.0.1", "10.0.0.2", "10.0.0.3", "127.0.0.1", ""])
NODES = st.lists(
    st.builds(
        NodeNames,
        st.sampled_from(["n1", "n2", "n3", "n4"]),
        st.one_of(st.just(""), HOSTS),
        st.frozensets(ADDRESSES.map(address).filter(bool), max_size=2),
        st.one_of(st.just(""), HOSTS),
    ),
    unique_by=lambda one: one.name,
    max_size=4,
)
VIEWS = st.builds(
    lambda at, services, tunnels: view(*services, at=at, tunnels=tunnels),
    st.dictionaries(HOSTS, ADDRESSES),
    st.sets(HOSTS),
    st.dictionaries(HOSTS, ADDRESSES),
)
REMEMBERED = st.dictionaries(st.sampled_from(["n1", "n2", "gone"]), HOSTS)


def known_hosts(known: CloudView) -> set[str]:
    return {one.host for one in (*known.services, *known.hypervisors, *known.agents)}


@pytest.mark.slow
@given(NODES, REMEMBERED, VIEWS)
def test_a_host_is_never_of_two_nodes_unless_both_are_called_so(
    nodes: list[NodeNames], remembered: dict[str, str], known: CloudView
) -> None:
    found = match_hosts(nodes, remembered, known)
    for host in known_hosts(known):
        having = [one for one in nodes if found.host(one.name) == host]
        if len(having) > 1:
            names = [{one.name, one.hostname, remembered.get(one.name)} for one in having]
            assert all(host in one for one in names)


@pytest.mark.slow
@given(NODES, REMEMBERED, VIEWS)
def test_a_node_in_doubt_has_no_host_and_no_other_node_has_that_host(
    nodes: list[NodeNames], remembered: dict[str, str], known: CloudView
) -> None:
    found = match_hosts(nodes, remembered, known)
    unsure = {host for hosts in found.candidates.values() for host in hosts}
    for name in {one.name for one in nodes} | remembered.keys():
        assert found.host(name) not in unsure & known_hosts(known)
        assert (name in found.doubts) == (name not in found.hosts)


@pytest.mark.slow
@given(NODES, REMEMBERED, VIEWS)
def test_what_one_person_says_of_one_node_holds(
    nodes: list[NodeNames], remembered: dict[str, str], known: CloudView
) -> None:
    found = match_hosts(nodes, remembered, known)
    said = [one.stated for one in nodes if one.stated]
    for one in nodes:
        if one.stated and said.count(one.stated) == 1:
            assert found.host(one.name) == one.stated


@pytest.mark.slow
@given(st.permutations(["n1", "n2", "n3"]), st.permutations(["n1", "n2", "n3"]), REMEMBERED)
def test_where_all_addresses_are_known_no_name_leads_to_the_wrong_machine(
    hosts: list[str], hostnames: list[str], remembered: dict[str, str]
) -> None:
    """Machine 1 to 3: Node n1 to n3; OpenStack calls them by any of these names, and labels say anything."""
    at = {host: f"10.0.0.{number}" for number, host in enumerate(hosts)}
    nodes = [
        node(f"n{number + 1}", f"10.0.0.{number}", hostname=hostname)
        for number, hostname in enumerate(hostnames)
    ]
    found = match_hosts(nodes, remembered, view(at=at))
    for number, host in enumerate(hosts):
        assert found.host(f"n{number + 1}") in ("", host)


@pytest.mark.slow
@given(NODES, REMEMBERED, VIEWS)
def test_each_compute_host_is_of_a_node_in_doubt_or_of_no_node(
    nodes: list[NodeNames], remembered: dict[str, str], known: CloudView
) -> None:
    found: HostMatches = match_hosts(nodes, remembered, known)
    computes = {one.host for one in (*known.services, *known.hypervisors)}
    unsure = {host for hosts in found.candidates.values() for host in hosts}
    assert set(found.strangers) == computes - set(found.hosts.values()) - set(remembered.values()) - unsure
