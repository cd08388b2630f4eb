"""Nodes that are removed or replaced: OpenStack forgets them once nothing is on them, and not before."""

from __future__ import annotations

import json

import pytest

from sandbox.openstack.services import compute_name
from sandbox.profiles import COMPUTE_LABELS, NodeShape, node_object
from tests.cluster.region import wait_until
from tests.openstack.bed import Bed

pytestmark = [
    pytest.mark.cluster,
    pytest.mark.openstack,
    pytest.mark.xdist_group("openstack"),
    # On a machine with other work beside it the set-up of the cloud counts, too.
    pytest.mark.timeout(1500),
]


def add_node(bed: Bed, name: str) -> None:
    obj = node_object(NodeShape(name, COMPUTE_LABELS), "small")
    bed.region.sandbox.kubectl("apply", "-f", "-", input=json.dumps(obj))


def remove(bed: Bed, name: str) -> None:
    wait_until("it is known", lambda: bed.node(name).get("uid"), 90)
    bed.kubectl("delete", "node", name)
    bed.cloud.set_agents(name)
    bed.cloud.kill(compute_name(name))


@pytest.mark.exhaustive
def test_a_node_with_servers_blocks_and_one_without_leaves_nothing_behind(bed: Bed) -> None:
    [server] = bed.boot(1, "cmp3")
    remove(bed, "cmp3")
    try:
        wait_until("it is told", lambda: bed.node("cmp3").get("reason") == "ServersLeft", 150, bed.log)
        assert bed.service("cmp3").status == "disabled"
        assert bed.servers()[server.id].compute_host == "cmp3"

        # Its instance went by other hands: force-deleted while the compute was away.
        bed.cloud.start(compute_name("cmp3"))
        bed.sdk.compute.delete_server(server, force=True)
        wait_until("no server", lambda: not bed.servers(), 60)
        bed.cloud.kill(compute_name("cmp3"))
        wait_until("the service is gone", lambda: bed.service("cmp3") is None, 90, bed.log)
        wait_until("nothing is told of it", lambda: not bed.node("cmp3"), 150, bed.log)
        assert not list(bed.sdk.network.agents(host="cmp3"))
        providers = bed.sdk.placement.get("/resource_providers?name=cmp3").json()["resource_providers"]
        assert providers == []
        assert {one.name for one in bed.sdk.compute.hypervisors()} == {"cmp1", "cmp2"}
    finally:
        bed.cloud.forget_identity("cmp3")
        add_node(bed, "cmp3")
        bed.cloud.start(compute_name("cmp3"))
        bed.cloud.set_agents("cmp3", "ovs", "l3", "dhcp")
    bed.wait_service("cmp3", state="up", status="enabled", timeout=90)
    wait_until("it is in service", lambda: bed.node("cmp3").get("reason") == "InService", 90, bed.log)
