"""A real node with a region of the version before, two of each API, and something made in it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator

import pytest

from sandbox.cluster import Sandbox
from sandbox.demo_real import RealDemo, load_region_images, run_real_demo
from tests.real.region import client_pod, edit, wait_ready
from tests.real.sandboxes import real_sandbox

# A sandbox that runs already: it is used as it is, and left running.
KEPT = os.environ.get("OSCTL_REAL_UPGRADE_SANDBOX", "")
NAME = KEPT or "real-upgrade"
# The versions one after the other; the first is installed.
BEFORE, *AFTER = (os.environ.get("OSCTL_REAL_UPGRADE_PATH") or "2025.1 2026.1").split()
TWO_APIS = {
    "identity": {"keystone": {"values": {"pod": {"replicas": {"api": 2}}}}},
    "image": {"glance": {"values": {"pod": {"replicas": {"api": 2}}}}},
    "placement": {"placement": {"values": {"pod": {"replicas": {"api": 2}}}}},
    "compute": {"nova": {"values": {"pod": {"replicas": {"osapi": 2, "api_metadata": 2}}}}},
    "networking": {"neutron": {"values": {"pod": {"replicas": {"server": 2}}}}},
}


@pytest.fixture(scope="session")
def region() -> Iterator[Sandbox]:
    """A region of BEFORE with two pods of each API, Ready; the node has the images of all versions."""
    with real_sandbox(NAME, kept=bool(KEPT)) as box:
        if not KEPT:
            run_real_demo(box, print, RealDemo(series=BEFORE))
        for series in AFTER:
            target = RealDemo(series=series).write(box)
            load_region_images(box, target, series, print, passing=True)
        edit(box, {"services": TWO_APIS, "upgrade": {"gates": "Smoke", "healthyFor": "15s"}})
        wait_ready(box)
        yield box


@pytest.fixture(scope="session")
def client(region: Sandbox) -> Iterator[Callable[[str], str]]:
    """Runs Python beside openstacksdk in a pod that has the exported clouds.yaml."""
    with client_pod(region, "client", series=BEFORE) as run:
        yield run
