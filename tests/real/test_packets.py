"""Packets between guests of QEMU on two nodes, by Open vSwitch in user space in the pods of its chart."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from sandbox.cluster import Sandbox
from sandbox.errors import SandboxError
from sandbox.images.build import ensure_image
from sandbox.images.recipes import ENTRYPOINT, GUEST_HOST, OPENVSWITCH, Recipe
from sandbox.node import faults
from sandbox.node.hosts import RealNode, real_nodes
from tests.real.sandboxes import real_sandbox
from tests.real.test_node import wait_until

pytestmark = [pytest.mark.real, pytest.mark.timeout(3600)]

NAME = "real-packets"
NAMESPACE = "openstack"
CHART = Path(__file__).parents[2] / "charts" / "openvswitch"
ONE, OTHER = real_nodes(2)
LABELS = "application=openvswitch,component=server"
BOOT_SECONDS = 600.0
SERVER = "192.0.2.1"
ADDRESSES = {ONE: "192.0.2.11", OTHER: "192.0.2.12"}
MASK = 24


def image_name(recipe: Recipe) -> str:
    return f"sandbox.local/{recipe.name}:1"


@pytest.fixture(scope="module")
def two() -> Iterator[Sandbox]:
    """Two nodes with the images of a switch and of guests."""
    with real_sandbox(NAME, nodes=2) as box:
        for recipe in (ENTRYPOINT, OPENVSWITCH, GUEST_HOST):
            box.images().load(ensure_image(recipe, print), [image_name(recipe)])
        box.create_namespace(NAMESPACE, {})
        yield box


@pytest.fixture(scope="module")
def switched(two: Sandbox) -> Sandbox:
    """The switch of the chart on both nodes, and one network between them, in VXLAN."""
    values = {
        "images": {
            "tags": {
                "dep_check": image_name(ENTRYPOINT),
                "openvswitch_db_server": image_name(OPENVSWITCH),
                "openvswitch_vswitchd": image_name(OPENVSWITCH),
            }
        },
        # It makes devices by /dev/net/tun.
        "pod": {"security_context": {"ovs": {"container": {"vswitchd": {"privileged": True}}}}},
    }
    file = two.layout.directory / "openvswitch.json"
    file.write_text(json.dumps(values))
    subprocess.run(
        [two.helm, "install", "openvswitch", CHART, "--namespace", NAMESPACE, "--values", file],
        check=True,
        env={"HOME": str(two.layout.directory), "KUBECONFIG": str(two.kubeconfig)},
    )
    two.kubectl("rollout", "status", "--namespace", NAMESPACE, "daemonset/openvswitch", "--timeout=300s")
    for node, peer in ((ONE, OTHER), (OTHER, ONE)):
        # A tunnel of a switch in user space leaves by a bridge of its own.
        in_switch(two, node, "ovs-vsctl", "add-br", "br-tunnel", *user_space("br-tunnel"))
        in_switch(two, node, "ovs-vsctl", "add-port", "br-tunnel", "eth1")
        in_switch(two, node, "ip", "address", "flush", "dev", "eth1")
        address = f"{node.tunnel_address}/24"
        in_switch(two, node, "ip", "address", "add", address, "dev", "br-tunnel")
        in_switch(two, node, "ip", "link", "set", "br-tunnel", "up")
        in_switch(two, node, "ovs-vsctl", "add-br", "br-int", *user_space("br-int"))
        options = (f"options:remote_ip={peer.tunnel_address}", "options:key=7")
        tunnel = ("--", "set", "Interface", "tunnel", "type=vxlan", *options)
        in_switch(two, node, "ovs-vsctl", "add-port", "br-int", "tunnel", *tunnel)
    return two


def user_space(bridge: str) -> tuple[str, ...]:
    return ("--", "set", "Bridge", bridge, "datapath_type=netdev")


def in_switch(box: Sandbox, node: RealNode, *command: str) -> str:
    """Runs a command in the container of that node's switch."""
    listed = json.loads(
        box.kubectl(
            *("get", "pods", "--namespace", NAMESPACE, "-l", LABELS, "--output=json"),
            f"--field-selector=spec.nodeName={node.name}",
        )
    )
    (pod,) = listed["items"]
    there = ("--namespace", NAMESPACE, pod["metadata"]["name"], "-c", "openvswitch-vswitchd")
    return box.kubectl("exec", *there, "--", *command)


def run_pod(box: Sandbox, name: str, node: RealNode, script: str) -> None:
    """A pod on the node's own network, beside its switch."""
    spec: dict[str, Any] = {
        "nodeName": node.name,
        "hostNetwork": True,
        "terminationGracePeriodSeconds": 0,
        "containers": [
            {
                "name": "main",
                "image": image_name(GUEST_HOST),
                "command": ["bash", "-euc", script],
                "securityContext": {"privileged": True},
                "volumeMounts": [{"name": "run", "mountPath": "/run/openvswitch"}],
            }
        ],
        "volumes": [{"name": "run", "hostPath": {"path": "/run/openvswitch"}}],
    }
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec}
    box.kubectl("apply", "--namespace", NAMESPACE, "-f", "-", input=json.dumps(pod))


