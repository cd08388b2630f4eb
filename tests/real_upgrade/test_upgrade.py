"""An upgrade with pods that run, clients that never rest, and a controller that is killed in each phase."""

from __future__ import annotations

import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from sandbox.cluster import Sandbox
from sandbox.demo import NAMESPACE
from tests.real.region import deployment, edit, items, kill_container, wait_ready, wait_until
from tests.real_upgrade.conftest import AFTER, BEFORE
from tests.real_upgrade.made_before import MAKE, USE

pytestmark = [pytest.mark.real, pytest.mark.timeout(10800)]

LOOP = Path(__file__).with_name("api_loop.py")
STEP_SECONDS, UPGRADE_SECONDS = 1800, 5400
# Requests to each API while the upgrade runs.
LEAST = 200


def test_every_api_serves_all_along_and_what_was_made_before_is_usable_after(
    region: Sandbox, client: Callable[[str], str]
) -> None:
    made = json.loads(client(MAKE).splitlines()[-1])
    assert made["status"] == "ACTIVE"
    asking = ThreadPoolExecutor(1).submit(client, LOOP.read_text())
    wait_until(lambda: _asks(region), "the client does not ask", 120)
    killed = {target: _upgraded(region, target) for target in AFTER}
    region.kubectl("exec", "--namespace", NAMESPACE, "client", "--", "touch", "/tmp/stop")
    seen = json.loads(asking.result(600).splitlines()[-1])
    print(f"killed in {killed}; {seen}")
    used = json.loads(client(USE).splitlines()[-1])
    assert used == {
        "server": "ACTIVE", "rebooted": "ACTIVE", "image": 65536, "after": "ACTIVE", "user": True,
    }  # fmt: skip
    assert [one for series in (BEFORE, *AFTER[:-1]) for one in _images(region, series)] == []
    assert all({"ControlPlane", "Computes"} <= phases for phases in killed.values())
    assert min(seen["count"].values()) > LEAST
    assert seen["failed"] == []


def _upgraded(region: Sandbox, target: str) -> set[str]:
    """Upgrades the region while core is killed in each phase; the phases."""
    edit(region, {"openstackVersion": target})
    killed = set()

    def over() -> bool:
        upgrade = deployment(region)["status"].get("upgrade") or {}
        assert upgrade.get("phase") != "Aborted"
        step = _running(upgrade)
        if step.get("phase") and step["phase"] not in killed:
            killed.add(step["phase"])
            print(f"core is killed while {step['name']} runs", flush=True)
            kill_container(region, "core")
        return bool(upgrade.get("phase") == "Finished" and upgrade["to"] == target)

    took = wait_until(over, f"the upgrade to {target} does not end", UPGRADE_SECONDS, pause=2.0)
    wait_ready(region)
    print(f"{target} after {took:.0f} s; core was killed in {sorted(killed)}", flush=True)
    for step in deployment(region)["status"]["upgrade"]["steps"]:
        print(step["name"], step["state"], step.get("started"), step.get("ended"), step.get("message"))
    return killed


def _running(upgrade: dict[str, Any]) -> dict[str, Any]:
    found = (one for one in upgrade.get("steps") or () if one["state"] == "Running")
    return next(found, {})


def _asks(box: Sandbox) -> bool:
    """Raises SandboxError while there is no answer yet."""
    box.kubectl("exec", "--namespace", NAMESPACE, "client", "--", "cat", "/tmp/asks")
    return True


def _images(box: Sandbox, series: str) -> list[str]:
    """Pods of the region that still have an image of that version; the client is none of them."""
    return [
        f"{pod['metadata']['name']}: {one['image']}"
        for pod in items(box, "pods", "--selector=application")
        if pod["status"]["phase"] == "Running"
        for one in pod["spec"]["containers"]
        if f":{series}-" in one["image"]
    ]
