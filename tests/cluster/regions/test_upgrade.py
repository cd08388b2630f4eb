"""A region's OpenStack is upgraded step by step: services in their order, and of each its Jobs first."""

from __future__ import annotations

from datetime import datetime
from itertools import pairwise

import pytest

from sandbox import audit
from tests.cluster.region import Region, wait_until
from tests.cluster.schema_before_code import assert_jobs_came_first, waiting_releases

pytestmark = [pytest.mark.cluster, pytest.mark.xdist_group("region-life"), pytest.mark.timeout(1800)]

ORDER = ("keystone", "placement", "glance", "nova", "neutron")


def test_services_are_upgraded_in_their_order_and_their_jobs_come_first(survivor: Region) -> None:
    region = survivor
    releases = waiting_releases(region)
    assert {"keystone", "glance", "placement", "nova", "neutron"} <= releases.keys()
    began = audit.now()
    region.edit(openstackVersion="2026.1", upgrade={"gates": "Smoke"})
    wait_until("steps", lambda: region.status().get("upgrade", {}).get("steps"))
    region.wait_ready(1200)
    upgrade = region.status()["upgrade"]
    assert (upgrade["phase"], upgrade["to"]) == ("Finished", "2026.1")
    assert {step["state"] for step in upgrade["steps"]} == {"Done"}
    assert_jobs_came_first(region, began, releases)
    first, last = _records(region, began)
    for before, after in pairwise(ORDER):
        assert first[before] < first[after], f"{after} was upgraded before {before}"
        # Computes follow the control plane, in a revision of their own.
        assert before == "nova" or last[before] < first[after], f"{before} was not over before {after}"
    assert region.status()["openstackVersion"] == "2026.1"
    changed = [step["service"] for step in upgrade["steps"] if step.get("message") != "no change"]
    wait_until("removed checks", lambda: _smoke_checks(region, began) == (changed, len(changed)), 60)


def _smoke_checks(region: Region, since: datetime) -> tuple[list[str], int]:
    """The services that were used after their steps, in order, and how many of the Jobs are removed again."""
    made, removed = [], set()
    for one in audit.requests(region.sandbox.audit_log, since):
        if one.resource != "jobs" or not one.name.startswith("upgrade-smoke-") or one.code >= 300:
            continue
        if one.verb == "delete":
            removed.add(one.name)
        if one.verb == "create":
            made.append(one.name.removeprefix("upgrade-smoke-").rpartition("-")[0])
    return made, len(removed)


def _records(region: Region, since: datetime) -> tuple[dict[str, datetime], dict[str, datetime]]:
    """When Helm made the first and the last record of each release since then."""
    first: dict[str, datetime] = {}
    last: dict[str, datetime] = {}
    for one in audit.requests(region.sandbox.audit_log, since):
        is_record = one.verb == "create" and one.name.startswith("sh.helm.release.v1.")
        if not is_record or one.namespace != region.namespace or one.code >= 300 or one.dry_run:
            continue
        release = one.name.split(".")[4]
        first.setdefault(release, one.time)
        last[release] = one.time
    return first, last
