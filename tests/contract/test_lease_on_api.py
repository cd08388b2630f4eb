"""Leases on a real API server: who may write in a region, and who may not any more."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from controller.adapters.system.clock import SystemClock
from controller.ports.kubernetes import CONFIGMAP, LEASE, NAMESPACE, Kube
from controller.reconcile.shared.leases.lease import WriterLease, lease_holder, lease_name
from sandbox.cluster import Sandbox
from tests.contract.conftest import wait_until

pytestmark = pytest.mark.cluster

NAME = lease_name("helmbundle")


@pytest.fixture
def region(sandbox: Sandbox, kube: Kube, namespace: str) -> Iterator[str]:
    """A namespace that holds something which is not gone at once."""
    held = {"name": "held", "namespace": namespace, "finalizers": ["example.com/held"]}
    kube.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": held})
    yield namespace
    kube.merge_patch(CONFIGMAP, "held", namespace, {"metadata": {"finalizers": None}})


def lease_of(kube: Kube, region: str, installation: str) -> WriterLease:
    holder = lease_holder(installation, "openstack-controller-7d9f-x2k4p")
    return WriterLease(kube, SystemClock(), name=NAME, namespace=region, holder=holder)


def test_of_two_installations_for_one_region_one_holds_it(kube: Kube, region: str) -> None:
    first, second = lease_of(kube, region, "one"), lease_of(kube, region, "two")
    assert first.try_take()
    assert not second.try_take()
    assert first.try_take()


def test_a_lease_that_is_deleted_is_lost(kube: Kube, region: str) -> None:
    first, second = lease_of(kube, region, "one"), lease_of(kube, region, "two")
    assert first.try_take()
    kube.delete(LEASE, NAME, region)
    assert second.try_take()
    assert not first.try_take()
    assert first.lost()
    assert not second.lost()


def test_in_a_namespace_under_deletion_only_the_last_holder_goes_on(kube: Kube, region: str) -> None:
    first, second = lease_of(kube, region, "one"), lease_of(kube, region, "two")
    assert first.try_take()
    kube.delete(NAMESPACE, region)
    wait_until(lambda: kube.get(LEASE, NAME, region) is None, "the Lease has gone with the namespace")
    assert not second.try_take()
    assert first.try_take()
    assert not first.lost()
    assert not second.try_take()
