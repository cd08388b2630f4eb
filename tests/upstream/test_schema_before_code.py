"""OpenStack-Helm's charts on a real API server: new pods begin after the Jobs that they wait for."""

from __future__ import annotations

from pathlib import Path

import pytest

from sandbox import audit
from sandbox.cluster import Sandbox
from tests.cluster.schema_before_code import assert_jobs_came_first, waiting_releases
from tests.upstream.regions import specs
from tests.upstream.test_installed import READY_SECONDS, applied

pytestmark = [
    pytest.mark.upstream,
    pytest.mark.cluster,
    pytest.mark.timeout(1800),
    pytest.mark.xdist_group("installed"),
]


@pytest.mark.parametrize(
    ("preset", "expected"),
    [("core", {"keystone", "glance"}), ("compute", {"keystone", "glance", "placement", "nova", "neutron"})],
)
def test_the_jobs_of_every_release_come_first(
    charts: Path, sandbox: Sandbox, tmp_path: Path, preset: str, expected: set[str]
) -> None:
    for case in applied(
        sandbox,
        charts,
        {**specs()[preset], "openstackVersion": "2025.2", "upgrade": {"healthyFor": "1s"}},
        tmp_path,
    ):
        region = case.region
        region.wait_ready(READY_SECONDS)
        releases = waiting_releases(region)
        assert expected <= releases.keys()
        began = audit.now()
        region.edit(openstackVersion="2026.1")
        region.wait_ready(READY_SECONDS)
        assert_jobs_came_first(region, began, releases)
