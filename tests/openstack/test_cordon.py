"""Cordon and uncordon, against a real Nova: what we disable is enabled again, and nothing else."""

from __future__ import annotations

import pytest

from tests.cluster.region import wait_until
from tests.openstack.bed import MARK, Bed

pytestmark = [
    pytest.mark.cluster,
    pytest.mark.openstack,
    pytest.mark.xdist_group("openstack"),
    # On a machine with other work beside it the set-up of the cloud counts, too.
    pytest.mark.timeout(1500),
]


def test_a_cordoned_node_takes_no_servers_until_it_is_uncordoned(bed: Bed) -> None:
    bed.kubectl("cordon", "cmp1")
    service = bed.wait_service("cmp1", status="disabled")
    assert service.disabled_reason == f"{MARK}node cordoned"
    assert bed.service("cmp2").status == "enabled"
    bed.kubectl("uncordon", "cmp1")
    bed.wait_service("cmp1", status="enabled")

    def reported() -> bool:
        node = bed.node("cmp1")
        return (node.get("reason"), node.get("compute")) == ("InService", "enabled, up")

    wait_until("told", reported, 180, bed.log)


@pytest.mark.exhaustive
def test_a_service_that_a_person_disabled_stays_as_it_is(bed: Bed) -> None:
    bed.disable_by_hand("cmp1", "broken fan")
    bed.kubectl("cordon", "cmp1")
    wait_until("the cordon is seen", lambda: bed.node("cmp1").get("reason") == "NodeCordoned", 90)
    assert bed.service("cmp1").disabled_reason == "broken fan"
    bed.kubectl("uncordon", "cmp1")
    reported = "DisabledByOthers"
    wait_until("the uncordon is seen", lambda: bed.node("cmp1").get("reason") == reported, 90)
    assert bed.service("cmp1").status == "disabled"


@pytest.mark.exhaustive
def test_it_is_enabled_only_when_its_agents_are_alive(bed: Bed) -> None:
    bed.kubectl("cordon", "cmp1")
    bed.wait_service("cmp1", status="disabled")
    bed.cloud.set_agents("cmp1", "dhcp")
    dead = "Open vSwitch agent"
    agents = bed.sdk.network.agents
    wait_until("it is dead", lambda: not next(agents(host="cmp1", agent_type=dead)).is_alive, 60)
    bed.kubectl("uncordon", "cmp1")
    wait_until("it waits", lambda: bed.node("cmp1").get("reason") == "AgentsDown", 90, bed.log)
    assert bed.service("cmp1").status == "disabled"
    bed.cloud.set_agents("cmp1", "ovs", "l3", "dhcp")
    bed.wait_service("cmp1", status="enabled")
