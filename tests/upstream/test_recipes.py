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


GROUPS = {
    # By the labels of a node beside those of its role: bridges with the interface in each, and the mapping.
    "blue": ({"br-blue": "bond1", "br-green": ""}, "blue:br-blue"),
    "green": ({"br-blue": "", "br-green": "ens3f0"}, "green:br-green"),
    "both": ({"br-blue": "bond1", "br-green": "bond2"}, "blue:br-blue,green:br-green"),
    "other": ({"br-blue": "", "br-green": ""}, ""),
}


def pod_on(objs: tuple[Any, ...], part: str, labels: dict[str, str]) -> dict[str, Any]:
    """The one pod that the DaemonSets of a part make on a node with these labels."""
    [spec] = [
        spec
        for obj, spec in production.pod_specs(objs)
        if obj["kind"] == "DaemonSet"
        and part in obj["metadata"]["name"]
        and production.may_run_on(spec, labels)
    ]
    return dict(spec)


def mounted(objs: tuple[Any, ...], spec: dict[str, Any], name: str) -> str:
    """The text of a file that the pod mounts."""
    sources = {
        (volume.get(kind) or {}).get(key)
        for volume in spec["volumes"]
        for kind, key in (("secret", "secretName"), ("configMap", "name"))
    }
    [text] = {
        text
        for obj in objs
        if obj["metadata"]["name"] in sources
        for found, text in production.files(obj)
        if found == name
    }
    return text


def option(text: str, name: str) -> str:
    [found] = [
        line.partition("=")[2].strip() for line in text.splitlines() if re.match(rf"{name} *=", line.strip())
    ]
    return found


@pytest.mark.parametrize("group", GROUPS)
def test_each_group_of_nodes_is_in_its_own_physical_network(charts: Path, group: str) -> None:
    neutron = made(charts, "Physical networks that some nodes have, with ml2/ovs", "neutron")
    bridges, mapping = GROUPS[group]
    rack = {"blue": "blue", "green": "green", "both": "control", "other": "red"}[group]
    agent = pod_on(neutron, "ovs-agent", {"openvswitch": "enabled", "rack": rack})
    assert option(mounted(neutron, agent, "openvswitch_agent.ini"), "bridge_mappings") == mapping
    # The chart's own br-ex is null there, and in no region that does not name it.
    assert json.loads(mounted(neutron, agent, "auto_bridge_add")) == bridges
    [ml2] = set(files(neutron, "ml2_conf.ini"))
    assert option(ml2, "network_vlan_ranges") == "blue:100:199,green:200:299"


@pytest.mark.parametrize("group", GROUPS)
def test_each_group_of_nodes_is_in_its_own_physical_network_of_ovn(charts: Path, group: str) -> None:
    ovn = made(charts, "Physical networks that some nodes have, with ml2/ovn", "ovn")
    bridges, mapping = GROUPS[group]
    rack = {"blue": "blue", "green": "green", "both": "gateway", "other": "red"}[group]
    gateway = {"l3-agent": "enabled"} if group == "both" else {}
    controller = pod_on(ovn, "ovn-controller", {"openvswitch": "enabled", "rack": rack, **gateway})
    assert json.loads(mounted(ovn, controller, "auto_bridge_add")) == bridges
    script = mounted(ovn, controller, "ovn-controller-init.sh")
    [set_to] = [
        line.partition("ovn-bridge-mappings=")[2]
        for line in script.splitlines()
        if line.startswith("ovs-vsctl") and "ovn-bridge-mappings=" in line
    ]
    # As the shell of the script reads it, the last is "", which Open vSwitch takes for an empty text.
    assert set_to == (f'"{mapping}"' if mapping else r'"\"\""')


def test_a_node_with_two_labels_has_no_controller_of_ovn_and_the_region_is_warned(charts: Path) -> None:
    one = {"services": {"networking": {"ovn": {"controller": {"values": {"conf": {"ovn_bridge": "br-a"}}}}}}}
    nodes = {"rack::blue": one, "l3-agent::enabled": one}
    features = {"networking": {"backend": "ml2/ovn"}}
    found = region(charts, {"preset": "compute", "features": features, "nodes": nodes})
    release = found.release("ovn")
    assert release is not None
    both = {"openvswitch": "enabled", "rack": "blue", "l3-agent": "enabled"}
    controllers = [
        spec
        for obj, spec in production.pod_specs(objects(release))
        if obj["kind"] == "DaemonSet" and "controller" in obj["metadata"]["name"]
    ]
    assert len(controllers) == 3
    # Once it has one, the warning, and what docs/values.md and upstream-defects.md say of it, can go.
    assert not any(production.may_run_on(spec, both) for spec in controllers)
    [warning] = [one.message for one in found.warnings if one.path == "spec.nodes"]
    assert "no pod of controller on a node with two of the labels l3-agent=enabled, rack=blue" in warning


def test_a_node_with_two_labels_has_an_agent_of_neutron(charts: Path) -> None:
    neutron = made(charts, "Physical networks that some nodes have, with ml2/ovs", "neutron")
    assert pod_on(neutron, "ovs-agent", {"openvswitch": "enabled", "rack": "blue", "card": "second-slot"})


def test_the_switch_begins_with_dpdk_and_has_huge_pages(charts: Path) -> None:
    recipe = "DPDK, with ml2/ovs"
    switch = made(charts, recipe, "openvswitch")
    [script] = set(files(switch, "openvswitch-vswitchd.sh"))
    assert "other_config:dpdk-init=true" in script
    assert 'other_config:pmd-cpu-mask="0x4"' in script
    assert 'other_config:dpdk-socket-mem="1024"' in script
    pod = pod_on(switch, "openvswitch", {"openvswitch": "enabled"})
    images = {one["name"]: one for one in pod["containers"]}
    assert {one["image"] for one in images.values()} == {
        "quay.io/airshipit/openvswitch:latest-ubuntu_noble-dpdk"
    }
    resources = images["openvswitch-vswitchd"]["resources"]
    for kind in ("requests", "limits"):
        assert (resources[kind]["hugepages-2Mi"], resources[kind]["memory"]) == ("1Gi", "2Gi")


