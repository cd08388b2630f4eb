"""What a spec says, and what of it is in a real OpenStack: ports, trunks, disks, and what is referred to."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from tests.openstack.servers.bed import DATA, NETWORK, ServersBed

pytestmark = [
    pytest.mark.cluster,
    pytest.mark.openstack,
    pytest.mark.xdist_group("openstack"),
    pytest.mark.timeout(1500),
]


LOCAL = {"name": "scratch", "sizeGiB": 1, "storage": {"type": "Local"}}


def test_what_a_spec_says_of_its_ports_arrives_exactly(servers: ServersBed) -> None:
    network = servers.sdk.network.find_network("net0")
    subnet = servers.sdk.network.find_subnet("sub0")
    inside = {
        "network": {"id": network.id},
        "nameSuffix": "inside",
        "fixedIPs": [{"subnet": {"filter": {"cidr": "10.10.0.0/16"}}, "ipAddress": "10.10.7.7"}],
        "tags": ["mine"],
        "trunk": True,
        "allowedAddressPairs": [
            {"ipAddress": "10.96.0.0/12"},
            {"ipAddress": "10.10.7.8", "macAddress": "fa:16:3e:00:00:08"},
        ],
        "vnicType": "normal",
        "macAddress": "fa:16:3e:00:00:07",
        "propagateUplinkStatus": True,
        "securityGroups": [{"filter": {"name": "default"}}],
    }
    open_port = {**NETWORK, "disablePortSecurity": True, "fixedIPs": [{"subnet": {"id": subnet.id}}]}
    other = {
        "fixedIPs": [{"subnet": {"filter": {"name": "sub0"}}}],
        "vnicType": "baremetal",
        "allowedAddressPairs": [],
        "valueSpecs": [{"name": "down", "key": "admin_state_up", "value": "false"}],
    }
    servers.create("exact", ports=[inside, open_port, other])
    servers.wait_ready("exact")
    found = servers.of(servers.uid("exact"))
    ports = {one.name: one for one in found["ports"]}
    assert set(ports) == {"exact-inside", "exact-1", "exact-2"}
    first, second, third = ports["exact-inside"], ports["exact-1"], ports["exact-2"]
    mark = f"osctl-server-{servers.uid('exact')}"
    assert first.fixed_ips == [{"subnet_id": subnet.id, "ip_address": "10.10.7.7"}]
    assert set(first.tags) == {"mine", mark}
    assert sorted((pair["ip_address"], pair["mac_address"]) for pair in first.allowed_address_pairs) == [
        ("10.10.7.8", "fa:16:3e:00:00:08"),
        ("10.96.0.0/12", "fa:16:3e:00:00:07"),
    ]
    assert (first.binding_vnic_type, first.mac_address) == ("normal", "fa:16:3e:00:00:07")
    assert first.propagate_uplink_status is True
    group = servers.sdk.network.find_security_group("default", project_id=servers.sdk.current_project_id)
    assert first.security_group_ids == [group.id]
    [trunk] = found["trunks"]
    assert (trunk.name, trunk.port_id, set(trunk.tags)) == ("exact-inside", first.id, {"mine", mark})
    assert second.is_port_security_enabled is False and second.security_group_ids == []
    assert [one["subnet_id"] for one in second.fixed_ips] == [subnet.id]
    assert (third.binding_vnic_type, third.is_admin_state_up, third.network_id) == (
        "baremetal",
        False,
        network.id,
    )
    servers.delete("exact")
    assert not [one for one in servers.sdk.network.trunks() if one.name == "exact-inside"]


def test_what_a_spec_says_of_the_server_arrives_exactly(servers: ServersBed) -> None:
    compute = servers.sdk.compute
    servers.give_secret("init", value=b"#cloud-config\n")
    key, group = (
        compute.create_keypair(name="operators"),
        compute.create_server_group(name="apart", policy="anti-affinity"),
    )
    try:
        servers.create(
            "whole",
            flavor=None,
            flavorID="small",
            image={"id": servers.sdk.image.find_image("tiny").id},
            tags=["ours"],
            serverMetadata=[{"key": "role", "value": "test"}],
            configDrive=True,
            sshKeyName=key.name,
            availabilityZone="nova:cmp2",
            serverGroup={"filter": {"name": "apart"}},
            userDataRef={"name": "init"},
        )
        servers.wait_ready("whole")
        made = compute.get_server(servers.of(servers.uid("whole"))["servers"][0].id)
        assert "ours" in made.tags and made.metadata["role"] == "test" and made.has_config_drive
        assert (made.key_name, made.compute_host) == (key.name, "cmp2")
        assert base64.b64decode(made.user_data) == b"#cloud-config\n"
        assert compute.get_server_group(group).member_ids == [made.id]
    finally:
        servers.delete("whole")
        compute.delete_server_group(group)
        compute.delete_keypair(key)


def test_a_server_boots_from_its_volume_and_all_volumes_go_with_it(servers: ServersBed) -> None:
    flavor = servers.sdk.compute.create_flavor(name="scratch", ram=512, vcpus=1, disk=1, ephemeral=1)
    data = {**DATA, "storage": {"type": "Volume", "volume": {"availabilityZone": {"from": "Machine"}}}}
    servers.create(
        "disks",
        flavor="scratch",
        rootVolume={"sizeGiB": 2},
        additionalBlockDevices=[data, LOCAL],
        availabilityZone="nova",
    )
    servers.wait_ready("disks")
    uid = servers.uid("disks")
    found = servers.of(uid)
    assert {one.name: (one.size, one.status, one.is_bootable) for one in found["volumes"]} == {
        "disks-root": (2, "in-use", True),
        "disks-data": (1, "in-use", False),
    }
    made = servers.sdk.compute.get_server(found["servers"][0].id)
    assert not (made.image or {}).get("id")
    servers.wipe_status("disks")
    servers.delete("disks")
    assert servers.of(uid) == {}
    servers.sdk.compute.delete_flavor(flavor)


def test_a_request_that_nova_refuses_leaves_no_volume(servers: ServersBed) -> None:
    # The flavor has no room for a disk on the host: Nova says so once it has reserved the volumes.
    servers.create("refused", rootVolume={"sizeGiB": 1}, additionalBlockDevices=[DATA, LOCAL])
    message = servers.wait_reason("refused", "CloudRefused")["message"]
    assert "Ephemeral disks requested are larger" in message
    uid = servers.uid("refused")
    asked = servers.proxy.asked

    def asked_again() -> bool:
        return sum((method, path.endswith("/servers")) == ("POST", True) for method, path in asked) > 1

    servers.wait("Nova is asked again", asked_again, "refused")
    servers.delete("refused")
    assert servers.of(uid) == {}


def test_a_create_that_failed_leaves_no_volume(servers: ServersBed) -> None:
    servers.create("failed", flavor="huge", rootVolume={"sizeGiB": 1}, additionalBlockDevices=[DATA])
    servers.wait_reason("failed", "InstanceError")
    uid = servers.uid("failed")
    assert len(servers.of(uid)["volumes"]) == 2
    servers.delete("failed")
    assert servers.of(uid) == {}


@contextmanager
def _two_networks(servers: ServersBed) -> Iterator[list[Any]]:
    network = servers.sdk.network
    made = [network.create_network(name="twin") for _ in range(2)]
    try:
        for at, one in enumerate(made):
            network.create_subnet(network_id=one.id, ip_version=4, cidr=f"10.2{at}.0.0/24", name="twin")
        network.set_tags(made[0], ["first"])
        network.set_tags(next(network.subnets(network_id=made[1].id)), ["labelled"])
        yield made
    finally:
        for one in made:
            network.delete_network(one, ignore_missing=True)


def test_what_is_named_twice_or_not_at_all_is_reported_and_heals(servers: ServersBed) -> None:
    with _two_networks(servers) as (first, second):
        servers.create("tagged", ports=[{"network": {"filter": {"name": "twin", "tags": ["first"]}}}])
        servers.create("twice", ports=[{"network": {"filter": {"name": "twin"}}}])
        subnet = {"fixedIPs": [{"subnet": {"filter": {"name": "twin"}}}]}
        servers.create("scoped", ports=[{"network": {"id": second.id}, **subnet}])
        labelled = {"fixedIPs": [{"subnet": {"filter": {"tags": ["labelled"]}}}]}
        servers.create("labelled", ports=[labelled])
        message = servers.wait_reason("twice", "DependencyFailed")["message"]
        assert message == 'network with filter {"name": "twin"}: 2 of them found, but exactly one is needed'
        servers.wait_ready("tagged", "scoped", "labelled")
        assert servers.of(servers.uid("tagged"))["ports"][0].network_id == first.id
        for name in ("scoped", "labelled"):
            assert servers.of(servers.uid(name))["ports"][0].network_id == second.id
        servers.delete("tagged")
        servers.sdk.network.delete_network(first)
        servers.wait_ready("twice")
        assert servers.of(servers.uid("twice"))["ports"][0].network_id == second.id
        servers.create("none", flavor="absent")
        assert '{"name": "absent"}' in servers.wait_reason("none", "DependencyFailed")["message"]
        servers.clean()
