"""A region is deleted, comes back, is killed at work, and is described badly."""

from __future__ import annotations

import random
import time
from collections.abc import Callable

import pytest

from tests.cluster.region import NAME, RELEASES, Region, wait_until

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(1800)]


def test_a_region_goes_and_comes_back_and_goes_for_good(region: Region) -> None:
    """Volumes and credentials stay and are taken up again, unless the spec says that they go too."""
    region.apply()
    region.wait_ready()
    secrets, claims = region.secret_texts(), region.claims()
    assert secrets
    assert claims

    region.kubectl("delete", "osdpl", NAME, "--timeout=500s")
    assert_everything_is_gone(region)
    assert_uninstalled_against_the_order_of_need(region)
    assert region.claims() == claims
    assert region.secret_texts() == secrets

    region.apply(region.manifest(volumes="Delete"))
    region.wait_ready()
    assert region.secret_texts() == secrets
    assert region.claims() == claims

    region.kubectl("delete", "osdpl", NAME, "--timeout=500s")
    assert_everything_is_gone(region)
    wait_until(
        "volumes and credentials are gone",
        lambda: not region.claims() and not region.secret_texts() and not kept_keys(region),
        show=lambda: region.kubectl("get", "pvc,secrets"),
    )


def kept_keys(region: Region) -> list[str]:
    """Secrets that Keystone's chart keeps when its release goes."""
    names = (item["metadata"]["name"] for item in region.get("secrets")["items"])
    return [name for name in names if name.startswith("keystone-")]


def assert_everything_is_gone(region: Region) -> None:
    assert region.revisions() == {}
    assert region.get("hb")["items"] == []
    # What Helm has deleted goes when the garbage collector has been at what it owns.
    wait_until("nothing of it is left", lambda: not left(region), show=lambda: "\n".join(left(region)))


def left(region: Region) -> list[str]:
    return region.kubectl("get", "deploy,sts,ds,jobs,cm,svc,pdb", "-l", "application", "-o", "name").split()


def assert_uninstalled_against_the_order_of_need(region: Region) -> None:
    lines = region.controllers.log("helmbundle").splitlines()
    gone = [name for line in lines for name in RELEASES if f"release {name}: Uninstall succ" in line]
    assert set(gone) == RELEASES
    assert gone.index("nova") < gone.index("keystone") < gone.index("mariadb")
    assert gone.index("glance") < gone.index("keystone") < gone.index("rabbitmq")


def _killed_while_installing(region: Region, seed: int, kills: int) -> None:
    chance = random.Random(seed)
    region.apply()
    for _ in range(kills):
        pause = chance.uniform(0.05, 1.2)
        name = chance.choice(region.containers)
        wait_until("the next kill is due", _after(pause))
        region.controllers.kill(name)
        region.controllers.start(name)
    region.wait_ready(600)
    revisions = region.revisions()
    assert set(revisions) == RELEASES
    assert all(status == "deployed" for _, status in revisions.values()), revisions
    records = region.get("secrets", "-l", "owner=helm")["items"]
    pending = [r["metadata"]["name"] for r in records if "pending" in r["metadata"]["labels"]["status"]]
    assert pending == []


def _after(seconds: float) -> Callable[[], bool]:
    due = time.monotonic() + seconds
    return lambda: time.monotonic() >= due


def test_kills_during_the_first_install_end_in_a_ready_region(region: Region) -> None:
    _killed_while_installing(region, seed=1, kills=8)


@pytest.mark.exhaustive
@pytest.mark.parametrize(("seed", "kills"), [(1, 20), *((seed, 10) for seed in range(2, 22))])
def test_kills_at_other_moments_end_the_same(region: Region, seed: int, kills: int) -> None:
    _killed_while_installing(region, seed, kills)
