"""Migrations that fail in real pods: the old pods serve until these are mended, and are then replaced."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from sandbox.cluster import Sandbox
from sandbox.demo import NAMESPACE
from tests.real.conftest import IMAGE
from tests.real.region import edit, items, pods, wait_ready, wait_until

pytestmark = [pytest.mark.real, pytest.mark.timeout(5400)]

LOOP = Path(__file__).with_name("login_loop.py")
CHARTS = {"keystone": "identity", "glance": "image"}
# One pod each: the new one has to be ready before the old one goes.
SURGE = {"lifecycle": {"upgrades": {"deployments": {"rolling_update": {"max_unavailable": 0}}}}}


def change(box: Sandbox, values: Callable[[str], dict[str, Any]]) -> None:
    services = {service: {chart: {"values": values(chart)}} for chart, service in CHARTS.items()}
    edit(box, {"services": services})


@pytest.fixture
def surging(region: Sandbox) -> Iterator[Sandbox]:
    """The region whose APIs are replaced without a gap, and as it was afterwards."""
    wait_ready(region)
    change(region, lambda chart: {"pod": SURGE})
    wait_ready(region)
    yield region
    change(region, lambda chart: {"pod": None, "images": None})
    wait_ready(region)


def applications(box: Sandbox) -> dict[str, str]:
    """The pods of the APIs by uid."""
    found = pods(box).items()
    return {
        uid: one["metadata"]["labels"]["application"]
        for uid, one in found
        if "-api-" in one["metadata"]["name"]
    }


def messages(box: Sandbox) -> dict[str, str]:
    """What the bundles say of each release."""
    return {
        release["name"]: release.get("message", "")
        for bundle in items(box, "helmbundles")
        for release in bundle["status"]["releases"]
    }


def test_no_request_fails_while_a_migration_fails_and_is_mended(
    surging: Sandbox, client: Callable[[str], str]
) -> None:
    before = applications(surging)
    told: list[str] = []
    loop = threading.Thread(target=lambda: told.append(client(LOOP.read_text())), daemon=True)
    loop.start()
    # An image without OpenStack, and something that replaces pods.
    change(
        surging,
        lambda chart: {
            "images": {"tags": {f"{chart}_db_sync": IMAGE}},
            "pod": {"lifecycle": {"termination_grace_period": {"api": {"timeout": 31}}}},
        },
    )

    def said() -> bool:
        found = messages(surging)
        return all(f"{chart}-db-sync" in found[chart] for chart in CHARTS)

    wait_until(said, "the Jobs do not fail", 900)
    assert before.keys() <= applications(surging).keys(), "pods were replaced before their migration"
    change(surging, lambda chart: {"images": None})
    took = wait_ready(surging)
    surging.kubectl("exec", "--namespace", NAMESPACE, "client", "--", "touch", "/tmp/stop")
    loop.join(600)
    seen = json.loads(told[0])
    print(f"mended and Ready after {took:.0f} s; {seen['count']}")
    replaced = {before[uid] for uid in before.keys() - applications(surging).keys()}
    assert set(CHARTS) <= replaced
    assert min(seen["count"].values()) > 100
    assert seen["failed"] == []
