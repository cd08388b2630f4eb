"""One writer at a time, whatever dies."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from controller.errors import ApiUnavailable
from controller.ports.kubernetes import LEASE, NAMESPACE, KubeObject
from controller.reconcile.shared.leases.lease import LeaseTimes, WriterLease
from tests.fakes.held_rights import CONTROLLER, HeldRights
from tests.fakes.kube import FakeKube, Request
from tests.fakes.world import FakeClock

TIMES = LeaseTimes()


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def kube(clock: FakeClock) -> FakeKube:
    return FakeKube(clock=clock)


def lease_of(kube: FakeKube, clock: FakeClock, pod: str) -> WriterLease:
    return WriterLease(kube, clock, name="osctl-core", namespace="openstack", holder=pod)


def test_a_longer_lease_is_renewed_and_given_up_later(kube: FakeKube, clock: FakeClock) -> None:
    times = LeaseTimes(60)
    lease = WriterLease(kube, clock, name="osctl-core", namespace="openstack", holder="pod-a", times=times)
    assert lease.try_take()
    [stored] = kube.objects("Lease")
    assert stored["spec"]["leaseDurationSeconds"] == 60
    clock.advance(39)
    assert not lease.lost()
    clock.advance(2)
    assert lease.lost()
    # Another pod goes by what the Lease says, whatever its own setting is.
    other = lease_of(kube, clock, "pod-b")
    assert not other.try_take()
    clock.advance(60)
    assert not other.try_take()
    clock.advance(2)
    assert other.try_take()


def test_the_first_pod_takes_the_lease(kube: FakeKube, clock: FakeClock) -> None:
    assert lease_of(kube, clock, "pod-a").try_take()
    stored = kube.get(LEASE, "osctl-core", "openstack")
    assert stored is not None
    assert stored["spec"]["holderIdentity"] == "pod-a"


def test_a_second_pod_waits_while_the_first_renews(kube: FakeKube, clock: FakeClock) -> None:
    first, second = lease_of(kube, clock, "pod-a"), lease_of(kube, clock, "pod-b")
    assert first.try_take()
    for _ in range(10):
        clock.advance(5)
        assert first.try_take()
        assert not second.try_take()


def test_a_restarted_container_of_the_same_pod_takes_it_again_at_once(
    kube: FakeKube, clock: FakeClock
) -> None:
    assert lease_of(kube, clock, "pod-a").try_take()
    assert lease_of(kube, clock, "pod-a").try_take()


def test_a_dead_pods_lease_is_taken_over_after_its_duration(kube: FakeKube, clock: FakeClock) -> None:
    second = lease_of(kube, clock, "pod-b")
    assert lease_of(kube, clock, "pod-a").try_take()
    assert not second.try_take()
    clock.advance(TIMES.duration - 1)
    assert not second.try_take()
    clock.advance(2)
    assert second.try_take()
    stored = kube.get(LEASE, "osctl-core", "openstack")
    assert stored is not None
    assert stored["spec"]["leaseTransitions"] == 1


def test_a_clock_that_is_ahead_takes_nothing_over(kube: FakeKube, clock: FakeClock) -> None:
    assert lease_of(kube, clock, "pod-a").try_take()
    ahead = FakeClock(start=clock.now() + 86400)
    assert not lease_of(kube, ahead, "pod-b").try_take()


def test_a_holder_that_cannot_renew_gives_up_before_others_may_take_over(
    kube: FakeKube, clock: FakeClock
) -> None:
    lease = lease_of(kube, clock, "pod-a")
    assert lease.try_take()

    def down(request: Request) -> None:
        raise ApiUnavailable("the API server is away")

    kube.before_write = down
    clock.advance(TIMES.give_up_after - 1)
    assert not lease.try_take()
    assert not lease.lost()
    clock.advance(2)
    assert not lease.try_take()
    assert lease.lost()
    assert TIMES.give_up_after < TIMES.duration


def test_a_lease_from_before_our_last_renewal_is_lost_at_once(kube: FakeKube, clock: FakeClock) -> None:
    lease = lease_of(kube, clock, "pod-a")
    assert lease.try_take()
    before = kube.get(LEASE, "osctl-core", "openstack")
    assert before is not None
    clock.advance(5)
    assert lease.try_take()
    present = kube.get(LEASE, "osctl-core", "openstack")
    assert present is not None
    kube.replace({**present, "spec": before["spec"]})
    clock.advance(5)
    assert not lease.try_take()
    assert lease.lost()
    assert lease_of(kube, clock, "pod-a").try_take()


def test_a_first_renewal_that_failed_leaves_the_lease_of_the_former_container(
    kube: FakeKube, clock: FakeClock
) -> None:
    assert lease_of(kube, clock, "pod-a").try_take()
    lease = lease_of(kube, clock, "pod-a")

    def away(request: Request) -> None:
        raise ApiUnavailable("the API server is away")

    clock.advance(5)
    kube.before_write = away
    assert not lease.try_take()
    kube.before_write = lambda _: None
    clock.advance(1)
    assert lease.try_take()
    assert not lease.lost()


def test_a_renewal_whose_answer_was_lost_is_known_for_ours(kube: FakeKube, clock: FakeClock) -> None:
    lease = lease_of(kube, clock, "pod-a")
    assert lease.try_take()
    replace = kube.replace

    def cut_off(obj: Mapping[str, Any], *, subresource: str = "") -> KubeObject:
        replace(obj, subresource=subresource)
        raise ApiUnavailable("the connection broke")

    clock.advance(5)
    kube.replace = cut_off  # type: ignore[method-assign]
    assert not lease.try_take()
    kube.replace = replace  # type: ignore[method-assign]
    clock.advance(1)
    assert lease.try_take()
    assert not lease.lost()


def test_a_holder_that_reads_another_holder_stops_at_once(kube: FakeKube, clock: FakeClock) -> None:
    lease = lease_of(kube, clock, "pod-a")
    assert lease.try_take()
    stored = kube.get(LEASE, "osctl-core", "openstack")
    assert stored is not None
    kube.replace({**stored, "spec": {**stored["spec"], "holderIdentity": "pod-b"}})
    assert not lease.try_take()
    assert lease.lost()


def test_a_holder_that_finds_its_lease_given_back_stops_at_once(kube: FakeKube, clock: FakeClock) -> None:
    """Another has had it since."""
    lease = lease_of(kube, clock, "pod-a")
    assert lease.try_take()
    stored = kube.get(LEASE, "osctl-core", "openstack")
    assert stored is not None
    kube.replace({**stored, "spec": {**stored["spec"], "holderIdentity": ""}})
    assert not lease.try_take()
    assert lease.lost()


def test_a_holder_that_finds_no_lease_stops_at_once_and_for_good(kube: FakeKube, clock: FakeClock) -> None:
    lease = lease_of(kube, clock, "pod-a")
    kube.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "openstack"}})
    assert lease.try_take()
    kube.delete(LEASE, "osctl-core", "openstack")
    assert not lease.try_take()
    assert lease.lost()
    # Taking it again would hide that another may have had it meanwhile.
    assert not lease.try_take()
    assert lease.lost()
    assert kube.get(LEASE, "osctl-core", "openstack") is None


def test_in_a_namespace_that_is_being_deleted_the_last_holder_goes_on(
    kube: FakeKube, clock: FakeClock
) -> None:
    held = {"name": "openstack", "finalizers": ["example.com/held"]}
    kube.create({"apiVersion": "v1", "kind": "Namespace", "metadata": held})
    lease = lease_of(kube, clock, "pod-a")
    assert lease.try_take()
    kube.delete(NAMESPACE, "openstack")
    kube.delete(LEASE, "osctl-core", "openstack")
    for _ in range(10):
        clock.advance(5)
        assert lease.try_take()
        assert not lease.lost()


def test_so_it_does_when_its_role_has_gone_with_the_namespace(kube: FakeKube, clock: FakeClock) -> None:
    held = {"name": "openstack", "finalizers": ["example.com/held"]}
    kube.create({"apiVersion": "v1", "kind": "Namespace", "metadata": held})
    account = HeldRights(kube, CONTROLLER, "openstack")
    lease = WriterLease(account, clock, name="osctl-core", namespace="openstack", holder="pod-a")
    assert lease.try_take()
    account.lose_roles()
    assert not lease.try_take()  # the namespace is there for good: someone has taken the Role
    kube.delete(NAMESPACE, "openstack")
    for _ in range(10):
        clock.advance(5)
        assert lease.try_take()
        assert not lease.lost()
    newer = WriterLease(account, clock, name="osctl-core", namespace="openstack", holder="pod-b")
    assert not newer.try_take()


def test_of_two_pods_that_try_at_once_one_wins(kube: FakeKube, clock: FakeClock) -> None:
    second = lease_of(kube, clock, "pod-b")

    def race(request: Request) -> None:
        kube.before_write = lambda _: None
        assert second.try_take()

    kube.before_write = race
    assert not lease_of(kube, clock, "pod-a").try_take()


def test_a_released_lease_is_free_at_once(kube: FakeKube, clock: FakeClock) -> None:
    first = lease_of(kube, clock, "pod-a")
    assert first.try_take()
    first.release()
    assert lease_of(kube, clock, "pod-b").try_take()


def test_a_lease_that_another_pod_took_over_is_not_released(kube: FakeKube, clock: FakeClock) -> None:
    first, second = lease_of(kube, clock, "pod-a"), lease_of(kube, clock, "pod-b")
    assert first.try_take()
    assert not second.try_take()
    clock.advance(TIMES.duration + 1)
    assert second.try_take()
    first.release()
    stored = kube.get(LEASE, "osctl-core", "openstack")
    assert stored is not None
    assert stored["spec"]["holderIdentity"] == "pod-b"
