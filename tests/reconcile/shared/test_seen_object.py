"""What is written of an object goes to the one that was read, never to another that has taken its name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from controller.domain.api.names import API_VERSION
from controller.errors import Conflict, ObjectReplaced, SpecInvalid
from controller.ports.kubernetes import HELMBUNDLE, OSDPL, KubeObject, Resource
from controller.reconcile.releases.bundle_finalizer import BUNDLE_FINALIZER
from controller.reconcile.releases.bundle_status import BundleStatusWriter
from controller.reconcile.shared.preconditioned_writes import apply_to_seen
from controller.reconcile.shared.region_status import apply_region_status
from tests.domain.health_objects import deployment
from tests.fakes.kube import FakeKube, Request
from tests.fakes.world import FakeClock
from tests.reconcile.health.test_health import Health
from tests.reconcile.watched import DEFINITIONS, NAME

WRITES: dict[str, Callable[[FakeKube, KubeObject], object]] = {
    "status of a region": lambda kube, seen: apply_region_status(
        kube, seen, {"observedGeneration": 1}, manager="osctl-core"
    ),
    "finalizers of a region": lambda kube, seen: apply_to_seen(
        kube, OSDPL, seen, manager="osctl-core", finalizers=["osctl.dev/core"]
    ),
    "status of a bundle": lambda kube, seen: BundleStatusWriter(kube, FakeClock()).write_invalid(
        seen, SpecInvalid([]), 1
    ),
    "a bundle is held": BUNDLE_FINALIZER.ensure,
    "a bundle is let go": BUNDLE_FINALIZER.remove,
}


@pytest.fixture
def kube() -> FakeKube:
    fake = FakeKube()
    for definition in DEFINITIONS:
        fake.serve(definition)
    return fake


def made(kube: FakeKube, what: str) -> tuple[Resource, KubeObject]:
    """A bundle or a region, as `what` says; that very object as it is read."""
    resource = HELMBUNDLE if "bundle" in what else OSDPL
    spec: dict[str, Any] = {"releases": []} if resource is HELMBUNDLE else {"openstackVersion": "2025.2"}
    meta = {"name": "one", "namespace": "openstack"}
    body = {"apiVersion": API_VERSION, "kind": resource.kind, "metadata": meta, "spec": spec}
    return resource, kube.create(body)


@pytest.mark.parametrize("what", WRITES)
def test_an_object_that_has_taken_the_name_is_left_as_it_is(kube: FakeKube, what: str) -> None:
    resource, seen = made(kube, what)
    kube.delete(resource, "one", "openstack")
    _, other = made(kube, what)
    with pytest.raises(ObjectReplaced, match="is another object now"):
        WRITES[what](kube, seen)
    assert kube.get(resource, "one", "openstack") == other


@pytest.mark.parametrize("what", WRITES)
def test_an_object_that_is_gone_is_not_brought_back(kube: FakeKube, what: str) -> None:
    resource, seen = made(kube, what)
    kube.delete(resource, "one", "openstack")
    with pytest.raises(ObjectReplaced, match="is gone"):
        WRITES[what](kube, seen)
    assert kube.get(resource, "one", "openstack") is None


@pytest.mark.parametrize("what", [what for what in WRITES if what != "a bundle is let go"])
def test_the_object_that_was_read_is_written(kube: FakeKube, what: str) -> None:
    resource, seen = made(kube, what)
    WRITES[what](kube, seen)
    assert kube.get(resource, "one", "openstack") != seen


def test_letting_a_bundle_go_takes_its_finalizer_away(kube: FakeKube) -> None:
    _, seen = made(kube, "bundle")
    BUNDLE_FINALIZER.ensure(kube, seen)
    held = kube.get(HELMBUNDLE, "one", "openstack")
    assert held is not None and held["metadata"]["finalizers"] == [BUNDLE_FINALIZER.name]
    BUNDLE_FINALIZER.remove(kube, held)
    free = kube.get(HELMBUNDLE, "one", "openstack")
    assert free is not None and not free["metadata"].get("finalizers")


@pytest.mark.parametrize("what", WRITES)
def test_an_object_that_others_have_changed_meanwhile_is_written(kube: FakeKube, what: str) -> None:
    resource, seen = made(kube, what)
    patch = {"metadata": {"labels": {"by": "others"}}}
    kube.merge_patch(resource, "one", "openstack", patch)
    WRITES[what](kube, seen)
    after = kube.get(resource, "one", "openstack")
    assert after is not None
    assert after["metadata"]["labels"] == {"by": "others"}
    assert seen["metadata"]["resourceVersion"] == after["metadata"]["resourceVersion"]


def test_writers_that_come_in_between_are_still_a_conflict(kube: FakeKube) -> None:
    _, seen = made(kube, "region")

    def contend(_: Request) -> None:
        raise Conflict("the object has been modified")

    kube.before_write = contend
    with pytest.raises(Conflict, match="modified"):
        apply_region_status(kube, seen, {"observedGeneration": 1}, manager="osctl-core")


def test_what_health_has_found_of_a_deleted_region_is_not_reported_the_next() -> None:
    health = Health()
    health.cluster.region()
    health.cluster.bundle("nova")
    health.cluster.put(deployment())
    kube = health.cluster.kube

    def replace(_: Request) -> None:
        kube.before_write = lambda _: None
        kube.delete(OSDPL, NAME, "openstack")
        health.cluster.region()

    kube.before_write = replace
    health.reconcile()
    assert "health" not in health.cluster.status()
    health.reconcile()
    assert "nova" in health.cluster.status()["health"]
