"""A container of an older controller does nothing in a region that a newer one has served."""

from __future__ import annotations

from types import SimpleNamespace
from typing import cast

import pytest

from containers.composition import Parts, held_while_older
from controller.adapters.kubernetes.watches import Key
from controller.adapters.system.metrics import PrometheusMetrics
from controller.operator import Container
from controller.reconcile.shared.work_queue import WorkQueue
from controller.settings import read_settings
from tests.fakes.kube import FakeKube
from tests.fakes.world import FakeClock, FakeRandomness
from tests.reconcile.region.test_deployment import osdpl

PLACE = {"REGION_NAMESPACE": "openstack", "POD_NAMESPACE": "openstack", "CONTROLLER_VERSION": "0.1.0"}


@pytest.mark.parametrize("name", ["core", "helmbundle", "health", "secrets", "node", "servers"])
@pytest.mark.parametrize(("served_by", "acts"), [("0.2.0", False), ("0.1.7", True)])
def test_its_passes_wait(name: str, served_by: str, acts: bool) -> None:
    again, passes = look(name, "thing", served_by)
    assert bool(passes) == acts
    assert again == (None if acts else 15)


def test_core_itself_looks_at_the_region_because_it_reports() -> None:
    assert look("core", "region", "0.2.0") == (None, [("openstack", "one")])


def look(name: str, kind: str, served_by: str) -> tuple[float | None, list[tuple[str, str]]]:
    """One pass of a container of version 0.1.0: its answer, and what it passed on to the container's own."""
    clock = FakeClock()
    kube = FakeKube(clock)
    made = kube.create(osdpl(openstackVersion="2025.1"))
    kube.replace({**made, "status": {"version": served_by}}, subresource="status")
    queue: WorkQueue[Key] = WorkQueue(clock, FakeRandomness())
    passes: list[tuple[str, str]] = []

    def reconcile(namespace: str, name: str) -> float | None:
        passes.append((namespace, name))
        return None

    container = Container(name=name, watches=(), reconcilers={kind: reconcile}, queue=queue)
    parts = cast(
        Parts, SimpleNamespace(settings=read_settings(PLACE), kube=kube, metrics=PrometheusMetrics(name))
    )
    return held_while_older(container, parts).reconcilers[kind]("openstack", "one"), passes
