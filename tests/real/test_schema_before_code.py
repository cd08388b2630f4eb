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


def change(box: Sandbox, values: Callable[[str], dict[str, Any]]) -> None:
    services = {service: {chart: {"values": values(chart)}} for chart, service in CHARTS.items()}
    edit(box, {"services": services})


@pytest.fixture
def serving(region: Sandbox) -> Iterator[Sandbox]:
    """The region, Ready, and as it was afterwards."""
    wait_ready(region)
    yield region
    change(region, lambda chart: {"pod": {"lifecycle": {"termination_grace_period": None}}, "images": None})
    wait_ready(region)


def serving_pods(box: Sandbox) -> dict[str, str]:
    """The charts of the pods of these APIs, by the pods' uids."""
    return {
        uid: one["metadata"]["labels"]["application"]
        for uid, one in pods(box).items()
        if one["metadata"]["labels"]["application"] in CHARTS and "-api-" in one["metadata"]["name"]
    }


def has_failed(box: Sandbox, chart: str) -> bool:
    """Whether the migration has failed with the image that has no OpenStack, and the release says so."""
    job = next((one for one in items(box, "jobs") if one["metadata"]["name"] == f"{chart}-db-sync"), None)
    if job is None or job["spec"]["template"]["spec"]["containers"][0]["image"] != IMAGE:
        return False
    said = [
        f"{release.get('message')} {(release.get('lastAttempt') or {}).get('error')}"
        for bundle in items(box, "helmbundles")
        for release in bundle["status"]["releases"]
        if release["name"] == chart
    ]
    return bool(job.get("status", {}).get("failed")) and f"{chart}-db-sync" in said[0]


def test_no_request_fails_while_a_migration_fails_and_is_mended(
    serving: Sandbox, client: Callable[[str], str]
) -> None:
    before = serving_pods(serving)
    assert sorted(before.values()) == sorted(CHARTS), "one pod each"
    told: list[str] = []
    loop = threading.Thread(target=lambda: told.append(client(LOOP.read_text())), daemon=True)
    loop.start()
    # An image without OpenStack, and something that replaces pods.
    change(
        serving,
        lambda chart: {
            "images": {"tags": {f"{chart}_db_sync": IMAGE}},
            "pod": {"lifecycle": {"termination_grace_period": {"api": {"timeout": 31}}}},
        },
    )

    wait_until(lambda: all(has_failed(serving, chart) for chart in CHARTS), "the Jobs do not fail", 900)
    assert serving_pods(serving) == before, "pods were replaced before their migration"
    change(serving, lambda chart: {"images": None})
    took = wait_ready(serving)
    wait_until(lambda: not before.keys() & serving_pods(serving).keys(), "old pods are left", 300)
    serving.kubectl("exec", "--namespace", NAMESPACE, "client", "--", "touch", "/tmp/stop")
    loop.join(600)
    seen = json.loads(told[0])
    print(f"mended and Ready after {took:.0f} s; {seen}")
    assert min(seen["count"].values()) > 100
    assert seen["failed"] == []
