"""One installation for a region's first install, with faults, and its upgrade."""

from __future__ import annotations

import random
import secrets
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from sandbox.cluster import Sandbox
from tests.cluster.conftest import installed
from tests.cluster.region import WITHOUT_IMAGES, Region, wait_until


@pytest.fixture(scope="session")
def empty_region(sandbox: Sandbox, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Region]:
    """Containers that run, and no OpenStackDeployment. It belongs to the xdist_group `region-life`."""
    namespace = f"test-{secrets.token_hex(4)}"
    sandbox.create_namespace(namespace, {})
    yield from installed(sandbox, namespace, tmp_path_factory.mktemp("life"))
    sandbox.kubectl("delete", "namespace", namespace, "--wait=false", "--ignore-not-found")


@pytest.fixture(scope="session")
def survivor(empty_region: Region) -> Region:
    """The same, Ready with the version before the newest: its containers were killed on the way.

    Without networks, computes and images: they triple the time of an upgrade, by the same steps.
    """
    spec = {"openstackVersion": "2025.2", "upgrade": {"healthyFor": "1s"}}
    osdpl = empty_region.smaller(WITHOUT_IMAGES, **spec)
    install_with_kills(empty_region, osdpl, seed=1, kills=8)
    return empty_region


def install_with_kills(region: Region, osdpl: dict[str, Any], seed: int, kills: int) -> None:
    """Applies a region, and waits until it is Ready. Meanwhile containers are killed."""
    chance = random.Random(seed)
    region.apply(osdpl)
    for _ in range(kills):
        pause = chance.uniform(0.05, 1.2)
        name = chance.choice(region.containers)
        wait_until("the next kill is due", _after(pause))
        region.controllers.kill(name)
        region.controllers.start(name)
    region.wait_ready(600)


def _after(seconds: float) -> Callable[[], bool]:
    due = time.monotonic() + seconds
    return lambda: time.monotonic() >= due
