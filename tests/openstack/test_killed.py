"""The container is killed at every write to OpenStack of a maintenance: each server moves exactly once."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.cluster.region import wait_until
from tests.openstack.bed import Bed
from tests.openstack.proxy import proxied

pytestmark = [
    pytest.mark.cluster,
    pytest.mark.openstack,
    pytest.mark.xdist_group("openstack"),
    # On a machine with other work beside it the set-up of the cloud counts, too.
    pytest.mark.timeout(1500),
]


def killed_at_every_write(bed: Bed, count: int) -> int:
    """One maintenance in which every single write costs the process its life; how many there were."""
    made = {one.id for one in bed.boot(count, "cmp1")}
    node = bed.region.controllers
    kills: list[tuple[str, str]] = []

    with proxied(bed.cloud) as proxy:

        def before(method: str, path: str) -> bool:
            """Of two writes one is lost with the process, and one arrives without its knowing."""
            kills.append((method, path))
            node.kill("node")
            return len(kills) % 2 == 1

        proxy.lost = before
        bed.give_credentials(proxy.clouds())
        bed.maintain("work", "cmp1", budgets={"serversPerNode": 3})

        def done() -> bool:
            node.start("node")
            return bed.maintenance("work").get("phase") == "Completed"

        wait_until("it is completed", done, 300 + 90 * count, bed.log)
    after_all = bed.servers()
    assert set(after_all) == made
    assert "cmp1" not in {one.compute_host for one in after_all.values()}
    assert {one.status for one in after_all.values()} == {"ACTIVE"}
    assert Counter(len(bed.migrations(id_)) for id_ in made) == {1: count}
    return len(kills)


def test_a_maintenance_of_one_server_survives_a_kill_at_every_write(bed: Bed) -> None:
    assert killed_at_every_write(bed, 1) >= 4


@pytest.mark.exhaustive
def test_a_maintenance_of_two_servers_survives_a_kill_at_every_write(bed: Bed) -> None:
    assert killed_at_every_write(bed, 2) >= 6


@pytest.mark.exhaustive
@pytest.mark.timeout(1800)
def test_a_maintenance_of_ten_servers_survives_a_kill_at_every_write(bed: Bed) -> None:
    assert killed_at_every_write(bed, 10) >= 14
