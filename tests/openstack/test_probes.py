"""Probes of a real OpenStack: what is well is said to be so, what is lost is named, and it heals."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator

import pytest
import yaml

from controller.adapters.openstack.client import OpenStackClouds
from controller.adapters.system.clock import SystemClock
from controller.adapters.system.randomness import SystemRandomness
from controller.domain.health.probes import Probed
from controller.domain.health.workload_health import Health, WorkloadHealth
from controller.ports.metrics import NoMetrics
from controller.reconcile.health.probes import ServiceProbes
from sandbox.openstack.cloud import Cloud
from tests.cluster.region import wait_until

pytestmark = [pytest.mark.cluster, pytest.mark.openstack, pytest.mark.xdist_group("openstack")]

EVERY = 0.5
ASKED = Probed(dict.fromkeys(("endpoints", "compute-services", "network-agents", "volume-services"), 1), {})


@pytest.fixture
def observe(cloud: Cloud) -> Iterator[Callable[[], dict[str, WorkloadHealth]]]:
    """Gives what the probes say now; a round begins whenever one is due."""
    clouds = OpenStackClouds(SystemClock(), SystemRandomness())
    opened = clouds.open(yaml.safe_dump(cloud.clouds()).encode())
    ended = threading.Event()
    probes = ServiceProbes(
        cloud=lambda: opened, clock=SystemClock(), measures=NoMetrics(), changed=ended.set, every=EVERY
    )
    yield lambda: {name: one.verdict for (_, name), one in probes.components(ASKED, {}).items()}


def all_ready(said: dict[str, WorkloadHealth]) -> bool:
    return {verdict.health for verdict in said.values()} == {Health.READY}


def test_a_region_that_is_well(observe: Callable[[], dict[str, WorkloadHealth]]) -> None:
    wait_until("every probe is Ready", lambda: all_ready(observe()), timeout=90, show=lambda: str(observe()))
    assert {name: verdict.ready for name, verdict in observe().items() if not verdict.ready} == {}


def test_a_service_that_is_gone_is_named_and_heals(
    observe: Callable[[], dict[str, WorkloadHealth]], cloud: Cloud
) -> None:
    wait_until("every probe is Ready", lambda: all_ready(observe()), timeout=90)
    cloud.kill("placement")
    try:
        lost = wait_until(
            "the endpoint is told",
            lambda: (said := observe()["endpoints"]).health == Health.UNHEALTHY and said,
            timeout=90,
        )
        assert f"placement {cloud.url('placement')}" in lost.text
        assert lost.ready == lost.desired - 1
    finally:
        cloud.start("placement")
    wait_until("every probe is Ready again", lambda: all_ready(observe()), timeout=90)
