"""The switch of a node in its pod: Open vSwitch's own programs, and Neutron's init container beside them."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import pytest

from tests.charts.lean import merged, nest
from tests.charts.node import FULL_NAME, Node, Pod, Running, a_node

pytestmark = pytest.mark.slow


@pytest.fixture
def node() -> Iterator[Node]:
    with a_node() as made:
        yield made


def probe(pod: Pod, running: Running, kind: str) -> int:
    command = pod.container(running.name)[f"{kind}Probe"]["exec"]["command"]
    return running.exec(command).returncode


def started(pod: Pod) -> tuple[Running, Running]:
    """The database and the switch, both ready, after what the pod does before and beside them."""
    code, said = pod.run("openvswitch-db-perms")
    assert code == 0, said
    database, switch = pod.start("openvswitch-db"), pod.start("openvswitch-vswitchd")
    hook = switch.exec(pod.container(switch.name)["lifecycle"]["postStart"]["exec"]["command"])
    assert hook.returncode == 0, hook.stderr + switch.said()
    for running in (database, switch):
        running.until(*pod.container(running.name)["readinessProbe"]["exec"]["command"])
    return database, switch


def switch_pod(node: Node, values: dict[str, Any] | None = None) -> Pod:
    return Pod(node, "openvswitch", "DaemonSet/openvswitch", values)


def test_the_switch_runs_and_its_probes_pass(node: Node) -> None:
    pod = switch_pod(node)
    database, switch = started(pod)
    assert [probe(pod, one, "liveness") for one in (database, switch)] == [0, 0]
    named = switch.exec(["ovs-vsctl", "get", "Open_vSwitch", ".", "external_ids:hostname"])
    assert named.stdout == f"{FULL_NAME}\n"


def test_the_sockets_of_the_switch_are_the_agents_users(node: Node) -> None:
    started(switch_pod(node))
    run = node.host / "run/openvswitch"
    owners = {file.name: file.stat().st_uid for file in run.iterdir() if file.is_socket()}
    assert owners == dict.fromkeys(["db.sock", "ovsdb-server.1.ctl", "ovs-vswitchd.1.ctl"], 42424) | owners


def test_a_switch_that_was_killed_starts_again_with_what_it_knew(node: Node) -> None:
    first = switch_pod(node)
    database, switch = started(first)
    added = switch.exec(["ovs-vsctl", "--no-wait", "add-br", "br-kept"])
    assert added.returncode == 0, added.stderr
    for running in (switch, database):
        running.kill()
    _, switch = started(switch_pod(node))
    assert switch.exec(["ovs-vsctl", "list-br"]).stdout == "br-kept\n"


def test_sigterm_ends_the_switch_and_its_database(node: Node) -> None:
    database, switch = started(switch_pod(node))
    for running in (switch, database):
        running.terminate(within=10)


def test_sigterm_ends_a_switch_that_waits_for_its_database(node: Node) -> None:
    pod = switch_pod(node)
    assert pod.run("openvswitch-db-perms")[0] == 0
    switch = pod.start("openvswitch-vswitchd")
    while "waiting for the database" not in switch.said():
        assert switch.running(), switch.said()
        time.sleep(0.05)
    switch.terminate(within=10)


def agent_pod(node: Node, bridges: dict[str, str | None], tunnel: str | None = None) -> Pod:
    """The pod of Neutron's agent beside the switch.

    Devices of bridges are made by the kernel's module, which not every machine has: they are put in by hand.
    """
    for bridge in bridges:
        node.give_interface(bridge)
    values = merged(
        nest("conf.auto_bridge_add", bridges),
        nest("conf.plugins.openvswitch_agent.ovs.bridge_mappings", "public:br-ex"),
    ) | nest("network.interface.tunnel", tunnel)
    return Pod(node, "neutron", "DaemonSet/neutron-ovs-agent", values)


def test_bridges_are_made_and_the_tunnel_end_is_found_however_often_it_is_asked(node: Node) -> None:
    _, switch = started(switch_pod(node))
    node.give_interface("eth1")
    pod = agent_pod(node, {"br-ex": "eth1", "br-dc": None})
    for _ in range(2):
        code, said = pod.run("neutron-ovs-agent-init")
        assert code == 0, said
        listed = [
            switch.exec(["ovs-vsctl", *words]).stdout for words in (["list-br"], ["list-ports", "br-ex"])
        ]
        assert listed == ["br-dc\nbr-ex\nbr-int\n", "eth1\n"]
    tunnel = pod.directory / "volumes/scratch/tmp/tunnel.ini"
    assert tunnel.read_text() == "[ovs]\nlocal_ip = 192.0.2.10\n"


def test_an_interface_of_a_bridge_that_is_not_there_fails_the_agents_start(node: Node) -> None:
    started(switch_pod(node))
    code, said = agent_pod(node, {"br-ex": "eth7"}).run("neutron-ovs-agent-init")
    assert code != 0
    assert "eth7" in said


def test_a_host_without_the_route_that_tunnels_would_take_says_so(node: Node) -> None:
    started(switch_pod(node))
    node.inside("ip", "route", "delete", "default")
    code, said = agent_pod(node, {}).run("neutron-ovs-agent-init")
    assert code != 0
    assert "no route to 0/0" in said


def test_a_database_that_was_half_made_does_not_stop_the_switch(node: Node) -> None:
    run = node.host / "run/openvswitch"
    run.mkdir(parents=True)
    (run / "conf.db.new").write_text("OVSDB")
    started(switch_pod(node))
    assert (run / "conf.db").exists() and not (run / "conf.db.new").exists()


def test_bridges_in_user_space_are_made_with_their_devices_and_need_no_module(node: Node) -> None:
    # It makes the devices of such bridges by /dev/net/tun.
    _, switch = started(
        switch_pod(node, nest("pod.security_context.ovs.container.vswitchd.privileged", True))
    )
    node.give_interface("eth1")
    switched = {"bridge_mappings": "public:br-ex", "datapath_type": "netdev"}
    values = merged(
        nest("conf.auto_bridge_add", {"br-ex": "eth1"}),
        nest("conf.plugins.openvswitch_agent.ovs", switched),
    )
    pod = Pod(node, "neutron", "DaemonSet/neutron-ovs-agent", values)
    for name in ("neutron-openvswitch-agent-kernel-modules", "neutron-ovs-agent-init"):
        code, said = pod.run(name)
        assert code == 0, said
    for bridge in ("br-int", "br-ex"):
        read = ["ovs-vsctl", "get", "Bridge", bridge, "datapath_type"]
        assert switch.exec(read).stdout == "netdev\n"


def test_a_bridge_takes_over_the_addresses_and_routes_of_its_port(node: Node) -> None:
    started(switch_pod(node))
    node.give_interface("eth1", "198.51.100.5/24")
    node.inside("ip", "route", "add", "203.0.113.0/24", "via", "198.51.100.1", "dev", "eth1")
    pod = agent_pod(node, {"br-ex": "eth1"}, tunnel="br-ex")
    for _ in range(2):
        code, said = pod.run("neutron-ovs-agent-init")
        assert code == 0, said
        assert node.inside("ip", "-4", "-o", "address", "show", "dev", "eth1").stdout == ""
        assert "198.51.100.5/24" in node.inside("ip", "-4", "-o", "address", "show", "dev", "br-ex").stdout
        assert "203.0.113.0/24 via 198.51.100.1 dev br-ex" in node.inside("ip", "route").stdout
    tunnel = pod.directory / "volumes/scratch/tmp/tunnel.ini"
    assert tunnel.read_text() == "[ovs]\nlocal_ip = 198.51.100.5\n"
