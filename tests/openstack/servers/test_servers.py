"""OpenStackServers from their object to a real Nova, Neutron, Glance and Cinder, and back."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from controller.ports.kubernetes import SERVER
from tests.cluster.region import wait_until
from tests.openstack.proxy import Fault
from tests.openstack.servers.bed import NETWORK, ServersBed

pytestmark = [
    pytest.mark.cluster,
    pytest.mark.openstack,
    pytest.mark.xdist_group("openstack"),
    pytest.mark.timeout(1500),
]

DATA = {"name": "data", "sizeGiB": 1, "storage": {"type": "Volume"}}


def test_conditions_finalizer_and_ids_are_there_before_the_first_request(servers: ServersBed) -> None:
    seen: list[dict[str, Any]] = []

    def look(method: str, path: str) -> Fault | None:
        if method == "POST" and path.endswith("/ports") and not seen:
            seen.append(dict(servers.live("first") or {}))
        return None

    servers.proxy.rule = look
    servers.create("first")
    servers.wait_ready("first")
    [before] = seen
    assert before["metadata"]["finalizers"] == ["servers.osctl.dev/finalizer"]
    assert len(before["status"]["conditions"]) == 9
    assert before["status"]["resolved"]["imageID"] == servers.sdk.image.find_image("tiny").id
    asked = [path.split("/")[1] for method, path in servers.proxy.writes() if method == "POST"]
    assert asked == ["neutron", "nova"]
    found, status = servers.of(servers.uid("first")), servers.status("first")
    assert status["instanceID"] == found["servers"][0].id
    assert status["resources"]["ports"][0]["id"] == found["ports"][0].id
    assert status["addresses"][0]["address"] == found["ports"][0].fixed_ips[0]["ip_address"]


def test_what_a_spec_says_of_ports_and_server_arrives_exactly(servers: ServersBed) -> None:
    network = servers.sdk.network.find_network("net0")
    subnet = servers.sdk.network.find_subnet("sub0")
    ports = [
        {
            "network": {"id": network.id},
            "nameSuffix": "inside",
            "fixedIPs": [{"subnet": {"filter": {"cidr": "10.10.0.0/16"}}, "ipAddress": "10.10.7.7"}],
            "tags": ["mine"],
            "allowedAddressPairs": [{"ipAddress": "10.96.0.0/12"}],
            "vnicType": "normal",
            "securityGroups": [{"filter": {"name": "default"}}],
        },
        {**NETWORK, "disablePortSecurity": True, "fixedIPs": [{"subnet": {"id": subnet.id}}]},
    ]
    servers.give_secret("init", value=b"#cloud-config\n")
    servers.create(
        "exact",
        flavor=None,
        flavorID="small",
        image={"id": servers.sdk.image.find_image("tiny").id},
        ports=ports,
        tags=["ours"],
        serverMetadata=[{"key": "role", "value": "test"}],
        configDrive=True,
        userDataRef={"name": "init"},
    )
    servers.wait_ready("exact")
    found = servers.of(servers.uid("exact"))
    by_name = {one.name: one for one in found["ports"]}
    inside, outside = by_name["exact-inside"], by_name["exact-1"]
    assert inside.fixed_ips == [{"subnet_id": subnet.id, "ip_address": "10.10.7.7"}]
    assert {"mine"} < set(inside.tags) and inside.binding_vnic_type == "normal"
    assert [pair["ip_address"] for pair in inside.allowed_address_pairs] == ["10.96.0.0/12"]
    assert outside.is_port_security_enabled is False and outside.security_group_ids == []
    [made] = found["servers"]
    assert "ours" in servers.sdk.compute.get_server(made.id).tags
    assert made.metadata["role"] == "test" and made.has_config_drive


def test_volumes_are_put_to_the_server_and_go_with_it(servers: ServersBed) -> None:
    # The driver of this cloud's Cinder cannot write an image into a volume.
    servers.create("disks", additionalBlockDevices=[DATA])
    servers.wait_ready("disks")
    uid = servers.uid("disks")
    found = servers.of(uid)
    assert {one.name: one.status for one in found["volumes"]} == {"disks-data": "in-use"}
    servers.wipe_status("disks")
    servers.delete("disks")
    assert servers.of(uid) == {}


def test_a_bastion_keeps_its_floating_ip_when_it_is_edited(servers: ServersBed) -> None:
    servers.create("bastion", update="Replace", floatingIP={"pool": "public"})
    servers.wait_ready("bastion")
    uid, before = servers.uid("bastion"), servers.of(servers.uid("bastion"))
    servers.edit("bastion", tags=["edited"])
    servers.wait("replaced", lambda: _is_replaced(servers, before["servers"][0].id), "bastion")
    servers.wait_ready("bastion")
    after = servers.of(uid)
    assert [one.id for one in after["floating_ips"]] == [one.id for one in before["floating_ips"]]
    assert after["floating_ips"][0].port_id == after["ports"][0].id
    listed = {one["address"] for one in servers.status("bastion")["addresses"]}
    assert after["floating_ips"][0].floating_ip_address in listed
    servers.edit("bastion", enabled=False)
    servers.wait_reason("bastion", "Disabled")
    servers.wait("nothing is left", lambda: servers.of(uid) == {}, "bastion")


def _is_replaced(servers: ServersBed, before: str) -> bool:
    return servers.status("bastion").get("instanceID", before) != before


def test_what_others_delete_is_told_or_made_again(servers: ServersBed) -> None:
    servers.create("told")
    servers.create("again", onExternalDeletion="Recreate")
    servers.wait_ready("told", "again")
    compute, network = servers.sdk.compute, servers.sdk.network
    lost = servers.status("again")["instanceID"]
    for name in ("told", "again"):
        compute.delete_server(servers.status(name)["instanceID"])
    servers.wait_reason("told", "InstanceDeleted")
    servers.wait("another one", lambda: servers.status("again").get("instanceID", lost) != lost, "again")
    servers.wait_ready("again")
    network.delete_port(servers.status("again")["resources"]["ports"][0]["id"])

    def replaced() -> bool:
        ports = servers.of(servers.uid("again")).get("ports", [])
        return [one.device_id for one in ports] == [servers.status("again")["instanceID"]]

    servers.wait("one port in its place", replaced, "again")
    assert len(servers.of(servers.uid("told")).get("servers", [])) == 0


def test_an_error_is_told_in_novas_words_and_leaves_nothing_behind(servers: ServersBed) -> None:
    servers.create("large", flavor="large")
    message = servers.wait_reason("large", "InstanceError")["message"]
    assert "No valid host" in message
    uid = servers.uid("large")
    assert len(servers.of(uid)["ports"]) == 1
    servers.delete("large")
    assert servers.of(uid) == {}


def test_quotas_are_a_reason_of_their_own_and_heal(servers: ServersBed) -> None:
    project = servers.sdk.current_project_id
    used = len(list(servers.sdk.network.ports(project_id=project)))
    servers.sdk.network.update_quota(project, port=used)
    try:
        servers.create("quota")
        servers.wait_reason("quota", "QuotaExceeded")
    finally:
        servers.sdk.network.update_quota(project, port=-1)
    servers.wait_ready("quota")
    assert {kind: len(found) for kind, found in servers.of(servers.uid("quota")).items()} == {
        "servers": 1,
        "ports": 1,
    }


def test_wrong_credentials_and_what_is_missing_heal_without_an_edit(servers: ServersBed) -> None:
    servers.give_credentials(password="wrong")
    servers.create("heal", userDataRef={"name": "later"}, image={"filter": {"name": "absent"}})
    servers.wait_reason("heal", "CredentialsDenied")
    servers.give_credentials()
    message = servers.wait_reason("heal", "DependencyFailed")["message"]
    assert '{"name": "absent"}' in message
    tiny = servers.sdk.image.find_image("tiny")
    servers.sdk.image.update_image(tiny, name="absent")
    try:
        servers.wait_reason("heal", "UserDataMissing")
        servers.give_secret("later", value=b"#cloud-config\n")
        servers.wait_ready("heal")
    finally:
        servers.sdk.image.update_image(tiny, name="tiny")


@pytest.mark.parametrize("status", [429, 503])
def test_a_busy_cloud_is_left_alone_for_as_long_as_it_asks(servers: ServersBed, status: int) -> None:
    busy = threading.Event()

    def rule(method: str, path: str) -> Fault | None:
        if method == "POST" and path.endswith("/servers") and not busy.is_set():
            busy.set()
            return Fault(status=status, headers={"Retry-After": "3"})
        return None

    servers.proxy.rule = rule
    servers.create("busy")
    servers.wait_reason("busy", "CloudBusy")
    servers.wait_ready("busy")
    assert len(servers.of(servers.uid("busy"))["servers"]) == 1


def test_a_suspended_server_is_not_written_to(servers: ServersBed) -> None:
    servers.create("still")
    servers.wait_ready("still")
    servers.region.kubectl("annotate", "oss", "still", "osctl.dev/suspend=true")
    servers.wait("paused", lambda: _paused(servers), "still")
    servers.proxy.seen.clear()
    servers.region.kube.delete(SERVER, "still", servers.region.namespace)
    servers.wait("seen", lambda: (servers.live("still") or {})["metadata"].get("deletionTimestamp"), "still")
    with pytest.raises(AssertionError):
        wait_until("a write", servers.proxy.writes, 8)
    servers.region.kubectl("annotate", "oss", "still", "osctl.dev/suspend-")
    servers.wait("gone", lambda: servers.live("still") is None, "still")


def _paused(servers: ServersBed) -> bool:
    listed = servers.status("still").get("conditions") or ()
    return any(one["type"] == "Paused" and one["status"] == "True" for one in listed)


def test_killed_at_each_request_that_makes_something_it_makes_each_thing_once(servers: ServersBed) -> None:
    kills: list[str] = []
    process = servers.region.controllers

    def before(method: str, path: str) -> bool:
        if method != "POST" or not path.endswith(("/ports", "/servers", "/volumes")):
            return False
        kills.append(path)
        process.kill("servers")
        # Of two requests one is lost with the process, and one arrives without its knowing.
        return len(kills) % 2 == 1

    servers.proxy.lost = before
    servers.create("killed", ports=[NETWORK, NETWORK], additionalBlockDevices=[DATA])

    def done() -> bool:
        process.start("servers")
        return servers.ready("killed").get("reason") == "ServerReady"

    servers.wait("it is ready", done, "killed", 900)
    counts = {kind: len(found) for kind, found in servers.of(servers.uid("killed")).items()}
    assert counts == {"servers": 1, "ports": 2, "volumes": 1}
    assert len(kills) >= 4
