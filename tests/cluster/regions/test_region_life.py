"""A region's first install: planned, and with containers that are killed on the way."""

from __future__ import annotations

import json

import pytest

from sandbox import audit
from tests.cluster.region import (
    NAME,
    RELEASES,
    RELEASES_WITHOUT_IMAGES,
    WITHOUT_NETWORK,
    Region,
    wait_until,
)
from tests.cluster.regions.conftest import install_with_kills
from tests.cluster.regions.test_plan import foreign_writes, planned

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(1800)]


@pytest.mark.xdist_group("region-life")
def test_a_first_install_is_planned_without_a_write(empty_region: Region) -> None:
    region, moment = empty_region, audit.now()
    region.apply(region.smaller(WITHOUT_NETWORK, mode="Plan"))
    entries = {entry["name"]: entry for entry in planned(region)["releases"]}
    assert {entry["action"] for entry in entries.values()} == {"Install"}
    assert len(entries) == 5
    assert "create Deployment/keystone-api" in entries["keystone"]["objects"]
    assert "Job/keystone-db-sync" in entries["keystone"]["hooks"]
    assert region.status()["state"] == "Planned"
    # Of another container than the plan.
    wait_until("secrets are told", lambda: region.condition("SecretsExchanged")["status"] == "True")
    assert foreign_writes(region, moment) == []
    assert region.revisions() == {}
    assert len(json.dumps(region.status())) < 200_000
    region.kubectl("delete", "osdpl", NAME, "--timeout=500s")
    assert region.get("hb")["items"] == []


def _assert_all_is_deployed(region: Region, releases: set[str] = RELEASES) -> None:
    revisions = region.revisions()
    assert set(revisions) == releases
    assert all(status == "deployed" for _, status in revisions.values()), revisions
    records = region.get("secrets", "-l", "owner=helm")["items"]
    pending = [r["metadata"]["name"] for r in records if "pending" in r["metadata"]["labels"]["status"]]
    assert pending == []


@pytest.mark.xdist_group("region-life")
def test_kills_during_the_first_install_end_in_a_ready_region(survivor: Region) -> None:
    _assert_all_is_deployed(survivor, RELEASES_WITHOUT_IMAGES)


@pytest.mark.exhaustive
@pytest.mark.parametrize(("seed", "kills"), [(1, 20), *((seed, 10) for seed in range(2, 22))])
def test_kills_at_other_moments_end_the_same(region: Region, seed: int, kills: int) -> None:
    install_with_kills(region, region.manifest(), seed, kills)
    _assert_all_is_deployed(region)
