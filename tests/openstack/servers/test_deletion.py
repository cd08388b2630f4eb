"""What goes when an OpenStackServer goes, and what stays."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from controller.ports.kubernetes import SERVER
from tests.openstack.servers.bed import DATA, NETWORK, ServersBed

pytestmark = [
    pytest.mark.cluster,
    pytest.mark.openstack,
    pytest.mark.xdist_group("openstack"),
    pytest.mark.timeout(1500),
]


def test_an_owner_that_is_deleted_waits_for_its_server(servers: ServersBed) -> None:
    servers.kubectl("create", "configmap", "machine")
    owner = json.loads(servers.kubectl("get", "configmap", "machine", "-o", "json"))["metadata"]["uid"]
    servers.create("owned")
    reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": "machine", "uid": owner}
    patch = {"metadata": {"ownerReferences": [{**reference, "blockOwnerDeletion": True}]}}
    servers.region.kube.merge_patch(SERVER, "owned", servers.namespace, patch)
    servers.wait_ready("owned")
    status = servers.status("owned")
    assert status["providerID"] == f"openstack:///{status['instanceID']}"
    assert status["initialization"]["provisioned"] is True
    assert status["addresses"][0]["type"] == "InternalIP"
    uid = servers.uid("owned")
    servers.kubectl("annotate", "oss", "owned", "osctl.dev/suspend=true")
    servers.kubectl("delete", "configmap", "machine", "--cascade=foreground", "--wait=false")
    servers.wait("it is being deleted", lambda: _deleting(servers, "owned"), "owned")
    assert servers.kubectl("get", "configmap", "machine", "-o", "name").strip() == "configmap/machine"
    assert len(servers.of(uid)["servers"]) == 1
    servers.kubectl("annotate", "oss", "owned", "osctl.dev/suspend-")

    def owner_is_gone() -> bool:
        return not servers.kubectl("get", "configmap", "machine", "-o", "name", "--ignore-not-found").strip()

    servers.wait("the owner is gone", owner_is_gone, "owned")
    assert servers.live("owned") is None and servers.of(uid) == {}


def _deleting(servers: ServersBed, name: str) -> Any:
    return (servers.live(name) or {"metadata": {}})["metadata"].get("deletionTimestamp")


def test_a_floating_ip_that_is_to_stay_stays(servers: ServersBed) -> None:
    servers.create("retained", floatingIP={"pool": "public", "reclaim": "Retain"})
    servers.wait_ready("retained")
    uid = servers.uid("retained")
    servers.delete("retained")
    left = servers.of(uid)
    assert set(left) == {"floating_ips"} and left["floating_ips"][0].port_id is None
    servers.sdk.network.delete_ip(left["floating_ips"][0])


def test_a_floating_ip_that_cannot_be_put_to_its_port_is_reported_and_goes(servers: ServersBed) -> None:
    network = servers.sdk.network
    lonely = network.create_network(name="lonely")
    try:
        network.create_subnet(network_id=lonely.id, ip_version=4, cidr="10.30.0.0/24", name="lonely")
        servers.create("lonely", ports=[{"network": {"id": lonely.id}}], floatingIP={"pool": "public"})
        message = servers.wait_reason("lonely", "CloudRefused")["message"]
        assert "not reachable" in message
        uid = servers.uid("lonely")
        assert len(servers.of(uid)["floating_ips"]) == 1
        servers.delete("lonely")
        assert servers.of(uid) == {}
    finally:
        network.delete_network(lonely)


EVERYTHING: Mapping[str, Any] = {
    "trunk": True,
    "additionalBlockDevices": [DATA],
    "floatingIP": {"pool": "public"},
}


def test_a_server_whose_status_was_lost_leaves_nothing_behind(servers: ServersBed) -> None:
    servers.create("lost", rootVolume={"sizeGiB": 1}, **EVERYTHING)
    servers.wait_ready("lost")
    uid = servers.uid("lost")
    counts = {"servers": 1, "ports": 1, "trunks": 1, "volumes": 2, "floating_ips": 1}
    assert servers.counts()[uid] == counts
    servers.region.controllers.kill("servers")
    servers.wipe_status("lost")
    servers.request_deletion("lost")
    servers.region.controllers.start("servers")
    servers.wait("it is gone", lambda: servers.live("lost") is None, "lost")
    assert uid not in servers.counts()


Phase = Callable[[Mapping[str, Any]], Any]


def _known(kind: str) -> Phase:
    return lambda status: any(one.get("id") for one in status.get("resources", {}).get(kind, ()))


def _asked(kind: str) -> Phase:
    return lambda status: status.get("resources", {}).get(kind)


PHASES: tuple[Phase, ...] = (
    lambda status: True,
    lambda status: status.get("resolved"),
    *(phase(kind) for kind in ("ports", "trunks", "volumes", "servers") for phase in (_asked, _known)),
    lambda status: status.get("instanceState") == "ACTIVE",
    _asked("floatingIPs"),
    _known("floatingIPs"),
)


@pytest.mark.exhaustive
def test_deleted_in_every_phase_nothing_is_left(servers: ServersBed) -> None:
    waiting = {f"phase-{index}": PHASES[index % len(PHASES)] for index in range(52)}
    for name in waiting:
        servers.create(name, ports=[NETWORK], **EVERYTHING)
    uids = {servers.uid(name) for name in waiting}

    def all_asked_for() -> bool:
        for live in servers.region.kube.list(SERVER, servers.namespace):
            name = live["metadata"]["name"]
            if name in waiting and waiting[name](live.get("status") or {}):
                servers.request_deletion(name)
                del waiting[name]
        return not waiting

    servers.wait("each has come to its phase", all_asked_for, "phase-0", 900)
    servers.wait(
        "all are gone", lambda: not servers.region.kube.list(SERVER, servers.namespace), "phase-0", 600
    )
    assert uids & set(servers.counts()) == set()
