"""A region's OpenStack is upgraded: of no release new pods begin before its Jobs have succeeded."""

from __future__ import annotations

import pytest

from sandbox import audit
from tests.cluster.region import Region
from tests.cluster.schema_before_code import assert_jobs_came_first, waiting_releases

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(1800)]


def test_the_jobs_of_every_release_come_first(region: Region) -> None:
    region.apply(region.manifest(preset="core", openstackVersion="2025.2"))
    region.wait_ready()
    releases = waiting_releases(region)
    assert {"keystone", "glance", "placement", "nova", "neutron"} <= releases.keys()
    began = audit.now()
    region.edit(openstackVersion="2026.1")
    region.wait_ready()
    assert_jobs_came_first(region, began, releases)
