"""Scripts of the charts in their pods: as their user, on a read-only root, with the real commands."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.charts.lean import nest
from tests.charts.node import FULL_NAME, Node, Pod, a_node

pytestmark = pytest.mark.slow

NOVA = (42424, 42424)


@pytest.fixture
def node() -> Iterator[Node]:
    with a_node() as made:
        yield made


def owner(path: Path) -> tuple[int, int]:
    found = path.stat()
    return found.st_uid, found.st_gid


def compute_pod(node: Node, values: dict[str, Any] | None = None) -> Pod:
    return Pod(node, "nova", "DaemonSet/nova-compute", values)


def written(pod: Pod) -> dict[str, str]:
    """What the init container left for nova-compute."""
    return {file.name: file.read_text() for file in (pod.directory / "volumes/scratch/tmp/host").iterdir()}


def test_a_compute_host_finds_its_addresses_and_name(node: Node) -> None:
    node.give_interface("bond7", "198.51.100.7/24")
    pod = compute_pod(node, nest("conf.libvirt.live_migration_interface", "bond7"))
    code, said = pod.run("nova-compute-init")
    assert code == 0, said
    assert written(pod) == {
        "hypervisor.conf": "[DEFAULT]\nmy_ip = 192.0.2.10\n",
        "libvirt.conf": "[libvirt]\nlive_migration_inbound_addr = 198.51.100.7\n",
        "console.conf": "[vnc]\nserver_proxyclient_address = 192.0.2.10\n",
        "name.conf": f"[DEFAULT]\nhost = {FULL_NAME}\n",
    }


def test_the_directories_of_a_compute_host_are_its_users(node: Node) -> None:
    code, said = compute_pod(node).run("nova-compute-init")
    assert code == 0, said
    assert {owner(node.host / "var/lib" / name) for name in ("nova", "nova/instances")} == {NOVA}


def test_a_compute_host_is_the_same_after_its_disk_was_wiped(node: Node) -> None:
    values = nest("manifests.compute_uuid_self_provisioning", True)
    assert compute_pod(node, values).run("nova-compute-init")[0] == 0
    identity = node.host / "var/lib/nova/compute_id"
    before = identity.read_text()
    identity.unlink()
    assert compute_pod(node, values).run("nova-compute-init")[0] == 0
    assert (identity.read_text(), owner(identity)) == (before, NOVA)


def test_an_interface_without_address_fails_and_is_named(node: Node) -> None:
    node.give_interface("bond9")
    code, said = compute_pod(node, nest("conf.hypervisor.host_interface", "bond9")).run("nova-compute-init")
    assert code != 0
    assert "bond9 has no IPv4 address for my_ip" in said


def test_a_host_without_the_route_that_an_address_is_found_by_says_so(node: Node) -> None:
    node.inside("ip", "route", "delete", "default")
    code, said = compute_pod(node).run("nova-compute-init")
    assert code != 0
    assert "no route to 0/0, by which my_ip would be found" in said


def test_a_host_without_a_full_name_gets_no_empty_one(node: Node) -> None:
    node.addresses = ""
    pod = compute_pod(node)
    code, said = pod.run("nova-compute-init")
    assert code != 0
    assert "hostname:" in said
    assert "name.conf" not in written(pod)


@pytest.mark.parametrize("agent", ["l3", "dhcp", "metadata"])
def test_the_meeting_place_of_the_agents_is_their_users(agent: str, node: Node) -> None:
    code, said = Pod(node, "neutron", f"DaemonSet/neutron-{agent}-agent").run(f"neutron-{agent}-agent-init")
    assert code == 0, said
    assert owner(node.host / "var/lib/neutron/openstack-helm") == NOVA
