"""An upgrade with pods that run, clients that never rest, and a controller that is killed in each phase."""

from __future__ import annotations

import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from sandbox.cluster import Sandbox
from sandbox.demo import NAMESPACE, REGION
from tests.real.region import deployment, edit, items, kill_container, wait_ready, wait_until
from tests.real_upgrade.conftest import AFTER, BEFORE
from tests.real_upgrade.made_before import MAKE, USE

pytestmark = [pytest.mark.real, pytest.mark.timeout(7200)]

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
    # Both images of the broker are the same program here.
    accept = "osctl.dev/accept-version=rabbitmq=4.3"
    region.kubectl("annotate", "osdpl", REGION, "--namespace", NAMESPACE, accept)
    edit(region, {"openstackVersion": AFTER})
    killed = set()

    def over() -> bool:
        upgrade = deployment(region)["status"].get("upgrade") or {}
        assert upgrade.get("phase") != "Aborted"
        step = _running(upgrade)
        if step.get("phase") and step["phase"] not in killed:
            killed.add(step["phase"])
            print(f"core is killed while {step['name']} runs")
            kill_container(region, "core")
        return bool(upgrade.get("phase") == "Finished" and upgrade["to"] == AFTER)

    took = wait_until(over, "the upgrade does not end", UPGRADE_SECONDS, pause=2.0)
    wait_ready(region)
    region.kubectl("exec", "--namespace", NAMESPACE, "client", "--", "touch", "/tmp/stop")
    seen = json.loads(asking.result(600).splitlines()[-1])
    print(f"upgraded after {took:.0f} s; killed in {sorted(killed)}; {seen}")
    for step in deployment(region)["status"]["upgrade"]["steps"]:
        print(step["name"], step["state"], step.get("started"), step.get("ended"), step.get("message"))
    assert {"ControlPlane", "Computes"} <= killed
    used = json.loads(client(USE).splitlines()[-1])
    assert used == {
        "server": "ACTIVE", "rebooted": "ACTIVE", "image": 65536, "after": "ACTIVE", "user": True,
    }  # fmt: skip
    assert _images(region, BEFORE) == []
    assert min(seen["count"].values()) > LEAST
    assert seen["failed"] == []


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
