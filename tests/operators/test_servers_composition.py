"""The container servers as it is wired: MachineSets are mirrored where that was asked for."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from containers import servers
from containers.composition import Parts
from controller.adapters.kubernetes.watches import Key
from controller.adapters.system.logs import LogSecrets
from controller.adapters.system.metrics import PrometheusMetrics
from controller.operator import Container
from controller.reconcile.shared.work_queue import WorkQueue
from controller.settings import SettingInvalid, read_settings
from tests.fakes.release import FakeWatch
from tests.fakes.world import FakeRandomness
from tests.reconcile.machines.mirrored_cluster import THERE, MirroredCluster

# Composing it loads openstacksdk.
pytestmark = pytest.mark.slow

MACHINES = {"MACHINES_CLUSTER": "ocp-x7k2p", "MACHINES_VIRTUAL_ADDRESSES": "10.0.0.5"}
PLACE = {"REGION_NAMESPACE": "openstack", "POD_NAMESPACE": "openstack"}


def composed(
    cluster: MirroredCluster,
    monkeypatch: pytest.MonkeyPatch,
    environment: dict[str, str],
    watch: FakeWatch | None = None,
) -> Container:
    monkeypatch.setattr(servers, "MetadataWatches", lambda *_, **__: watch or FakeWatch(cluster.kube))
    parts = Parts(
        settings=read_settings({**PLACE, **environment}),
        connection=cast(Any, SimpleNamespace(kubeconfig=None)),
        kube=cluster.kube,
        clock=cluster.clock,
        randomness=FakeRandomness(),
        events=cluster.told,
        log_secrets=LogSecrets(),
        metrics=PrometheusMetrics("servers"),
        queue=WorkQueue(cluster.clock, FakeRandomness()),
    )
    return servers.compose(parts)


def test_sets_are_mirrored_with_what_the_chart_says(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = MirroredCluster()
    cluster.add(**{"provider.networks[0].noAllowedAddressPairs": False})
    container = composed(cluster, monkeypatch, MACHINES)
    for _ in range(3):
        container.reconcilers["machines"]("", "")
    assert cluster.there()["spec"]["clusterName"] == "ocp-x7k2p"
    [template] = cluster.templates()
    [port] = template["spec"]["template"]["spec"]["ports"]
    assert port["allowedAddressPairs"] == [{"ipAddress": "10.0.0.5"}]
    assert template["metadata"]["namespace"] == THERE


def test_a_change_of_a_set_brings_a_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = MirroredCluster()
    watch = FakeWatch(cluster.kube)
    container = composed(cluster, monkeypatch, MACHINES, watch)
    container.reconcilers["machines"]("", "")
    _take_all(container, cluster)
    assert _take_all(container, cluster) == set()
    cluster.add()
    watch.deliver()
    assert _take_all(container, cluster) == {servers.MACHINES}


def _take_all(container: Container, cluster: MirroredCluster) -> set[Key]:
    """What is due a second later."""
    cluster.clock.advance(1)
    found: set[Key] = set()
    while container.queue.overdue() and (key := container.queue.take()):
        found.add(key)
        container.queue.done(key)
    return found


def test_without_a_cluster_nothing_is_mirrored(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "machines" not in composed(MirroredCluster(), monkeypatch, {}).reconcilers


def test_an_owner_that_cannot_be_is_refused() -> None:
    with pytest.raises(SettingInvalid, match="MACHINES_TEMPLATE_OWNER"):
        read_settings({**PLACE, **MACHINES, "MACHINES_TEMPLATE_OWNER": "Pod"})
