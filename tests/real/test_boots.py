"""A region with libvirt and QEMU in their pods: a server boots, and says so on its console."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from sandbox.cluster import Sandbox
from sandbox.demo import apply_region
from sandbox.demo_real import EXAMPLE, SERIES, RealDemo, load_region_images, run_smoke
from sandbox.images.build import ensure_image
from sandbox.images.recipes import GUEST
from tests.real.region import READY_SECONDS, client_pod, edit, wait_ready

pytestmark = [pytest.mark.real, pytest.mark.timeout(5400)]

GUEST_IMAGE = "sandbox.local/guest:1"
BOOT = Path(__file__).with_name("boot_server.py")


@pytest.fixture
def booting(region: Sandbox) -> Iterator[Sandbox]:
    """The region with a hypervisor, and as it was afterwards."""
    example = RealDemo(boots=True).write(region)
    load_region_images(region, example, SERIES, print)
    region.images().load(ensure_image(GUEST, print), [GUEST_IMAGE])
    # What another test has put back is that writer's, too, and stays when a file of osctl's no longer has it.
    edit(region, {"services": {"compute": None}})
    apply_region(region, example, READY_SECONDS)
    wait_ready(region)
    yield region
    apply_region(region, EXAMPLE, READY_SECONDS)
    wait_ready(region)


def test_a_server_boots_a_kernel_and_its_console_says_so(booting: Sandbox) -> None:
    with client_pod(booting, "boots", files_of=GUEST_IMAGE, place="/guest") as client:
        seen = json.loads(client(BOOT.read_text()).splitlines()[-1])
    print(f"ACTIVE after {seen['active']:.0f} s, booted after {seen['booted']:.0f} s")
    print(seen["console"])
    assert "the guest runs: Linux" in seen["console"]
    run_smoke(booting)
