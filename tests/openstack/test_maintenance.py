"""ComputeMaintenances against a real Nova: servers move within the budget, once each, and all come back."""

from __future__ import annotations

import time

import pytest

from tests.cluster.region import wait_until
from tests.openstack.bed import MARK, Bed

pytestmark = [
    pytest.mark.cluster,
    pytest.mark.openstack,
    pytest.mark.sample,
    pytest.mark.xdist_group("openstack"),
    # On a machine with other work beside it the set-up of the cloud counts, too.
    pytest.mark.timeout(1500),
]


def moves(bed: Bed, server: str) -> int:
    """How often it was moved. One that Nova itself gave up, as something was too slow for it, is no move."""
    return sum(one.status not in ("error", "failed", "cancelled") for one in bed.migrations(server))


def migrate(bed: Bed, count: int, budget: int) -> None:
    """Moves `count` servers off cmp1 and counts how many were under way at once."""
    made = {one.id for one in bed.boot(count, "cmp1")}
    bed.maintain("work", "cmp1", budgets={"serversPerNode": budget})
    most = 0

    def done() -> bool:
        nonlocal most
        listed = bed.servers()
        most = max(most, sum(one.status == "MIGRATING" for one in listed.values()))
        return bed.maintenance("work").get("phase") == "Completed"

    wait_until("all have moved", done, 600 + 30 * count, bed.log)
    assert most <= budget
    status = bed.maintenance("work")
    assert status["progress"] == f"{count}/{count}"
    after = bed.servers()
    assert set(after) == made
    assert {one.compute_host for one in after.values()} <= {"cmp2", "cmp3"}
    assert {id_: moves(bed, id_) for id_ in made} == dict.fromkeys(made, 1)


def test_servers_are_moved_within_the_budget_and_the_node_returns(bed: Bed) -> None:
    migrate(bed, 3, budget=2)
    assert bed.service("cmp1").disabled_reason == f"{MARK}maintenance work"
    assert '"unschedulable":true' in bed.kubectl("get", "node", "cmp1", "-o", "jsonpath={.spec}")
    bed.kubectl("delete", "cmaint", "work", "--wait=false")
    bed.wait_gone("work")
    bed.wait_service("cmp1", status="enabled")
    spec = ("get", "node", "cmp1", "-o", "jsonpath={.spec}")
    wait_until("it takes pods again", lambda: "unschedulable" not in bed.kubectl(*spec), 120)


@pytest.mark.exhaustive
def test_thirty_servers_are_moved_within_the_budget(bed: Bed) -> None:
    migrate(bed, 30, budget=4)


@pytest.mark.exhaustive
def test_a_dry_run_shows_what_would_be_done_and_does_nothing(bed: Bed) -> None:
    live, big = bed.boot(1, "cmp1")[0], bed.boot(1, "cmp1", flavor="large")[0]
    stopped = bed.boot(1, "cmp1")[0]
    bed.sdk.compute.stop_server(stopped)
    wait_until("the server is stopped", lambda: bed.servers()[stopped.id].status == "SHUTOFF", 90)
    bed.maintain("work", "cmp1", dryRun=True, limits={"localDiskGiB": 100})
    plan = {one["id"]: one for one in bed.wait_phase("work", "Planned")["servers"]}
    assert {id_: one["action"] for id_, one in plan.items()} == {
        live.id: "Live",
        stopped.id: "Cold",
        big.id: "Blocked",
    }
    assert "too big to copy" in plan[big.id]["message"]
    assert bed.service("cmp1").status == "enabled"
    assert {one.compute_host for one in bed.servers().values()} == {"cmp1"}


@pytest.mark.exhaustive
def test_a_server_with_numa_moves_live(bed: Bed) -> None:
    """As Nova does since Train: neither the plan nor the move is blocked."""
    compute = bed.sdk.compute
    flavor = compute.create_flavor(name="numa", id="numa", ram=512, vcpus=1, disk=1)
    try:
        compute.create_flavor_extra_specs(flavor, {"hw:numa_nodes": "1"})
        [server] = bed.boot(1, "cmp1", flavor="numa")
        bed.maintain("work", "cmp1")
        bed.wait_phase("work", "Completed")
        assert bed.servers()[server.id].compute_host in ("cmp2", "cmp3")
        assert [one.migration_type for one in bed.migrations(server.id)] == ["live-migration"]
    finally:
        compute.delete_flavor(flavor)


@pytest.mark.exhaustive
def test_what_cannot_be_moved_blocks_until_its_owner_says_what_to_do(bed: Bed) -> None:
    big = bed.boot(1, "cmp1", flavor="large")[0]
    other = bed.boot(1, "cmp1")[0]
    bed.maintain("work", "cmp1", limits={"localDiskGiB": 100})
    status = bed.wait_phase("work", "Blocked")
    assert status["progress"] == "1/2"
    assert bed.servers()[other.id].compute_host != "cmp1"
    assert bed.servers()[big.id].compute_host == "cmp1"
    bed.sdk.compute.set_server_metadata(big, maintenance="cold")
    bed.wait_phase("work", "Completed")
    assert bed.servers()[big.id].compute_host != "cmp1"
    assert bed.servers()[big.id].status == "ACTIVE"


@pytest.mark.exhaustive
def test_two_maintenances_share_the_budget_of_nodes_the_oldest_first(bed: Bed) -> None:
    bed.boot(1, "cmp1")
    bed.maintain("first", "cmp1")
    bed.wait_phase("first", "Completed")
    bed.maintain("second", "cmp2")
    status = bed.wait_phase("second", "Waiting", 120)
    assert "cmp1" in status["conditions"][0]["message"]
    assert bed.service("cmp2").status == "enabled"
    bed.kubectl("delete", "cmaint", "first", "--wait=false")
    bed.wait_gone("first")
    bed.wait_phase("second", "Completed")


@pytest.mark.exhaustive
def test_a_drain_is_held_back_while_servers_are_on_the_node(bed: Bed) -> None:
    bed.boot(1, "cmp1")
    lock = ("get", "pods", "-l", "osctl.dev/drain-lock=cmp1", "-o", "name")
    wait_until("the lock", lambda: bed.region.kubectl(*lock).strip(), 120, bed.log)
    ready = ("wait", "pods", "-l", "osctl.dev/drain-lock=cmp1", "--for=condition=Ready", "--timeout=30s")
    bed.region.kubectl(*ready)
    began = time.monotonic()
    with pytest.raises(Exception, match=r"disruption budget|timed out|did not complete"):
        bed.kubectl("drain", "cmp1", "--ignore-daemonsets", "--timeout=6s")
    assert time.monotonic() - began < 60
    bed.maintain("work", "cmp1")
    bed.wait_phase("work", "Completed")
    wait_until("the lock goes", lambda: not bed.region.kubectl(*lock).strip(), 120, bed.log)
    bed.kubectl("drain", "cmp1", "--ignore-daemonsets", "--timeout=60s")