def address_server(hosts: str) -> str:
    """As Neutron's agent has it: a port of the switch that is moved into a network namespace."""
    return f"""
ovs-vsctl --timeout=30 add-port br-int dhcp -- set Interface dhcp type=internal
ip netns add dhcp
ip link set dhcp netns dhcp
ip netns exec dhcp ip address add {SERVER}/{MASK} dev dhcp
ip netns exec dhcp ip link set dhcp up
exec ip netns exec dhcp dnsmasq --keep-in-foreground --log-facility=- --log-dhcp --port=0 --interface=dhcp \\
  --user=root --leasefile-ro --bind-interfaces --dhcp-range={SERVER},static {hosts}
"""


def guest(node: RealNode, target: str) -> str:
    """A guest whose card is a device of the switch; its console is the pod's log."""
    return f"""
ip tuntap add dev guest mode tap
ip link set guest up
ovs-vsctl --timeout=30 add-port br-int guest
exec qemu-system-x86_64 -nodefaults -display none -accel tcg -m 192 -serial stdio -monitor none \\
  -kernel /guest/vmlinuz -initrd /guest/initrd -append "console=ttyS0 guest.ping={target}" \\
  -netdev tap,id=net,ifname=guest,script=no,downscript=no \\
  -device virtio-net-pci,netdev=net,mac={mac(node)},csum=off,guest_csum=off
"""


def mac(node: RealNode) -> str:
    return f"52:54:00:00:00:{node.index:02x}"


def log(box: Sandbox, name: str) -> str:
    try:
        return box.kubectl("logs", "--namespace", NAMESPACE, name)
    except SandboxError:
        return ""


def said(box: Sandbox, name: str, text: str) -> bool:
    return text in log(box, name)


def summaries(box: Sandbox, name: str) -> list[tuple[int, int]]:
    """Packets sent and come back, of each ten that the guest of that pod sent."""
    found = re.findall(r"(\d+) packets transmitted, (\d+) packets received", log(box, name))
    return [(int(sent), int(back)) for sent, back in found]


def had_all_back(box: Sandbox, name: str) -> bool:
    return (10, 10) in summaries(box, name)


@pytest.fixture(scope="module")
def guests(switched: Sandbox) -> Sandbox:
    """A guest on each node, with an address by DHCP; that of the first sends packets to the other's."""
    hosts = " ".join(f"--dhcp-host={mac(node)},{address}" for node, address in ADDRESSES.items())
    run_pod(switched, "dhcp", ONE, address_server(hosts))
    wait_until(partial(said, switched, "dhcp", "DHCP, static leases only"), "no server of addresses", 180)
    run_pod(switched, "guest2", OTHER, guest(OTHER, ADDRESSES[ONE]))
    run_pod(switched, "guest1", ONE, guest(ONE, ADDRESSES[OTHER]))
    return switched


def test_guests_on_both_nodes_get_their_addresses_by_dhcp(guests: Sandbox) -> None:
    for name, address in (("guest1", ADDRESSES[ONE]), ("guest2", ADDRESSES[OTHER])):
        text = f"the guest has {address} by DHCP from {SERVER}"
        wait_until(partial(said, guests, name, text), f"{name}: no address", BOOT_SECONDS)
    # That of the second crossed the tunnel.
    assert f"DHCPACK(dhcp) {ADDRESSES[OTHER]}" in log(guests, "dhcp")


def test_guests_of_both_nodes_reach_each_other_through_the_tunnel(guests: Sandbox) -> None:
    for name in ("guest1", "guest2"):
        wait_until(partial(had_all_back, guests, name), f"{name}: packets are lost", 180)
        print(name, re.findall("round-trip.*", log(guests, name))[-1:], summaries(guests, name))
    carried = in_switch(guests, ONE, "ovs-vsctl", "get", "Interface", "tunnel", "statistics")
    packets = {key: int(value) for key, value in re.findall(r"([rt]x_packets)=(\d+)", carried)}
    print(f"the tunnel carried {packets}")
    assert min(packets.values()) >= 20


def test_guests_lose_each_other_while_the_tunnel_network_is_cut(guests: Sandbox) -> None:
    faults.cut(guests.layout, OTHER, ["tunnel"])
    wait_until(lambda: (10, 0) in summaries(guests, "guest1"), "packets pass a cut link", 180)
    seen = len(summaries(guests, "guest1"))
    faults.mend(guests.layout, OTHER, ["tunnel"])
    wait_until(lambda: (10, 10) in summaries(guests, "guest1")[seen:], "no packet passes again", 180)
    print("guest1", summaries(guests, "guest1"))
