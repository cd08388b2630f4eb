"""Clients ask Keystone and Glance all along, while their migrations fail, and are then repaired."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sandbox.cluster import Sandbox
from sandbox.demo import NAMESPACE
from tests.real.region import edit, items, pods, wait_ready, wait_until

# Debian with Python: no OpenStack is in it.
IMAGE = "sandbox.local/base:1"
LOOP = Path(__file__).with_name("login_loop.py")
CHARTS = {"keystone": "identity", "glance": "image"}


def assert_no_request_fails(box: Sandbox, client: Callable[[str], str]) -> None:
    """`client` runs Python in a pod of that name."""
    wait_ready(box)
    with _as_before(box):
        before = _serving(box)
        assert sorted(before.values()) == sorted(CHARTS), "one pod each"
        asking = ThreadPoolExecutor(1).submit(client, LOOP.read_text())
        wait_until(lambda: _asks(box), "the client does not ask", 120)
        # Beside the image, something that replaces pods.
        _change(
            box,
            lambda chart: {
                "images": {"tags": {f"{chart}_db_sync": IMAGE}},
                "pod": {"lifecycle": {"termination_grace_period": {"api": {"timeout": 61}}}},
            },
        )
        wait_until(lambda: all(_has_failed(box, chart) for chart in CHARTS), "the Jobs do not fail", 900)
        assert _serving(box) == before, "pods were replaced before their migration"
        _change(box, lambda chart: {"images": None})
        took = wait_ready(box)
        wait_until(lambda: not before.keys() & _serving(box).keys(), "old pods are left", 300)
        box.kubectl("exec", "--namespace", NAMESPACE, "client", "--", "touch", "/tmp/stop")
        seen = json.loads(asking.result(600))
        print(f"mended and Ready after {took:.0f} s; {seen}")
    assert min(seen["count"].values()) > 100
    assert seen["failed"] == []


@contextmanager
def _as_before(box: Sandbox) -> Iterator[None]:
    try:
        yield
    finally:
        _change(box, lambda chart: {"pod": {"lifecycle": {"termination_grace_period": None}}, "images": None})
        wait_ready(box)


def _change(box: Sandbox, values: Callable[[str], dict[str, Any]]) -> None:
    edit(
        box, {"services": {service: {chart: {"values": values(chart)}} for chart, service in CHARTS.items()}}
    )


def _serving(box: Sandbox) -> dict[str, str]:
    """The charts of the pods of these APIs, by the pods' uids."""
    return {
        uid: one["metadata"]["labels"]["application"]
        for uid, one in pods(box).items()
        if one["metadata"]["labels"]["application"] in CHARTS and "-api-" in one["metadata"]["name"]
    }


def _asks(box: Sandbox) -> bool:
    """Raises SandboxError while there is no answer yet."""
    box.kubectl("exec", "--namespace", NAMESPACE, "client", "--", "cat", "/tmp/asks")
    return True


def _has_failed(box: Sandbox, chart: str) -> bool:
    """Whether the release says that the migration fails, and that for lack of OpenStack in its image."""
    said = [
        f"{release.get('message')} {(release.get('lastAttempt') or {}).get('error')}"
        for bundle in items(box, "helmbundles")
        for release in bundle["status"]["releases"]
        if release["name"] == chart
    ]
    return f"Job {chart}-db-sync" in said[0] and f"{chart}-manage: command not found" in said[0]
