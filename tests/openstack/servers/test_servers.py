"""OpenStackServers from their object to a real Nova, Neutron, Glance and Cinder, and back."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from controller.ports.kubernetes import SERVER
from tests.cluster.region import wait_until
from tests.openstack.proxy import Fault
from tests.openstack.servers.bed import DATA, NETWORK, ServersBed

pytestmark = [
    pytest.mark.cluster,
    pytest.mark.openstack,
    pytest.mark.xdist_group("openstack"),
    pytest.mark.timeout(1500),
]


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


def test_what_others_delete_is_reported_or_made_again(servers: ServersBed) -> None:
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


def test_an_error_is_reported_in_novas_words_and_leaves_nothing_behind(servers: ServersBed) -> None:
    servers.create("huge", flavor="huge", additionalBlockDevices=[DATA])
    message = servers.wait_reason("huge", "InstanceError")["message"]
    assert "No valid host" in message
    uid = servers.uid("huge")
    assert {kind: len(found) for kind, found in servers.of(uid).items()} == {
        "servers": 1,
        "ports": 1,
        "volumes": 1,
    }
    servers.delete("huge")
    assert servers.of(uid) == {}


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
    servers.kubectl("annotate", "oss", "still", "osctl.dev/suspend=true")
    servers.wait("paused", lambda: _paused(servers), "still")
    servers.proxy.seen.clear()
    servers.region.kube.delete(SERVER, "still", servers.namespace)
    servers.wait("seen", lambda: (servers.live("still") or {})["metadata"].get("deletionTimestamp"), "still")
    with pytest.raises(AssertionError):
        wait_until("a write", servers.proxy.writes, 8)
    servers.kubectl("annotate", "oss", "still", "osctl.dev/suspend-")
    servers.wait("gone", lambda: servers.live("still") is None, "still")


def _paused(servers: ServersBed) -> bool:
    listed = servers.status("still").get("conditions") or ()
    return any(one["type"] == "Paused" and one["status"] == "True" for one in listed)


@pytest.mark.parametrize(
    ("times", "objects"), [(5, 1), pytest.param(20, 5, marks=pytest.mark.exhaustive)], ids=str
)
def test_killed_at_requests_that_make_something_it_makes_each_thing_once(
    servers: ServersBed, times: int, objects: int
) -> None:
    kills: list[str] = []
    turn = threading.Lock()
    process = servers.region.controllers
    names = [f"killed-{index}" for index in range(objects)]

    def before(method: str, path: str) -> bool:
        if method != "POST" or not path.endswith(("/ports", "/servers", "/volumes")):
            return False
        with turn:
            if len(kills) == times or not process.pid("servers"):
                return False
            kills.append(path)
            process.kill("servers")
        # Of five requests one is lost with the process, and four arrive without its knowing.
        return len(kills) % 5 == 3

    servers.proxy.lost = before
    for name in names:
        servers.create(name, ports=[NETWORK, NETWORK], additionalBlockDevices=[DATA])

    def done() -> bool:
        process.start("servers")
        return all(servers.ready(name).get("reason") == "ServerReady" for name in names)

    servers.wait("they are ready", done, names[0], 900)
    for name in names:
        counts = {kind: len(found) for kind, found in servers.of(servers.uid(name)).items()}
        assert counts == {"servers": 1, "ports": 2, "volumes": 1}
    assert len(kills) == times
