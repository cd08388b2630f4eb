"""An Event says once what happened to an object; the log says it, too."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from controller.adapters.kubernetes.events import MESSAGE_LIMIT, KubeEvents
from controller.ports.kubernetes import EVENT
from tests.fakes.kube import FakeKube
from tests.fakes.world import FakeClock

OBJECT: dict[str, Any] = {
    "apiVersion": "osctl.dev/v1alpha1",
    "kind": "OpenStackDeployment",
    "metadata": {"name": "one", "namespace": "openstack", "uid": "u1"},
}


@pytest.fixture
def kube() -> FakeKube:
    return FakeKube()


@pytest.fixture
def emitter(kube: FakeKube) -> KubeEvents:
    return KubeEvents(kube, FakeClock(), component="core", instance="pod-a")


def recorded(kube: FakeKube) -> list[dict[str, Any]]:
    return kube.list(EVENT, "openstack")


def test_an_event_is_about_its_object(emitter: KubeEvents, kube: FakeKube) -> None:
    emitter.emit(OBJECT, type_="Normal", reason="RegionReady", message="all is well")
    [event] = recorded(kube)
    assert event["involvedObject"]["uid"] == "u1"
    assert (event["type"], event["reason"], event["message"]) == ("Normal", "RegionReady", "all is well")
    assert event["reportingComponent"] == "osctl.dev/core"


def test_the_same_words_again_are_counted(emitter: KubeEvents, kube: FakeKube) -> None:
    for _ in range(3):
        emitter.emit(OBJECT, type_="Normal", reason="RegionReady", message="all is well")
    assert [event["count"] for event in recorded(kube)] == [3]


def test_other_words_are_another_event(emitter: KubeEvents, kube: FakeKube) -> None:
    emitter.emit(OBJECT, type_="Normal", reason="RegionReady", message="all is well")
    emitter.emit(OBJECT, type_="Warning", reason="WorkloadsFailing", message="nova scheduler")
    assert len(recorded(kube)) == 2


def test_a_long_message_is_cut_to_what_kubernetes_takes(emitter: KubeEvents, kube: FakeKube) -> None:
    emitter.emit(OBJECT, type_="Normal", reason="RegionReady", message="x" * 5000)
    assert len(recorded(kube)[0]["message"]) <= MESSAGE_LIMIT


def test_the_log_has_it_with_object_and_reason(emitter: KubeEvents, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO):
        emitter.emit(OBJECT, type_="Warning", reason="WorkloadsFailing", message="nova scheduler")
    [record] = caplog.records
    assert (record.levelname, record.getMessage()) == ("WARNING", "nova scheduler")
    assert vars(record)["object"] == "openstack/one"
    assert vars(record)["reason"] == "WorkloadsFailing"
