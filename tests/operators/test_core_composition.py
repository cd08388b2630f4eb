"""core as put together from its environment: it listens for the other deployed containers, and no others."""

from __future__ import annotations

import logging
from typing import cast

import pytest

from containers.composition import Parts
from containers.core import compose
from controller.adapters.kubernetes.connection import Connection
from controller.adapters.kubernetes.watches import Key
from controller.adapters.system.logs import LogSecrets
from controller.adapters.system.metrics import PrometheusMetrics
from controller.domain.api.conditions import find
from controller.operator import Container
from controller.ports.kubernetes import OSDPL
from controller.reconcile.region.other_containers import CHECK_SECONDS, SilenceTimes
from controller.reconcile.shared.work_queue import WorkQueue
from controller.settings import read_settings
from tests.fakes.kube import FakeKube
from tests.fakes.world import FakeClock, FakeRandomness
from tests.reconcile.region.test_deployment import KEY, SilentEvents, deploy, deploy_all, osdpl
from tests.reconcile.watched import DEFINITIONS

LEASES: Key = ("containers", "openstack", "leases")


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def kube(clock: FakeClock) -> FakeKube:
    fake = FakeKube(clock=clock)
    for definition in DEFINITIONS:
        fake.serve(definition)
    return fake


@pytest.fixture
def core(kube: FakeKube, clock: FakeClock) -> Container:
    environment = {
        "REGION_NAMESPACE": "openstack",
        "POD_NAMESPACE": "controller",
        "DEPLOYED_CONTAINERS": "core,helmbundle",
    }
    randomness = FakeRandomness()
    return compose(
        Parts(
            settings=read_settings(environment),
            connection=cast(Connection, None),
            kube=kube,
            clock=clock,
            randomness=randomness,
            events=SilentEvents(),
            log_secrets=LogSecrets(),
            metrics=PrometheusMetrics("core"),
            queue=WorkQueue(clock, randomness),
        )
    )


@pytest.mark.slow
def test_it_reads_the_leases_of_the_other_deployed_containers_from_its_start(
    core: Container, kube: FakeKube
) -> None:
    assert core.queue.take() == LEASES
    assert core.reconcilers["containers"](*LEASES[1:]) == CHECK_SECONDS
    read = [(one.namespace, one.name) for one in kube.requests if one.kind == "Lease"]
    assert read == [("openstack", "osctl-helmbundle")]


@pytest.mark.slow
def test_a_silent_container_has_the_region_looked_at(
    core: Container, kube: FakeKube, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    created = kube.create(osdpl())
    [watch] = [one for one in core.watches if one.resource == OSDPL]
    assert watch.seen is not None
    watch.seen(None, created)
    core.reconcilers["region"](*KEY)
    deploy_all(kube)
    looked_at: list[Key] = []
    monkeypatch.setattr(core.queue, "add", lambda key, *_, **__: looked_at.append(key))
    for _ in range(int(SilenceTimes().silent_after / CHECK_SECONDS) + 2):
        clock.advance(CHECK_SECONDS)
        core.reconcilers["containers"](*LEASES[1:])
    assert ("region", *KEY) in looked_at
    core.reconcilers["region"](*KEY)
    found = kube.get(OSDPL, KEY[1], KEY[0])
    assert found is not None
    ready = find(found["status"]["conditions"], "Ready")
    assert (ready["status"], ready["reason"]) == ("Unknown", "ContainerSilent")


@pytest.mark.slow
def test_an_install_of_all_releases_renders_once(
    core: Container, kube: FakeKube, caplog: pytest.LogCaptureFixture
) -> None:
    """Each status that helmbundle writes has the region looked at, and none has it rendered."""
    caplog.set_level(logging.INFO, "controller.render")
    kube.create(osdpl())
    core.reconcilers["region"](*KEY)
    for bundle in kube.objects("HelmBundle"):
        deploy(kube, bundle)
        core.reconcilers["region"](*KEY)
    deploy_all(kube)
    core.reconcilers["region"](*KEY)
    found = kube.get(OSDPL, KEY[1], KEY[0])
    assert found is not None
    assert found["status"]["progress"] == "10/10"
    assert [record.getMessage() for record in caplog.records] == ["rendered 10 releases of generation 1"]