@pytest.mark.parametrize(
    ("labels", "address"), [({}, "0000:05:00.0"), ({"card": "second-slot"}, "0000:82:00.0")]
)
def test_the_agent_puts_the_card_of_its_node_into_the_bridge(
    charts: Path, labels: dict[str, str], address: str
) -> None:
    neutron = made(charts, "DPDK, with ml2/ovs", "neutron")
    agent = pod_on(neutron, "ovs-agent", {"openvswitch": "enabled", **labels})
    given = json.loads(mounted(neutron, agent, "dpdk.conf"))
    assert (given["enabled"], given["driver"], given["bridges"]) == (True, "vfio-pci", [{"name": "br-fast"}])
    assert given["nics"] == [{"name": "dpdk0", "pci_id": address, "bridge": "br-fast", "migrate_ip": False}]
    options = mounted(neutron, agent, "openvswitch_agent.ini")
    assert (option(options, "datapath_type"), option(options, "bridge_mappings")) == (
        "netdev",
        "fast:br-fast",
    )


@pytest.mark.parametrize("backend", ["ml2/ovs", "ml2/ovn"])
def test_the_switch_gives_flows_to_cards_and_nova_knows_these(charts: Path, backend: str) -> None:
    recipe = f"Offload to cards, with {backend}"
    [script] = set(files(made(charts, recipe, "openvswitch"), "openvswitch-vswitchd.sh"))
    assert "other_config:hw-offload=true" in script
    [nova] = set(files(made(charts, recipe, "nova"), "nova.conf"))
    assert json.loads(option(nova, "device_spec")) == {
        "vendor_id": "15b3",
        "product_id": "101e",
        "physical_network": None,
    }
    assert "PciPassthroughFilter" in option(nova, "enabled_filters")


def test_addresses_are_announced_by_bgp_from_every_node_of_ovn(charts: Path) -> None:
    ovn = made(charts, "BGP, with ml2/ovn", "ovn")
    agent = pod_on(ovn, "ovn-bgp-agent", {"openvswitch": "enabled"})
    assert {one["name"] for one in agent["containers"]} == {"ovn-bgp-agent", "frr"}
    options = mounted(ovn, agent, "bgp-agent.conf")
    assert (option(options, "bgp_AS"), option(options, "driver")) == ("64999", "ovn_bgp_driver")
    assert "neighbor 192.0.2.1 remote-as 64512" in mounted(ovn, agent, "frr.conf")
    [ml2] = set(files(made(charts, "BGP, with ml2/ovn", "neutron"), "ml2_conf.ini"))
    assert option(ml2, "enable_distributed_floating_ip").lower() == "true"


def test_networks_of_ovn_have_all_identifiers_of_geneve_unasked(charts: Path) -> None:
    [ml2] = set(files(made(charts, "BGP, with ml2/ovn", "neutron"), "ml2_conf.ini"))
    assert "vni_ranges = 1:65536" in ml2.partition("[ml2_type_geneve]")[2].partition("[")[0]


def test_every_recipe_is_rendered_by_a_test() -> None:
    text = Path(__file__).read_text(encoding="utf-8")
    told = {title.replace("ml2/ovs", "{backend}").replace("ml2/ovn", "{backend}") for title in recipes()}
    tried = text.replace("ml2/ovs", "{backend}").replace("ml2/ovn", "{backend}")
    assert {title for title in told if f'"{title}"' not in tried} == set()


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


def test_large_packets_are_of_the_network_that_has_them(charts: Path) -> None:
    neutron = made(charts, "Large packets on a bond", "neutron")
    [ml2], [conf] = set(files(neutron, "ml2_conf.ini")), set(files(neutron, "neutron.conf"))
    assert option(ml2, "physical_network_mtus") == "edge:9000"
    assert option(ml2, "path_mtu") == option(conf, "global_physnet_mtu") == "9000"


def test_networks_of_projects_have_the_identifiers_that_are_given(charts: Path) -> None:
    [ml2] = set(files(made(charts, "More networks of projects, with ml2/ovs", "neutron"), "ml2_conf.ini"))
    assert "vni_ranges = 1:1000000" in ml2


@pytest.mark.parametrize(
    ("labels", "mode"), [({}, "dvr"), ({"openstack-network-node": "enabled"}, "dvr_snat")]
)
def test_gateways_of_routers_are_on_nodes_with_the_label_only(
    charts: Path, labels: dict[str, str], mode: str
) -> None:
    neutron = made(charts, "Distributed routers without gateways on hypervisors, with ml2/ovs", "neutron")
    agent = pod_on(neutron, "l3-agent", {"openvswitch": "enabled", **labels})
    assert option(mounted(neutron, agent, "l3_agent.ini"), "agent_mode") == mode


@pytest.mark.parametrize(("role", "ratio"), [("batch", "2"), ("other", "3")])
def test_a_ratio_is_of_the_nodes_with_the_label(charts: Path, role: str, ratio: str) -> None:
    nova = made(charts, "A CPU ratio for some nodes", "nova")
    compute = pod_on(nova, "nova-compute", {"openstack-compute-node": "enabled", "role": role})
    assert option(mounted(nova, compute, "nova.conf"), "cpu_allocation_ratio") == ratio
