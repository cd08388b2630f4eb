"""The recipes of docs/networks.md come to what they say, on the pinned charts."""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.render import production
from tests.render.region import ROOT
from tests.upstream.regions import objects, region

pytestmark = [pytest.mark.upstream, pytest.mark.timeout(600)]


@cache
def recipes() -> dict[str, dict[str, Any]]:
    text = (ROOT / "docs" / "networks.md").read_text(encoding="utf-8")
    found = re.findall(r"^## (.+?)\n.*?^```yaml\n(.*?)^```", text, re.M | re.S)
    return {title: yaml.load(body, yaml.CSafeLoader)["spec"] for title, body in found}


def made(charts: Path, recipe: str, release: str) -> tuple[Any, ...]:
    found = region(charts, {"preset": "compute", "size": "small", **recipes()[recipe]}).release(release)
    assert found is not None
    return objects(found)


def files(objs: tuple[Any, ...], name: str) -> list[str]:
    return [text for obj in objs for found, text in production.files(obj) if found == name]


def test_each_group_of_nodes_is_in_its_own_physical_network(charts: Path) -> None:
    neutron = made(charts, "Physical networks that some nodes have, with ml2/ovs", "neutron")
    mappings = {
        line.partition("=")[2].strip()
        for text in files(neutron, "openvswitch_agent.ini")
        for line in text.splitlines()
        if line.startswith("bridge_mappings")
    }
    assert mappings == {"", "blue:br-blue", "green:br-green", "blue:br-blue,green:br-green"}
    agents = [
        spec["affinity"]["nodeAffinity"]
        for obj, spec in production.pod_specs(neutron)
        if obj["kind"] == "DaemonSet" and "ovs-agent" in obj["metadata"]["name"]
    ]
    assert len(agents) == 4
    bridges = [json.loads(text) for text in files(neutron, "auto_bridge_add")]
    assert {"br-blue": "bond1", "br-green": ""} in bridges
    assert {"br-blue": "", "br-green": "ens3f0"} in bridges
    assert {"br-blue": "bond1", "br-green": "bond2"} in bridges
    # The chart's own br-ex is null there, and in no region that does not name it.
    assert {name for one in bridges for name in one} == {"br-blue", "br-green"}


def test_each_group_of_nodes_is_in_its_own_physical_network_of_ovn(charts: Path) -> None:
    ovn = made(charts, "Physical networks that some nodes have, with ml2/ovn", "ovn")
    controllers = {
        obj["metadata"]["name"]: spec
        for obj, spec in production.pod_specs(ovn)
        if obj["kind"] == "DaemonSet" and "ovn-controller" in obj["metadata"]["name"]
    }
    assert len(controllers) == 3
    assert all("nodeAffinity" in spec["affinity"] for spec in controllers.values())
    set_to = {
        line.partition("ovn-bridge-mappings=")[2]
        for text in files(ovn, "ovn-controller-init.sh")
        for line in text.splitlines()
        if line.startswith("ovs-vsctl") and "ovn-bridge-mappings=" in line
    }
    # As the shell of the script reads it, the first is "", which Open vSwitch takes for an empty text.
    assert set_to == {r'"\"\""', '"blue:br-blue"', '"green:br-green"'}
    bridges = [json.loads(text) for text in files(ovn, "auto_bridge_add")]
    assert {"br-blue": "", "br-green": ""} in bridges
    assert {"br-blue": "bond1", "br-green": ""} in bridges
    assert {"br-blue": "", "br-green": "ens3f0"} in bridges


@pytest.mark.parametrize(
    ("backend", "drivers"),
    [("ml2/ovs", "openvswitch,l2population,sriovnicswitch"), ("ml2/ovn", "ovn,sriovnicswitch")],
)
def test_ports_of_a_card_have_an_agent_a_driver_and_a_device(
    charts: Path, backend: str, drivers: str
) -> None:
    recipe = f"SR-IOV, with {backend}"
    neutron = made(charts, recipe, "neutron")
    [agent] = [
        spec
        for obj, spec in production.pod_specs(neutron)
        if obj["kind"] == "DaemonSet" and "sriov-agent" in obj["metadata"]["name"]
    ]
    assert agent["nodeSelector"] == {"sriov": "enabled"}
    assert {one["image"] for one in agent["containers"]} == {"quay.io/airshipit/neutron:2026.1-ubuntu_noble"}
    assert any("physical_device_mappings = fast:ens2f0" in text for text in files(neutron, "sriov_agent.ini"))
    [ml2] = set(files(neutron, "ml2_conf.ini"))
    assert f"mechanism_drivers = {drivers}" in ml2
    [nova] = set(files(made(charts, recipe, "nova"), "nova.conf"))
    assert "PciPassthroughFilter" in nova and '"physical_network": "fast"' in nova


def test_networks_of_projects_have_the_identifiers_that_are_given(charts: Path) -> None:
    [ml2] = set(files(made(charts, "More networks of projects, with ml2/ovs", "neutron"), "ml2_conf.ini"))
    assert "vni_ranges = 1:1000000" in ml2


def test_gateways_of_routers_are_on_nodes_with_the_label_only(charts: Path) -> None:
    neutron = made(charts, "Distributed routers without gateways on hypervisors, with ml2/ovs", "neutron")
    modes = {
        line.partition("=")[2].strip()
        for text in files(neutron, "l3_agent.ini")
        for line in text.splitlines()
        if line.startswith("agent_mode")
    }
    assert modes == {"dvr", "dvr_snat"}


def test_a_ratio_is_of_the_nodes_with_the_label(charts: Path) -> None:
    found = files(made(charts, "A CPU ratio for some nodes", "nova"), "nova.conf")
    assert any("cpu_allocation_ratio = 2" in text for text in found)
