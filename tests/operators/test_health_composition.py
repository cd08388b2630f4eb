"""The health container as put together from its environment: with PROBE_SECONDS it asks the services."""

from __future__ import annotations

import base64
import time
from collections.abc import Callable, Iterator
from typing import Any, cast

import pytest

from containers.composition import Parts
from containers.health import compose
from controller.adapters.kubernetes.connection import Connection
from controller.adapters.system.clock import SystemClock
from controller.adapters.system.logs import LogSecrets
from controller.adapters.system.metrics import PrometheusMetrics
from controller.adapters.system.randomness import SystemRandomness
from controller.domain.api.names import CLOUDS_SECRET
from controller.ports.kubernetes import SECRET
from controller.reconcile.shared.work_queue import WorkQueue
from controller.settings import read_settings
from sandbox.patience import Patience
from tests.domain.health_objects import daemonset
from tests.fakes.identity import FakeIdentity, served_identity
from tests.reconcile.health.test_health import SilentEvents
from tests.reconcile.watched import NAME, WatchedCluster

# It loads openstacksdk.
pytestmark = pytest.mark.slow

DEADLINE = 60.0


@pytest.fixture
def identity() -> Iterator[FakeIdentity]:
    with served_identity() as served:
        yield served


class Composed:
    """The container on a cluster in memory, as its environment says."""

    def __init__(self, **environment: str) -> None:
        clock = SystemClock()
        self.cluster = WatchedCluster(cast(Any, clock))
        self.metrics = PrometheusMetrics("health")
        randomness = SystemRandomness()
        self.container = compose(
            Parts(
                settings=read_settings({"REGION_NAMESPACE": "openstack", **environment}),
                connection=cast(Connection, None),
                kube=self.cluster.kube,
                clock=clock,
                randomness=randomness,
                events=SilentEvents(),
                log_secrets=LogSecrets(),
                metrics=self.metrics,
                queue=WorkQueue(clock, randomness),
            )
        )
        self.cluster.region()
        self.cluster.bundle("keystone", "nova")
        computes = daemonset(1)
        computes["metadata"]["labels"]["component"] = "compute"
        self.cluster.put(computes)

    def credentials(self, content: bytes) -> None:
        data = {"clouds.yaml": base64.b64encode(content).decode()}
        meta = {"name": CLOUDS_SECRET, "namespace": "openstack"}
        self.cluster.kube.create({"apiVersion": "v1", "kind": SECRET.kind, "metadata": meta, "data": data})

    def probes(self) -> dict[str, dict[str, Any]]:
        """What the status says of probes after one more look."""
        for watch in self.container.watches:
            for obj in self.cluster.kube.list(watch.resource):
                if watch.seen:
                    watch.seen("MODIFIED", obj)
        self.container.reconcilers["region"]("openstack", NAME)
        found: dict[str, dict[str, Any]] = (self.cluster.status().get("health") or {}).get("probes") or {}
        return found

    def until(self, what: str, check: Callable[[dict[str, dict[str, Any]]], bool]) -> None:
        patience = Patience(DEADLINE)
        while not check(shown := self.probes()):
            assert not patience.is_over(), f"{what}: never; {shown}"
            time.sleep(0.02)


def all_ready(shown: dict[str, dict[str, Any]]) -> bool:
    return {name: one["status"] for name, one in shown.items()} == {
        "endpoints": "Ready",
        "compute-services": "Ready",
    }


def test_with_a_period_it_asks_with_the_clouds_of_the_secret_and_reports(identity: FakeIdentity) -> None:
    health = Composed(PROBE_SECONDS="0.2")
    health.credentials(identity.clouds())
    health.until("all is well", all_ready)
    assert ("/v2.1/os-services", True) in identity.seen
    assert ("/v2.1", False) in identity.seen
    exposition = health.metrics.exposition("")[0].decode()
    assert 'osctl_probe_success{probe="compute-services"} 1.0' in exposition


def test_what_is_lost_is_reported_and_heals_unaided(identity: FakeIdentity) -> None:
    health = Composed(PROBE_SECONDS="0.2")
    health.credentials(identity.clouds())
    health.until("all is well", all_ready)
    identity.computes["cmp1"] = "down"
    health.until("it is told", lambda shown: "cmp1" in shown["compute-services"].get("message", ""))
    assert health.cluster.condition("WorkloadsHealthy")["status"] == "False"
    identity.computes["cmp1"] = "up"
    health.until("it heals", all_ready)


@pytest.mark.parametrize("environment", [{}, {"PROBE_SECONDS": "0"}])
def test_without_a_period_nothing_is_asked(identity: FakeIdentity, environment: dict[str, str]) -> None:
    health = Composed(**environment)
    health.credentials(identity.clouds())
    assert health.probes() == {}
    assert identity.seen == []
    assert health.cluster.condition("WorkloadsHealthy")["status"] in ("True", "False")
