"""A compute that dies: nothing is moved before it is certain that it is off; then everything; its return."""

from __future__ import annotations

import pytest

from sandbox.openstack.services import compute_name
from tests.cluster.region import wait_until
from tests.openstack.bed import MARK, Bed, spec_of

pytestmark = [
    pytest.mark.cluster,
    pytest.mark.openstack,
    pytest.mark.xdist_group("openstack"),
    # On a machine with other work beside it the set-up of the cloud counts, too.
    pytest.mark.timeout(1500),
]


def reason(bed: Bed, host: str) -> str:
    return str(bed.node(host).get("reason"))


def test_the_servers_of_a_dead_node_are_evacuated_after_fencing_and_it_returns(bed: Bed) -> None:
    made = {one.id for one in bed.boot(2, "cmp3")}
    bed.confirm_disks("cmp3")
    bed.region.apply(spec_of(bed.region, evacuation="Auto"))
    bed.cloud.kill(compute_name("cmp3"))
    bed.set_ready("cmp3", False)
    service = bed.wait_service("cmp3", status="disabled", timeout=60)
    assert service.disabled_reason == f"{MARK}node not ready"
    wait_until("it waits for fencing", lambda: reason(bed, "cmp3") == "FencingAwaited", 150, bed.log)
    assert not bed.service("cmp3").is_forced_down
    assert {one.compute_host for one in bed.servers().values()} == {"cmp3"}

    bed.fence("cmp3")
    wait_until(
        "all are elsewhere", lambda: "cmp3" not in {s.compute_host for s in bed.servers().values()}, 150
    )
    assert set(bed.servers()) == made
    assert all(len(bed.migrations(id_)) == 1 for id_ in made)
    assert bed.service("cmp3").is_forced_down

    bed.set_ready("cmp3", True)
    wait_until("cleanup is awaited", lambda: reason(bed, "cmp3") == "CleanupAwaited", 150, bed.log)
    assert bed.service("cmp3").is_forced_down
    assert not bed.kubectl("get", "cmaint", "-o", "name").strip()
    bed.cloud.start(compute_name("cmp3"))
    bed.wait_service("cmp3", status="enabled", state="up", timeout=120)


@pytest.mark.exhaustive
def test_a_node_whose_compute_still_reports_is_never_evacuated(bed: Bed) -> None:
    bed.boot(1, "cmp3")
    bed.region.apply(spec_of(bed.region, evacuation="Auto"))
    bed.set_ready("cmp3", False)
    bed.wait_service("cmp3", status="disabled")
    bed.fence("cmp3")
    wait_until("it is told", lambda: reason(bed, "cmp3") == "ComputeStillReports", 120, bed.log)
    assert not bed.service("cmp3").is_forced_down
    assert {one.compute_host for one in bed.servers().values()} == {"cmp3"}
    bed.set_ready("cmp3", True)
    bed.wait_service("cmp3", status="enabled")
