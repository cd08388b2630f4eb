"""A physical network without a bridge where it is needed is reported; with bridges everywhere nothing is."""

from __future__ import annotations

from typing import Any

import pytest

from controller.domain.validation.physical_networks import unbridged_networks

BLUE, GREEN = {"name": "blue", "bridge": "br-blue"}, {"name": "green", "bridge": "br-green"}
BOTH = "blue:br-blue,green:br-green"


def ovs(mappings: Any) -> dict[str, Any]:
    return {"plugins": {"openvswitch_agent": {"ovs": {"bridge_mappings": mappings}}}}


def neutron(mappings: Any, *labelled: str) -> dict[str, Any]:
    labels = [{"label": {"key": "rack", "values": ["x"]}, "conf": ovs(own)} for own in labelled]
    return {"conf": {**ovs(mappings), "overrides": {"neutron_ovs-agent": {"labels": labels}}}}


def controller(mappings: str, *labelled: str) -> dict[str, Any]:
    labels = {
        f"rack::{n}": {"values": {"conf": {"ovn_bridge_mappings": own}}} for n, own in enumerate(labelled)
    }
    overrides = {"ovn_controller": {"labels": labels}} if labels else None
    return {"conf": {"ovn_bridge_mappings": mappings}, "overrides": overrides}


def told(neutron: dict[str, Any], ovn: dict[str, Any] | None = None) -> list[str]:
    return [problem.message for problem in unbridged_networks([BLUE, GREEN], neutron, ovn)]


def test_networks_of_some_nodes_each_have_no_agents_on_control_nodes() -> None:
    [message] = told(neutron("", "blue:br-blue", "green:br-green"))
    assert message == (
        "no node has the bridges of all of blue, green, although each of these networks has agents on "
        "control nodes"
    )


def test_a_network_that_is_mapped_nowhere_is_reported() -> None:
    [message] = told(neutron("", "blue:br-blue"))
    assert message.startswith("no node has a bridge for green,")
    [message] = told({}, controller('\\"\\"', "blue:br-blue"))
    assert message.startswith("no node has a bridge for green,")


@pytest.mark.parametrize(
    "values",
    [
        neutron(BOTH),
        neutron("", "blue:br-blue", BOTH),
        neutron(["blue:br-blue", "green:br-green"]),
    ],
)
def test_one_set_of_nodes_with_all_networks_is_enough(values: dict[str, Any]) -> None:
    assert told(values) == []


def test_a_mapping_of_some_nodes_that_forgets_a_network_of_all_is_reported_with_names() -> None:
    expected = (
        "nodes rack::x have no bridge for green, because the mapping of these nodes replaces "
        "the mapping of all nodes"
    )
    assert told(neutron(BOTH, "blue:br-blue")) == [expected]
    expected = (
        "nodes rack::0 have no bridge for green, because the mapping of these nodes replaces "
        "the mapping of all nodes"
    )
    assert told({}, controller(BOTH, "blue:br-blue", BOTH)) == [expected]


def test_a_misspelt_network_in_a_mapping_is_reported_with_the_name_that_was_meant() -> None:
    problems = list(unbridged_networks([BLUE, GREEN], neutron("", "blue:br-blue,gren:br-green"), None))
    [misspelt, nowhere] = problems
    assert misspelt.message == 'nodes map the physical network "gren", which the region does not have'
    assert misspelt.remedy == 'did you mean "green"?'
    assert nowhere.message.startswith("no node has a bridge for green,")


@pytest.mark.parametrize("everywhere", ["blue:br-blue", ""])
def test_a_network_of_all_nodes_whose_bridge_has_an_interface_on_some_is_told(everywhere: str) -> None:
    def found(bridges: dict[str, str | None]) -> list[str]:
        own = {"auto_bridge_add": {"br-blue": "bond1"}, "ovn_bridge_mappings": "blue:br-blue"}
        ovn = {
            "conf": {"ovn_bridge_mappings": everywhere, "auto_bridge_add": bridges},
            "overrides": {"ovn_controller": {"labels": {"zone::edge": {"values": {"conf": own}}}}},
        }
        return [one.message for one in unbridged_networks([BLUE], {}, ovn)]

    said = found({"br-blue": None})
    if everywhere:
        [message] = said
        assert message.startswith(
            "only nodes zone::edge have an interface in br-blue, but all nodes offer blue"
        )
    else:
        assert said == []
    assert found({"br-blue": "bond1"}) == []


def test_a_network_whose_bridge_has_an_interface_on_some_nodes_is_told_with_ovs_too() -> None:
    label = {"label": {"key": "zone", "values": ["edge"]}, "conf": {"auto_bridge_add": {"br-blue": "bond1"}}}
    conf = {**ovs("blue:br-blue"), "overrides": {"neutron_ovs-agent": {"labels": [label]}}}
    [problem] = unbridged_networks([BLUE], {"conf": conf}, None)
    assert problem.rule == "network-without-uplink"


def test_with_ovn_gateways_may_have_one_network_each() -> None:
    assert told({}, controller('\\"\\"', "blue:br-blue", "green:br-green")) == []
    assert told({}, controller(BOTH)) == []


@pytest.mark.parametrize("ovn", [None, controller("blue:br-blue")])
def test_a_network_of_cards_alone_needs_no_bridge(ovn: dict[str, Any] | None) -> None:
    values = neutron("blue:br-blue")
    values["conf"]["plugins"]["sriov_agent"] = {"sriov_nic": {"physical_device_mappings": "green:ens2f0"}}
    assert told(values, ovn) == []


def test_without_physical_networks_nothing_is_reported() -> None:
    assert list(unbridged_networks([], {}, None)) == []
